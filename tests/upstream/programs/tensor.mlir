// pad_generate
func.func @main(%m: tensor<4x5xf64>, %s: f64) -> (tensor<7x6xf64>, tensor<3x2xf64>) {
  %p = tensor.pad %m low[1, 0] high[2, 1] { ^bb0(%i: index, %j: index):
    tensor.yield %s : f64
  } : tensor<4x5xf64> to tensor<7x6xf64>
  %g = tensor.generate { ^bb0(%i: index, %j: index):
    %v = tensor.extract %m[%i, %j] : tensor<4x5xf64>
    %w = arith.mulf %v, %s : f64
    tensor.yield %w : f64
  } : tensor<3x2xf64>
  return %p, %g : tensor<7x6xf64>, tensor<3x2xf64>
}

// -----

// shapes_dynamic
func.func @main(%m: tensor<?x4xf64>) -> tensor<?x2x2xf64> {
  %c0 = arith.constant 0 : index
  %d = tensor.dim %m, %c0 : tensor<?x4xf64>
  %e = tensor.expand_shape %m [[0], [1, 2]] output_shape [%d, 2, 2] : tensor<?x4xf64> into tensor<?x2x2xf64>
  %x = math.cos %e : tensor<?x2x2xf64>
  return %x : tensor<?x2x2xf64>
}

// -----

// gather_rows
func.func @main(%m: tensor<4x5xf64>, %k: tensor<3x1xindex>) -> tensor<3x1x5xf64> {
  %g = tensor.gather %m[%k] gather_dims([0]) : (tensor<4x5xf64>, tensor<3x1xindex>) -> tensor<3x1x5xf64>
  %e = math.exp %g : tensor<3x1x5xf64>
  return %e : tensor<3x1x5xf64>
}

// -----

// scatter_rows
func.func @main(%x: tensor<3x1xf64>, %d: tensor<6xf64>, %k: tensor<3x1xindex>) -> tensor<6xf64> {
  %s = tensor.scatter %x into %d[%k] scatter_dims([0]) unique : (tensor<3x1xf64>, tensor<6xf64>, tensor<3x1xindex>) -> tensor<6xf64>
  return %s : tensor<6xf64>
}

// -----

// insert_slice_strided
func.func @main(%a: tensor<6xf64>, %b: tensor<2xf64>) -> tensor<6xf64> {
  %q = tensor.extract_slice %a[1] [2] [3] : tensor<6xf64> to tensor<2xf64>
  %m = arith.mulf %q, %b : tensor<2xf64>
  %r = tensor.insert_slice %m into %a[0] [2] [4] : tensor<2xf64> into tensor<6xf64>
  %c1 = arith.constant 1 : index
  %b_0 = tensor.extract %b[%c1] : tensor<2xf64>
  %f = tensor.from_elements %b_0, %b_0 : tensor<2xf64>
  %s = tensor.insert_slice %f into %r[2] [2] [1] : tensor<2xf64> into tensor<6xf64>
  return %s : tensor<6xf64>
}

// -----

// concat_reshape
func.func @main(%a: tensor<2x3xf64>, %b: tensor<2x3xf64>) -> tensor<12xf64> {
  %c = tensor.concat dim(1) %a, %b : (tensor<2x3xf64>, tensor<2x3xf64>) -> tensor<2x6xf64>
  %s = arith.constant dense<12> : tensor<1xi64>
  %r = tensor.reshape %c(%s) : (tensor<2x6xf64>, tensor<1xi64>) -> tensor<12xf64>
  %n = arith.negf %r : tensor<12xf64>
  return %n : tensor<12xf64>
}

// -----

// slices_of_unknown_extents
func.func @main(%m: tensor<4x5xf64>, %n: index) -> f64 {
  %d = tensor.cast %m : tensor<4x5xf64> to tensor<?x?xf64>
  %c1 = arith.constant 1 : index
  %k = tensor.dim %d, %c1 : tensor<?x?xf64>
  %s = tensor.extract_slice %d[%n, 0] [1, %k] [1, 1] : tensor<?x?xf64> to tensor<?xf64>
  %z = arith.constant dense<0.0> : tensor<f64>
  %r = linalg.dot ins(%s, %s : tensor<?xf64>, tensor<?xf64>) outs(%z : tensor<f64>) -> tensor<f64>
  %v = tensor.extract %r[] : tensor<f64>
  return %v : f64
}

// -----

// sparse_constant
func.func @main(%x: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %e = arith.constant sparse<[[0, 0], [1, 1], [2, 2]], 1.0> : tensor<3x3xf64>
  %r = arith.mulf %x, %e : tensor<3x3xf64>
  return %r : tensor<3x3xf64>
}
