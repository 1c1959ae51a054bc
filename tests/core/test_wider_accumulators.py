"""Reductions, windows and scatters that combine in a wider type than their operands have: values and derivatives on both backends, every kind and pair of types."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert as wg

TYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui32": np.uint32,
    "complex<f32>": np.complex64, "complex<f64>": np.complex128,
}  # fmt: skip
PAIRS = [("f16", "f32"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64"), ("i8", "i32"), ("i16", "i64"), ("ui8", "ui32"), ("complex<f32>", "complex<f64>")]
KINDS = [("add", 2), ("multiply", 1), ("maximum", 1), ("minimum", "highest"), ("maximum", "lowest")]
"""Ops that combine, and initial values; the ends of the narrow type are not those of the wide one."""


def combiner(op: str, wide: str) -> str:
    return f"""{{
  ^bb0(%a: tensor<{wide}>, %b: tensor<{wide}>):
    %c = stablehlo.{op} %a, %b : tensor<{wide}>
    stablehlo.return %c : tensor<{wide}>
  }}"""


FORMS = {
    "reduce": (
        "5x7", "5", '"stablehlo.reduce"(%x, %init) <{dimensions = array<i64: 1>}> (BODY) : (tensor<5x7xNARROW>, tensor<NARROW>) -> tensor<5xWIDE>',
    ),
    "window": (
        "5x7", "5x9",
        '"stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 2]]> : tensor<2x2xi64>}> (BODY)'
        " : (tensor<5x7xNARROW>, tensor<NARROW>) -> tensor<5x9xWIDE>",
    ),
    "running": (
        "5x7", "5x7",
        '"stablehlo.reduce_window"(%x, %init) <{window_dimensions = array<i64: 1, 7>, padding = dense<[[0, 0], [6, 0]]> : tensor<2x2xi64>}> (BODY)'
        " : (tensor<5x7xNARROW>, tensor<NARROW>) -> tensor<5x7xWIDE>",
    ),
}  # fmt: skip


def end(kind: int | str, narrow: str) -> Any:
    """The number of an initial value."""
    if isinstance(kind, int):
        return kind
    if narrow.startswith(("i", "ui")):
        limits = np.iinfo(TYPES[narrow])
        return limits.min if kind == "lowest" else limits.max
    return -np.inf if kind == "lowest" else np.inf


def folded(form: str, op: str, x: Any, init: Any, wide: Any) -> Any:
    """What a form is, in the wide type."""
    fold = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}[op]
    x, init = x.astype(wide), np.asarray(init).astype(wide)
    if form == "reduce":
        return fold(init, fold.reduce(x, axis=1))
    low, high, extent = (1, 2, 2) if form == "window" else (6, 0, 7)
    padded = np.concatenate([np.full((5, low), init), x, np.full((5, high), init)], axis=1)
    return fold(init, fold.reduce(np.lib.stride_tricks.sliding_window_view(padded, extent, 1), axis=2))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("narrow", "wide"), PAIRS)
def test_values_and_derivatives(form: str, narrow: str, wide: str) -> None:
    shape, after, op_text = FORMS[form]
    rng = np.random.default_rng(PAIRS.index((narrow, wide)))
    x = rng.integers(0 if narrow.startswith("u") else -2, 3, [int(n) for n in shape.split("x")]).astype(TYPES[narrow])
    for op, init in KINDS:
        if narrow.startswith("complex") and op in ("maximum", "minimum"):
            continue
        number = np.asarray(end(init, narrow)).astype(TYPES[narrow])
        text = f"""func.func @main(%x: tensor<{shape}x{narrow}>, %init: tensor<{narrow}>) -> tensor<{after}x{wide}> {{
  %0 = {op_text.replace("BODY", combiner(op, wide)).replace("NARROW", narrow).replace("WIDE", wide)}
  return %0 : tensor<{after}x{wide}>
}}"""
        for given in (
            text,
            text.replace(f", %init: tensor<{narrow}>", "").replace("  %0 =", f"  %init = stablehlo.constant {constant(number, narrow)}\n  %0 ="),
        ):
            program = wg.parse(given)
            inputs = [x, number][: len(program.signature.arguments)]
            expected = folded(form, op, x, number, TYPES[wide])
            for backend in ("interpreter", "cpu"):
                (value,) = program.compile(backend)(*inputs)
                assert value.dtype == TYPES[wide]
                np.testing.assert_array_equal(value, expected, f"{backend}: {op} from {init}")
            if given is not text and np.dtype(TYPES[narrow]).kind not in "iu":
                check_derivatives(program, inputs, np.ones_like(expected))


def constant(number: Any, narrow: str) -> str:
    """A constant's text."""
    if narrow.startswith("complex"):
        return f"dense<({number.real}, {number.imag})> : tensor<{narrow}>"
    if narrow.startswith(("i", "ui")):
        return f"dense<{number}> : tensor<{narrow}>"
    infinity = {"f16": "0x7C00", "bf16": "0x7F80", "f32": "0x7F800000"}[narrow]
    negative = {"f16": "0xFC00", "bf16": "0xFF80", "f32": "0xFF800000"}[narrow]
    written = f"{float(number)}" if np.isfinite(float(number)) else infinity if float(number) > 0 else negative
    return f"dense<{written}> : tensor<{narrow}>"


def check_derivatives(program: wg.Program, inputs: list[Any], y_bar: Any) -> None:
    """Both modes are the same on both backends, and by both strategies, and adjoint to each other."""
    x_dots = [np.ones_like(x) for x in inputs]
    tangents = [program.jvp().compile(backend)(*inputs, *x_dots)[-1] for backend in ("interpreter", "cpu")]
    np.testing.assert_allclose(tangents[0], tangents[1], rtol=1e-6)
    (_, one), (_, other) = (program.vjp(strategy=s).compile(b)(*inputs, y_bar) for s, b in (("direct", "interpreter"), ("transpose", "cpu")))
    np.testing.assert_allclose(one.astype(y_bar.dtype), other.astype(y_bar.dtype), rtol=1e-6)
    np.testing.assert_allclose(np.sum(tangents[0] * y_bar), np.sum(one.astype(y_bar.dtype)), rtol=1e-2 if inputs[0].dtype.itemsize == 2 else 1e-5)
