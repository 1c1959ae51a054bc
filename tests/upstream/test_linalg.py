"""``linalg`` beside NumPy: what a named op computes is worked out from its name, element by element."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from tests.upstream.support import check, check_derivative, run

from wengert.dialects.upstream.named_linalg import CONVOLUTIONS, POOLINGS
from wengert.ir.diagnostics import DiagnosticError

RNG = np.random.default_rng(3)


def t(x: np.ndarray, element: str = "f64") -> str:
    return "tensor<" + "".join(f"{n}x" for n in x.shape) + element + ">"


def named(op: str, ins: list[np.ndarray], out: np.ndarray, expected: np.ndarray, before: str = "", element: str = "f64", tolerance: float = 1e-12) -> str:
    types = [t(x, element) for x in ins]
    arguments = ", ".join(f"%x{i}: {type}" for i, type in enumerate(types))
    listed = ", ".join(f"%x{i}" for i in range(len(ins)))
    text = f"""func.func @main({arguments}, %o: {t(out, element)}) -> {t(out, element)} {{
      %y = linalg.{op} {before} ins({listed} : {", ".join(types)}) outs(%o : {t(out, element)}) -> {t(out, element)}
      return %y : {t(out, element)} }}"""
    check(text, [*ins, out], expected, tolerance=tolerance)
    return text


CONTRACTIONS: dict[str, tuple[str, tuple[int, ...], tuple[int, ...]]] = {
    "dot": ("m,m->", (3,), (3,)),
    "matvec": ("mn,n->m", (3, 4), (4,)),
    "vecmat": ("m,mn->n", (3,), (3, 4)),
    "matmul": ("mk,kn->mn", (3, 4), (4, 2)),
    "matmul_transpose_a": ("km,kn->mn", (4, 3), (4, 2)),
    "matmul_transpose_b": ("mk,nk->mn", (3, 4), (2, 4)),
    "batch_matmul": ("bmk,bkn->bmn", (2, 3, 4), (2, 4, 2)),
    "batch_matmul_transpose_a": ("bkm,bkn->bmn", (2, 4, 3), (2, 4, 2)),
    "batch_matmul_transpose_b": ("bmk,bnk->bmn", (2, 3, 4), (2, 2, 4)),
    "batch_matvec": ("bmk,bk->bm", (2, 3, 4), (2, 4)),
    "batch_vecmat": ("bk,bkn->bn", (2, 4), (2, 4, 3)),
    "batch_reduce_matmul": ("bmk,bkn->mn", (2, 3, 4), (2, 4, 2)),
    "mmt4d": ("mkpr,nkqr->mnpq", (2, 3, 2, 1), (4, 3, 3, 1)),
    "batch_mmt4d": ("bmkpr,bnkqr->bmnpq", (2, 2, 3, 2, 1), (2, 4, 3, 3, 1)),
}


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_contractions(name: str) -> None:
    spelling, first, second = CONTRACTIONS[name]
    x, y = RNG.standard_normal(first), RNG.standard_normal(second)
    product = np.einsum(spelling, x, y)
    out = RNG.standard_normal(product.shape)
    check_derivative(named(name, [x, y], out, out + product), [x, y, out])


def test_contractions_of_integers_and_mixed_elements() -> None:
    x, y = np.array([[1, 2], [3, -4]], np.int8), np.array([[100, 2], [3, 4]], np.int8)
    text = """func.func @main(%x: tensor<2x2xi8>, %y: tensor<2x2xi8>) -> (tensor<2x2xi32>, tensor<2x2xi32>) {
      %z = arith.constant dense<1> : tensor<2x2xi32>
      %a = linalg.matmul ins(%x, %y : tensor<2x2xi8>, tensor<2x2xi8>) outs(%z : tensor<2x2xi32>) -> tensor<2x2xi32>
      %b = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%x, %y : tensor<2x2xi8>, tensor<2x2xi8>) outs(%z : tensor<2x2xi32>) -> tensor<2x2xi32>
      return %a, %b : tensor<2x2xi32>, tensor<2x2xi32> }"""
    unsigned = x.view(np.uint8).astype(np.int32) @ y.view(np.uint8).astype(np.int32)
    check(text, [x, y], 1 + x.astype(np.int32) @ y.astype(np.int32), 1 + unsigned)
    text = """func.func @main(%x: tensor<2x2xi8>, %y: tensor<2x2xi8>, %p: i32, %q: i32) -> tensor<2x2xi32> {
      %z = arith.constant dense<0> : tensor<2x2xi32>
      %a = linalg.quantized_matmul ins(%x, %y, %p, %q : tensor<2x2xi8>, tensor<2x2xi8>, i32, i32) outs(%z : tensor<2x2xi32>) -> tensor<2x2xi32>
      return %a : tensor<2x2xi32> }"""
    check(text, [x, y, 3, -2], (x.astype(np.int32) - 3) @ (y.astype(np.int32) + 2))


def layouts(name: str) -> tuple[str, str, str]:
    """Input, filter and output of a convolution or pooling as its name spells them; spatial letters of the filter in capitals."""
    parts = name.split("_")
    kind = 0 if "pooling" in parts else 1
    if kind == 0:
        image = parts[1]
        window = "".join(c.upper() for c in image if c in "dhw")
        return image, window, image
    if parts[:-1] == ["conv"]:
        spatial = {"1d": "w", "2d": "hw", "3d": "dhw"}[parts[-1]]
        return spatial, spatial.upper(), spatial
    image, filter_ = [part for part in parts if part not in ("conv", "depthwise", "1d", "2d", "3d", "q")]
    window = "".join(c.upper() if c in "dhw" else c for c in filter_)
    out = image.replace("c", "f") if "f" in filter_ else image + ("m" if "m" in filter_ else "")
    return image, window, out


def windowed(
    name: str, combine: Any, start: np.ndarray, extents: dict[str, int], strides: dict[str, int], dilations: dict[str, int], x: Any, w: Any
) -> np.ndarray:
    image, window, out = layouts(name)
    result = start.copy()
    for point in itertools.product(*(range(n) for n in extents.values())):
        at = dict(zip(extents, point, strict=True))
        where = tuple(at[c] * strides[c] + at[c.upper()] * dilations[c] if c in strides else at[c] for c in image)
        place = tuple(at[c] for c in out)
        result[place] = combine(result[place], x[where], None if w is None else w[tuple(at[c] for c in window)])
    return result


def shaped(name: str) -> tuple[dict[str, int], dict[str, int], dict[str, int], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    image, window, out = layouts(name)
    spatial = [c for c in image if c.upper() in window]
    sizes = {"n": 2, "c": 3, "f": 2, "g": 2, "m": 2, "w": 3, "h": 2, "d": 2, "W": 2, "H": 3, "D": 1}
    extents = {c: sizes[c] for c in dict.fromkeys(out + window + "".join(c for c in image if c not in spatial))}
    strides, dilations = dict(zip(spatial, (2, 1, 2), strict=False)), dict(zip(spatial, (1, 2, 1), strict=False))
    reach = {c: (extents[c] - 1) * strides[c] + (extents[c.upper()] - 1) * dilations[c] + 1 for c in spatial}
    x_shape = tuple(reach[c] + (c == "w") if c in spatial else extents[c] for c in image)
    return extents, strides, dilations, x_shape, tuple(extents[c] for c in window), tuple(extents[c] for c in out)


def steps(strides: dict[str, int], dilations: dict[str, int]) -> str:
    def dense(values: dict[str, int]) -> str:
        return f"dense<{list(values.values())}> : tensor<{len(values)}xi64>"

    return f"{{dilations = {dense(dilations)}, strides = {dense(strides)}}}" if strides else ""


@pytest.mark.parametrize("name", [name for name in CONVOLUTIONS if not name.endswith("_q")])
def test_convolutions(name: str) -> None:
    extents, strides, dilations, x_shape, w_shape, out_shape = shaped(name)
    x, w, out = (RNG.standard_normal(shape) for shape in (x_shape, w_shape, out_shape))
    expected = windowed(name, lambda a, p, q: a + p * q, out, extents, strides, dilations, x, w)
    plain = name in ("conv_1d", "conv_2d", "conv_3d")
    if plain:
        strides = dilations = dict.fromkeys(strides, 1)
        reach = tuple(n + k - 1 for n, k in zip(out_shape, w_shape, strict=True))
        x = RNG.standard_normal(reach)
        expected = windowed(name, lambda a, p, q: a + p * q, out, extents, strides, dilations, x, w)
    text = named(name, [x, w], out, expected, "" if plain else steps(strides, dilations), tolerance=1e-11)
    check_derivative(text, [x, w, out])


@pytest.mark.parametrize("name", [name for name in CONVOLUTIONS if name.endswith("_q")])
def test_quantized_convolutions(name: str) -> None:
    extents, strides, dilations, x_shape, w_shape, out_shape = shaped(name)
    x, w = RNG.integers(-100, 100, x_shape).astype(np.int8), RNG.integers(-100, 100, w_shape).astype(np.int8)
    out = np.zeros(out_shape, np.int32)
    expected = windowed(name, lambda a, p, q: a + p * q, out, extents, strides, dilations, x.astype(np.int32) - 3, w.astype(np.int32) + 2)
    text = f"""func.func @main(%x: {t(x, "i8")}, %w: {t(w, "i8")}, %o: {t(out, "i32")}) -> {t(out, "i32")} {{
      %p = arith.constant 3 : i32
      %q = arith.constant -2 : i32
      %y = linalg.{name} {steps(strides, dilations)} ins(%x, %w, %p, %q : {t(x, "i8")}, {t(w, "i8")}, i32, i32) outs(%o : {t(out, "i32")}) -> {t(out, "i32")}
      return %y : {t(out, "i32")} }}"""
    check(text, [x, w, out], expected)


@pytest.mark.parametrize("name", POOLINGS)
def test_pooling(name: str) -> None:
    extents, strides, dilations, x_shape, w_shape, out_shape = shaped(name)
    kind = name.split("_", 2)[2]
    unsigned = "unsigned" in kind
    dtype, element = (np.int32, "i32") if unsigned else (np.float64, "f64")
    x = (RNG.integers(-1000, 1000, x_shape) if unsigned else RNG.standard_normal(x_shape)).astype(dtype)
    window = np.zeros(w_shape, dtype)
    start = {"sum": 0.5, "max": -9.0, "min": 9.0, "max_unsigned": 0, "min_unsigned": -1}[kind]
    out = np.full(out_shape, start, dtype)
    combine = {"sum": lambda a, b, _: a + b, "max": lambda a, b, _: max(a, b), "min": lambda a, b, _: min(a, b)}.get(kind)
    if unsigned:
        combine = (lambda a, b, _: max(a, b)) if kind.startswith("max") else (lambda a, b, _: min(a, b))
        wide_out, wide_x = out.view(np.uint32).astype(np.int64), x.view(np.uint32).astype(np.int64)
        expected = windowed(name, combine, wide_out, extents, strides, dilations, wide_x, None).astype(np.uint32).view(np.int32)
    else:
        expected = windowed(name, combine, out, extents, strides, dilations, x, None)
    text = named(name, [x, window], out, expected, steps(strides, dilations), element)
    if not unsigned:
        check_derivative(text, [x, window, out])


ELEMENTWISE: dict[str, Any] = {
    "abs": np.abs, "ceil": np.ceil, "erf": np.vectorize(math.erf), "exp": np.exp, "floor": np.floor, "log": np.log, "negf": np.negative, "reciprocal": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt, "square": np.square, "tanh": np.tanh, "round": lambda x: np.floor(x + 0.5),
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum, "powf": np.power,
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name: str) -> None:
    count = ELEMENTWISE[name].nin if isinstance(ELEMENTWISE[name], np.ufunc) else 1
    ins = [0.2 + RNG.random((2, 3)) for _ in range(count)]
    check_derivative(named(name, ins, np.zeros((2, 3)), ELEMENTWISE[name](*ins)), [*ins, np.zeros((2, 3))])
    kind = f"elementwise kind=#linalg.elementwise_kind<{name}>"
    named(kind, ins, np.zeros((2, 3)), ELEMENTWISE[name](*ins))


def test_elementwise_of_integers_and_selection() -> None:
    x, y = np.array([7, -7, 3], np.int32), np.array([2, 2, -1], np.int32)
    for name, expected in (
        ("add", x + y),
        ("sub", x - y),
        ("mul", x * y),
        ("max", np.maximum(x, y)),
        ("min", np.minimum(x, y)),
        ("div", np.trunc(x / y).astype(np.int32)),
        ("div_unsigned", (x.view(np.uint32) // y.view(np.uint32)).view(np.int32)),
    ):
        named(name, [x, y], np.zeros(3, np.int32), expected, element="i32")
    text = """func.func @main(%c: tensor<3xi1>, %x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
      %e = tensor.empty() : tensor<3xf64>
      %z = linalg.select ins(%c, %x, %y : tensor<3xi1>, tensor<3xf64>, tensor<3xf64>) outs(%e : tensor<3xf64>) -> tensor<3xf64>
      return %z : tensor<3xf64> }"""
    check(text, [np.array([True, False, True]), np.ones(3), np.zeros(3)], np.array([1.0, 0, 1]))


def generic(maps: list[str], iterators: str, types: list[str], outs: int, body: str, arguments: str) -> str:
    """``@main`` of a linalg.generic whose operands are its arguments."""
    kinds = ", ".join(f'"{"parallel" if c == "p" else "reduction"}"' for c in iterators)
    dims = ", ".join(f"d{i}" for i in range(len(iterators)))
    names = [f"%x{i}" for i in range(len(types))]
    ins, out = len(types) - outs, ", ".join(types[-outs:])
    inputs = f"ins({', '.join(names[:ins])} : {', '.join(types[:ins])})" if ins else ""
    returned = ", ".join(f"%r#{i}" for i in range(outs))
    return f"""func.func @main({", ".join(f"{n}: {ty}" for n, ty in zip(names, types, strict=True))}) -> ({out}) {{
      %one = arith.constant 1.0 : f64
      %r:{outs} = linalg.generic {{indexing_maps = [{", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)}], iterator_types = [{kinds}]}}
        {inputs} outs({", ".join(names[ins:])} : {out}) {{
      ^bb0({arguments}):
        {body}
      }} -> ({out})
      return {returned} : {out} }}"""


A, B = RNG.standard_normal((3, 4)), RNG.standard_normal((4, 3))


def test_generic_bodies() -> None:
    text = generic(["d0, d1", "d1, d0", "d1, d0"], "pp", ["tensor<3x4xf64>", "tensor<4x3xf64>", "tensor<4x3xf64>"], 1,
                   "%m = arith.mulf %a, %b : f64\n%s = arith.addf %m, %o : f64\nlinalg.yield %s : f64", "%a: f64, %b: f64, %o: f64")  # fmt: skip
    check(text, [A, B, B], A.T * B + B)
    check_derivative(text, [A, B, B])


def test_a_sum_of_more_than_a_product() -> None:
    body = "%m = math.exp %a : f64\n%n = arith.mulf %m, %b : f64\n%s = arith.addf %o, %n : f64\nlinalg.yield %s : f64"
    text = generic(["d0, d1", "d1, d2", "d2, d0"], "prp", ["tensor<3x4xf64>", "tensor<4x3xf64>", "tensor<3x3xf64>"], 1, body, "%a: f64, %b: f64, %o: f64")
    out = RNG.standard_normal((3, 3))
    check(text, [A, B, out], (np.exp(A) @ B).T + out)
    check_derivative(text, [A, B, out])


def test_differences_are_sums() -> None:
    text = generic(["d0, d1", "d0"], "pr", ["tensor<3x4xf64>", "tensor<3xf64>"], 1, "%s = arith.subf %o, %a : f64\nlinalg.yield %s : f64", "%a: f64, %o: f64")
    check(text, [A, np.ones(3)], 1 - A.sum(1))


def test_an_accumulator_used_otherwise_is_a_loop() -> None:
    body = "%m = arith.mulf %o, %a : f64\n%s = arith.addf %m, %one : f64\nlinalg.yield %s : f64"
    text = generic(["d0, d1", "d0"], "pr", ["tensor<3x4xf64>", "tensor<3xf64>"], 1, body, "%a: f64, %o: f64")
    out = np.ones(3)
    for j in range(4):
        out = out * A[:, j] + 1
    check(text, [A, np.ones(3)], out)
    check_derivative(text, [A, np.ones(3)])


def test_bodies_with_branches_are_loops() -> None:
    body = """%p = arith.cmpf ogt, %a, %o : f64
        %s = scf.if %p -> (f64) {
          %l = math.exp %a : f64
          scf.yield %l : f64
        } else {
          scf.yield %o : f64
        }
        linalg.yield %s : f64"""
    text = generic(["d0, d1", "d0"], "pr", ["tensor<3x4xf64>", "tensor<3xf64>"], 1, body, "%a: f64, %o: f64")
    out = np.zeros(3)
    for i, j in itertools.product(range(3), range(4)):
        out[i] = np.exp(A[i, j]) if A[i, j] > out[i] else out[i]
    check(text, [A, np.zeros(3)], out)
    check_derivative(text, [A, np.zeros(3)])


def test_unusual_maps() -> None:
    square = RNG.standard_normal((4, 4))
    diagonal = generic(["d0, d0", "d0"], "p", ["tensor<4x4xf64>", "tensor<4xf64>"], 1, "linalg.yield %a : f64", "%a: f64, %o: f64")
    check(diagonal, [square, np.zeros(4)], np.diag(square))
    check_derivative(diagonal, [square, np.zeros(4)])
    reverse = generic(["-d0 + 3", "d0"], "p", ["tensor<4xf64>", "tensor<4xf64>"], 1, "linalg.yield %a : f64", "%a: f64, %o: f64")
    check(reverse, [square[0], np.zeros(4)], square[0][::-1])
    row = generic(["2, d0", "d0"], "p", ["tensor<4x4xf64>", "tensor<4xf64>"], 1, "linalg.yield %a : f64", "%a: f64, %o: f64")
    check(row, [square, np.zeros(4)], square[2])
    tiled = generic(["d0 floordiv 2", "d0 mod 2", "d0"], "p", ["tensor<2xf64>", "tensor<2xf64>", "tensor<4xf64>"], 1,
                    "%m = arith.mulf %a, %b : f64 linalg.yield %m : f64", "%a: f64, %b: f64, %o: f64")  # fmt: skip
    x, y = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    check(tiled, [x, y, np.zeros(4)], np.repeat(x, 2) * np.tile(y, 2))
    scattered = generic(["d0", "-d0 + 3"], "p", ["tensor<4xf64>", "tensor<4xf64>"], 1, "linalg.yield %a : f64", "%a: f64, %o: f64")
    check(scattered, [square[0], np.zeros(4)], square[0][::-1])


def test_index_and_captured_values() -> None:
    body = """%i = linalg.index 0 : index
        %j = linalg.index 1 : index
        %k = arith.addi %i, %j : index
        %l = arith.index_cast %k : index to i64
        %m = arith.sitofp %l : i64 to f64
        %n = arith.mulf %m, %one : f64
        %p = arith.addf %n, %a : f64
        linalg.yield %p : f64"""
    text = generic(["d0, d1", "d0, d1"], "pp", ["tensor<3x4xf64>", "tensor<3x4xf64>"], 1, body, "%a: f64, %o: f64")
    check(text, [A, A], A + np.add.outer(np.arange(3.0), np.arange(4.0)))


def test_two_results() -> None:
    body = "%s = arith.addf %a, %o : f64\n%t = arith.maximumf %a, %q : f64\nlinalg.yield %s, %t : f64, f64"
    text = generic(["d0, d1", "d0", "d0"], "pr", ["tensor<3x4xf64>", "tensor<3xf64>", "tensor<3xf64>"], 2, body, "%a: f64, %o: f64, %q: f64")
    check(text, [A, np.ones(3), np.zeros(3)], A.sum(1) + 1, np.maximum(A.max(1), 0))


def test_reductions_of_integers() -> None:
    x = RNG.integers(-9, 9, (3, 4)).astype(np.int32)
    out = np.array([1, -2, 3], np.int32)
    for op, function in (
        ("addi", lambda: x.sum(1) + out),
        ("muli", lambda: x.prod(1) * out),
        ("maxsi", lambda: np.maximum(x.max(1), out)),
        ("minsi", lambda: np.minimum(x.min(1), out)),
        ("andi", lambda: np.bitwise_and.reduce(x, 1) & out),
        ("ori", lambda: np.bitwise_or.reduce(x, 1) | out),
        ("xori", lambda: np.bitwise_xor.reduce(x, 1) ^ out),
        ("maxui", lambda: np.maximum(x.view(np.uint32).max(1), out.view(np.uint32)).view(np.int32)),
    ):
        text = f"""func.func @main(%x: tensor<3x4xi32>, %o: tensor<3xi32>) -> tensor<3xi32> {{
          %y = linalg.reduce {{ arith.{op} }} ins(%x : tensor<3x4xi32>) outs(%o : tensor<3xi32>) dimensions = [1]
          return %y : tensor<3xi32> }}"""
        check(text, [x, out], function().astype(np.int32))


@pytest.mark.parametrize("op", ["addf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"])
def test_reductions(op: str) -> None:
    function = {"addf": np.add, "mulf": np.multiply, "maximumf": np.maximum, "minimumf": np.minimum, "maxnumf": np.fmax, "minnumf": np.fmin}[op]
    text = f"""func.func @main(%x: tensor<3x4xf64>, %o: tensor<4xf64>) -> tensor<4xf64> {{
      %y = linalg.reduce {{ arith.{op} }} ins(%x : tensor<3x4xf64>) outs(%o : tensor<4xf64>) dimensions = [0]
      return %y : tensor<4xf64> }}"""
    out = RNG.standard_normal(4)
    check(text, [A, out], function(function.reduce(A, axis=0), out))
    check_derivative(text, [A, out])


def test_maps_fills_and_shapes() -> None:
    text = """func.func @main(%x: tensor<3x4xf64>, %v: f64) -> (tensor<3x4xf64>, tensor<4x3xf64>, tensor<3x2x4xf64>, tensor<3x4xf64>, tensor<3x4xf32>, tensor<2xi32>) {
      %e = tensor.empty() : tensor<3x4xf64>
      %t = tensor.empty() : tensor<4x3xf64>
      %b = tensor.empty() : tensor<3x2x4xf64>
      %n = tensor.empty() : tensor<3x4xf32>
      %i = tensor.empty() : tensor<2xi32>
      %0 = linalg.map { math.exp } ins(%x : tensor<3x4xf64>) outs(%e : tensor<3x4xf64>)
      %1 = linalg.transpose ins(%x : tensor<3x4xf64>) outs(%t : tensor<4x3xf64>) permutation = [1, 0]
      %2 = linalg.broadcast ins(%x : tensor<3x4xf64>) outs(%b : tensor<3x2x4xf64>) dimensions = [1]
      %3 = linalg.fill ins(%v : f64) outs(%e : tensor<3x4xf64>) -> tensor<3x4xf64>
      %4 = linalg.copy ins(%x : tensor<3x4xf64>) outs(%n : tensor<3x4xf32>) -> tensor<3x4xf32>
      %5 = linalg.fill ins(%v : f64) outs(%i : tensor<2xi32>) -> tensor<2xi32>
      return %0, %1, %2, %3, %4, %5 : tensor<3x4xf64>, tensor<4x3xf64>, tensor<3x2x4xf64>, tensor<3x4xf64>, tensor<3x4xf32>, tensor<2xi32> }"""
    spread = np.broadcast_to(A[:, None], (3, 2, 4))
    check(text, [A, 2.5], np.exp(A), A.T, spread, np.full((3, 4), 2.5), A.astype(np.float32), np.array([2, 2], np.int32), tolerance=1e-6)


def test_packing() -> None:
    x = np.arange(30.0).reshape(5, 6)
    text = """func.func @main(%x: tensor<5x6xf64>) -> (tensor<3x3x2x2xf64>, tensor<5x6xf64>) {
      %z = arith.constant 0.0 : f64
      %e = tensor.empty() : tensor<3x3x2x2xf64>
      %p = linalg.pack %x padding_value(%z : f64) outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<5x6xf64> -> tensor<3x3x2x2xf64>
      %d = tensor.empty() : tensor<5x6xf64>
      %u = linalg.unpack %p outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %d : tensor<3x3x2x2xf64> -> tensor<5x6xf64>
      return %p, %u : tensor<3x3x2x2xf64>, tensor<5x6xf64> }"""
    padded = np.pad(x, ((0, 1), (0, 0))).reshape(3, 2, 3, 2).transpose(2, 0, 1, 3)
    check(text, [x], padded, x)


def test_softmax_and_contract() -> None:
    text = """func.func @main(%x: tensor<3x4xf64>) -> tensor<3x4xf64> {
      %e = tensor.empty() : tensor<3x4xf64>
      %y = linalg.softmax dimension(0) ins(%x : tensor<3x4xf64>) outs(%e : tensor<3x4xf64>) -> tensor<3x4xf64>
      return %y : tensor<3x4xf64> }"""
    check(text, [A], np.exp(A) / np.exp(A).sum(0))
    check_derivative(text, [A])


def test_complex_elements() -> None:
    x = RNG.standard_normal((2, 3)) + 1j * RNG.standard_normal((2, 3))
    y = RNG.standard_normal((3, 2)) + 1j * RNG.standard_normal((3, 2))
    out = np.zeros((2, 2), complex)
    named("matmul", [x, y], out, x @ y, element="complex<f64>")


def test_refused_ops_are_named() -> None:
    text = """func.func @main(%a: f64, %s: i32, %o: tensor<2x2xf32>) -> tensor<2x2xf32> {
      %y = linalg.fill_rng_2d ins(%a, %a, %s : f64, f64, i32) outs(%o : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %y : tensor<2x2xf32> }"""
    with pytest.raises(DiagnosticError, match=r"test\.mlir:2:7: error: linalg\.fill_rng_2d: this op has no meaning here"):
        run(text, 0.0, 1, np.zeros((2, 2), np.float32))
