"""Quantized numbers: what programs with them compute on both backends, compared with StableHLO's own expansion, and what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from upstream_verifier import load_context, run_passes

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.transforms.pipelines import parse_pipeline

ROWS = "!quant.uniform<i8:f32, 0.5:3>"
OTHER = "!quant.uniform<i8:f32, 0.1:-7>"
NARROW = "!quant.uniform<i8<-127:127>:f32, 0.05>"
COLUMNS = "!quant.uniform<i8:f32:1, {0.5:3,0.25,1.0:-2}>"
KERNEL = "!quant.uniform<i8:f32, 0.25>"
WIDE = "!quant.uniform<i16:f64, 0.001:5>"
SUMS = "!quant.uniform<i32:f32, 0.01>"
UNSIGNED = "!quant.uniform<u8:f32, 0.25:100>"


def t(element: str, shape: str = "2x3x") -> str:
    """A tensor type."""
    return f"tensor<{shape}{element}>"


def program(body: str, arguments: list[str], result: str) -> str:
    """A program whose last value is ``%r``."""
    listed = ", ".join(f"%a{i}: {type}" for i, type in enumerate(arguments))
    return f"func.func @main({listed}) -> {result} {{\n{body}\nreturn %r : {result}\n}}"


def unary(name: str, source: str, target: str, shape: str = "2x3x") -> str:
    """One op of one operand."""
    return program(f'%r = "stablehlo.{name}"(%a0) : ({t(source, shape)}) -> {t(target, shape)}', [t(source, shape)], t(target, shape))


def binary(name: str, lhs: str, rhs: str, target: str) -> str:
    """One op of two operands."""
    return program(f'%r = "stablehlo.{name}"(%a0, %a1) : ({t(lhs)}, {t(rhs)}) -> {t(target)}', [t(lhs), t(rhs)], t(target))


PROGRAMS = {
    **{f"quantize {q}": unary("uniform_quantize", "f32", q) for q in (ROWS, NARROW, COLUMNS)},
    **{f"dequantize {q}": unary("uniform_dequantize", q, "f32") for q in (ROWS, NARROW, COLUMNS)},
    "requantize": unary("uniform_quantize", ROWS, OTHER),
    **{name: binary(name, ROWS, OTHER, OTHER) for name in ("add", "multiply", "subtract", "divide", "maximum", "minimum", "power")},
    **{name: unary(name, ROWS, OTHER) for name in ("abs", "tanh", "negate", "floor", "ceil", "exponential", "sqrt", "sign", "cosine", "logistic")},
    "transpose": program(f"%r = stablehlo.transpose %a0, dims = [1, 0] : ({t(ROWS)}) -> {t(ROWS, '3x2x')}", [t(ROWS)], t(ROWS, "3x2x")),
    "dot_general": program(
        f"%r = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : ({t(ROWS)}, {t(KERNEL, '3x4x')}) -> {t(SUMS, '2x4x')}",
        [t(ROWS), t(KERNEL, "3x4x")],
        t(SUMS, "2x4x"),
    ),
    "compare": program(f"%r = stablehlo.compare LT, %a0, %a1 : ({t(ROWS)}, {t(ROWS)}) -> tensor<2x3xi1>", [t(ROWS), t(ROWS)], "tensor<2x3xi1>"),
}


def drawn(text: str, seed: int = 0) -> list[Any]:
    """Arguments for a program: every stored integer there is, numbers between -30 and 30."""
    rng = np.random.default_rng(seed)
    arguments: list[Any] = []
    for parameter in wg.parse(text).signature.arguments:
        if parameter.dtype.kind == "f":
            arguments.append(rng.uniform(-30, 30, parameter.shape).astype(parameter.dtype))
        else:
            limits = np.iinfo(parameter.dtype)
            arguments.append(rng.integers(limits.min, limits.max + 1, parameter.shape).astype(parameter.dtype))
    return arguments


@cache
def upstream_context() -> Any:
    """What StableHLO's passes run in."""
    return load_context()


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_upstreams_expansion(name: str) -> None:
    pytest.importorskip("jax")
    text, arguments = PROGRAMS[name], drawn(PROGRAMS[name])
    actual = wg.parse(text)
    (compiled,), (interpreted,) = actual.compile()(*arguments), actual.compile("interpreter")(*arguments)
    np.testing.assert_array_equal(compiled, interpreted)
    plain = run_passes(upstream_context(), text, "func.func(stablehlo-legalize-quant-to-math,chlo-legalize-to-stablehlo)")
    (expected,) = wg.parse(plain).compile("interpreter")(*arguments)
    # Upstream folds the scales of a product into one factor, which may round to the neighbour.
    np.testing.assert_allclose(interpreted.astype(float), expected.astype(float), atol=0 if name != "dot_general" else 1, rtol=1e-6)


