"""Products that take no part in a recurrence leave counted loops: the same numbers, in every form of rows, matrices and sums."""

from typing import Any

import numpy as np
import pytest
from reference_programs import CORPUS, needs_corpus
from xdsl.dialects.builtin import ModuleOp

import wengert as wg
import wengert.numpy as wnp
from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.ir.traversal import ops_in, ops_of
from wengert.runtime.derived.derivation import runnable
from wengert.transforms.fuse.distribution.distribute_products import DistributeProductsPass

T, ROWS, IN, OUT = 5, 2, 6, 11
TYPES = {"f64": (np.float64, 1e-12), "f32": (np.float32, 1e-5)}


def _text(body: str, *, carried: str, results: str, inputs: str, returned: str, constants: str, t: str, trips: int = T) -> str:
    return f"""func.func public @main({inputs}) -> ({results}) {{
      %n = stablehlo.constant dense<{trips}> : tensor<i64>
      {", ".join(f"%r{n}" for n in range(carried.count("=")))} = core.for %i to %n constants({constants}) carried({carried}) {{
        %z = stablehlo.constant dense<0> : tensor<i64>
        %one = stablehlo.constant dense<1> : tensor<i64>
        %last = stablehlo.constant dense<{trips - 1}> : tensor<i64>
        %j = stablehlo.subtract %last, %i : tensor<i64>
        {body}
      }}
      return {returned} : {results} }}""".replace("F", t)


def _row(name: str, stack: str, index: str, extents: str) -> str:
    wide = f"tensor<{T}x{extents}xF>"
    one, sizes = f"tensor<1x{extents}xF>", extents.replace("x", ", ")
    zeros = ", %z" * (extents.count("x") + 1)
    types = ", tensor<i64>" * (extents.count("x") + 2)
    return f"""%s{name} = stablehlo.dynamic_slice {stack}, {index}{zeros}, sizes = [1, {sizes}] : ({wide}{types}) -> {one}
        %{name} = stablehlo.reshape %s{name} : ({one}) -> tensor<{extents}xF>"""


def _stack(name: str, value: str, stack: str, index: str, extents: str) -> str:
    wide, one = f"tensor<{T}x{extents}xF>", f"tensor<1x{extents}xF>"
    zeros, types = ", %z" * (extents.count("x") + 1), ", tensor<i64>" * (extents.count("x") + 2)
    return f"""%w{name} = stablehlo.reshape {value} : (tensor<{extents}xF>) -> {one}
        %{name} = stablehlo.dynamic_update_slice {stack}, %w{name}, {index}{zeros} : ({wide}, {one}{types}) -> {wide}"""


def _sides(text: str, reassociate: bool = True) -> tuple[wg.Program, wg.Program, list[int]]:
    """A program, the same with its products distributed, and how many products are in its loops then."""
    module = runnable(wg.parse(text).module)
    DistributeProductsPass(least=1, smallest=1, reassociate=reassociate).apply(None, module)  # pyright: ignore[reportArgumentType]
    module.verify()
    return wg.parse(text), wg.parse(str(module)), _products(module)


def _products(module: ModuleOp) -> list[int]:
    """How many products are in each loop."""
    return [sum(isinstance(op, hlo.DotGeneralOp) for op in ops_in(loop.block)) for loop in ops_of(module, core.ForOp)]


