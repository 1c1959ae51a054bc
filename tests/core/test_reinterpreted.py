"""Ops that are written out on some types: bits of elements of another width, comparisons and angles of complex numbers."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest

import wengert as wg

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

TYPES = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1", "ui64": "u8", "ui32": "u4", "ui8": "u1"}
WIDTHS = {name: np.dtype(dtype).itemsize for name, dtype in TYPES.items()}


def both(text: str, *inputs: Any) -> list[Any]:
    """What the interpreter and compiled code give, which calls nothing back."""
    program = wg.parse(text)
    compiled = program.compile()
    assert not compiled.stats.interpreted
    return [program.compile("interpreter")(*inputs), compiled(*inputs)]


def tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{''.join(f'{n}x' for n in shape)}{element}>"


@pytest.mark.parametrize("source", TYPES)
def test_bits_of_elements_of_another_width(source: str) -> None:
    rng = np.random.default_rng(0)
    for number, target in enumerate(t for t in TYPES if WIDTHS[t] != WIDTHS[source]):
        few = ((), (3,), (2, 5), (0,))[number % 4]
        narrower, count = WIDTHS[target] < WIDTHS[source], max(WIDTHS[source], WIDTHS[target]) // min(WIDTHS[source], WIDTHS[target])
        shape, result = (few, (*few, count)) if narrower else ((*few, count), few)
        x = np.frombuffer(rng.bytes(int(np.prod(shape)) * WIDTHS[source]), TYPES[source]).reshape(shape)
        types = tensor(shape, source), tensor(result, target)
        text = f"func.func @main(%x: {types[0]}) -> {types[1]} {{\n%r = stablehlo.bitcast_convert %x : ({types[0]}) -> {types[1]}\nreturn %r : {types[1]}\n}}"
        for (y,) in both(text, x):
            assert (y.shape, y.dtype) == (result, np.dtype(TYPES[target]))
            assert np.asarray(y).tobytes() == x.tobytes()


@pytest.mark.parametrize("part", ["f64", "f32"])
@pytest.mark.parametrize("direction", ["LT", "LE", "GT", "GE", "EQ", "NE"])
def test_complex_numbers_in_order(direction: str, part: str) -> None:
    parts = np.array([-1.0, -0.0, 0.0, 2.0, np.inf, -np.inf, np.nan])
    z = np.empty((7, 7), np.complex128 if part == "f64" else np.complex64)
    z.real, z.imag = np.meshgrid(parts, parts)
    x, y = (v.ravel() for v in np.meshgrid(z, z))
    type = f"tensor<{x.size}xcomplex<{part}>>"
    head = f"func.func @main(%x: {type}, %y: {type}) -> tensor<{x.size}xi1>"
    text = f"{head} {{\n%r = stablehlo.compare {direction}, %x, %y : ({type}, {type}) -> tensor<{x.size}xi1>\nreturn %r : tensor<{x.size}xi1>\n}}"
    before = {"LT": np.less, "LE": np.less_equal, "GT": np.greater, "GE": np.greater_equal}
    if direction in before:
        expected = {"L": np.less, "G": np.greater}[direction[0]](x.real, y.real) | ((x.real == y.real) & before[direction](x.imag, y.imag))
    else:
        expected = (x == y) == (direction == "EQ")
    for (r,) in both(text, x, y):
        np.testing.assert_array_equal(r, expected)


@pytest.mark.parametrize("part", ["f64", "f32"])
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes_of_complex_numbers(name: str, part: str) -> None:
    parts = np.array([-1.0, -0.0, 0.0, 2.0, np.inf, -np.inf, np.nan])
    z = np.empty((7, 7), np.complex128 if part == "f64" else np.complex64)
    z.real, z.imag = np.meshgrid(parts, parts)
    x, y = (v.ravel() for v in np.meshgrid(z, z))
    type = f"tensor<{x.size}xcomplex<{part}>>"
    (expected,), (compiled,) = both(
        f"func.func @main(%x: {type}, %y: {type}) -> {type} {{\n%r = stablehlo.{name} %x, %y : {type}\nreturn %r : {type}\n}}", x, y
    )
    np.testing.assert_array_equal(compiled, expected)
    known = ~(np.isnan(x) | np.isnan(y))
    later = (x.real > y.real) | ((x.real == y.real) & (x.imag >= y.imag))
    np.testing.assert_array_equal(compiled[known], np.where(later == (name == "maximum"), x, y)[known])
    assert np.isnan(compiled[~known]).all()


def test_complex_numbers_are_sorted() -> None:
    z = np.array([1 + 2j, 1 - 2j, -3 + 0j, 0 + 5j, 1 + 0j, 0 - 5j])
    type = "tensor<6xcomplex<f64>>"
    text = f"""func.func @main(%x: {type}) -> {type} {{
  %r = "stablehlo.sort"(%x) <{{dimension = 0 : i64, is_stable = true}}> ({{
  ^bb0(%a: tensor<complex<f64>>, %b: tensor<complex<f64>>):
    %p = stablehlo.compare LT, %a, %b : (tensor<complex<f64>>, tensor<complex<f64>>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }}) : ({type}) -> {type}
  return %r : {type}
}}"""
    for (r,) in both(text, z):
        np.testing.assert_array_equal(r, np.sort_complex(z))


def angles(count: int, part: str) -> str:
    type = f"tensor<{count}xcomplex<{part}>>"
    return f"func.func @main(%y: {type}, %x: {type}) -> {type} {{\n%r = stablehlo.atan2 %y, %x : {type}\nreturn %r : {type}\n}}"


@pytest.mark.parametrize(("part", "scale"), [("f64", 1.0), ("f64", 1e300), ("f64", 1e-300), ("f32", 1.0), ("f32", 1e37), ("f32", 1e-37)])
def test_complex_angles(part: str, scale: float) -> None:
    rng = np.random.default_rng(1)
    dtype = np.complex128 if part == "f64" else np.complex64
    y, x = (((rng.normal(size=60) + 1j * rng.normal(size=60)) * scale).astype(dtype) for _ in range(2))
    for (r,) in both(angles(60, part), y, x):
        for a, b, angle in zip(y, x, r, strict=True):
            with mp.workdps(60):
                a, b = mp.mpc(complex(a)), mp.mpc(complex(b))
                exact = -1j * mp.log((b + 1j * a) / mp.sqrt(b * b + a * a))
                assert abs(mp.mpc(complex(angle)) - exact) <= 20 * np.finfo(dtype).eps * max(abs(exact), 1)


def test_complex_angles_are_differentiated() -> None:
    rng = np.random.default_rng(2)
    values = [rng.normal(size=5) + 1j * rng.normal(size=5) for _ in range(3)]
    derived = wg.parse(angles(5, "f64")).vjp()
    expected, compiled = derived.compile("interpreter")(*values), derived.compile()(*values)
    y, x, bar = values
    for result, exact in zip(compiled[1:], (bar * x / (x * x + y * y), -bar * y / (x * x + y * y)), strict=True):
        np.testing.assert_allclose(result, exact, rtol=1e-12)
    for a, b in zip(compiled, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
