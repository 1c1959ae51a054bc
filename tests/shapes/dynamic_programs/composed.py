"""Programs of open extents of several ops, and the list of all programs."""

from __future__ import annotations

from dynamic_programs.computed import COMPUTED
from dynamic_programs.control import CONTROL
from dynamic_programs.elements import ELEMENTWISE, MOVEMENT
from dynamic_programs.notation import V, program
from dynamic_programs.sums import CONTRACTIONS, REDUCTIONS

COMPOSED = [
    program(
        "broadcast_add",
        "(%x: tensor<{b}x3xf64>, %y: tensor<3xf64>) -> tensor<{b}x3xf64>",
        "%r = chlo.broadcast_add %x, %y : (tensor<{b}x3xf64>, tensor<3xf64>) -> tensor<{b}x3xf64>",
        "return %r : tensor<{b}x3xf64>",
    ),
    program(
        "batch_norm_inference",
        "(%x: tensor<{b}x3xf64>, %s: tensor<3xf64>) -> tensor<{b}x3xf64>",
        "%v = stablehlo.multiply %s, %s : tensor<3xf64>",
        '%r = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %v) {epsilon = 1.0e-3 : f32, feature_index = 1 : i64} : '
        "(tensor<{b}x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<{b}x3xf64>",
        "return %r : tensor<{b}x3xf64>",
    ),
    program(
        "tuple",
        f"(%x: {V}) -> {V}",
        f"%t = stablehlo.tuple %x, %x : tuple<{V}, {V}>",
        f"%r = stablehlo.get_tuple_element %t[1] : (tuple<{V}, {V}>) -> {V}",
        f"return %r : {V}",
    ),
]

DYNAMIC_PROGRAMS = [*COMPOSED, *ELEMENTWISE, *MOVEMENT, *CONTRACTIONS, *REDUCTIONS, *CONTROL, *COMPUTED]
