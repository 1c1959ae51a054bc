"""Floating-point instructions against exact rational arithmetic, rounded once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from exact_rounding import FORMATS, PRECISION, drawn, rounded, special
from ptx_programs import applied, same_numbers

from wengert.runtime import ptx
from wengert.runtime.ptx.fused import fma

RNG = np.random.default_rng(13)


def reference(exact: Callable[..., Fraction], plain: Callable[..., Any], type: str, mode: str, rows: Any) -> Any:
    """The results by exact arithmetic; where an operand is not finite, or an exact zero's sign is asked for, by f64."""
    results = []
    for row in rows:
        with np.errstate(all="ignore"):
            simple = plain(*[np.float64(x) for x in row])
        if not all(np.isfinite(float(x)) for x in row) or (not np.isfinite(simple) and any(float(x) == 0 for x in row)):
            results.append(float(simple))
            continue
        try:
            value = exact(*[Fraction(float(x)) for x in row])
        except ZeroDivisionError:
            results.append(float(simple))
            continue
        zero = float(simple) if simple == 0 else 0.0
        if value == 0 and mode == "rm" and simple == 0 and not _signed_alike(row, plain):
            zero = -0.0
        results.append(rounded(value, type, mode, zero))
    return np.array(results).astype(FORMATS[type])


def _signed_alike(row: Any, plain: Callable[..., Any]) -> bool:
    """Whether an exact zero has its sign from its terms, in every mode: a product, or a sum of zeros of one sign."""
    if plain is np.multiply or plain is np.divide:
        return True
    terms = [float(x) for x in row]
    if plain is np.subtract:
        terms[-1] = -terms[-1]
    if len(terms) == 3:
        terms = [terms[0] * terms[1], terms[2]] if terms[0] * terms[1] == 0 and 0 in terms[:2] else [1.0, -1.0]
    return terms[0] == terms[1] == 0 and np.signbit(terms[0]) == np.signbit(terms[1])


def check(instruction: str, type: str, exact: Callable[..., Fraction], plain: Callable[..., Any], mode: str, *operands: Any) -> None:
    dtype = FORMATS[type]
    word = np.dtype(f"u{dtype.itemsize}")
    got = applied(f"{instruction}.{type}", word, [np.ascontiguousarray(o).view(word) for o in operands]).view(dtype)
    wanted = reference(exact, plain, type, mode, zip(*operands))
    wrong = np.flatnonzero(~same_numbers(got, wanted))
    rows = [(tuple(float(o[k]) for o in operands), float(got[k]), float(wanted[k])) for k in wrong[:3]]
    assert not rows, f"{len(wrong)} of {len(got)}: {rows}"


def pairs(type: str, count: int) -> tuple[Any, Any]:
    edges = list(itertools.product(special(type), repeat=2))
    x, y = (np.array([e[k] for e in edges], FORMATS[type]) for k in range(2))
    return np.concatenate([x, drawn(type, count)]), np.concatenate([y, drawn(type, count)])


def multiplied_and_added(x: Fraction, y: Fraction, z: Fraction) -> Fraction:
    return x * y + z


def plain_fma(x: Any, y: Any, z: Any) -> Any:
    """With two roundings; a product that overflows does not count if it is added to an infinity."""
    return z if np.isfinite(x) and np.isfinite(y) and not np.isfinite(z) else x * y + z


BINARY = {
    "add": (lambda x, y: x + y, np.add),
    "sub": (lambda x, y: x - y, np.subtract),
    "mul": (lambda x, y: x * y, np.multiply),
    "div": (lambda x, y: x / y, np.divide),
}


@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(name: str, type: str, mode: str) -> None:
    exact, plain = BINARY[name]
    check(f"{name}.{mode}", type, exact, plain, mode, *pairs(type, 256))


