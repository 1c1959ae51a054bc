// RUN: wengert-opt %s -p "linearize" | filecheck %s
// A loop of five iterations records on a tape with five places; the linear loop reads them.

// CHECK:      func.func @main(%arg0: tensor<3xf64>) -> (tensor<3xf64>, !core.tape<5, tensor<3xf64>>
// CHECK:        [[TAPE:%.*]] = core.tape_create : !core.tape<5, tensor<3xf64>>
// CHECK:        core.for
// CHECK:          core.tape_set
// CHECK:      func.func @main_linear(%arg0: !core.tape<5, tensor<3xf64>>, {{.*}}) -> tensor<3xf64>
// CHECK:          core.tape_read
func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %n = stablehlo.constant dense<5> : tensor<i64>
  %0 = core.for %i to %n constants() carried(%y = %x: tensor<3xf64>) {
    %1 = stablehlo.sine %y : tensor<3xf64>
    stablehlo.return %1 : tensor<3xf64>
  }
  return %0 : tensor<3xf64>
}
