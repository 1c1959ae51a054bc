// RUN: wengert-opt %s -p "bufferize{target=avx2},emit-llvm{target=avx2}" | filecheck %s

// A kernel that threads share is a task: it reads its pointers from the frame, and runs the iterations of one chunk.
// CHECK: define internal void @kernel0(ptr %frame, i64 %chunk, ptr %scratch)
// CHECK: %p0 = load ptr, ptr %frame
// CHECK: %[[AT:.*]] = getelementptr ptr, ptr %frame, i64 1
// CHECK: %q0 = load ptr, ptr %[[AT]]
// CHECK: %begin = mul nuw nsw i64 %chunk, 16
// CHECK: %[[PAST:.*]] = add nuw nsw i64 %begin, 16
// CHECK: %end = call i64 @llvm.umin.i64(i64 %[[PAST]], i64 100)
// CHECK: phi i64 [%begin,

// The entry fills the frame and hands all seven chunks to the pool.
// CHECK-LABEL: define i32 @entry
// CHECK: %frame = alloca [2 x ptr]
// CHECK: store ptr %{{.*}}, ptr %frame
// CHECK: store ptr %{{.*}}, ptr %{{.*}}
// CHECK: call void @wg.pool.run(ptr @kernel0, ptr %frame, i64 7, ptr null, i64 0, i64 5000, i64 0)
func.func @main(%x: tensor<100x64xf32>) -> tensor<100x64xf32> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (100, 64) iterators [parallel, parallel]
      ins(%a = %x: tensor<100x64xf32>) outs(out0: tensor<100x64xf32>)
      schedule <parallel = {chunk = 16, nanoseconds = 5000}, lanes = 8> {
    %1 = kernel.load %a[d0, d1] : tensor<100x64xf32>
    %2 = kernel.negate %1 : f32
    kernel.yield store %2 to out0[d0, d1] : f32
  }
  return %0 : tensor<100x64xf32>
}
