// RUN: wengert-opt %s -p "fourier-to-stages" | filecheck %s
// RUN: wengert-opt %s -p "fourier-to-stages,fuse,natives-to-nests" | filecheck %s --check-prefix NESTS

// 16 = 4 x 4: two stages, of which the first one has the factors exp(-2 pi i p k / 16), and the second one's results are complex.
// CHECK-LABEL: @two_stages
// CHECK-DAG: %[[RE:.*]] = stablehlo.real %x
// CHECK-DAG: %[[IM:.*]] = stablehlo.imag %x
// CHECK-COUNT-8: stablehlo.slice {{.*}} -> tensor<3x1x4x1xf32>
// CHECK: stablehlo.concatenate {{.*}}, dim = 2 : (tensor<3x4x1x1xf32>, tensor<3x4x1x1xf32>, tensor<3x4x1x1xf32>, tensor<3x4x1x1xf32>) -> tensor<3x4x4x1xf32>
// CHECK-COUNT-4: stablehlo.complex {{.*}} : tensor<3x1x1x4xcomplex<f32>>
// CHECK: stablehlo.concatenate {{.*}}, dim = 2 : {{.*}} -> tensor<3x1x4x4xcomplex<f32>>
// NESTS-LABEL: @two_stages
// NESTS-COUNT-2: kernel.nest
// NESTS-NOT: kernel.nest
// NESTS: return
func.func public @two_stages(%x: tensor<3x16xcomplex<f32>>) -> tensor<3x16xcomplex<f32>> {
  %0 = stablehlo.fft %x, type = FFT, length = [16] : (tensor<3x16xcomplex<f32>>) -> tensor<3x16xcomplex<f32>>
  return %0 : tensor<3x16xcomplex<f32>>
}

// A real transform of even length is one of half the length.
// CHECK-LABEL: @real
// CHECK: stablehlo.slice %{{.*}} [0:1, 0:8:2, 0:1] : (tensor<1x8x1xf64>) -> tensor<1x4x1xf64>
// CHECK: stablehlo.slice %{{.*}} [0:1, 1:8:2, 0:1] : (tensor<1x8x1xf64>) -> tensor<1x4x1xf64>
func.func public @real(%x: tensor<8xf64>) -> tensor<5xcomplex<f64>> {
  %0 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<8xf64>) -> tensor<5xcomplex<f64>>
  return %0 : tensor<5xcomplex<f64>>
}

// A prime of some size is a product with the matrix of roots, a large one a convolution by transforms of another length.
// CHECK-LABEL: @primes
// CHECK: stablehlo.dot_general {{.*}} (tensor<22x22xf64>, tensor<1x22x1x1xf64>) -> tensor<22x1x1x1xf64>
// CHECK: stablehlo.pad {{.*}} -> tensor<1x192x1xf64>
func.func public @primes(%x: tensor<11xcomplex<f64>>, %y: tensor<67xcomplex<f64>>) -> (tensor<11xcomplex<f64>>, tensor<67xcomplex<f64>>) {
  %0 = stablehlo.fft %x, type = FFT, length = [11] : (tensor<11xcomplex<f64>>) -> tensor<11xcomplex<f64>>
  %1 = stablehlo.fft %y, type = FFT, length = [67] : (tensor<67xcomplex<f64>>) -> tensor<67xcomplex<f64>>
  return %0, %1 : tensor<11xcomplex<f64>>, tensor<67xcomplex<f64>>
}
