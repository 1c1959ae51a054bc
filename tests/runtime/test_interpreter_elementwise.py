"""Elementwise ops against XLA on edge cases: NaN, infinities, signed zeros, extremes, every pair of them.

Arithmetic, conversions and integers agree bit for bit; transcendental functions within the units in the last place that
XLA's own approximations are off. Where XLA departs from IEEE 754 or the specification, we do not follow it:

* XLA on the CPU treats subnormal numbers as zero; here they are ordinary numbers. (Not compared.)
* XLA's integer power uses only the low six bits of the exponent, and (-1)^-1 is 0 there; here it is -1, as in StableHLO's
  reference. (Only exponents from 0 to 63 are compared.)
* XLA evaluates complex functions at infinities and on branch cuts by its own formulas; here they follow C99, Annex G.
  (Complex functions are compared at finite arguments off the cuts.)
* XLA loses digits in lgamma and digamma near their zeros and in erf_inv near 1. (Compared elsewhere, absolutely.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import run

FLOATS = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
INTEGERS = {f"{u}i{w}": np.dtype(f"{u or 'i'}{w // 8}").type for u in ("", "u") for w in (8, 16, 32, 64)}
COMPLEX = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
DTYPES: dict[str, Any] = FLOATS | INTEGERS | COMPLEX | {"i1": np.bool_}

SPECIAL = [0.0, 1.0, np.inf, np.nan, 0.5, 0.49999997, 1.5, 2.5, 2.0, 3.0, 1e-30, 1e30, 88.7, 1e-8, np.pi, 1e-3, 7.25, 0.9999999, 300.0, 1e5, 1e9, 3e9, 1e19]


def _pairs(values: Any) -> tuple[Any, Any]:
    return np.repeat(values, len(values)), np.tile(values, len(values))


def _floats(name: str) -> tuple[Any, Any]:
    with np.errstate(over="ignore"):
        values = np.array([sign * v for v in SPECIAL for sign in (1, -1)]).astype(FLOATS[name])
    limits = ml_dtypes.finfo(FLOATS[name])
    return _pairs(np.append(values, [limits.max, limits.smallest_normal, -limits.smallest_normal]).astype(FLOATS[name]))


def _integers(name: str) -> tuple[Any, Any]:
    limits = np.iinfo(INTEGERS[name])
    values = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, -1, -2, -3, -5, -31, limits.max, limits.max - 1, limits.min, limits.min + 1]
    return _pairs(np.array([v for v in values if limits.min <= v <= limits.max], INTEGERS[name]))


def _unary(*names: str, result: str = "") -> list[tuple[str, str]]:
    return [(f'"{name}"(%x) : ($T) -> $R', result) for name in names]


def _binary(*names: str) -> list[tuple[str, str]]:
    return [(f'"{name}"(%x, %y) : ($T, $T) -> $R', "") for name in names]


def _stablehlo(names: str) -> list[str]:
    return [f"stablehlo.{name}" for name in names.split()]


def _compare(*orders: str) -> list[tuple[str, str]]:
    def text(direction: str, order: str) -> str:
        attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>, compare_type = #stablehlo<comparison_type {order}>"
        return f'"stablehlo.compare"(%x, %y) <{{{attributes}}}>'

    return [(f"{text(direction, order)} : ($T, $T) -> $R", "i1") for direction in ("EQ", "NE", "LT", "LE", "GT", "GE") for order in orders]


CONVERT = [('"stablehlo.convert"(%x) : ($T) -> $R', result) for result in DTYPES]
REDUCE_PRECISION = [
    (f'"stablehlo.reduce_precision"(%x) <{{exponent_bits = {e} : i32, mantissa_bits = {m} : i32}}> : ($T) -> $R', "")
    for e, m in ((5, 10), (8, 7), (4, 3), (8, 0), (3, 2), (1, 1), (2, 0))
]
REAL = (
    _binary(*_stablehlo("add subtract multiply divide maximum minimum remainder"))
    + _unary(*_stablehlo("abs negate sign ceil floor round_nearest_afz round_nearest_even sqrt"))
    + _unary("stablehlo.is_finite", "chlo.is_inf", "chlo.is_pos_inf", "chlo.is_neg_inf", result="i1")
    + _compare("FLOAT", "TOTALORDER")
    + CONVERT
    + REDUCE_PRECISION
)
INTEGER = _binary(
    *_stablehlo("add subtract multiply divide maximum minimum remainder and or xor shift_left shift_right_logical shift_right_arithmetic")
) + _unary(*_stablehlo("not popcnt count_leading_zeros"))
BOOLEAN = _binary(*_stablehlo("add multiply and or xor maximum minimum")) + _unary("stablehlo.not") + CONVERT
TRANSCENDENTAL = (
    _unary(*_stablehlo("exponential exponential_minus_one log log_plus_one logistic sine cosine tan tanh rsqrt"))
    + _binary(*_stablehlo("atan2 power"))
    + _unary(*[f"chlo.{name}" for name in ["acos", "acosh", "asin", "asinh", "atan", "atanh", "square"]])
)
LOOSE = _unary("stablehlo.cbrt", *[f"chlo.{name}" for name in ["cosh", "sinh", "erf", "erfc", "bessel_i1e"]])
GAMMA = _unary("chlo.lgamma", "chlo.digamma") + _binary("chlo.zeta", "chlo.polygamma")


def _module(ops: Sequence[tuple[str, str]], element: str, n: int) -> str:
    """All ops applied to the same two arguments, each op's result a result of main."""
    operand = f"tensor<{n}x{element}>"
    results = [f"tensor<{n}x{result or element}>" for _, result in ops]
    lines = [f"%r{i} = " + text.replace("$T", operand).replace("$R", results[i]) for i, (text, _) in enumerate(ops)]
    returned = ", ".join(f"%r{i}" for i in range(len(ops)))
    return (
        f"module {{ func.func public @main(%x: {operand}, %y: {operand}) -> ({', '.join(results)}) {{\n"
        + "\n".join(lines)
        + f"\nreturn {returned} : {', '.join(results)}\n}} }}"
    )


