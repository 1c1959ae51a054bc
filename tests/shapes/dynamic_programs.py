"""Programs that leave extents open, one or more for every family of ops, each with its static text for every size.

A program is written once, with names for its extents in braces: ``{b}`` is what the sizes vary, others are computed from it. The
dynamic text has ``?`` for all of them. Where an op has a dynamic form of its own, the two texts have other bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Extents = Callable[[int], dict[str, int]]

EXTENT = """%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<{b}xf64>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>"""
"""The first extent of %x, as a scalar and as a list of one."""


@dataclass(frozen=True)
class Dynamic:
    """A program of open extents; ``static`` is the body of its static text where that is another one."""

    name: str
    signature: str
    body: str
    static: str = ""
    extents: Extents = lambda b: {}
    functions: str = ""
    sizes: tuple[int, ...] = (2, 5)
    differentiable: bool = True
    batched: bool = True

    def text(self) -> str:
        """With ``?`` for the extents."""
        return self._written(self.body, _Open())

    def at(self, b: int) -> str:
        """The static text of this size."""
        return self._written(self.static or self.body, {"b": b, **self.extents(b)})

    def _written(self, body: str, extents: Any) -> str:
        text = f"func.func public @main{self.signature} {{\n  {body}\n}}\n{self.functions}"
        return _replaced(text, extents)


class _Open(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def _replaced(text: str, extents: Any) -> str:
    """Braces around a name of one letter are extents; all others are the text's own."""
    import re

    return re.sub(r"\{([a-z])\}", lambda m: str(extents[m[1]]), text)


def unary(name: str) -> Dynamic:
    op = name if "." in name else f"stablehlo.{name}"
    types = "tensor<{b}xf64> -> tensor<{b}xf64>" if "." in name else "tensor<{b}xf64>"
    return Dynamic(name, "(%x: tensor<{b}xf64>) -> tensor<{b}xf64>", f"%r = {op} %x : {types}\n  return %r : tensor<{{b}}xf64>")


def program(name: str, signature: str, *lines: str, **options: Any) -> Dynamic:
    static = options.pop("static", ())
    return Dynamic(name, signature, "\n  ".join(lines), "\n  ".join(static), **options)


V = "tensor<{b}xf64>"
ADD = "({\n  ^bb0(%p: tensor<f64>, %q: tensor<f64>):\n    %s = stablehlo.add %p, %q : tensor<f64>\n    stablehlo.return %s : tensor<f64>\n  })"

ELEMENTWISE = [
    *map(unary, ("sine", "negate", "exponential", "chlo.erf")),
    program("add", f"(%x: {V}, %y: {V}) -> {V}", f"%r = stablehlo.add %x, %y : {V}", f"return %r : {V}"),
    program(
        "select",
        f"(%x: {V}, %y: {V}) -> {V}",
        f"%p = stablehlo.compare GT, %x, %y : ({V}, {V}) -> tensor<{{b}}xi1>",
        f"%r = stablehlo.select %p, %x, %y : tensor<{{b}}xi1>, {V}",
        f"return %r : {V}",
    ),
    program(
        "clamp",
        f"(%x: {V}) -> {V}",
        "%l = stablehlo.constant dense<-0.5> : tensor<f64>",
        "%h = stablehlo.constant dense<0.5> : tensor<f64>",
        f"%r = stablehlo.clamp %l, %x, %h : (tensor<f64>, {V}, tensor<f64>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "complex",
        f"(%x: {V}, %y: {V}) -> {V}",
        "%z = stablehlo.complex %x, %y : tensor<{b}xcomplex<f64>>",
        "%w = stablehlo.multiply %z, %z : tensor<{b}xcomplex<f64>>",
        f"%r = stablehlo.imag %w : (tensor<{{b}}xcomplex<f64>>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "convert",
        f"(%x: {V}) -> {V}",
        f"%0 = stablehlo.convert %x : ({V}) -> tensor<{{b}}xf32>",
        "%1 = stablehlo.reduce_precision %0, format = e8m20 : tensor<{b}xf32>",
        f"%r = stablehlo.convert %1 : (tensor<{{b}}xf32>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "bitcast",
        "(%x: tensor<{b}xi64>) -> tensor<{b}x2xi32>",
        "%r = stablehlo.bitcast_convert %x : (tensor<{b}xi64>) -> tensor<{b}x2xi32>",
        "return %r : tensor<{b}x2xi32>",
        differentiable=False,
    ),
]