@pytest.mark.parametrize("type", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_two_halves(name: str, type: str) -> None:
    exact, plain = BINARY[name]
    check(f"{name}.rn", type, exact, plain, "rn", *pairs(type, 512))


def triples(type: str, count: int) -> tuple[Any, Any, Any]:
    """Three numbers, many of them such that the sum nearly cancels the product."""
    x, y = pairs(type, count)
    with np.errstate(all="ignore"):
        near = -(x.astype(np.float64) * y.astype(np.float64)).astype(FORMATS[type])
        half = (near.astype(np.float64) * (1 + 2.0 ** -PRECISION[type][0])).astype(FORMATS[type])
    z = np.where(RNG.random(len(x)) < 0.4, near, np.where(RNG.random(len(x)) < 0.3, half, drawn(type, len(x)))).astype(FORMATS[type])
    return x, y, z


@pytest.mark.parametrize(("type", "mode"), [*itertools.product(["f32", "f64"], ["rn", "rz", "rm", "rp"]), ("f16", "rn"), ("bf16", "rn")])
def test_fused(type: str, mode: str) -> None:
    check(f"fma.{mode}", type, multiplied_and_added, plain_fma, mode, *triples(type, 512))


def test_arrays_of_any_length_are_fused() -> None:
    """Also longer ones than one call takes, and operands of one element."""
    x = RNG.integers(-1000, 1000, 40_000).astype(np.float32)
    for y, z in ((x[::-1], x), (x[:1], x), (x, x[:1]), (x[:1], x[1:2])):
        np.testing.assert_array_equal(fma(x, y, z), x * y + z)
    np.testing.assert_array_equal(fma(x[:1], x[1:2], x), x[0] * x[1] + x)


def test_where_two_roundings_differ_from_one() -> None:
    """f32 results whose f64 sum lies in the middle between two f32 numbers, and halves whose f32 sum does."""
    x = np.repeat(np.float32(1 + 2.0**-23), 32)
    z = np.float32(2.0**-60) * np.arange(-16, 16, dtype=np.float32)
    check("fma.rn", "f32", multiplied_and_added, plain_fma, "rn", x, np.repeat(np.float32(1 + 2.0**-12), 32), z)
    h = np.repeat(np.float16(1 + 2.0**-10), 32)
    check("fma.rn", "f16", multiplied_and_added, plain_fma, "rn", h, np.repeat(np.float16(1.5), 32), z.astype(np.float16))


@pytest.mark.parametrize("type", ["f32", "f64"])
@pytest.mark.parametrize("mode", ["rn", "rz", "rm", "rp"])
def test_reciprocals_and_roots(type: str, mode: str) -> None:
    x = np.concatenate([special(type), drawn(type, 240)])
    check(f"rcp.{mode}", type, lambda v: 1 / v, lambda v: 1 / v, mode, x)
    word = np.dtype(f"u{x.dtype.itemsize}")
    got = applied(f"sqrt.{mode}.{type}", word, [x.view(word)]).view(x.dtype)
    for value, root in zip(x.tolist(), got.tolist()):
        if not value >= 0 or value in (0, float("inf")):
            assert same_numbers(np.float64([root]), np.sqrt(np.float64([value]), where=[value >= 0], out=np.full(1, np.nan)))
            continue
        below, above = (float(np.nextafter(x.dtype.type(root), x.dtype.type(to))) for to in (0, np.inf))
        exact = Fraction(value)
        square = Fraction(root) ** 2
        if mode == "rn":
            assert (Fraction(root) + Fraction(below)) ** 2 / 4 < exact < (Fraction(root) + Fraction(above)) ** 2 / 4
        elif mode == "rp":
            assert Fraction(below) ** 2 < exact <= square
        else:
            assert square <= exact < Fraction(above) ** 2


@pytest.mark.parametrize("type", FORMATS)
@pytest.mark.parametrize(("name", "nan"), [("min", False), ("min", True), ("max", False), ("max", True)])
def test_extremes(name: str, nan: bool, type: str) -> None:
    x, y = pairs(type, 256)
    word = np.dtype(f"u{x.dtype.itemsize}")
    if nan and type == "f64":
        with pytest.raises(ptx.UnsupportedError, match=r"'\.NaN' in this place"):
            applied(f"{name}.NaN.f64", word, [x.view(word), y.view(word)])
        return
    got = applied(f"{name}{'.NaN' if nan else ''}.{type}", word, [x.view(word), y.view(word)]).view(x.dtype)

    def wanted(a: float, b: float) -> float:
        if a != a or b != b:
            return float("nan") if nan or (a != a and b != b) else (b if a != a else a)
        key = lambda v: (v, not np.signbit(v))  # noqa: E731  # +0 is greater than -0
        return min(a, b, key=key) if name == "min" else max(a, b, key=key)

    expected = np.array([wanted(float(a), float(b)) for a, b in zip(x, y)]).astype(x.dtype)
    assert same_numbers(got, expected).all()


@pytest.mark.parametrize("type", FORMATS)
def test_signs(type: str) -> None:
    x = np.concatenate([special(type), drawn(type, 48)])
    word = np.dtype(f"u{x.dtype.itemsize}")
    assert same_numbers(applied(f"neg.{type}", word, [x.view(word)]).view(x.dtype), -x).all()
    assert same_numbers(applied(f"abs.{type}", word, [x.view(word)]).view(x.dtype), np.abs(x)).all()
    if type in ("f32", "f64"):
        y = x[::-1].copy()
        assert same_numbers(applied(f"copysign.{type}", x.dtype, [x, y]), np.copysign(y, x)).all()


@pytest.mark.parametrize("type", ["f16", "bf16"])
@pytest.mark.parametrize("instruction", ["add.rn", "mul.rn", "sub.rn", "min", "max.NaN", "neg", "abs", "fma.rn"])
def test_pairs_are_two_halves(instruction: str, type: str) -> None:
    count = 3 if instruction == "fma.rn" else 1 if instruction in ("neg", "abs") else 2
    operands = [drawn(type, 128).view(np.uint16) for _ in range(count)]
    single = applied(f"{instruction}.{type}", np.uint16, operands).view(FORMATS[type])
    packed = applied(f"{instruction}.{type}x2", np.uint32, [o.view(np.uint32) for o in operands]).view(FORMATS[type])
    assert same_numbers(packed, single).all()


def test_subnormal_numbers_are_flushed_if_asked_for() -> None:
    tiny = np.finfo(np.float32).smallest_normal
    x = np.array([tiny / 2, -tiny / 2, tiny, 1, -tiny, tiny / 4, 0, -0.0], np.float32)
    one = np.ones_like(x)
    flushed = np.where(np.abs(x) < tiny, np.copysign(np.float32(0), x), x)
    assert same_numbers(applied("mul.ftz.f32", x.dtype, [x, one]), flushed).all()
    assert same_numbers(applied("mul.f32", x.dtype, [x, one]), x).all()
    assert same_numbers(applied("mul.ftz.f32", x.dtype, [np.full_like(x, tiny), one / 2]), 0 * one).all()
    assert same_numbers(applied("fma.rn.ftz.f32", x.dtype, [x, one, -0.0 * one]), flushed).all()
    np.testing.assert_array_equal(applied("setp.eq.ftz.f32", "pred", [x, 0 * one]), np.abs(x) < tiny)


def test_saturation() -> None:
    x = np.array([-1, -0.0, 0.25, 1, 2, np.nan, np.inf, -np.inf], np.float32)
    wanted = np.array([0, 0, 0.25, 1, 1, 0, 1, 0], np.float32)
    np.testing.assert_array_equal(applied("add.sat.f32", x.dtype, [x, 0 * x[:1].repeat(8)]), wanted)
    np.testing.assert_array_equal(applied("cvt.sat.f32.f32", x.dtype, [x]), wanted)


APPROXIMATIONS = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcp": lambda x: 1 / x,
    "sqrt": np.sqrt,
}


@pytest.mark.parametrize("name", APPROXIMATIONS)
def test_approximations_are_rounded_from_doubles(name: str) -> None:
    x = np.abs(drawn("f32", 64)) % 3
    with np.errstate(all="ignore"):
        wanted = APPROXIMATIONS[name](x.astype(np.float64)).astype(np.float32)
    assert same_numbers(applied(f"{name}.approx.f32", x.dtype, [x]), wanted).all()


def test_approximate_reciprocal_of_a_double() -> None:
    """The lower halves of operand and result do not count."""
    x = RNG.normal(size=64)
    got = applied("rcp.approx.ftz.f64", x.dtype, [x])
    assert not (got.view(np.uint64) & np.uint64(0xFFFFFFFF)).any()
    np.testing.assert_allclose(got, 1 / x, rtol=2.0**-18)