def test_unsigned_numbers_are_stored_in_unsigned_arrays() -> None:
    (stored,) = wg.parse(unary("uniform_quantize", "f32", UNSIGNED)).compile()(np.float32([[-25, 0, 1], [38.75, 38.76, 1e9]]))
    np.testing.assert_array_equal(stored, np.uint8([[0, 100, 104], [255, 255, 255]]))
    (back,) = wg.parse(unary("uniform_dequantize", UNSIGNED, "f32")).compile()(stored)
    np.testing.assert_array_equal(back, np.float32([[-25, 0, 1], [38.75, 38.75, 38.75]]))


def test_what_stands_for_f64_is_computed_in_f64() -> None:
    x = np.array([[-32.773, 0.0004, 0.0006], [1.0, 2.5, 32.7]])
    (stored,) = wg.parse(unary("uniform_quantize", "f64", WIDE)).compile()(x)
    np.testing.assert_array_equal(stored, np.int16([[-32768, 5, 6], [1005, 2505, 32705]]))
    (back,) = wg.parse(unary("uniform_dequantize", WIDE, "f64")).compile()(stored)
    np.testing.assert_array_equal(back, (stored.astype(np.float64) - 5) * 0.001)


def test_regions_and_loops_compute_on_quantized_numbers() -> None:
    """A sum of 0.5 (q - 3): each addition is of the numbers that stored integers stand for."""
    text = program(
        f"%z = stablehlo.constant() <{{value = dense<3> : tensor<i8>}}> : () -> {t(ROWS, '')}\n"
        f"%r = stablehlo.reduce(%a0 init: %z) applies stablehlo.add across dimensions = [1] : ({t(ROWS)}, {t(ROWS, '')}) -> {t(ROWS, '2x')}",
        [t(ROWS)],
        t(ROWS, "2x"),
    ).replace("stablehlo.constant()", '"stablehlo.constant"()')
    q = np.int8([[4, 5, 6], [-100, 103, 3]])
    for backend in ("cpu", "interpreter"):
        np.testing.assert_array_equal(wg.parse(text).compile(backend)(q)[0], (q.astype(int) - 3).sum(1) + 3)


def test_derivatives_through_quantized_numbers_are_zero() -> None:
    """What is rounded is flat; the weights of what follows are differentiated as ever."""
    body = (
        f"%q = stablehlo.uniform_quantize %a0 : (tensor<2x3xf32>) -> {t(ROWS)}\n"
        f"%d = stablehlo.uniform_dequantize %q : ({t(ROWS)}) -> tensor<2x3xf32>\n%r = stablehlo.multiply %d, %a1 : tensor<2x3xf32>"
    )
    text = program(body, ["tensor<2x3xf32>", "tensor<2x3xf32>"], "tensor<2x3xf32>")
    x, w, seed = np.float32([[0.3, 1, 2], [3, -4, 5]]), np.ones((2, 3), np.float32), np.ones((2, 3), np.float32)
    value, x_bar, w_bar = wg.parse(text).vjp().compile()(x, w, seed)
    np.testing.assert_array_equal(x_bar, 0)
    np.testing.assert_array_equal(w_bar, value)


def test_the_expansion_is_plain_stablehlo() -> None:
    module = parse_module(PROGRAMS["add"])
    verify(module)
    parse_pipeline("expand-quantized").run(module)
    verify(module)
    assert "quant" not in print_module(module)
    assert "!quant" in print_module(parse_module(PROGRAMS["add"]))


REFUSED = {
    "custom_call": (
        program(f'%r = "stablehlo.custom_call"(%a0) <{{call_target_name = "f"}}> : ({t(ROWS)}) -> {t(ROWS)}', [t(ROWS)], t(ROWS)),
        "is not defined on quantized numbers",
    ),
    "dynamic": (unary("tanh", ROWS, ROWS, "?x"), "needs static shapes"),
    "loop": (
        program(
            f"%r = stablehlo.while(%i = %a0) : {t(ROWS)} cond {{\n%c = stablehlo.constant dense<false> : tensor<i1>\nstablehlo.return %c : tensor<i1>\n}} do {{\n"
            f"%n = stablehlo.tanh %i : ({t(ROWS)}) -> {t(OTHER)}\nstablehlo.return %n : {t(OTHER)}\n}}",
            [t(ROWS)],
            t(ROWS),
        ),
        "hands quantized numbers on as others",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, message = REFUSED[name]
    with pytest.raises(DiagnosticError, match=message):
        wg.parse(text)