def _both(xla: Callable[[str], Any], ops: Sequence[tuple[str, str]], element: str, x: Any, y: Any) -> list[tuple[str, Any, Any]]:
    text = _module(ops, element, len(x))
    results = zip(ops, run(parse_module(text, element), [x, y]), xla(text)([x, y]), strict=True)
    return [(f"{element} {op}", ours, theirs) for (op, _), ours, theirs in results]


def _ordered(x: Any) -> Any:
    """Floats as integers in the same order, neighbours one apart."""
    bits = x.view(f"i{x.dtype.itemsize}").astype(np.float64 if x.dtype.itemsize < 8 else np.longdouble)
    return np.where(bits < 0, -bits - 2.0 ** (8 * x.dtype.itemsize - 1), bits)


def _check(context: str, ours: Any, theirs: Any, ulps: int, x: Any, y: Any) -> None:
    assert ours.dtype == theirs.dtype, context
    if ours.dtype.kind in "iub":
        wrong = ours != theirs
    elif ours.dtype.kind == "c":
        _check(context, np.ascontiguousarray(ours.real), np.ascontiguousarray(theirs.real), ulps, x, y)
        _check(context, np.ascontiguousarray(ours.imag), np.ascontiguousarray(theirs.imag), ulps, x, y)
        return
    else:
        tiny = ml_dtypes.finfo(ours.dtype).smallest_normal
        nan = np.isnan(ours) & np.isnan(theirs)
        with np.errstate(invalid="ignore"):
            flushed = (np.abs(ours) <= tiny) & (np.abs(theirs) <= tiny) & (ours != 0)
        apart = np.abs(_ordered(ours) - _ordered(theirs)) > ulps
        wrong = ~nan & ~flushed & (apart | (np.signbit(ours) != np.signbit(theirs)) | (np.isnan(ours) != np.isnan(theirs)))
    assert not wrong.any(), f"{context}: {[(x[i], y[i], ours[i], theirs[i]) for i in np.flatnonzero(wrong)[:5]]} (x, y, ours, XLA's)"


@pytest.mark.oracle
@pytest.mark.parametrize("element", FLOATS)
def test_real_arithmetic_is_exact(element: str, xla: Callable[[str], Any]) -> None:
    x, y = _floats(element)
    for context, ours, theirs in _both(xla, REAL, element, x, y):
        _check(context, ours, theirs, 0, x, y)


@pytest.mark.oracle
@pytest.mark.parametrize("element", ["i8", "i32", "ui8", "ui64", "i1"])
def test_integers_are_exact(element: str, xla: Callable[[str], Any]) -> None:
    x, y = _integers(element) if element in INTEGERS else _pairs(np.array([False, True]))
    ops = INTEGER + _compare("UNSIGNED" if element.startswith("u") else "SIGNED") + CONVERT if element in INTEGERS else BOOLEAN
    ops = ops + (_unary(*_stablehlo("abs negate sign")) if element in ("i8", "i16", "i32", "i64") else [])
    for context, ours, theirs in _both(xla, ops, element, x, y):
        _check(context, ours, theirs, 0, x, y)


