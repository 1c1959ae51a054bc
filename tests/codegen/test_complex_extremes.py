"""Complex functions at extreme values, on both backends: against arbitrary precision where the result is finite, against the C library (C99, annex G)
where parts are infinite or NaN."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from complex_reference import EXACT, exactly, numbers
from reference_programs import ROTATION, share

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]

BY_MODULUS = frozenset(("exponential_minus_one", "logistic", "cbrt", "sign"))
"""Functions whose error is bounded relative to the modulus of the result, not part by part."""
ULPS = 4.0

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def program(name: str, count: int, double: bool, arity: int = 1) -> wg.Program:
    part = "f64" if double else "f32"
    z = f"tensor<{count}xcomplex<{part}>>"
    y = f"tensor<{count}x{part}>" if name == "abs" else z
    op = name if "." in name else f"stablehlo.{name}"
    names = ["%a", "%b"][:arity]
    arguments = ", ".join(f"{n}: {z}" for n in names)
    return wg.parse(f'func.func @main({arguments}) -> {y} {{\n%r = "{op}"({", ".join(names)}) : ({", ".join([z] * arity)}) -> {y}\nreturn %r : {y}\n}}')


def off(actual: Any, exact: Any, size: Any, kind: Any) -> float:
    """The error of a part in units of the last place of ``size``; overflow is right from the largest number on."""
    if abs(exact) > float(kind.max):
        return 0.0 if (np.isinf(actual) and np.sign(actual) == mp.sign(exact)) or np.abs(actual) == kind.max else np.inf
    if not np.isfinite(actual):
        return 0.0 if np.isinf(actual) and abs(exact) > (1 - ULPS * float(kind.eps)) * mp.mpf(float(kind.max)) else np.inf
    return float(abs(mp.mpf(float(actual)) - exact) / (size * float(kind.eps) + float(kind.smallest_subnormal)))


@pytest.mark.parametrize("double", [True, False], ids=["f64", "f32"])
@pytest.mark.parametrize("name", share(EXACT, 3))
def test_against_arbitrary_precision(name: str, double: bool) -> None:
    z = numbers(double, ROTATION, 80)
    kind: Any = np.finfo(z.dtype)
    p, exact = program(name, z.size, double), [exactly(name, complex(v)) for v in z]
    compiled = p.compile()
    assert not compiled.stats.interpreted
    for actual in (compiled(z)[0], p.compile("interpreter")(z)[0]):
        for v, w, y in zip(z, exact, actual, strict=True):
            if w is None:
                continue
            sizes = (abs(w), abs(w)) if name in BY_MODULUS else (abs(w.real), abs(w.imag))
            errors = [off(a, b, size, kind) for a, b, size in zip((y.real, y.imag), (w.real, w.imag), sizes, strict=True)]
            assert max(errors) <= ULPS, f"{name}({v}) = {complex(w)}, found {y}"


PARTS = np.array([0.0, -0.0, 1.0, -2.0, 0.5, 1e300, -1e-310, np.inf, -np.inf, np.nan, 700.0, -800.0])
IN_C = {
    "exponential": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "sine": np.sin,
    "cosine": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "chlo.sinh": np.sinh,
    "chlo.cosh": np.cosh,
    "chlo.asin": np.arcsin,
    "chlo.acos": np.arccos,
    "chlo.atan": np.arctan,
    "chlo.asinh": np.arcsinh,
    "chlo.acosh": np.arccosh,
    "chlo.atanh": np.arctanh,
}


def limits(dtype: Any) -> Array:
    x, y = (v.ravel() for v in np.meshgrid(PARTS, PARTS))
    z = np.empty(x.size, dtype)
    z.real, z.imag = x, y
    return z


def assert_same(actual: Array, wanted: Array, z: Array) -> None:
    """NaN and infinities part by part; signs of zeros where the other part is a number, which is where C99 says them."""
    eps = float(np.finfo(z.dtype).eps)
    for read, other in ((np.real, np.imag), (np.imag, np.real)):
        a, b = read(actual), read(wanted)
        same = (np.isnan(a) & np.isnan(b)) | (a == b) | (np.abs(a - b) <= 8 * eps * np.abs(b) + 8 * np.finfo(z.dtype).smallest_subnormal)
        assert same.all(), (z[~same][:4], a[~same][:4], b[~same][:4])
        signed = (a != 0) | (b != 0) | (np.signbit(a) == np.signbit(b)) | np.isnan(other(wanted)) | ~np.isfinite(z)
        assert signed.all(), (z[~signed][:4], a[~signed][:4], b[~signed][:4])


@pytest.mark.parametrize("double", [True, False], ids=["f64", "f32"])
@pytest.mark.parametrize("name", share(EXACT, 2))
def test_infinities_and_nan(name: str, double: bool) -> None:
    z = limits(np.complex128 if double else np.complex64)
    p = program(name, z.size, double)
    fast, slow = p.compile()(z)[0], p.compile("interpreter")(z)[0]
    assert_same(fast, slow, z)
    if name in IN_C:
        assert_same(slow, IN_C[name](z.astype(np.complex128)).astype(z.dtype), z)


@pytest.mark.parametrize("double", [True, False], ids=["f64", "f32"])
def test_inverse_roots_with_a_subnormal_part(double: bool) -> None:
    """The root's part is subnormal where that of the inverse root may have hundreds of times more digits."""
    kind: Any = np.finfo(np.float64 if double else np.float32)
    tiny = float(kind.smallest_subnormal)
    z = np.array([(x + 1j * s * y) for x in (0.01, 0.3, 1.0, 7.0, -0.02, tiny) for y in (tiny, 11 * tiny, 1000 * tiny) for s in (1, -1)])
    z = z.astype(np.complex128 if double else np.complex64)
    p = program("rsqrt", z.size, double)
    for actual in (p.compile()(z)[0], p.compile("interpreter")(z)[0]):
        for v, y in zip(z, actual, strict=True):
            w = exactly("rsqrt", complex(v))
            assert w is not None
            assert max(off(a, b, abs(b), kind) for a, b in ((y.real, w.real), (y.imag, w.imag))) <= ULPS, (v, y, complex(w))


