// RUN: wengert-opt %s -p "schedule{target=avx2},bufferize{target=avx2},emit-llvm{target=avx2}" | filecheck %s --check-prefixes=LLVM
// RUN: wengert-opt %s -p "schedule{target=avx2},bufferize{target=avx2},emit-llvm{target=avx2},optimize-llvm{target=avx2}" | filecheck %s --check-prefixes=OPT
// RUN: wengert-opt %s -p "schedule{target=avx2 strict=true},bufferize{target=avx2},emit-llvm{target=avx2 strict=true}" | filecheck %s --check-prefixes=STRICT
// RUN: wengert-opt %s -p "schedule{target=avx2},bufferize{target=avx2},emit-llvm{target=avx2 flush-subnormals=true}" | filecheck %s --check-prefixes=FLUSH

// Each kernel is a function, and the entry calls them with pointers of the table. Lanes are explicit; sums of products may be contracted.
// LLVM: define internal void @kernel0(ptr %p0, ptr %p1, ptr %q0)
// LLVM: %[[X:.*]] = load <8 x float>, ptr
// LLVM: %[[Y:.*]] = load <8 x float>, ptr
// LLVM: fmul contract <8 x float> %[[X]], %[[Y]]
// LLVM: fadd contract <8 x float>
// LLVM: define i32 @entry(ptr %table, ptr %arena)
// LLVM: call void @kernel0(

// What is marked for it is inlined, in the target's data layout.
// OPT: target triple = "x86_64
// OPT-NOT: call void @kernel0
// OPT: define i32 @entry(ptr %table, ptr %arena)
// OPT: fmul contract <8 x float>

// A strict program contracts nothing.
// STRICT: fmul <8 x float>
// STRICT: fadd <8 x float>

// The entry sets the mode of the processor, and sets it back.
// FLUSH-LABEL: define i32 @entry
// FLUSH: call void @llvm.x86.sse.ldmxcsr(ptr %mode.inside)
// FLUSH: call void @kernel0
// FLUSH: call void @llvm.x86.sse.ldmxcsr(ptr %mode.before)
func.func @main(%x: tensor<256xf32>, %y: tensor<256xf32>) -> tensor<256xf32> {
  %0 = kernel.nest (d0) = (0) to (256) iterators [parallel]
      ins(%a = %x: tensor<256xf32>, %b = %y: tensor<256xf32>) outs(out0: tensor<256xf32>) {
    %1 = kernel.load %a[d0] : tensor<256xf32>
    %2 = kernel.load %b[d0] : tensor<256xf32>
    %3 = kernel.multiply %1, %2 : f32
    %4 = kernel.add %3, %1 : f32
    kernel.yield store %4 to out0[d0] : f32
  }
  return %0 : tensor<256xf32>
}