def _agree(before: wg.Program, after: wg.Program, t: str) -> None:
    dtype, tolerance = TYPES[t]
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=p.shape).astype(dtype) for p in before.signature.arguments]
    wanted = before(*inputs)
    for actual in (after(*inputs), after.compile()(*inputs), before.compile()(*inputs)):
        for x, y in zip(actual, wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("index", ["%i", "%j"])
@pytest.mark.parametrize("right", [True, False])
def test_rows_in_front(right: bool, index: str, t: str) -> None:
    """The matrix on either side, rows in either order."""
    product, shape = ("%x, %m, contracting_dims = [1] x [0] : (tensor<2x6xF>, tensor<6x11xF>)", "2x11") if right else (
        "%m, %x, contracting_dims = [0] x [1] : (tensor<6x11xF>, tensor<2x6xF>)", "11x2")  # fmt: skip
    body = f"""{_row("x", "%a", index, "2x6")}
        %p = stablehlo.dot_general {product} -> tensor<{shape}xF>
        %q = stablehlo.multiply %c, %p : tensor<{shape}xF>
        %s = stablehlo.sine %q : tensor<{shape}xF>
        stablehlo.return %s : tensor<{shape}xF>"""
    text = _text(
        body, t=t, inputs=f"%xs: tensor<5x2x6xF>, %w: tensor<6x11xF>, %h: tensor<{shape}xF>", results=f"tensor<{shape}xF>", returned="%r0",
        constants="%a = %xs: tensor<5x2x6xF>, %m = %w: tensor<6x11xF>", carried=f"%c = %h: tensor<{shape}xF>",
    )  # fmt: skip
    before, after, inside = _sides(text)
    assert inside == [0]
    _agree(before, after, t)


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("index", ["%i", "%j"])
@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("added", [True, False])
def test_rows_behind(added: bool, right: bool, index: str, t: str) -> None:
    """The matrix on either side, rows in either order, in the place of what was there or added to it."""
    product, shape = ("%y, %m, contracting_dims = [1] x [0] : (tensor<2x6xF>, tensor<6x11xF>)", "2x11") if right else (
        "%m, %y, contracting_dims = [0] x [1] : (tensor<6x11xF>, tensor<2x6xF>)", "11x2")  # fmt: skip
    put = _stack("u", "%p", "%g", index, shape)
    kept = ""
    if added:  # as derivatives write it: the row is added before it is reshaped
        wide, one = f"tensor<5x{shape}xF>", f"tensor<1x{shape}xF>"
        kept = f"""%b = stablehlo.dynamic_slice %g, {index}, %z, %z, sizes = [1, {shape.replace("x", ", ")}] : ({wide}, tensor<i64>, tensor<i64>, tensor<i64>) -> {one}
        %k = stablehlo.reshape %p : (tensor<{shape}xF>) -> {one}
        %o = stablehlo.add %b, %k : {one}"""
        put = f"%u = stablehlo.dynamic_update_slice %g, %o, {index}, %z, %z : ({wide}, {one}, tensor<i64>, tensor<i64>, tensor<i64>) -> {wide}"
    body = f"""%y = stablehlo.sine %c : tensor<2x6xF>
        %p = stablehlo.dot_general {product} -> tensor<{shape}xF>
        {kept}
        {put}
        stablehlo.return %y, %u : tensor<2x6xF>, tensor<5x{shape}xF>"""
    text = _text(
        body, t=t, inputs=f"%w: tensor<6x11xF>, %h: tensor<2x6xF>, %e: tensor<5x{shape}xF>", results=f"tensor<2x6xF>, tensor<5x{shape}xF>",
        returned="%r0, %r1", constants="%m = %w: tensor<6x11xF>", carried=f"%c = %h: tensor<2x6xF>, %g = %e: tensor<5x{shape}xF>",
    )  # fmt: skip
    before, after, inside = _sides(text)
    assert inside == [0]
    _agree(before, after, t)


SUMS = {
    "two computed": "%y, %s, contracting_dims = [0] x [0] : (tensor<2x6xF>, tensor<2x6xF>)",
    "one read": "%x, %y, contracting_dims = [0] x [0] : (tensor<2x6xF>, tensor<2x6xF>)",
    "both read, in orders that differ": "%x, %v, contracting_dims = [0] x [0] : (tensor<2x6xF>, tensor<2x6xF>)",
    "one that is stacked already": "%k, %x, contracting_dims = [0] x [0] : (tensor<2x6xF>, tensor<2x6xF>)",
}


@pytest.mark.parametrize("t", TYPES)
@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("product", SUMS)
def test_sums_behind(product: str, stays: bool, t: str) -> None:
    """A sum that begins at any number; another term of it stays in the loop."""
    body = f"""{_row("x", "%a", "%j", "2x6")}
        {_row("v", "%a", "%i", "2x6")}
        %y = stablehlo.sine %c : tensor<2x6xF>
        %s = stablehlo.cosine %c : tensor<2x6xF>
        %k = stablehlo.multiply %y, %x : tensor<2x6xF>
        {_stack("u", "%k", "%e", "%j", "2x6")}
        %p = stablehlo.dot_general {SUMS[product]} -> tensor<6x6xF>
        %o = stablehlo.add %g, %p : tensor<6x6xF>
        %t = stablehlo.{"add %o, %b" if stays else "add %p, %g"} : tensor<6x6xF>
        stablehlo.return %y, %t, %u : tensor<2x6xF>, tensor<6x6xF>, tensor<5x2x6xF>"""
    text = _text(
        body, t=t, inputs="%xs: tensor<5x2x6xF>, %h: tensor<2x6xF>, %f: tensor<6x6xF>, %l: tensor<6x6xF>, %d: tensor<5x2x6xF>",
        results="tensor<2x6xF>, tensor<6x6xF>, tensor<5x2x6xF>", returned="%r0, %r1, %r2", constants="%a = %xs: tensor<5x2x6xF>, %b = %l: tensor<6x6xF>",
        carried="%c = %h: tensor<2x6xF>, %g = %f: tensor<6x6xF>, %e = %d: tensor<5x2x6xF>",
    )  # fmt: skip
    before, after, inside = _sides(text)
    assert inside == [1 if product == "two computed" else 0]  # 24 numbers would be stored for a sum of 36
    _agree(before, after, t)
    assert _sides(text, reassociate=False)[2] == [1]


def test_what_is_needed_stays() -> None:
    """Products by what changes, sums that the loop reads, and batches."""
    body = f"""{_row("x", "%a", "%i", "2x6")}
        %y = stablehlo.sine %c : tensor<2x6xF>
        %p = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<2x6xF>, tensor<2x6xF>) -> tensor<6x6xF>
        %t = stablehlo.add %g, %p : tensor<6x6xF>
        %q = stablehlo.dot_general %y, %g, contracting_dims = [1] x [0] : (tensor<2x6xF>, tensor<6x6xF>) -> tensor<2x6xF>
        stablehlo.return %q, %t : tensor<2x6xF>, tensor<6x6xF>"""
    text = _text(
        body, t="f64", inputs="%xs: tensor<5x2x6xF>, %h: tensor<2x6xF>, %f: tensor<6x6xF>", results="tensor<2x6xF>, tensor<6x6xF>", returned="%r0, %r1",
        constants="%a = %xs: tensor<5x2x6xF>", carried="%c = %h: tensor<2x6xF>, %g = %f: tensor<6x6xF>",
    )  # fmt: skip
    before, after, inside = _sides(text)
    assert inside == [2]
    _agree(before, after, "f64")


def _recurrent(xs: Any, w: Any, u: Any, b: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = wnp.tanh(x @ w + h @ u + b)
        return h, h

    _, hs = wg.scan(step, wnp.zeros((ROWS, OUT), dtype=xs.dtype), xs)
    return wnp.sum(hs * hs)


@pytest.mark.parametrize("t", TYPES)
def test_a_recurrent_layer(t: str) -> None:
    """The gradient of a layer, with each rule where it applies: one product is left in each of the loops, that of the recurrence.

    Traced scans count rows as array libraries do, and the gradient of the rows is added to a stack of zeros.
    """
    dtype, tolerance = TYPES[t]
    rng = np.random.default_rng(1)
    inputs = [rng.normal(size=s).astype(dtype) / 2 for s in ((T, ROWS, IN), (IN, OUT), (OUT, OUT), (OUT,))]
    derivative = wg.jit(_recurrent).program(*inputs).vjp()
    seeds = [np.ones((), dtype)]
    _, after, inside = _sides(str(derivative.optimized_module))
    assert inside == [1, 1]
    for x, y in zip(after.compile()(*inputs, *seeds), derivative(*inputs, *seeds), strict=True):
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("reverse", [True, False])
def test_indices_of_32_bits(reverse: bool) -> None:
    """As JAX writes them without ``jax_enable_x64``: the iteration is converted, and counted from the end where a scan runs in reverse."""
    count = "%b = stablehlo.subtract %last, %i : tensor<i64>\n        " if reverse else ""
    start = "%b" if reverse else "%i"
    body = f"""{count}%v = stablehlo.convert {start} : (tensor<i64>) -> tensor<i32>
        %f = stablehlo.constant dense<4> : tensor<i32>
        %y = stablehlo.constant dense<0> : tensor<i32>
        %t = stablehlo.subtract %f, %v : tensor<i32>
        %k = stablehlo.add %t, %f : tensor<i32>
        %d = stablehlo.subtract %k, %f : tensor<i32>
        %e = stablehlo.constant dense<5> : tensor<i32>
        %o = stablehlo.add %d, %e : tensor<i32>
        %l = stablehlo.compare LT, %d, %y, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %g = stablehlo.select %l, %o, %d : tensor<i1>, tensor<i32>
        %h = stablehlo.dynamic_slice %a, %g, %y, %y, sizes = [1, 2, 6] : (tensor<5x2x6xF>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x6xF>
        %x = stablehlo.reshape %h : (tensor<1x2x6xF>) -> tensor<2x6xF>
        %p = stablehlo.dot_general %x, %m, contracting_dims = [1] x [0] : (tensor<2x6xF>, tensor<6x11xF>) -> tensor<2x11xF>
        %q = stablehlo.multiply %c, %p : tensor<2x11xF>
        %s = stablehlo.sine %q : tensor<2x11xF>
        stablehlo.return %s : tensor<2x11xF>"""
    text = _text(
        body, t="f64", inputs="%xs: tensor<5x2x6xF>, %w: tensor<6x11xF>, %u: tensor<2x11xF>", results="tensor<2x11xF>", returned="%r0",
        constants="%a = %xs: tensor<5x2x6xF>, %m = %w: tensor<6x11xF>", carried="%c = %u: tensor<2x11xF>",
    )  # fmt: skip
    before, after, inside = _sides(text)
    assert inside == [0]
    _agree(before, after, "f64")


@pytest.mark.parametrize("index", ["%i1", "%wrapped", "%clamped"])
def test_indices_that_skip_rows(index: str) -> None:
    """One too far, which is clamped at the end; part of an index counted from the end, which is another row; 8 bits that overflow."""
    body = f"""%i1 = stablehlo.add %i, %one : tensor<i64>
        %three = stablehlo.constant dense<3> : tensor<i64>
        %five = stablehlo.constant dense<5> : tensor<i64>
        %minus = stablehlo.subtract %i, %three : tensor<i64>
        %plus = stablehlo.add %minus, %five : tensor<i64>
        %below = stablehlo.compare LT, %minus, %z, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
        %chosen = stablehlo.select %below, %plus, %minus : tensor<i1>, tensor<i64>
        %wrapped = stablehlo.add %chosen, %three : tensor<i64>
        %many = stablehlo.constant dense<-100> : tensor<i64>
        %far = stablehlo.add %i, %many : tensor<i64>
        %narrow = stablehlo.convert %far : (tensor<i64>) -> tensor<i8>
        %hundred = stablehlo.constant dense<100> : tensor<i8>
        %back = stablehlo.add %narrow, %hundred : tensor<i8>
        %clamped = stablehlo.convert %back : (tensor<i8>) -> tensor<i64>
        {_row("x", "%a", index, "2x6")}
        %p = stablehlo.dot_general %x, %m, contracting_dims = [1] x [0] : (tensor<2x6xF>, tensor<6x11xF>) -> tensor<2x11xF>
        %q = stablehlo.multiply %c, %p : tensor<2x11xF>
        stablehlo.return %q : tensor<2x11xF>"""
    text = _text(
        body, t="f64", inputs="%xs: tensor<5x2x6xF>, %w: tensor<6x11xF>, %h: tensor<2x11xF>", results="tensor<2x11xF>", returned="%r0",
        constants="%a = %xs: tensor<5x2x6xF>, %m = %w: tensor<6x11xF>", carried="%c = %h: tensor<2x11xF>",
    )  # fmt: skip
    before, after, inside = _sides(text)
    assert inside == [1]
    _agree(before, after, "f64")


@pytest.mark.parametrize(("width", "steps", "moves"), [(32, 20, True), (16, 16, True), (16, 10, False), (8, 200, False)])
def test_from_which_size_on(width: int, steps: int, moves: bool) -> None:
    """The gradient of a matrix that a vector goes through is a product behind the loop, unless registers hold it or there is next to nothing to compute."""

    def power(w: Any, x: Any) -> Any:
        return wnp.sum(wg.scan(lambda x, _: (wnp.tanh(w @ x), None), x, None, length=steps)[0])

    inputs = [np.full((width, width), 0.1), np.ones(width)]
    derivative = wg.jit(power).program(*inputs).vjp()
    module = runnable(wg.parse(str(derivative.optimized_module)).module)
    DistributeProductsPass(reassociate=True).apply(None, module)  # pyright: ignore[reportArgumentType]
    assert _products(module) == ([1, 1] if moves else [1, 2])
    for x, y in zip(derivative.compile()(*inputs, np.ones(())), derivative.compile(backend="interpreter")(*inputs, np.ones(())), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("name", ["conjugate_gradient_fixed", "kalman_scan", "lqr_riccati", "lstm_scan", "scan_dynamic_state"])
def test_reference_programs(name: str) -> None:
    """Gradients of loops with products as JAX writes them."""
    derivative = wg.load(CORPUS / "dev" / name / "f64.mlir").vjp()
    rng = np.random.default_rng(2)
    inputs = [rng.normal(size=a.shape).astype(a.dtype) if a.dtype.kind == "f" else np.ones(a.shape, a.dtype) for a in derivative.signature.arguments]
    text = str(derivative.optimized_module)
    _, after, inside = _sides(text)
    assert sum(inside) < sum(_products(runnable(wg.parse(text).module)))
    for x, y in zip(after.compile()(*inputs), derivative(*inputs), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11 * float(np.abs(y).max(initial=0)))
