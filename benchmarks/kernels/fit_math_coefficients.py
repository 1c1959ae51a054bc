"""Fits the polynomials of transforms/codegen/llvm/math/coefficients.py: run by hand (needs mpmath), never imported by the package.

    python benchmarks/kernels/fit_math_coefficients.py > transforms/codegen/llvm/math/coefficients.py

The Remez exchange algorithm (E. Remez, C. R. Acad. Sci. 199, 1934) in 40 decimal digits finds the polynomial p of a degree that
minimises max |(p(x) - f(x)) w(x)| on an interval.  Every table is written with its interval, degree and that maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import mpmath as mp

Function = Callable[[mp.mpf], mp.mpf]


def one(_: mp.mpf) -> mp.mpf:
    """The weight of an absolute fit."""
    return mp.mpf(1)


@dataclass(frozen=True)
class Fit:
    """One table: the function, the interval, the degree, the weight, and what the polynomial approximates, in words."""

    name: str
    meaning: str
    function: Function
    low: mp.mpf
    high: mp.mpf
    degree: int
    weight: Function = one


def remez(fit: Fit, rounds: int = 15) -> tuple[list[mp.mpf], mp.mpf]:
    """Coefficients, lowest power first, and the weighted maximum error on a dense grid."""
    low, high, count = mp.mpf(fit.low), mp.mpf(fit.high), fit.degree + 2
    nodes = [(low + high) / 2 - (high - low) / 2 * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]
    size = 24 * count
    grid = [low + (high - low) * (1 - mp.cos(mp.pi * k / size)) / 2 for k in range(size + 1)]
    sampled = [(x, fit.function(x), fit.weight(x)) for x in grid]
    coefficients: list[mp.mpf] = []
    largest = mp.inf
    for _ in range(rounds):
        coefficients = interpolate(fit, nodes)
        errors = [(x, (mp.polyval(coefficients[::-1], x) - value) * weight) for x, value, weight in sampled]
        largest = max(abs(error) for _, error in errors)
        extrema = alternate(errors, count)
        if len(extrema) < count or max(abs(a - b) for a, b in zip(extrema, nodes, strict=True)) < (high - low) * mp.mpf("1e-9"):
            break
        nodes = extrema
    return coefficients, largest


def interpolate(fit: Fit, nodes: list[mp.mpf]) -> list[mp.mpf]:
    """The polynomial whose weighted error has equal size and alternating sign in the nodes."""
    count = len(nodes)
    matrix, values = mp.matrix(count, count), mp.matrix(count, 1)
    for row, x in enumerate(nodes):
        for power in range(count - 1):
            matrix[row, power] = x**power
        matrix[row, count - 1] = (-1) ** row / fit.weight(x)
        values[row] = fit.function(x)
    solution = mp.lu_solve(matrix, values)
    return [solution[i] for i in range(count - 1)]


def alternate(errors: list[tuple[mp.mpf, mp.mpf]], count: int) -> list[mp.mpf]:
    """The largest error of each run of one sign; surplus runs are dropped from the ends."""
    runs: list[tuple[mp.mpf, mp.mpf]] = []
    for x, error in errors:
        if runs and (runs[-1][1] >= 0) == (error >= 0):
            if abs(error) > abs(runs[-1][1]):
                runs[-1] = (x, error)
        else:
            runs.append((x, error))
    while len(runs) > count:
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    return [x for x, _ in runs]


def series(closed: Function, coefficients: list[mp.mpf], near: str = "1e-6") -> Function:
    """`closed`, replaced by its first Taylor terms near 0, where it is 0/0."""
    return lambda x: mp.polyval(coefficients[::-1], x) if abs(x) < mp.mpf(near) else closed(x)


def exponential() -> Iterator[Fit]:
    half = mp.log(2) / 2 * mp.mpf("1.001")
    tail = series(lambda r: (mp.expm1(r) - r) / r**2, [mp.mpf(1) / mp.factorial(k + 2) for k in range(6)])
    meaning = "(exp(r) - 1 - r) / r^2"
    yield Fit("EXP_F32", meaning, tail, -half, half, 4, lambda r: r * r / mp.exp(r) + mp.mpf("1e-6"))
    yield Fit("EXP_F64", meaning, tail, -half, half, 9, lambda r: r * r / mp.exp(r) + mp.mpf("1e-6"))
    yield Fit("EXPM1_F32", meaning, tail, -half, half, 5)
    yield Fit("EXPM1_F64", meaning, tail, -half, half, 10)


def logarithm() -> Iterator[Fit]:
    single = series(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, [mp.mpf(-1) ** k / (k + 3) for k in range(6)])
    yield Fit("LOG_F32", "(log(1 + f) - f + f^2/2) / f^3", single, mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 7, lambda f: f * f + mp.mpf("1e-4"))
    top = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.001")
    double = series(lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z, [mp.mpf(2) / (2 * k + 3) for k in range(6)])
    yield Fit("LOG_F64", "(2 artanh(s)/s - 2) / s^2 in z = s^2", double, mp.mpf(0), top, 6)


def trigonometric() -> Iterator[Fit]:
    top = (mp.pi / 4 * mp.mpf("1.001")) ** 2
    sine = series(lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [mp.mpf(-1) ** (k + 1) / mp.factorial(2 * k + 3) for k in range(6)])
    cosine = series(lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2, [mp.mpf(-1) ** k / mp.factorial(2 * k + 4) for k in range(6)], "1e-4")
    for element, degree in (("F32", 2), ("F64", 5)):
        yield Fit(f"SIN_{element}", "(sin(r)/r - 1) / z in z = r^2", sine, mp.mpf(0), top, degree)
        yield Fit(f"COS_{element}", "(cos(r) - 1 + z/2) / z^2 in z = r^2", cosine, mp.mpf(0), top, degree)


def hyperbolic() -> Iterator[Fit]:
    terms = [mp.mpf(-1) / 3, mp.mpf(2) / 15, -mp.mpf(17) / 315, mp.mpf(62) / 2835]
    tangent = series(lambda z: (mp.tanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, terms)
    top = (mp.mpf("1.625") * mp.log(2) / 2) ** 2 * mp.mpf("1.0001")
    yield Fit("TANH_F32", "(tanh(h)/h - 1) / z in z = h^2", tangent, mp.mpf(0), top, 3, lambda z: z ** mp.mpf("1.25") + mp.mpf("1e-5"))


def power() -> Iterator[Fit]:
    yield Fit("RCBRT", "m^(-1/3)", lambda m: m ** (-mp.mpf(1) / 3), mp.mpf("0.353"), mp.mpf("2.83"), 6, mp.cbrt)
    top = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.001")
    terms = [mp.mpf(2) / (2 * k + 5) for k in range(6)]
    tail = series(lambda z: ((2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z - mp.mpf(2) / 3) / z, terms)
    yield Fit("LOG_TAIL", "((2 artanh(s)/s - 2) / z - 2/3) / z in z = s^2", tail, mp.mpf(0), top, 7)


def inverse_trigonometric() -> Iterator[Fit]:
    top = mp.tan(mp.pi / 8) ** 2 * mp.mpf("1.001")
    arctangent = series(lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [mp.mpf(-1) ** (k + 1) / (2 * k + 3) for k in range(6)])
    arcsine = series(lambda z: (mp.asin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, [mp.mpf(1) / 6, mp.mpf(3) / 40, mp.mpf(15) / 336, mp.mpf(105) / 3456])
    for element, degrees in (("F32", (4, 5)), ("F64", (10, 12))):
        yield Fit(f"ATAN_{element}", "(atan(t)/t - 1) / z in z = t^2", arctangent, mp.mpf(0), top, degrees[0])
        yield Fit(f"ASIN_{element}", "(asin(t)/t - 1) / z in z = t^2", arcsine, mp.mpf(0), mp.mpf("0.2501"), degrees[1])


def error_function() -> Iterator[Fit]:
    near = series(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, [2 / mp.sqrt(mp.pi) - 1, -2 / (3 * mp.sqrt(mp.pi)), 1 / (5 * mp.sqrt(mp.pi))], "1e-12")
    yield Fit("ERF_F32", "erf(x)/x - 1 in z = x^2", near, mp.mpf(0), mp.mpf(1), 6)
    yield Fit("ERF_F64", "erf(x)/x - 1 in z = x^2", near, mp.mpf(0), mp.mpf(1), 11)
    center = mp.mpf("2.46")
    yield Fit("ERFC_F32", "erfc(2.46 + t)", lambda t: mp.erfc(t + center), 1 - center, mp.mpf("3.92") - center, 13)
    meaning = "(x + 4) exp(x^2) erfc(x) in u = 1 - 8/(x + 4)"
    for name, end, degree in (("ERFC_SCALED_F32", "10.3", 10), ("ERFC_SCALED_F64", "27.3", 22)):
        low, high = (1 - 8 / (mp.mpf(x) + 4) for x in ("0.45", end))
        yield Fit(name, meaning, scaled_erfc, low, high, degree, lambda u: 1 / scaled_erfc(u))


def inverse_error_function() -> Iterator[Fit]:
    def ratio(w: mp.mpf) -> mp.mpf:
        """erfinv(x) / x for w = -log(1 - x^2)."""
        if w < mp.mpf("1e-12"):
            return mp.sqrt(mp.pi) / 2
        x = mp.sqrt(-mp.expm1(-w))
        return mp.erfinv(x) / x

    def inner(name: str, center: float, degree: int) -> Fit:
        meaning = f"erfinv(x)/x in w - {center}, w = -log(1 - x^2)"
        return Fit(name, meaning, lambda t: ratio(t + center), mp.mpf(-center), mp.mpf(center), degree, lambda t: 1 / ratio(t + center))

    def outer(name: str, center: float, low: float, high: float, degree: int) -> Fit:
        meaning = f"erfinv(x)/x in sqrt(w) - {center}, w = -log(1 - x^2)"
        bounds = mp.sqrt(low) - center, mp.sqrt(high) - center
        return Fit(name, meaning, lambda t: ratio((t + center) ** 2), *bounds, degree, lambda t: 1 / ratio((t + center) ** 2))

    yield inner("ERF_INV_INNER_F32", 2.5, 10)
    yield outer("ERF_INV_OUTER_F32", 3.0, 5, 16.7, 9)
    yield inner("ERF_INV_INNER_F64", 3.125, 23)
    yield outer("ERF_INV_MIDDLE_F64", 3.25, 6.25, 16, 18)
    yield outer("ERF_INV_OUTER_F64", 5.0, 16, 36.8, 17)


def gamma() -> Iterator[Fit]:
    slope = [1 - mp.euler, (mp.zeta(2) - 1) / 2, -(mp.zeta(3) - 1) / 3]
    at_two = series(lambda t: mp.loggamma(2 + t) / t, slope, "1e-10")
    yield Fit("LGAMMA_AT_TWO", "lgamma(2 + t) / t", at_two, mp.mpf("-0.76"), mp.mpf("0.5"), 21)
    at_one = series(lambda s: mp.loggamma(1 + s) / s, [-mp.euler, mp.zeta(2) / 2, -mp.zeta(3) / 3], "1e-10")
    yield Fit("LGAMMA_AT_ONE", "lgamma(1 + s) / s", at_one, mp.mpf("-0.26"), mp.mpf("0.26"), 18)
    zero = mp.findroot(mp.digamma, 1.46)
    # 0/0 at the zero itself, but no node falls on it.
    at_zero = lambda t: mp.digamma(t + 1.5) / (t + 1.5 - zero)  # noqa: E731
    yield Fit("DIGAMMA_AT_ZERO", "digamma(3/2 + t) / (3/2 + t - x0), digamma(x0) = 0", at_zero, mp.mpf("-0.5"), mp.mpf("0.5"), 20)
    beyond = lambda t: mp.digamma(t + 2.5)  # noqa: E731
    yield Fit("DIGAMMA_TWO_TO_THREE", "digamma(5/2 + t)", beyond, mp.mpf("-0.5"), mp.mpf("0.5"), 16)


def bessel() -> Iterator[Fit]:
    def i1e(x: mp.mpf) -> mp.mpf:
        return mp.besseli(1, x) * mp.exp(-x)

    low, high = mp.mpf(-1), mp.mpf(1)
    far = lambda t: mp.sqrt(16 / (1 + t)) * i1e(16 / (1 + t)) if t > -1 else 1 / mp.sqrt(2 * mp.pi)  # noqa: E731
    yield Fit("I1E_MIDDLE_F64", "i1e(5 + 3 t)", lambda t: i1e(5 + 3 * t), low, high, 24)
    yield Fit("I1E_FAR_F64", "sqrt(x) i1e(x), x = 16 / (1 + t)", far, low, high, 26)


def scaled_erfc(u: mp.mpf) -> mp.mpf:
    """(x + 4) exp(x^2) erfc(x) for x = 8/(1 - u) - 4, which varies slowly."""
    x = 8 / (1 - u) - 4
    return (x + 4) * mp.exp(x * x) * mp.erfc(x)


def fits() -> Iterator[Fit]:
    yield from exponential()
    yield from logarithm()
    yield from trigonometric()
    yield from hyperbolic()
    yield from power()
    yield from inverse_trigonometric()
    yield from error_function()
    yield from inverse_error_function()
    yield from gamma()
    yield from bessel()


def two_over_pi_words(count: int = 21) -> list[int]:
    """The first bits of 2/pi in words of 64 bits behind one word of zeros."""
    with mp.workprec(64 * count + 64):
        digits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (64 * (count - 1))))
    return [(digits >> (64 * (count - 1 - i))) & (2**64 - 1) for i in range(count)]


def main() -> None:
    mp.mp.dps = 40
    print('"""Minimax polynomials, lowest power first.  Written by benchmarks/kernels/fit_math_coefficients.py: do not edit."""')
    print("\n# 2/pi in words of 64 bits, most significant first, behind one word of zeros")
    print("TWO_OVER_PI_WORDS: tuple[int, ...] = (")
    for word in two_over_pi_words():
        print(f"    0x{word:016X},")
    print(")")
    for fit in fits():
        coefficients, error = remez(fit)
        interval = f"[{mp.nstr(fit.low, 8)}, {mp.nstr(fit.high, 8)}]"
        print(f"\n# {fit.meaning} on {interval}, degree {fit.degree}, weighted error {mp.nstr(error, 3)}")
        print(f"{fit.name}: tuple[float, ...] = (")
        for coefficient in coefficients:
            print(f"    {float(coefficient)!r},")
        print(")")


if __name__ == "__main__":
    main()
