"""Polynomials are values with exact arithmetic; sums over loops are those of a loop."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wengert.transforms.analysis.symbolic.integers import ceil_log2, ceil_quotient, is_nonnegative, larger, product, rounded, smaller, times_log2
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Polynomial
from wengert.transforms.analysis.symbolic.summation import summed

n, m, trips = Polynomial.symbol("n"), Polynomial.symbol("m"), Polynomial.symbol("T0")
SMALL = st.integers(-6, 6)


def polynomial(coefficients: dict[tuple[int, int], int]) -> Polynomial:
    return sum((c * n**a * m**b for (a, b), c in coefficients.items()), ZERO)


POLYNOMIALS = st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 2)), SMALL, max_size=5).map(polynomial)


@settings(deadline=None)
@given(POLYNOMIALS, POLYNOMIALS, SMALL, SMALL)
def test_arithmetic_is_that_of_the_values(a: Polynomial, b: Polynomial, x: int, y: int) -> None:
    point = {"n": x, "m": y}
    assert (a + b).number(point) == a.number(point) + b.number(point)
    assert (a - b).number(point) == a.number(point) - b.number(point)
    assert (a * b).number(point) == a.number(point) * b.number(point)
    assert (a / 3).number(point) == Fraction(a.number(point)) / 3
    assert (a == b) == ((a - b) == 0)
    if a == b:
        assert hash(a) == hash(b)


@settings(deadline=None)
@given(POLYNOMIALS, st.integers(0, 9), SMALL)
def test_sums_are_those_of_the_loop(body: Polynomial, count: int, y: int) -> None:
    total = summed(body, "n", trips)
    assert total is not None
    assert total.number({"T0": count, "m": y}) == sum(body.number({"n": i, "m": y}) for i in range(count))


@settings(deadline=None)
@given(POLYNOMIALS, st.integers(1, 9), st.integers(1, 9))
def test_what_is_said_not_to_be_negative_is_not(a: Polynomial, x: int, y: int) -> None:
    if is_nonnegative(a):
        assert a.number({"n": x, "m": y}) >= 0


def test_text() -> None:
    assert str(12 * m * n**2 - 2 * n + Fraction(1, 2) * m + 7) == "12 m n^2 + m/2 - 2 n + 7"
    assert str(-n) == "-n"
    assert str(ZERO) == "0"
    assert str(n * ceil_log2(n)) == "ceil_log2(n) n"


def test_atoms_are_numbers_once_their_symbols_are() -> None:
    assert (n * Polynomial.of(ceil_log2(n))).number({"n": 9}) == 36
    assert Polynomial.of(rounded(n**3 / 3)).number({"n": 4}) == 21
    assert Polynomial.of(times_log2(5 * n, n)).number({"n": 8}) == 120
    assert Polynomial.of(ceil_quotient(n, 4)).number({"n": 9}) == 3
    assert [ceil_log2(k) for k in (1, 2, 3, 4, 5)] == [0, 1, 2, 2, 3]


def test_extremes_are_decided_where_they_can_be() -> None:
    assert larger(n * m, n) == n * m
    assert smaller(n, n + m) == n
    assert larger(n - 5, 0) != n - 5  # n may be 1
    assert Polynomial.of(larger(n - 5, 0)).number({"n": 3}) == 0
    assert larger(n - 1 - Polynomial.symbol("i0"), 0, {"i0": n}) == n - 1 - Polynomial.symbol("i0")
    assert product([2, n, m]) == 2 * n * m


def test_values_that_are_missing_are_named() -> None:
    with pytest.raises(KeyError, match="no values for m"):
        (n + m).number({"n": 1})
    with pytest.raises(TypeError, match="is not an integer"):
        int(n)


def test_order() -> None:
    """Polynomials are compared where what they depend on cancels."""
    assert Polynomial.of(3) > 2
    assert 0 < Polynomial.of(3) <= 3
    assert n + 1 >= n
    assert n < n + Fraction(1, 2)
    with pytest.raises(ValueError, match=r"which is larger, 2 n or m, depends on m, n"):
        _ = 2 * n < m