MOVEMENT = [
    program(
        "concatenate",
        f"(%x: {V}, %y: tensor<3xf64>) -> tensor<{{c}}xf64>",
        f"%r = stablehlo.concatenate %x, %y, %x, dim = 0 : ({V}, tensor<3xf64>, {V}) -> tensor<{{c}}xf64>",
        "return %r : tensor<{c}xf64>",
        extents=lambda b: {"c": 2 * b + 3},
    ),
    program(
        "pad",
        f"(%x: {V}) -> tensor<{{c}}xf64>",
        "%z = stablehlo.constant dense<1.0> : tensor<f64>",
        f"%r = stablehlo.pad %x, %z, low = [1], high = [-1], interior = [1] : ({V}, tensor<f64>) -> tensor<{{c}}xf64>",
        "return %r : tensor<{c}xf64>",
        extents=lambda b: {"c": 2 * b - 1},
    ),
    program(
        "slice",
        "(%x: tensor<{b}x5xf64>) -> tensor<1x2xf64>",
        "%r = stablehlo.slice %x [0:1, 1:5:2] : (tensor<{b}x5xf64>) -> tensor<1x2xf64>",
        "return %r : tensor<1x2xf64>",
    ),
    program(
        "transpose",
        "(%x: tensor<{b}x3xf64>) -> tensor<3x{b}xf64>",
        "%0 = stablehlo.reverse %x, dims = [0] : tensor<{b}x3xf64>",
        "%r = stablehlo.transpose %0, dims = [1, 0] : (tensor<{b}x3xf64>) -> tensor<3x{b}xf64>",
        "return %r : tensor<3x{b}xf64>",
    ),
    program(
        "dynamic_slice",
        "(%x: tensor<{b}x5xf64>, %i: tensor<i32>) -> tensor<2x2xf64>",
        "%r = stablehlo.dynamic_slice %x, %i, %i, sizes = [2, 2] : (tensor<{b}x5xf64>, tensor<i32>, tensor<i32>) -> tensor<2x2xf64>",
        "return %r : tensor<2x2xf64>",
    ),
    program(
        "dynamic_update_slice",
        f"(%x: {V}, %u: tensor<2xf64>, %i: tensor<i32>) -> {V}",
        f"%r = stablehlo.dynamic_update_slice %x, %u, %i : ({V}, tensor<2xf64>, tensor<i32>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "gather",
        "(%x: tensor<{b}x3xf64>, %i: tensor<{c}x1xi32>) -> tensor<{c}x3xf64>",
        '%r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], '
        "index_vector_dim = 1>, slice_sizes = array<i64: 1, 3>}> : (tensor<{b}x3xf64>, tensor<{c}x1xi32>) -> tensor<{c}x3xf64>",
        "return %r : tensor<{c}x3xf64>",
        extents=lambda b: {"c": b + 1},
    ),
    program(
        "scatter",
        "(%x: tensor<{b}x3xf64>, %i: tensor<{c}x1xi32>, %u: tensor<{c}x3xf64>) -> tensor<{b}x3xf64>",
        '%r = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], '
        f"scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {ADD} : (tensor<{{b}}x3xf64>, tensor<{{c}}x1xi32>, tensor<{{c}}x3xf64>) -> tensor<{{b}}x3xf64>",
        "return %r : tensor<{b}x3xf64>",
        extents=lambda b: {"c": b + 1},
    ),
]

