"""Programs on tapes: a loop that pushes, and every op."""

from __future__ import annotations

LOOP = """
func.func @main(%x: tensor<{n}xf64>, %limit: tensor<i64>) -> (tensor<{n}xf64>, tensor<i64>) {{
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %tape = core.tape_create : !core.tape<tensor<{n}xf64>>
  %w:3 = "core.while"(%limit, %x, %zero, %tape) <{{constants = 1 : i64}}> ({{
  ^bb0(%l: tensor<i64>, %y: tensor<{n}xf64>, %i: tensor<i64>, %t: !core.tape<tensor<{n}xf64>>):
    %c = "stablehlo.compare"(%i, %l) <{{comparison_direction = #stablehlo<comparison_direction LT>}}> : (tensor<i64>, tensor<i64>) -> tensor<i1>
    "stablehlo.return"(%c) : (tensor<i1>) -> ()
  }}, {{
  ^bb0(%l: tensor<i64>, %y: tensor<{n}xf64>, %i: tensor<i64>, %t: !core.tape<tensor<{n}xf64>>):
    %s = "stablehlo.sine"(%y) : (tensor<{n}xf64>) -> tensor<{n}xf64>
    %u = core.tape_push %t, %s : (!core.tape<tensor<{n}xf64>>, tensor<{n}xf64>) -> !core.tape<tensor<{n}xf64>>
    %j = "stablehlo.add"(%i, %one_) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    "stablehlo.return"(%s, %j, %u) : (tensor<{n}xf64>, tensor<i64>, !core.tape<tensor<{n}xf64>>) -> ()
  }}) : (tensor<i64>, tensor<{n}xf64>, tensor<i64>, !core.tape<tensor<{n}xf64>>) -> (tensor<{n}xf64>, tensor<i64>, !core.tape<tensor<{n}xf64>>)
  %size = core.tape_size %w#2 : (!core.tape<tensor<{n}xf64>>) -> tensor<i64>
  %last = "stablehlo.subtract"(%size, %one) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %v = core.tape_read %w#2, %last : (!core.tape<tensor<{n}xf64>>, tensor<i64>) -> tensor<{n}xf64>
  return %v, %size : tensor<{n}xf64>, tensor<i64>
}}
"""
INNER_ONE = '    %one_ = "stablehlo.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>\n    %j ='


def loop(n: int) -> str:
    """A loop that pushes as many tensors of n elements as its second argument says."""
    return LOOP.format(n=n).replace("    %j =", INNER_ONE)


EVERY_OP = """
func.func @main(%x: tensor<2xf32>, %k: tensor<i64>) -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i64>, tensor<i64>, tensor<2xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %a = core.tape_create : !core.tape<tensor<2xf32>>
  %b = core.tape_create : !core.tape<tensor<2xf32>>
  %a1 = core.tape_push %a, %x : (!core.tape<tensor<2xf32>>, tensor<2xf32>) -> !core.tape<tensor<2xf32>>
  %y = stablehlo.add %x, %x : tensor<2xf32>
  %a2 = core.tape_push %a1, %y : (!core.tape<tensor<2xf32>>, tensor<2xf32>) -> !core.tape<tensor<2xf32>>
  %b1 = "core.tape_set"(%b, %k, %x) : (!core.tape<tensor<2xf32>>, tensor<i64>, tensor<2xf32>) -> !core.tape<tensor<2xf32>>
  %b2 = "core.tape_add"(%b1, %k, %y) : (!core.tape<tensor<2xf32>>, tensor<i64>, tensor<2xf32>) -> !core.tape<tensor<2xf32>>
  %b3 = "core.tape_add_from"(%b2, %k, %a2) : (!core.tape<tensor<2xf32>>, tensor<i64>, !core.tape<tensor<2xf32>>) -> !core.tape<tensor<2xf32>>
  %b4 = "core.tape_set_from"(%b3, %zero, %a2) : (!core.tape<tensor<2xf32>>, tensor<i64>, !core.tape<tensor<2xf32>>) -> !core.tape<tensor<2xf32>>
  %b5 = core.tape_extend %b4, %a2 : (!core.tape<tensor<2xf32>>, !core.tape<tensor<2xf32>>) -> !core.tape<tensor<2xf32>>
  %p = core.tape_from %b5, %k : (!core.tape<tensor<2xf32>>, tensor<i64>) -> !core.tape<tensor<2xf32>>
  %r0 = core.tape_read %p, %zero : (!core.tape<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  %r1 = core.tape_read %p, %one : (!core.tape<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  %r2 = "core.tape_get"(%b5, %one) : (!core.tape<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  %far = stablehlo.constant dense<1000000> : tensor<i64>
  %r3 = "core.tape_get"(%b5, %far) : (!core.tape<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
  %s = core.tape_size %b5 : (!core.tape<tensor<2xf32>>) -> tensor<i64>
  %q = core.tape_size %p : (!core.tape<tensor<2xf32>>) -> tensor<i64>
  return %r0, %r1, %r2, %s, %q, %r3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<i64>, tensor<i64>, tensor<2xf32>
}
"""
