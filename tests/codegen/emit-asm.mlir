// RUN: wengert-opt %s -p "schedule{target=sse2},bufferize{target=sse2},emit-llvm{target=sse2},optimize-llvm{target=sse2},emit-asm{target=sse2}" | filecheck %s --check-prefixes=SSE2
// RUN: wengert-opt %s -p "schedule{target=avx2},bufferize{target=avx2},emit-llvm{target=avx2},optimize-llvm{target=avx2},emit-asm{target=avx2}" | filecheck %s --check-prefixes=AVX2
// RUN: wengert-opt %s -p "schedule{target=avx512},bufferize{target=avx512},emit-llvm{target=avx512},optimize-llvm{target=avx512},emit-asm{target=avx512}" | filecheck %s --check-prefixes=AVX512
// RUN: wengert-opt %s -p "schedule{target=neon},bufferize{target=neon},emit-llvm{target=neon},optimize-llvm{target=neon},emit-asm{target=neon}" | filecheck %s --check-prefixes=NEON
// RUN: wengert-opt %s -p "schedule{target=avx2},bufferize{target=avx2},emit-llvm{target=avx2},emit-asm{target=avx2 opt=fast}" | filecheck %s --check-prefixes=FAST

// The assembly is that of the target, whatever machine writes it: its registers, as long as the target has them.
// SSE2-LABEL: entry:
// SSE2: addps {{.*}}, %xmm{{[0-9]+}}
// SSE2: retq
// AVX2-LABEL: entry:
// AVX2: vaddps {{.*}}, %ymm{{[0-9]+}}
// AVX2: retq
// AVX512-LABEL: entry:
// AVX512: vaddps {{.*}}, %zmm{{[0-9]+}}
// AVX512: retq
// NEON-LABEL: entry:
// NEON: fadd v{{[0-9]+}}.4s
// NEON: ret
// Text that is not optimised calls the kernel, since nothing is inlined.
// FAST: kernel0:
// FAST-LABEL: entry:
// FAST: $kernel0
// FAST: callq
func.func @main(%x: tensor<256xf32>, %y: tensor<256xf32>) -> tensor<256xf32> {
  %0 = kernel.nest (d0) = (0) to (256) iterators [parallel]
      ins(%a = %x: tensor<256xf32>, %b = %y: tensor<256xf32>) outs(out0: tensor<256xf32>) {
    %1 = kernel.load %a[d0] : tensor<256xf32>
    %2 = kernel.load %b[d0] : tensor<256xf32>
    %3 = kernel.add %1, %2 : f32
    kernel.yield store %3 to out0[d0] : f32
  }
  return %0 : tensor<256xf32>
}
