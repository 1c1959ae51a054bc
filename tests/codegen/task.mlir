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

// The entry hands all seven chunks to the pool, by a description: the task, seven chunks, no scratch memory for each thread, 5000 ns, not joined; then
// three pointers in two runs: no scratch memory of this thread, and what the first two entries of the table point to.
// CHECK: @job0 = internal constant { ptr, [14 x i64] } { ptr @kernel0, [14 x i64] [i64 7, i64 0, i64 5000, i64 0, i64 3, i64 2, i64 -2, i64 0, i64 1, i64 0, i64 0, i64 0, i64 2, i64 1] }
// CHECK-LABEL: define i32 @entry
// CHECK-NOT: alloca
// CHECK: call void @wg.pool.job(ptr @job0, ptr %table, ptr %arena)
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
