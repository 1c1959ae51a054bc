"""Programs in upstream's dialects that several tests run."""

LOOPS_AND_BRANCHES = """func.func @main(%x: tensor<4xf64>, %n: index) -> f64 {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f64
      %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x) -> (tensor<4xf64>) {
        %e = tensor.extract %a[%i] : tensor<4xf64>
        %f = math.sin %e : f64
        %k = arith.remui %i, %n : index
        %b = tensor.insert %f into %a[%k] : tensor<4xf64>
        scf.yield %b : tensor<4xf64>
      }
      %e = tensor.extract %y[%n] : tensor<4xf64>
      %p = arith.cmpf ogt, %e, %zero : f64
      %r = scf.if %p -> (f64) {
        %l = math.log %e : f64
        scf.yield %l : f64
      } else {
        scf.yield %zero : f64
      }
      return %r : f64 }"""
"""A loop that reads and writes at positions that are computed, and a branch after it; of x, and a position n."""
