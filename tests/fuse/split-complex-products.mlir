// RUN: wengert-opt %s -p "split-complex-products" | filecheck %s

// re(A B) = [re A, -im A] [re B; im B], and im(A B) with the parts of A turned round: two real products of twice the inner extent.
// CHECK-LABEL: @product
// CHECK-COUNT-2: stablehlo.dot_general {{.*}} : (tensor<8x16xf64>, tensor<16x8xf64>) -> tensor<8x8xf64>
// CHECK: stablehlo.complex
func.func public @product(%x: tensor<8x8xcomplex<f64>>, %y: tensor<8x8xcomplex<f64>>) -> tensor<8x8xcomplex<f64>> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<8x8xcomplex<f64>>, tensor<8x8xcomplex<f64>>) -> tensor<8x8xcomplex<f64>>
  return %0 : tensor<8x8xcomplex<f64>>
}

// Where one side is real its parts are not made: two products of the extent that there is.
// CHECK-LABEL: @real_times_complex
// CHECK-COUNT-2: stablehlo.dot_general {{.*}} : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
// CHECK-NOT: stablehlo.concatenate
// CHECK: return
func.func public @real_times_complex(%x: tensor<8x8xf64>, %y: tensor<8x8xcomplex<f64>>) -> tensor<8x8xcomplex<f64>> {
  %0 = stablehlo.convert %x : (tensor<8x8xf64>) -> tensor<8x8xcomplex<f64>>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<8x8xcomplex<f64>>, tensor<8x8xcomplex<f64>>) -> tensor<8x8xcomplex<f64>>
  return %1 : tensor<8x8xcomplex<f64>>
}

// A handful of multiplications stay loops over pairs.
// CHECK-LABEL: @small
// CHECK: stablehlo.dot_general {{.*}} : (tensor<3x3xcomplex<f64>>, tensor<3x3xcomplex<f64>>) -> tensor<3x3xcomplex<f64>>
func.func public @small(%x: tensor<3x3xcomplex<f64>>, %y: tensor<3x3xcomplex<f64>>) -> tensor<3x3xcomplex<f64>> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<3x3xcomplex<f64>>, tensor<3x3xcomplex<f64>>) -> tensor<3x3xcomplex<f64>>
  return %0 : tensor<3x3xcomplex<f64>>
}
