// RUN: wengert-opt %s --split-input-file --verify-diagnostics
// What is wrong in the text of a nest is said at its place.

// The kinds follow from what is written.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@below {{loop 0 is said to be reduction, but by what the nest writes it is parallel}}
  %0 = kernel.nest (d0) = (0) to (4) iterators [reduction]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<f32> {
  // expected-error@below {{loop 0 is said to be parallel, but by what the nest writes it is reduction}}
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<f32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield add %1 to out0[] : f32
  }
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@below {{unknown iterator kind 'paralel'}}
  %0 = kernel.nest (d0) = (0) to (4) iterators [paralel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@below {{1 loops need as many iterator kinds; there are 0}}
  %0 = kernel.nest (d0) = (0) to (4) iterators []
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// Loops begin at 0, have names of their own, and bounds.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@below {{the 1 loops of a nest begin at 0}}
  %0 = kernel.nest (d0) = (1) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@below {{'d0' is named twice}}
  %0 = kernel.nest (d0, d0) = (0, 0) to (4, 4) iterators [parallel, parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@below {{1 loops need as many bounds, which are not negative}}
  %0 = kernel.nest (d0) = (0) to (4, 5) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// An affine expression.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{'d1' is not a loop; the loops are (d0)}}
    %1 = kernel.load %a[d1] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{a product of two indices is not affine}}
    %1 = kernel.load %a[d0 * d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{'floordiv' needs a positive constant}}
    %1 = kernel.load %a[d0 floordiv 0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{expected an affine expression, found ']'}}
    %1 = kernel.load %a[d0 +] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{expected ')', found ']'}}
    %1 = kernel.load %a[(d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// Subscripts fit the buffer, and stay inside.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %y: tensor<2x3xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{tensor<2x3xf32> takes 2 subscripts, or one for the whole buffer; there are 3}}
    %1 = kernel.load %a[d0, 0, 0] : tensor<2x3xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{position d0 + 1 reaches [1, 4], outside of tensor<4xf32>}}
    %1 = kernel.load %a[d0 + 1] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{position d0 - 1 reaches [-1, 2], outside of tensor<4xf32>}}
    kernel.yield store %1 to out0[d0 - 1] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// Guards.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{expected '<', found ')'}}
    %1 = kernel.load %a[d0] where (0 <= d0) : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{a bound is an integer}}
    %1 = kernel.load %a[d0] where (d0 <= d0 < 3) : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// A computed position says its type.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %2 = kernel.index d0 : i32
    %1 = kernel.load %a[%2] : tensor<4xf32>
  // expected-error@below {{expected ',', found 'kernel.yield'}}
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// Scalar functions.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{unknown operation 'kernel.tahn'}}
    %2 = kernel.tahn %1 : f32
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{'add' takes 2 operands; there are 1}}
    %2 = kernel.add %1 : f32
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{a scalar function is written by its own name, such as 'kernel.add'}}
    %2 = kernel.apply %1 : f32
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{'%1' is used here as f64, but its type is f32}}
    %2 = kernel.add %1, %1 : f64
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{there is no scalar function 'gamma'}}
    %2 = "kernel.apply"(%1) <{function = "gamma"}> : (f32) -> f32
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
  // expected-error@below {{'1' is an integer, but f32 is a floating-point type}}
    %1 = kernel.constant 1 : f32
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  // expected-error@below {{the body computes with scalars; 'arith.addf' has no place in it}}
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    %2 = arith.addf %1, %1 : f32
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

// Writes.
func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{unknown kind of write 'put'}}
    kernel.yield put %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{unknown result 'out1'}}
    kernel.yield store %1 to out1[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{'%1' is used here as i1, but its type is f32}}
    kernel.yield store %1 to out0[d0] where %1 : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
  // expected-error@below {{a nest writes tensors of static shape, found tensor<?xf32>}}
      outs(out0: tensor<?xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
  // expected-error@below {{a nest writes tensors of static shape, found memref<4xf32>}}
      outs(out0: memref<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
    kernel.yield store %1 to out0[d0] : f32
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>, %y: tensor<2x3xf32>) -> tensor<4xf32> {
  %0 = kernel.nest (d0) = (0) to (4) iterators [parallel]
      ins(%a = %x: tensor<4xf32>)
      outs(out0: tensor<4xf32>) {
    %1 = kernel.load %a[d0] : tensor<4xf32>
  // expected-error@below {{the body of a nest ends in a 'kernel.yield' of writes}}
  }
  return %0 : tensor<4xf32>
}