CONTRACTIONS = [
    program(
        "dot_general",
        "(%x: tensor<{b}x3xf64>, %y: tensor<3x{b}xf64>) -> tensor<{b}x{b}xf64>",
        "%r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<{b}x3xf64>, tensor<3x{b}xf64>) -> tensor<{b}x{b}xf64>",
        "return %r : tensor<{b}x{b}xf64>",
    ),
    program(
        "convolution",
        "(%x: tensor<{b}x2x{c}xf64>, %w: tensor<3x2x2xf64>) -> tensor<{b}x3x{d}xf64>",
        "%r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], pad = [[1, 0]]} "
        "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<{b}x2x{c}xf64>, tensor<3x2x2xf64>) -> tensor<{b}x3x{d}xf64>",
        "return %r : tensor<{b}x3x{d}xf64>",
        extents=lambda b: {"c": b + 2, "d": (b + 1) // 2 + 1},
    ),
    program(
        "cholesky",
        "(%x: tensor<{b}x2x2xf64>) -> tensor<{b}x2x2xf64>",
        "%0 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<{b}x2x2xf64>, tensor<{b}x2x2xf64>) -> tensor<{b}x2x2xf64>",
        "%r = stablehlo.cholesky %0, lower = true : tensor<{b}x2x2xf64>",
        "return %r : tensor<{b}x2x2xf64>",
    ),
    program(
        "fft",
        "(%x: tensor<{b}x4xf64>) -> tensor<{b}x3xcomplex<f64>>",
        "%r = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<{b}x4xf64>) -> tensor<{b}x3xcomplex<f64>>",
        "return %r : tensor<{b}x3xcomplex<f64>>",
    ),
]

REDUCTIONS = [
    program(
        "reduce",
        "(%x: tensor<{b}x3xf64>) -> tensor<3xf64>",
        "%z = stablehlo.constant dense<0.0> : tensor<f64>",
        "%r = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<{b}x3xf64>, tensor<f64>) -> tensor<3xf64>",
        "return %r : tensor<3xf64>",
    ),
    program(
        "reduce_window",
        f"(%x: {V}) -> tensor<{{c}}xf64>",
        "%z = stablehlo.constant dense<0.0> : tensor<f64>",
        f'%r = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: 2>}}> {ADD} : ({V}, tensor<f64>) -> tensor<{{c}}xf64>',
        "return %r : tensor<{c}xf64>",
        extents=lambda b: {"c": b - 1},
    ),
    program(
        "sort",
        f"(%x: {V}) -> {V}",
        '%r = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({',
        "^bb0(%p: tensor<f64>, %q: tensor<f64>):",
        "  %c = stablehlo.compare LT, %p, %q : (tensor<f64>, tensor<f64>) -> tensor<i1>",
        "  stablehlo.return %c : tensor<i1>",
        f"}}) : ({V}) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "top_k",
        "(%x: tensor<{b}x4xf64>) -> tensor<{b}x2xf64>",
        "%r:2 = chlo.top_k(%x, k = 2) : tensor<{b}x4xf64> -> (tensor<{b}x2xf64>, tensor<{b}x2xi32>)",
        "return %r#0 : tensor<{b}x2xf64>",
    ),
]

CONTROL = [
    program(
        "while",
        f"(%x: {V}) -> {V}",
        EXTENT,
        "%z = stablehlo.constant dense<0> : tensor<i32>",
        "%o = stablehlo.constant dense<1> : tensor<i32>",
        f"%r:3 = stablehlo.while(%i = %z, %m = %n, %a = %x) : tensor<i32>, tensor<i32>, {V}",
        "cond {",
        "  %c = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "  stablehlo.return %c : tensor<i1>",
        "} do {",
        "  %j = stablehlo.add %i, %o : tensor<i32>",
        "  %s = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>",
        "  %h = stablehlo.constant dense<0.5> : tensor<f64>",
        f"  %d = stablehlo.dynamic_broadcast_in_dim %h, %s, dims = [] : (tensor<f64>, tensor<1xi32>) -> {V}",
        f"  %e = stablehlo.sine %a : {V}",
        f"  %f = stablehlo.multiply %e, %d : {V}",
        f"  stablehlo.return %j, %m, %f : tensor<i32>, tensor<i32>, {V}",
        "}",
        f"return %r#2 : {V}",
    ),
    program(
        "case",
        f"(%x: {V}, %i: tensor<i32>) -> {V}",
        '%r = "stablehlo.case"(%i) ({',
        f"  %0 = stablehlo.sine %x : {V}",
        f"  stablehlo.return %0 : {V}",
        "}, {",
        f"  %1 = stablehlo.multiply %x, %x : {V}",
        f"  stablehlo.return %1 : {V}",
        f"}}) : (tensor<i32>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "if on an extent",
        f"(%x: {V}) -> {V}",
        EXTENT,
        "%k = stablehlo.constant dense<3> : tensor<i32>",
        "%p = stablehlo.compare LT, %n, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        '%r = "stablehlo.if"(%p) ({',
        f"  %0 = stablehlo.sine %x : {V}",
        f"  stablehlo.return %0 : {V}",
        "}, {",
        f"  %1 = stablehlo.multiply %x, %x : {V}",
        f"  stablehlo.return %1 : {V}",
        f"}}) : (tensor<i1>) -> {V}",
        f"return %r : {V}",
    ),
    program(
        "calls",
        f"(%x: {V}, %y: tensor<3x{{b}}xf64>) -> (tensor<{{b}}xf64>, tensor<3x{{b}}xf64>)",
        f"%0 = call @f(%x) : ({V}) -> {V}",
        f"%1 = call @f(%0) : ({V}) -> {V}",
        '%2 = stablehlo.composite "my.twice" %y {decomposition = @g} : (tensor<3x{b}xf64>) -> tensor<3x{b}xf64>',
        f"return %1, %2 : {V}, tensor<3x{{b}}xf64>",
        functions=f"""func.func private @f(%x: {V}) -> {V} {{
  %0 = stablehlo.sine %x : {V}
  return %0 : {V}
}}
func.func private @g(%x: tensor<3x{{b}}xf64>) -> tensor<3x{{b}}xf64> {{
  %0 = stablehlo.add %x, %x : tensor<3x{{b}}xf64>
  return %0 : tensor<3x{{b}}xf64>
}}""",
    ),
    program(
        "declared derivative",
        f"(%x: {V}) -> {V}",
        f"%0 = call @f(%x) : ({V}) -> {V}",
        f"%1 = call @f(%0) : ({V}) -> {V}",
        f"return %1 : {V}",
        functions=f"""func.func private @f(%x: {V}) -> {V} attributes {{ad.custom_vjp = [@fwd, @bwd]}} {{
  %0 = stablehlo.sine %x : {V}
  return %0 : {V}
}}
func.func private @fwd(%x: {V}) -> ({V}, {V}) {{
  %0 = stablehlo.sine %x : {V}
  return %0, %x : {V}, {V}
}}
func.func private @bwd(%x: {V}, %c: {V}) -> {V} {{
  %0 = stablehlo.multiply %c, %x : {V}
  return %0 : {V}
}}""",
    ),
    program(
        "barrier",
        f"(%x: {V}) -> {V}",
        f"%0 = stablehlo.optimization_barrier %x : {V}",
        f"%1 = stablehlo.custom_call @Sharding(%0) : ({V}) -> {V}",
        f"return %1 : {V}",
    ),
]

COMPUTED = [
    program(
        "dynamic_reshape",
        "(%x: tensor<{b}x4xf64>) -> tensor<2x{c}xf64>",
        "%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<{b}x4xf64>) -> tensor<i32>",
        "%two = stablehlo.constant dense<2> : tensor<i32>",
        "%m = stablehlo.multiply %n, %two : tensor<i32>",
        "%a = stablehlo.reshape %two : (tensor<i32>) -> tensor<1xi32>",
        "%d = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>",
        "%s = stablehlo.concatenate %a, %d, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
        "%r = stablehlo.dynamic_reshape %x, %s : (tensor<{b}x4xf64>, tensor<2xi32>) -> tensor<2x{c}xf64>",
        "return %r : tensor<2x{c}xf64>",
        static=("%r = stablehlo.reshape %x : (tensor<{b}x4xf64>) -> tensor<2x{c}xf64>", "return %r : tensor<2x{c}xf64>"),
        extents=lambda b: {"c": 2 * b},
    ),
    program(
        "dynamic_broadcast_in_dim",
        f"(%x: {V}) -> tensor<2x{{b}}xf64>",
        EXTENT,
        "%two = stablehlo.constant dense<2> : tensor<1xi32>",
        "%s = stablehlo.concatenate %two, %n1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
        f"%r = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : ({V}, tensor<2xi32>) -> tensor<2x{{b}}xf64>",
        "return %r : tensor<2x{b}xf64>",
        static=(f"%r = stablehlo.broadcast_in_dim %x, dims = [1] : ({V}) -> tensor<2x{{b}}xf64>", "return %r : tensor<2x{b}xf64>"),
    ),
    program(
        "dynamic_iota",
        f"(%x: {V}) -> {V}",
        EXTENT,
        f"%i = stablehlo.dynamic_iota %n1, dim = 0 : (tensor<1xi32>) -> {V}",
        f"%r = stablehlo.multiply %x, %i : {V}",
        f"return %r : {V}",
        static=(f"%i = stablehlo.iota dim = 0 : {V}", f"%r = stablehlo.multiply %x, %i : {V}", f"return %r : {V}"),
    ),
    program(
        "dynamic_pad",
        f"(%x: {V}) -> tensor<{{c}}xf64>",
        EXTENT,
        "%v = stablehlo.constant dense<2.0> : tensor<f64>",
        "%o = stablehlo.constant dense<1> : tensor<1xi32>",
        f"%r = stablehlo.dynamic_pad %x, %v, %n1, %o, %o : ({V}, tensor<f64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<{{c}}xf64>",
        "return %r : tensor<{c}xf64>",
        static=(
            "%v = stablehlo.constant dense<2.0> : tensor<f64>",
            f"%r = stablehlo.pad %x, %v, low = [{{b}}], high = [1], interior = [1] : ({V}, tensor<f64>) -> tensor<{{c}}xf64>",
            "return %r : tensor<{c}xf64>",
        ),
        extents=lambda b: {"c": 3 * b},
    ),
    program(
        "real_dynamic_slice",
        f"(%x: {V}) -> tensor<{{c}}xf64>",
        EXTENT,
        "%o = stablehlo.constant dense<1> : tensor<1xi32>",
        f"%r = stablehlo.real_dynamic_slice %x, %o, %n1, %o : ({V}, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<{{c}}xf64>",
        "return %r : tensor<{c}xf64>",
        static=(f"%r = stablehlo.slice %x [1:{{b}}] : ({V}) -> tensor<{{c}}xf64>", "return %r : tensor<{c}xf64>"),
        extents=lambda b: {"c": b - 1},
    ),
    program(
        "real_dynamic_slice at a computed start",
        f"(%x: {V}, %i: tensor<1xi32>) -> tensor<{{c}}xf64>",
        EXTENT,
        "%o = stablehlo.constant dense<1> : tensor<1xi32>",
        "%z = stablehlo.constant dense<0> : tensor<1xi32>",
        "%k = stablehlo.subtract %n1, %o : tensor<1xi32>",
        "%a = stablehlo.clamp %z, %i, %o : tensor<1xi32>",
        "%e = stablehlo.add %a, %k : tensor<1xi32>",
        f"%r = stablehlo.real_dynamic_slice %x, %a, %e, %o : ({V}, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<{{c}}xf64>",
        "return %r : tensor<{c}xf64>",
        static=(
            "%j = stablehlo.reshape %i : (tensor<1xi32>) -> tensor<i32>",
            f"%r = stablehlo.dynamic_slice %x, %j, sizes = [{{c}}] : ({V}, tensor<i32>) -> tensor<{{c}}xf64>",
            "return %r : tensor<{c}xf64>",
        ),
        extents=lambda b: {"c": b - 1},
    ),
    program(
        "dynamic_gather",
        "(%x: tensor<{b}x3xf64>, %i: tensor<2x1xi32>) -> tensor<2x{b}xf64>",
        "%n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<{b}x3xf64>) -> tensor<i32>",
        "%n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>",
        "%o = stablehlo.constant dense<1> : tensor<1xi32>",
        "%s = stablehlo.concatenate %n1, %o, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
        '%r = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [1], '
        "index_vector_dim = 1>}> : (tensor<{b}x3xf64>, tensor<2x1xi32>, tensor<2xi32>) -> tensor<2x{b}xf64>",
        "return %r : tensor<2x{b}xf64>",
        static=(
            '%r = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [1], start_index_map = [1], '
            "index_vector_dim = 1>, slice_sizes = array<i64: {b}, 1>}> : (tensor<{b}x3xf64>, tensor<2x1xi32>) -> tensor<2x{b}xf64>",
            "return %r : tensor<2x{b}xf64>",
        ),
    ),
    program(
        "dynamic_conv",
        "(%x: tensor<1x2x{b}xf64>, %w: tensor<3x2x2xf64>) -> tensor<1x3x{c}xf64>",
        "%n = stablehlo.get_dimension_size %x, dim = 2 : (tensor<1x2x{b}xf64>) -> tensor<i32>",
        "%n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1x1xi32>",
        "%o = stablehlo.constant dense<1> : tensor<1x1xi32>",
        "%s = stablehlo.concatenate %n1, %o, dim = 1 : (tensor<1x1xi32>, tensor<1x1xi32>) -> tensor<1x2xi32>",
        '%r = "stablehlo.dynamic_conv"(%x, %w, %s) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>, '
        "feature_group_count = 1 : i64}> : (tensor<1x2x{b}xf64>, tensor<3x2x2xf64>, tensor<1x2xi32>) -> tensor<1x3x{c}xf64>",
        "return %r : tensor<1x3x{c}xf64>",
        static=(
            "%r = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {pad = [[{b}, 1]]} "
            "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x2x{b}xf64>, tensor<3x2x2xf64>) -> tensor<1x3x{c}xf64>",
            "return %r : tensor<1x3x{c}xf64>",
        ),
        extents=lambda b: {"c": 2 * b},
    ),
    program(
        "set_dimension_size",
        f"(%x: {V}) -> tensor<{{c}}xf64>",
        "%k = stablehlo.constant dense<2> : tensor<i32>",
        f"%r = stablehlo.set_dimension_size %x, %k, dim = 0 : ({V}, tensor<i32>) -> tensor<{{c}}xf64>",
        "return %r : tensor<{c}xf64>",
        static=(f"%r = stablehlo.slice %x [0:2] : ({V}) -> tensor<{{c}}xf64>", "return %r : tensor<{c}xf64>"),
        extents=lambda b: {"c": 2},
    ),
    program(
        "mean",
        f"(%x: {V}) -> tensor<f64>",
        EXTENT,
        "%z = stablehlo.constant dense<0.0> : tensor<f64>",
        f"%s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : ({V}, tensor<f64>) -> tensor<f64>",
        "%f = stablehlo.convert %n : (tensor<i32>) -> tensor<f64>",
        "%r = stablehlo.divide %s, %f : tensor<f64>",
        "return %r : tensor<f64>",
        static=(
            "%z = stablehlo.constant dense<0.0> : tensor<f64>",
            f"%s = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : ({V}, tensor<f64>) -> tensor<f64>",
            "%f = stablehlo.constant dense<{b}.0> : tensor<f64>",
            "%r = stablehlo.divide %s, %f : tensor<f64>",
            "return %r : tensor<f64>",
        ),
    ),
]

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