def lopsided(double: bool, seed: int, count: int) -> Array:
    """Numbers of which one part may raise the other, a subnormal one among them, from the least number to far beyond the range."""
    rng, kind = np.random.default_rng(seed), np.finfo(np.float64 if double else np.float32)
    edge = float(np.log(kind.max))
    far = rng.choice([-1, 1], count) * edge * 10.0 ** rng.uniform(0, 4, count)
    large = np.concatenate(
        [rng.uniform(-20, 20, count), rng.uniform(-2.1 * edge, 2.1 * edge, count), rng.choice([-1, 1], count) * rng.uniform(0.98, 1.05) * edge, far]
    )
    small = float(kind.smallest_subnormal) * 2.0 ** rng.uniform(0, kind.nmant * 2.5, large.size) * rng.choice([-1, 1], large.size)
    small[-count // 2 :] = np.copysign(kind.smallest_subnormal, small[-count // 2 :])
    z = np.empty(large.size, np.complex128 if double else np.complex64)
    z.real, z.imag = large, small
    return z


@pytest.mark.parametrize("double", [True, False], ids=["f64", "f32"])
@pytest.mark.parametrize("name", ["exponential", "exponential_minus_one", "sine", "cosine", "chlo.sinh", "chlo.cosh"])
def test_a_subnormal_part_that_is_raised(name: str, double: bool) -> None:
    """e^x sin y where y is subnormal: all digits that y has are in the result, also where e^x alone overflows."""
    z = lopsided(double, ROTATION, 40)
    z = z.imag + 1j * z.real if name in ("sine", "cosine") else z
    z = z.astype(np.complex128 if double else np.complex64)
    kind: Any = np.finfo(z.dtype)
    p = program(name, z.size, double)
    for actual in (p.compile()(z)[0], p.compile("interpreter")(z)[0]):
        for v, y in zip(z, actual, strict=True):
            w = exactly(name, complex(v))
            assert w is not None
            errors = [off(a, b, abs(w) if name in BY_MODULUS else abs(b), kind) for a, b in ((y.real, w.real), (y.imag, w.imag))]
            assert max(errors) <= ULPS, (v, y, complex(w))


@pytest.mark.parametrize("double", [True, False], ids=["f64", "f32"])
def test_quotients(double: bool) -> None:
    """By the modulus of the result; at zeros and infinities both backends, and C99: nonzero / 0, finite / infinity, infinity / finite."""
    x, y = numbers(double, ROTATION, 300), numbers(double, ROTATION + 1, 300)
    kind: Any = np.finfo(x.dtype)
    p = program("divide", x.size, double, 2)
    for actual in (p.compile()(x, y)[0], p.compile("interpreter")(x, y)[0]):
        for a, b, q in zip(x, y, actual, strict=True):
            if b == 0:
                continue
            with mp.workdps(700):
                exact = mp.mpc(complex(a)) / mp.mpc(complex(b))
            if abs(exact) < kind.max:
                error = float(abs(mp.mpc(complex(q)) - exact) / (abs(exact) * float(kind.eps) + 2 * float(kind.smallest_subnormal)))
                assert error <= ULPS, (a, b, complex(exact), q)
    z = limits(x.dtype)
    a, b = (v.ravel() for v in np.meshgrid(z, z))
    p = program("divide", a.size, double, 2)
    fast, slow = p.compile()(a, b)[0], p.compile("interpreter")(a, b)[0]
    finite, infinite = np.isfinite(a) & np.isfinite(b), np.isinf(a) | np.isinf(b)
    for read in (np.real, np.imag):
        u, v = read(fast)[infinite], read(slow)[infinite]
        assert ((u == v) | (np.isnan(u) & np.isnan(v))).all()
    for actual in (fast, slow):
        unbounded = np.isinf(actual.real) | np.isinf(actual.imag)
        assert unbounded[(a != 0) & finite & (b == 0)].all()
        assert unbounded[np.isinf(a) & np.isfinite(b)].all()
        assert (actual[np.isfinite(a) & np.isinf(b)] == 0).all()


@pytest.mark.parametrize("double", [True, False], ids=["f64", "f32"])
def test_powers(double: bool) -> None:
    """The rounding of the logarithm, in f64, counts as often as the exponential's argument is large."""
    rng = np.random.default_rng(ROTATION)
    z = numbers(double, ROTATION, 200)
    z = z[np.abs(np.log(np.abs(z) + 1e-300)) < 40]
    w = (rng.normal(size=z.size) * 3 + 3j * rng.normal(size=z.size)).astype(z.dtype)
    kind: Any = np.finfo(z.dtype)
    p = program("power", z.size, double, 2)
    for actual in (p.compile()(z, w)[0], p.compile("interpreter")(z, w)[0]):
        for a, b, y in zip(z, w, actual, strict=True):
            if a == 0:
                continue
            with mp.workdps(60):
                below = bool(np.signbit(a.imag))  # a zero's sign says on which side of the cut; mpmath has none
                inside = mp.mpc(complex(b.conj() if below else b)) * mp.log(mp.mpc(complex(a.conj() if below else a)))
                exact = mp.exp(mp.conj(inside) if below else inside)
            if float(kind.tiny) < abs(exact) < float(kind.max):
                bound = ULPS * float(kind.eps) + ULPS * 2.0**-52 * float(abs(inside))
                assert float(abs(mp.mpc(complex(y)) - exact) / abs(exact)) <= bound, (a, b, complex(exact), y)