@pytest.mark.oracle
@pytest.mark.parametrize("element", ["i8", "i32", "ui64"])
def test_integer_power(element: str, xla: Callable[[str], Any]) -> None:
    x, y = _integers(element)
    x, y = x[(y >= 0) & (y < 64)], y[(y >= 0) & (y < 64)]
    for context, ours, theirs in _both(xla, _binary("stablehlo.power"), element, x, y):
        _check(context, ours, theirs, 0, x, y)


@pytest.mark.oracle
@pytest.mark.parametrize("element", ["f64", "f32"])
def test_transcendental_functions(element: str, xla: Callable[[str], Any]) -> None:
    x, y = _floats(element)
    for context, ours, theirs in _both(xla, TRANSCENDENTAL, element, x, y):
        _check(context, ours, theirs, 5, x, y)
    for context, ours, theirs in _both(xla, LOOSE, element, x, y):
        _check(context, ours, theirs, 500, x, y)


@pytest.mark.oracle
@pytest.mark.parametrize("element", ["f64", "f32"])
def test_gamma_functions(element: str, xla: Callable[[str], Any]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 7, 200).astype(FLOATS[element]), rng.uniform(0.1, 20, 200).astype(FLOATS[element])
    exact = 1e-12 if element == "f64" else 1e-5
    inverse = _both(xla, _unary("chlo.erf_inv"), element, np.tanh(x - 4).astype(x.dtype), y)
    for context, ours, theirs in _both(xla, GAMMA, element, x, y) + inverse:
        np.testing.assert_allclose(ours, theirs, rtol=exact, atol=exact, err_msg=context)


@pytest.mark.oracle
@pytest.mark.parametrize("element", COMPLEX)
def test_complex_functions(element: str, xla: Callable[[str], Any]) -> None:
    rng = np.random.default_rng(1)
    x, y = ((3 * rng.normal(size=60) + 3j * rng.normal(size=60)).astype(COMPLEX[element]) for _ in range(2))
    real = element[8:-1]
    names = _stablehlo("add subtract multiply divide atan2 power")
    ops = _binary(*names) + _unary(*_stablehlo("negate sign sqrt exponential exponential_minus_one log log_plus_one logistic sine cosine tan tanh rsqrt"))
    ops += _unary(*_stablehlo("abs real imag"), result=real) + _unary(
        *[f"chlo.{name}" for name in ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "sinh", "conj", "square"]]
    )
    for context, ours, theirs in _both(xla, ops, element, x, y):
        scale = np.abs(theirs) * (200 if element == "complex<f64>" else 50) * np.finfo(ours.dtype).eps
        assert np.all(np.abs(ours - theirs) <= scale), f"{context}: {np.max(np.abs(ours - theirs) / np.abs(theirs))}"


def test_integers_of_four_bits_have_four_bits() -> None:
    """What lies above them in a byte is not counted and not moved in, whether it copies a sign or is zero."""
    text = """func.func @main(%x: tensor<3xTYPE>, %by: tensor<3xTYPE>) -> (tensor<3xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>) {
      %0 = stablehlo.popcnt %x : tensor<3xTYPE>
      %1 = stablehlo.count_leading_zeros %x : tensor<3xTYPE>
      %2 = stablehlo.shift_right_logical %x, %by : tensor<3xTYPE>
      %3 = stablehlo.shift_right_arithmetic %x, %by : tensor<3xTYPE>
      return %0, %1, %2, %3 : tensor<3xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>, tensor<3xTYPE>
    }"""
    for element, dtype, x in (("i4", ml_dtypes.int4, [-1, 3, 0]), ("ui4", ml_dtypes.uint4, [15, 3, 0])):
        results = run(parse_module(text.replace("TYPE", element)), [np.array(x, dtype), np.array([1, 1, 2], dtype)])
        widened = [[int(value) for value in np.asarray(result)] for result in results]
        assert widened == [[4, 2, 0], [0, 2, 4], [7, 1, 0], [x[0], 1, 0]]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_lgamma_beside_zero(dtype: type) -> None:
    """Where 1 / x overflows, as it does within SciPy's function."""
    x = np.array([np.finfo(dtype).smallest_subnormal, -np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny / 4, 0.0, -0.0], dtype)
    kind = f"tensor<5x{'f64' if dtype is np.float64 else 'f32'}>"
    program = wg.parse(f"func.func @main(%x: {kind}) -> {kind} {{ %0 = chlo.lgamma %x : {kind} -> {kind}\n return %0 : {kind} }}")
    expected = [-np.log(np.abs(x[:3].astype(np.longdouble))), [np.inf, np.inf]]
    for backend in ("interpreter", "cpu"):
        np.testing.assert_allclose(program.compile(backend=backend)(x)[0], np.concatenate(expected).astype(dtype), rtol=4 * np.finfo(dtype).eps)
