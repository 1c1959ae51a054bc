"""Integers of 4 bits, floats of 8 and booleans in the ops that kernels do not have for them: the interpreter's results, in nests and on a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from device_backends import needs_opencl
from element_table import ELEMENTS, conversions, inputs, lines, program, values
from native_checks import function, tensor

import wengert as wg
from wengert.dialects.kernel import InterpretOp, NativeOp
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import EIGHT_BITS
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.transforms.pipelines import GPU_LOWER, parse_pipeline

Array = np.ndarray[Any, Any]
FLOATS = [str(type) for type in EIGHT_BITS]
FOUR_BITS = ["i4", "ui4"]
UNSUPPORTED = {"f8E8M0FNU", "i2", "ui2"}
"""Types that kernels do not hold."""


def same(mine: Any, theirs: Any) -> bool:
    """Equal bits, or both NaN."""
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if (mine.dtype, mine.shape) != (theirs.dtype, theirs.shape):
        return False
    return bool(np.all((mine == theirs) | ((mine != mine) & (theirs != theirs))))


def check(text: str, arrays: Sequence[Array]) -> None:
    module = parse_module(text)
    expected = interpreter.run(module, arrays)
    for pipeline in ("widen-narrow-elements", GPU_LOWER):
        made = parse_pipeline(pipeline).run(parse_module(text))
        verify(made, "")
        results = interpreter.run(made, arrays)
        assert all(same(mine, theirs) for mine, theirs in zip(results, expected, strict=True)), (pipeline, text)
        assert pipeline != GPU_LOWER or not ops_of(made, NativeOp, InterpretOp)


def array(element: str, shape: Sequence[int], seed: int = 0) -> Array:
    """Random values of a type."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    return np.concatenate([values(ELEMENTS[element], rng) for _ in range(-(-max(count, 1) // 40))])[:count].reshape(shape)


def elementwise(element: str) -> Iterator[str]:
    """Programs of the elementwise ops that a type has, some at a time."""
    table = [*lines(element).values(), *[line for to, line in conversions(element).items() if to not in UNSUPPORTED]]
    valid = [line for line in table if is_valid(program(element, line))]
    for first in range(0, len(valid), 12):
        yield program(element, *valid[first : first + 12])


def is_valid(text: str) -> bool:
    try:
        verify(parse_module(text), "")
    except DiagnosticError:
        return False
    return True


@pytest.mark.parametrize("element", FOUR_BITS)
def test_elementwise_ops(element: str) -> None:
    for text in elementwise(element):
        check(text, inputs(ELEMENTS[element], 1))


@needs_opencl
@pytest.mark.parametrize("element", FOUR_BITS)
def test_elementwise_ops_on_a_device(element: str) -> None:
    for text in elementwise(element):
        made, arrays = wg.parse(text), inputs(ELEMENTS[element], 1)
        compiled = made.compile("opencl", poison=True)
        results = compiled(*arrays)
        for mine, theirs in zip(results, made.compile("interpreter")(*arrays), strict=True):
            assert same(mine, theirs), text
        assert compiled.stats.host == {}


@pytest.mark.parametrize("backend", ["ptx-interpreter", pytest.param("opencl", marks=needs_opencl)])
@pytest.mark.parametrize("element", FOUR_BITS)
def test_moving_and_converting(element: str, backend: str) -> None:
    """Constants, positions, reads at computed positions, conversions from and to all other types."""
    others = [name for name in ("f64", "f32", "f16", "bf16", "f8E5M2", "complex<f32>", "i1", "i8", "ui8", "i32", "ui64", "i4", "ui4") if name != element]
    kind = tensor((24,), element)
    body = [f"%c{k} = stablehlo.convert %x : ({kind}) -> {tensor((24,), to)}" for k, to in enumerate(others)]
    body += [f"%d{k} = stablehlo.convert %c{k} : ({tensor((24,), to)}) -> {kind}" for k, to in enumerate(others)]
    body += [f"%f = stablehlo.convert %y : (tensor<24xf32>) -> {kind}", f"%i = stablehlo.iota dim = 0 : {kind}"]
    body += [f"%n = stablehlo.constant dense<{'-3' if element == 'i4' else '13'}> : {kind}", f"%a = stablehlo.add %n, %x : {kind}"]
    body += [f"%w = stablehlo.dynamic_slice %y, %p, sizes = [3] : (tensor<24xf32>, tensor<{element}>) -> tensor<3xf32>"]
    names = [*[f"%c{k}" for k in range(len(others))], *[f"%d{k}" for k in range(len(others))], "%f", "%i", "%n", "%a", "%w"]
    types = ", ".join([*[tensor((24,), to) for to in others], *[kind] * (len(others) + 4), "tensor<3xf32>"])
    head = f"func.func @main(%x: {kind}, %y: tensor<24xf32>, %p: tensor<{element}>) -> ({types})"
    made = wg.parse(f"{head} {{\n" + "\n".join(body) + f"\nreturn {', '.join(names)} : {types}\n}}")
    arrays = [array(element, (24,)), array("f32", (24,)), array(element, ())]
    compiled = made.compile(backend, poison=True)
    for name, mine, theirs in zip(names, compiled(*arrays), made.compile("interpreter")(*arrays), strict=True):
        assert same(mine, theirs), name
    assert compiled.stats.host == {}


