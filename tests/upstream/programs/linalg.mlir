// generic_index
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%m: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %e = tensor.empty() : tensor<4x5xf64>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%m : tensor<4x5xf64>) outs(%e : tensor<4x5xf64>) {
  ^bb0(%v: f64, %o: f64):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %c = arith.cmpi sge, %i, %j : index
    %k = arith.index_cast %i : index to i64
    %f = arith.sitofp %k : i64 to f64
    %w = arith.mulf %v, %f : f64
    %z = arith.constant 0.0 : f64
    %s = arith.select %c, %w, %z : f64
    linalg.yield %s : f64
  } -> tensor<4x5xf64>
  return %r : tensor<4x5xf64>
}

// -----

// generic_window_access
#w = affine_map<(d0, d1) -> (d0 + d1)>
#k = affine_map<(d0, d1) -> (d1)>
#o = affine_map<(d0, d1) -> (d0)>
func.func @main(%x: memref<8xf64>, %k: memref<3xf64>, %o: memref<6xf64>) {
  %z = arith.constant 0.0 : f64
  linalg.fill ins(%z : f64) outs(%o : memref<6xf64>)
  linalg.generic {indexing_maps = [#w, #k, #o], iterator_types = ["parallel", "reduction"]} ins(%x, %k : memref<8xf64>, memref<3xf64>) outs(%o : memref<6xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %q = arith.mulf %a, %b : f64
    %s = math.fma %a, %b, %c : f64
    linalg.yield %s : f64
  }
  return
}

// -----

// generic_constant_map
#c = affine_map<(d0) -> (0, d0)>
#i = affine_map<(d0) -> (d0)>
func.func @main(%m: tensor<4x5xf64>, %v: tensor<5xf64>) -> tensor<5xf64> {
  %r = linalg.generic {indexing_maps = [#c, #i, #i], iterator_types = ["parallel"]} ins(%m, %v : tensor<4x5xf64>, tensor<5xf64>) outs(%v : tensor<5xf64>) {
  ^bb0(%a: f64, %b: f64, %c: f64):
    %q = arith.mulf %a, %b : f64
    %s = arith.addf %q, %c : f64
    linalg.yield %s : f64
  } -> tensor<5xf64>
  return %r : tensor<5xf64>
}

// -----

// captured_in_generic
#i = affine_map<(d0) -> (d0)>
func.func @main(%x: tensor<6xf64>, %p: tensor<6xindex>, %s: f64) -> tensor<6xf64> {
  %e = tensor.empty() : tensor<6xf64>
  %r = linalg.generic {indexing_maps = [#i, #i], iterator_types = ["parallel"]} ins(%p : tensor<6xindex>) outs(%e : tensor<6xf64>) {
  ^bb0(%k: index, %o: f64):
    %v = tensor.extract %x[%k] : tensor<6xf64>
    %c = arith.cmpf ogt, %v, %s : f64
    %w = scf.if %c -> f64 {
      %q = arith.mulf %v, %s : f64
      scf.yield %q : f64
    } else {
      scf.yield %v : f64
    }
    linalg.yield %w : f64
  } -> tensor<6xf64>
  return %r : tensor<6xf64>
}

// -----

// argmax_generic
#i = affine_map<(d0, d1) -> (d0, d1)>
#o = affine_map<(d0, d1) -> (d0)>
func.func @main(%m: tensor<4x5xf64>) -> (tensor<4xf64>, tensor<4xi64>) {
  %lo = arith.constant dense<-1.0e+30> : tensor<4xf64>
  %z = arith.constant dense<0> : tensor<4xi64>
  %r:2 = linalg.generic {indexing_maps = [#i, #o, #o], iterator_types = ["parallel", "reduction"]} ins(%m : tensor<4x5xf64>) outs(%lo, %z : tensor<4xf64>, tensor<4xi64>) {
  ^bb0(%v: f64, %b: f64, %k: i64):
    %j = linalg.index 1 : index
    %c = arith.cmpf ogt, %v, %b : f64
    %ji = arith.index_cast %j : index to i64
    %n = arith.select %c, %v, %b : f64
    %q = arith.select %c, %ji, %k : i64
    linalg.yield %n, %q : f64, i64
  } -> (tensor<4xf64>, tensor<4xi64>)
  return %r#0, %r#1 : tensor<4xf64>, tensor<4xi64>
}

// -----

// conv_dilated
func.func @main(%i: tensor<1x6x6x2xf64>, %w: tensor<2x2x2x3xf64>) -> tensor<1x2x2x3xf64> {
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<1x2x2x3xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<1x2x2x3xf64>) -> tensor<1x2x2x3xf64>
  %r = linalg.conv_2d_nhwc_hwcf {dilations = dense<2> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%i, %w : tensor<1x6x6x2xf64>, tensor<2x2x2x3xf64>) outs(%f : tensor<1x2x2x3xf64>) -> tensor<1x2x2x3xf64>
  return %r : tensor<1x2x2x3xf64>
}

// -----

// pooling_two
func.func @main(%i: tensor<1x2x4x4xf64>) -> (tensor<1x2x2x2xf64>, tensor<1x2x2x2xf64>) {
  %k = tensor.empty() : tensor<2x2xf64>
  %ninf = arith.constant dense<0xFFF0000000000000> : tensor<1x2x2x2xf64>
  %zero = arith.constant dense<0.0> : tensor<1x2x2x2xf64>
  %a = linalg.pooling_nchw_max {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%i, %k : tensor<1x2x4x4xf64>, tensor<2x2xf64>) outs(%ninf : tensor<1x2x2x2xf64>) -> tensor<1x2x2x2xf64>
  %b = linalg.pooling_nchw_sum {dilations = dense<1> : tensor<2xi64>, strides = dense<2> : tensor<2xi64>} ins(%i, %k : tensor<1x2x4x4xf64>, tensor<2x2xf64>) outs(%zero : tensor<1x2x2x2xf64>) -> tensor<1x2x2x2xf64>
  return %a, %b : tensor<1x2x2x2xf64>, tensor<1x2x2x2xf64>
}

// -----

// matmul_maps
#a = affine_map<(d0, d1, d2) -> (d2, d0)>
#b = affine_map<(d0, d1, d2) -> (d1, d2)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @main(%a: tensor<5x4xf64>, %b: tensor<3x5xf64>, %o: tensor<4x3xf64>) -> (tensor<4x3xf64>, tensor<4x3xf64>) {
  %r = linalg.matmul indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<5x4xf64>, tensor<3x5xf64>) outs(%o : tensor<4x3xf64>) -> tensor<4x3xf64>
  %s = linalg.contract indexing_maps = [#a, #b, #c] ins(%a, %b : tensor<5x4xf64>, tensor<3x5xf64>) outs(%r : tensor<4x3xf64>) -> tensor<4x3xf64>
  return %r, %s : tensor<4x3xf64>, tensor<4x3xf64>
}

// -----

// structured_ops
func.func @main(%m: tensor<4x5xf64>, %v: tensor<5xf64>) -> (tensor<4xf64>, tensor<5x4xf64>) {
  %e = tensor.empty() : tensor<4x5xf64>
  %b = linalg.broadcast ins(%v : tensor<5xf64>) outs(%e : tensor<4x5xf64>) dimensions = [0]
  %p = linalg.map ins(%m, %b : tensor<4x5xf64>, tensor<4x5xf64>) outs(%e : tensor<4x5xf64>) (%x: f64, %y: f64) {
    %q = arith.mulf %x, %y : f64
    linalg.yield %q : f64
  }
  %z = arith.constant dense<0.0> : tensor<4xf64>
  %s = linalg.reduce ins(%p : tensor<4x5xf64>) outs(%z : tensor<4xf64>) dimensions = [1] (%x: f64, %a: f64) {
    %q = arith.addf %x, %a : f64
    linalg.yield %q : f64
  }
  %u = tensor.empty() : tensor<5x4xf64>
  %t = linalg.transpose ins(%p : tensor<4x5xf64>) outs(%u : tensor<5x4xf64>) permutation = [1, 0]
  return %s, %t : tensor<4xf64>, tensor<5x4xf64>
}

// -----

// short_map_and_reduce
func.func @main(%m: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %e = tensor.empty() : tensor<4x5xf64>
  %p = linalg.map { math.sin } ins(%m : tensor<4x5xf64>) outs(%e : tensor<4x5xf64>)
  %z = arith.constant dense<0.0> : tensor<4xf64>
  %s = linalg.reduce { arith.addf } ins(%p : tensor<4x5xf64>) outs(%z : tensor<4xf64>) dimensions = [1]
  %b = linalg.broadcast ins(%s : tensor<4xf64>) outs(%e : tensor<4x5xf64>) dimensions = [1]
  return %b : tensor<4x5xf64>
}

// -----

// pack_unpack
func.func @main(%m: tensor<4x6xf64>) -> (tensor<2x2x2x3xf64>, tensor<4x6xf64>) {
  %e = tensor.empty() : tensor<2x2x2x3xf64>
  %p = linalg.pack %m inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %e : tensor<4x6xf64> -> tensor<2x2x2x3xf64>
  %q = arith.mulf %p, %p : tensor<2x2x2x3xf64>
  %f = tensor.empty() : tensor<4x6xf64>
  %u = linalg.unpack %q inner_dims_pos = [0, 1] inner_tiles = [2, 3] into %f : tensor<2x2x2x3xf64> -> tensor<4x6xf64>
  return %p, %u : tensor<2x2x2x3xf64>, tensor<4x6xf64>
}

// -----

// mmt4d
func.func @main(%a: tensor<2x2x2x3xf64>, %b: tensor<1x2x4x3xf64>) -> tensor<2x1x2x4xf64> {
  %z = arith.constant dense<0.0> : tensor<2x1x2x4xf64>
  %r = linalg.mmt4d ins(%a, %b : tensor<2x2x2x3xf64>, tensor<1x2x4x3xf64>) outs(%z : tensor<2x1x2x4xf64>) -> tensor<2x1x2x4xf64>
  return %r : tensor<2x1x2x4xf64>
}

// -----

// batched_named
func.func @main(%a: tensor<2x3x4xf64>, %b: tensor<2x4x3xf64>, %v: tensor<2x4xf64>) -> (tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<3x3xf64>) {
  %z = arith.constant dense<0.0> : tensor<2x3x3xf64>
  %y = arith.constant dense<0.0> : tensor<2x3xf64>
  %x = arith.constant dense<0.0> : tensor<3x3xf64>
  %p = linalg.batch_matmul ins(%a, %b : tensor<2x3x4xf64>, tensor<2x4x3xf64>) outs(%z : tensor<2x3x3xf64>) -> tensor<2x3x3xf64>
  %q = linalg.batch_matvec ins(%a, %v : tensor<2x3x4xf64>, tensor<2x4xf64>) outs(%y : tensor<2x3xf64>) -> tensor<2x3xf64>
  %r = linalg.batch_reduce_matmul ins(%a, %b : tensor<2x3x4xf64>, tensor<2x4x3xf64>) outs(%x : tensor<3x3xf64>) -> tensor<3x3xf64>
  return %p, %q, %r : tensor<2x3x3xf64>, tensor<2x3xf64>, tensor<3x3xf64>
}

// -----

// named_elementwise
func.func @main(%x: tensor<6xf64>, %y: tensor<6xf64>) -> tensor<6xf64> {
  %e = tensor.empty() : tensor<6xf64>
  %a = linalg.square ins(%x : tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %b = linalg.rsqrt ins(%y : tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %c = linalg.powf ins(%y, %x : tensor<6xf64>, tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %d = linalg.erf ins(%x : tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %f = linalg.max ins(%a, %b : tensor<6xf64>, tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %g = linalg.sub ins(%f, %c : tensor<6xf64>, tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %h = linalg.elementwise kind=#linalg.elementwise_kind<mul> ins(%g, %d : tensor<6xf64>, tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %i = linalg.reciprocal ins(%y : tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  %j = linalg.div ins(%h, %i : tensor<6xf64>, tensor<6xf64>) outs(%e : tensor<6xf64>) -> tensor<6xf64>
  return %j : tensor<6xf64>
}

// -----

// softmax
func.func @main(%x: tensor<4x5xf64>) -> tensor<4x5xf64> {
  %e = tensor.empty() : tensor<4x5xf64>
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x5xf64>) outs(%e : tensor<4x5xf64>) -> tensor<4x5xf64>
  return %r : tensor<4x5xf64>
}

// -----

// depthwise_1d
func.func @main(%i: tensor<1x6x2xf64>, %w: tensor<3x2xf64>) -> tensor<1x4x2xf64> {
  %z = arith.constant dense<0.0> : tensor<1x4x2xf64>
  %r = linalg.depthwise_conv_1d_nwc_wc {dilations = dense<1> : tensor<1xi64>, strides = dense<1> : tensor<1xi64>} ins(%i, %w : tensor<1x6x2xf64>, tensor<3x2xf64>) outs(%z : tensor<1x4x2xf64>) -> tensor<1x4x2xf64>
  return %r : tensor<1x4x2xf64>
}
