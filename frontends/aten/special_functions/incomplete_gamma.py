"""The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x).

P has the series x^a e^-x / Gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...), for x up to a; Q has Legendre's continued fraction, for larger x
(W. Gautschi, "A computational procedure for incomplete gamma functions", 1979). Both are summed by a loop until nothing changes, and with each term goes its
derivative by a, which PyTorch has not.
"""

from __future__ import annotations

from typing import Any

from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import means
from wengert.frontends.aten.result_types.rules import promoted
from wengert.frontends.kinks import declared
from wengert.frontends.transforms.control_flow import while_loop
from wengert.frontends.transforms.differentiation_control import stop_gradient
from wengert.ir.tensor_types import dtype_of, element
from wengert.numpy import abs as absolute
from wengert.numpy import any as holds
from wengert.numpy import exp, finfo, full, isinf, log, special, where

_MOST = 20000
"""Terms at most; as many as a few times sqrt(a) are needed where x is near a."""


def _series(a: Any, x: Any, eps: float) -> tuple[Any, Any]:
    """1 + x / (a + 1) + ..., and its derivative by a."""

    def unfinished(state: Any) -> Any:
        n, term, total = state[0], state[1], state[2]
        return (n < _MOST) & holds(term > eps * total)

    def step(state: Any) -> Any:
        n, term, total, term_a, total_a = state
        factor = x / (a + n)
        term_a = (term_a - term / (a + n)) * factor
        term = term * factor
        return n + 1.0, term, total + term, term_a, total_a + term_a

    one = 0 * x + 1
    _, _, total, _, total_a = while_loop(unfinished, step, (full((), 1.0, dtype=x.dtype), one, one, 0 * x, 0 * x))
    return total, total_a


def _fraction(a: Any, x: Any, eps: float) -> tuple[Any, Any]:
    """The continued fraction Q(a, x) Gamma(a) / (x^a e^-x), and its derivative by a, by its convergents p / q."""

    def unfinished(state: Any) -> Any:
        return (state[0] < _MOST) & holds(state[-1] > eps)

    def step(state: Any) -> Any:
        n, p0, p1, q0, q1, p0_a, p1_a, q0_a, q1_a, made, made_a, _ = state
        z, c = x + 1.0 - a + 2.0 * n, n * (n - a)  # and their derivatives by a: -1, -n
        p = p1 * z - p0 * c
        q = q1 * z - q0 * c
        p_a = p1_a * z - p1 - p0_a * c + p0 * n
        q_a = q1_a * z - q1 - q0_a * c + q0 * n
        usable = q != 0
        safe = where(usable, q, 1.0)
        now = where(usable, p / safe, made)
        change = where(usable, absolute((made - now) / where(now == 0, 1.0, now)), 1.0)
        now_a = where(usable, (p_a - now * q_a) / safe, made_a)
        # Convergents grow; only their quotients count.
        scale = where(usable, 1 / absolute(safe), 1.0)
        grown = [v * scale for v in (p1, p, q1, q, p1_a, p_a, q1_a, q_a)]
        return n + 1.0, *grown, now, now_a, stop_gradient(change)

    zero, one = 0 * x, 0 * x + 1
    z = x + 1.0 - a
    first, first_a = 1 / z, 1 / (z * z)  # of q = z, whose derivative by a is -1
    start = (full((), 1.0, dtype=x.dtype), zero, one, one, z, zero, zero, zero, -one, first, first_a, one)
    made = while_loop(unfinished, step, start)
    return made[9], made[10]


def _both(a: Any, x: Any) -> tuple[Any, Any, Any]:
    """P, Q, and the derivative of P by a, of reals of any values."""
    eps, nan = float(finfo(a.dtype).eps), float("nan")
    usual = (a > 0) & (x > 0) & ~isinf(a) & ~isinf(x)
    a_, x_ = where(usual, a, 1.0), where(usual, x, 1.0)
    by_series = (x_ <= 1) | (x_ <= a_)
    growth = a_ * log(x_) - x_ - special.gammaln(a_)
    total, total_a = _series(where(by_series, a_, 1.0), where(by_series, x_, 1.0), eps)
    factor = exp(growth) / a_
    p = factor * total
    # d log(x^a / Gamma(a + 1)) = (log x - digamma(a + 1)) da
    p_a = factor * total_a + p * (log(x_) - special.digamma(a_ + 1.0))
    fraction, fraction_a = _fraction(where(by_series, 0.5, a_), where(by_series, 2.0, x_), eps)
    q = exp(growth) * fraction
    q_a = exp(growth) * fraction_a + q * (log(x_) - special.digamma(a_))
    lower, upper = where(by_series, p, 1 - q), where(by_series, 1 - p, q)
    # NaN too goes the way that PyTorch's comparisons send it.
    wrong = (a < 0) | (x < 0) | ((a == 0) & ~(x > 0)) | (isinf(a) & isinf(x))
    nothing, everything = (a != 0) & ((x == 0) | isinf(a)), (a == 0) | isinf(x)
    edge = where(wrong, nan, where(nothing, 0.0, where(everything, 1.0, nan)))
    lower, upper = where(usual, lower, edge), where(usual, upper, 1.0 - edge)
    return lower, upper, where(usual, where(by_series, p_a, -q_a), 0.0 * edge)


def _density(a: Any, x: Any) -> Any:
    return exp((a - 1.0) * log(x) - x - special.gammaln(a))


def _meaning(b: AtenBuilder, a: Value, x: Value, is_lower: bool) -> Value:
    a, x = b.fitted(a), b.fitted(x)
    if dtype_of(element(a)).itemsize < 4:
        raise b.refuse("igamma and igammac have no translation in half precision", "convert to float32")
    lower, upper, by_a = b.by_numpy(_both, a, x)
    # d P(a, x) = x^(a - 1) e^-x / Gamma(a) dx
    by_x = b.by_numpy(_density, a, x)
    if is_lower:
        return declared(b, b.stopped(lower), (a, by_a), (x, by_x))
    return declared(b, b.stopped(upper), (a, b.negate(by_a)), (x, b.negate(by_x)))


@means("igamma.default(self, other)", "special_gammainc.default(self, other)", results=promoted)
def igamma(b: AtenBuilder, a: Value, x: Value) -> Value:
    """P(a, x)."""
    return _meaning(b, a, x, True)


@means("igammac.default(self, other)", "special_gammaincc.default(self, other)", results=promoted)
def igammac(b: AtenBuilder, a: Value, x: Value) -> Value:
    """Q(a, x)."""
    return _meaning(b, a, x, False)
