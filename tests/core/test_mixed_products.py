"""Products and convolutions of operands and results of every combination of element types: values, both modes, both strategies, on both backends."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.verification.verifier import verify

TYPES: dict[str, Any] = {
    "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "i32": np.int32, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
}  # fmt: skip
INEXACT = [name for name in TYPES if name != "i32"]
OPS = {
    "dot": (
        (4, 3), (3, 5), (4, 5), "stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]",
    ),
    "convolution": (
        (1, 4, 4, 3), (2, 2, 3, 5), (1, 3, 3, 5),
        "stablehlo.convolution(%x, %y) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}"
        " {batch_group_count = 1 : i64, feature_group_count = 1 : i64}",
    ),
}  # fmt: skip


def parsed(op: str, elements: tuple[str, str, str]) -> wg.Program | None:
    """The program of one op; None where its types do not go together."""
    *shapes, text = OPS[op]
    x, y, z = (f"tensor<{'x'.join(map(str, shape))}x{element}>" for shape, element in zip(shapes, elements, strict=True))
    try:
        return wg.parse(f"func.func @main(%x: {x}, %y: {y}) -> {z} {{\n  %z = {text} : ({x}, {y}) -> {z}\n  return %z : {z}\n}}")
    except DiagnosticError:
        return None


def results(program: wg.Program, inputs: list[Any], tolerance: float) -> list[Any]:
    """The interpreter's results, which the compiled ones are compared with; of a program that is well typed."""
    verify(program.module)
    interpreted, compiled = (program.compile(backend)(*inputs) for backend in ("interpreter", "cpu"))
    for one, other in zip(interpreted, compiled, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one.astype(complex), other.astype(complex), rtol=tolerance)
    return list(interpreted)


def whole(rng: np.random.Generator, like: Any, low: int = 0) -> Any:
    """Small whole numbers, whose products and sums are exact in every type."""
    shape: tuple[int, ...] = like.shape
    return rng.integers(low, 4, shape).astype(like.dtype)


def product(op: str, x: Any, y: Any) -> Any:
    if op == "dot":
        return x @ y
    return np.einsum("bhwfij,ijfc->bhwc", np.lib.stride_tricks.sliding_window_view(x, (2, 2), (1, 2)), y)


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("lhs", TYPES)
def test_every_combination(op: str, lhs: str) -> None:
    rng = np.random.default_rng(0)
    taken = 0
    for rhs, result in itertools.product(TYPES, TYPES):
        program = parsed(op, (lhs, rhs, result))
        if program is None:
            continue
        taken += 1
        elements = (lhs, rhs)
        inputs = [whole(rng, np.empty(shape, TYPES[element])) for shape, element in zip(OPS[op][:2], elements, strict=True)]
        value: Any = results(program, inputs, 1e-6)[0]
        np.testing.assert_array_equal(value.astype(complex), product(op, *(x.astype(complex) for x in inputs)))
        wrt = tuple(i for i, element in enumerate(elements) if element in INEXACT)
        if not wrt or result not in INEXACT:
            continue
        x_dots, y_bar = [whole(rng, inputs[i], -2) for i in wrt], whole(rng, value, -2)
        y_dot = results(program.jvp(wrt=wrt), [*inputs, *x_dots], 1e-6)[-1]
        for strategy in ("transpose", "direct"):
            x_bars = results(program.vjp(wrt=wrt, strategy=strategy), [*inputs, y_bar], 1e-2)[1:]
            assert [x_bar.dtype for x_bar in x_bars] == [inputs[i].dtype for i in wrt]
            through = sum(np.sum(x_bar.astype(complex) * x_dot.astype(complex)).real for x_bar, x_dot in zip(x_bars, x_dots, strict=True))
            assert through == pytest.approx(np.sum(y_dot.astype(complex) * y_bar.astype(complex)).real, rel=1e-2, abs=1e-9)
    assert taken >= (12 if op == "dot" else 1)