def combining(element: str) -> Iterator[tuple[str, list[Array]]]:
    """Reductions, windows, running combinations, extreme positions, scatters."""
    x, row = tensor((3, 7), element), tensor((3,), element)
    data = array(element, (3, 7))
    for kind in ("add", "mul", "max", "min", *(("and", "or") if element in FOUR_BITS else ())):
        yield function([x], [row], f"core.reduce {kind} $in across [1] : $type"), [data]
        keys = "window = [1, 3], strides = [1, 2], base_dilations = [1, 1], window_dilations = [1, 1], padding = [0, 0, 1, 1]"
        yield function([x], [tensor((3, 4), element)], f"core.window_reduce {kind} $in, {keys} : $type"), [data]
        yield function([x], [x], f"core.cumulative {kind} $in along 1 : {x}"), [data]
    for extreme in ("max", "min"):
        yield function([x], [row, tensor((3,), "i32")], f"core.argreduce {extreme} $in along 1 : $type"), [data]


@pytest.mark.parametrize("element", [*FOUR_BITS, *FLOATS])
def test_combining_ops(element: str) -> None:
    for text, arrays in combining(element):
        check(text, arrays)


@needs_opencl
@pytest.mark.parametrize("element", ["i4", "ui4", "f8E4M3FN", "f8E5M2"])
def test_combining_ops_on_a_device(element: str) -> None:
    for text, arrays in combining(element):
        made = wg.parse(text)
        compiled = made.compile("opencl", poison=True)
        for mine, theirs in zip(compiled(*arrays), made.compile("interpreter")(*arrays), strict=True):
            assert same(mine, theirs), text
        assert compiled.stats.host == {}


@pytest.mark.parametrize("element", [*FOUR_BITS, *FLOATS])
@pytest.mark.parametrize("kind", ["add", "mul", "max", "min"])
def test_scatters(element: str, kind: str) -> None:
    numbers = "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
    op = (
        f'"core.scatter"($in) <{{kind = #core<kind {kind}>, scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = true}}> : $type'
    )
    text = function([tensor((5, 3), element), tensor((3, 1), "i32"), tensor((3, 3), element)], [tensor((5, 3), element)], op)
    check(text, [array(element, (5, 3)), np.array([[4], [0], [9]], np.int32), array(element, (3, 3), 1)])


@pytest.mark.parametrize(("element", "result"), [("i1", "i1"), ("i4", "i4"), ("ui4", "ui4"), ("i4", "i32"), ("f8E4M3FN", "f8E4M3FN"), ("f8E5M2", "f32")])
def test_products_and_convolutions(element: str, result: str) -> None:
    rng = np.random.default_rng(1)

    def small(shape: Sequence[int]) -> Array:
        dtype = array(element, ()).dtype
        return rng.integers(0 if element in ("i1", "ui4") else -2, 2 if element == "i1" else 3, shape).astype(dtype)

    text = function(
        [tensor((3, 5), element), tensor((5, 2), element)], [tensor((3, 2), result)], "stablehlo.dot_general $in, contracting_dims = [1] x [0] : $type"
    )
    check(text, [small((3, 5)), small((5, 2))])
    op = "stablehlo.convolution($in) dim_numbers = [b, f, 0]x[i, o, 0]->[b, f, 0], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
    text = function([tensor((2, 3, 9), element), tensor((3, 4, 3), element)], [tensor((2, 4, 7), result)], f"{op} : $type")
    check(text, [small((2, 3, 9)), small((3, 4, 3))])


@pytest.mark.parametrize("element", FOUR_BITS)
def test_sorting(element: str) -> None:
    region = f"""({{
    ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
      %c = stablehlo.compare LT, %a, %b : (tensor<{element}>, tensor<{element}>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    }})"""
    kind = tensor((30,), element)
    check(function([kind], [kind], f'"stablehlo.sort"($in) <{{dimension = 0 : i64}}> {region} : $type'), [array(element, (30,))])
    check(
        function([kind], [tensor((4,), element), tensor((4,), "i32")], f"chlo.top_k($in, k = 4) : {kind} -> ({tensor((4,), element)}, tensor<4xi32>)"),
        [array(element, (30,))],
    )
