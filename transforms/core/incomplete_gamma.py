"""The derivative of the incomplete gamma function P(a, x) in a, element by element, as loops.

Below the diagonal it is that of the series (DLMF 8.11.4), with s = x^a e^-x / Gamma(a)::

    P(a, x) = s/a (1 + x/(a + 1) + x^2/((a + 1)(a + 2)) + ...)

and above it that of the continued fraction for Q = 1 - P (DLMF 8.9.2) by its convergents p_k / q_k, where numerators and denominators follow
one recurrence, and so do their derivatives. A loop that computes the value ends when the value has converged, which for whole a is after few terms, long before
the derivative has: so this is not the derivative of such a loop, and its own loops go on until the derivative no longer changes. Where it is not
defined, and at infinities, it is NaN, and 0 at x = 0, as in JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

import numpy as np
from xdsl.ir import Block, Region

from wengert.dialects import chlo, core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import append
from wengert.ir.tensor_types import dtype_of, element, rank

MOST_CONVERGENTS = 2000

Carried = Sequence[Value]
"""What a loop carries. The first value says which elements are not done."""


def lower_gamma_by_parameter(b: OpBuilder, a: Value, x: Value) -> Value:
    """dP/da at a and x, which have one type, of f32 or f64."""
    zero, one, infinity = (b.full_like(a, value) for value in (0, 1, float("inf")))
    exponent = b.subtract(b.subtract(b.multiply(a, b.log(x)), x), b.like(chlo.LgammaOp, a))
    positive = b.and_(b.compare("GT", a, zero), b.compare("GE", x, zero))
    finite = b.and_(b.compare("LT", a, infinity), b.compare("LT", x, infinity))
    at_zero = b.compare("EQ", x, zero)
    fades = b.compare("LT", exponent, b.full_like(a, -log(_largest(a))))
    wanted = b.and_(b.and_(positive, finite), b.not_(b.or_(at_zero, fades)))
    above = b.and_(b.compare("GT", x, one), b.compare("GT", x, a))
    of_fraction = _by_fraction(b, a, x, b.and_(wanted, above))
    of_series = b.divide(_by_series(b, a, x, b.and_(wanted, b.not_(above))), a)
    inside = b.multiply(b.exponential(exponent), b.select(above, b.negate(of_fraction), of_series))
    result = b.select(at_zero, zero, inside)
    return b.select(b.and_(positive, b.or_(at_zero, finite)), result, b.full_like(a, float("nan")))


def _by_series(b: OpBuilder, a: Value, x: Value, wanted: Value) -> Value:
    """The derivative of s times the sum, over s: with t_k = t_(k-1) x / (a + k), dt_k = dt_(k-1) x / (a + k) - t_(k-1) x / (a + k)^2."""

    def step(b: OpBuilder, carried: Carried) -> Carried:
        active, n, term, total, term_dot, total_dot = carried
        n = b.add(n, b.full_like(n, 1))
        ratio = b.divide(x, n)
        term_dot = b.subtract(b.multiply(term_dot, ratio), b.divide(b.multiply(term, ratio), n))
        total_dot = b.add(total_dot, term_dot)
        term = b.multiply(term, ratio)
        unsettled = b.compare("GT", b.abs(b.divide(term_dot, total_dot)), b.full_like(n, _epsilon(a)))
        return [b.and_(active, unsettled), n, term, b.add(total, term), term_dot, total_dot]

    one, zero = b.full_like(a, 1), b.full_like(a, 0)
    _, _, _, total, _, total_dot = _loop(b, [wanted, a, one, one, zero, zero], step)
    of_scale = b.subtract(b.log(x), b.like(chlo.DigammaOp, b.add(a, one)))
    return b.add(b.multiply(total, of_scale), total_dot)


def _by_fraction(b: OpBuilder, a: Value, x: Value, wanted: Value) -> Value:
    """The derivative of s times the fraction, over s.

    With z_k = x + 2 - a + 2k and w_k = k (k + 1 - a)::

        p_k = p_(k-1) z_k - p_(k-2) w_k        dp_k = dp_(k-1) z_k - p_(k-1) - dp_(k-2) w_k + p_(k-2) k

    since z_k and w_k have the derivatives -1 and -k in a.
    """

    def following(b: OpBuilder, last: Sequence[Value], before: Sequence[Value], z: Value, w: Value, k: Value) -> tuple[Value, Value]:
        (p, p_dot), (p_old, p_old_dot) = last, before
        p_next = b.subtract(b.multiply(p, z), b.multiply(p_old, w))
        change = b.subtract(b.subtract(b.multiply(p_dot, z), p), b.multiply(p_old_dot, w))
        return p_next, b.add(change, b.multiply(p_old, k))

    def step(b: OpBuilder, carried: Carried) -> Carried:
        active, k, value, value_dot, *state = carried
        p, q, p_old, q_old = (state[i : i + 2] for i in range(0, 8, 2))
        k = b.add(k, b.full_like(k, 1))
        y = b.subtract(b.add(k, one), a)
        z, w = b.add(b.add(x, y), b.add(k, one)), b.multiply(y, k)
        p_next, q_next = following(b, p, p_old, z, w, k), following(b, q, q_old, z, w, k)
        usable = b.compare("NE", q_next[0], b.full_like(k, 0))
        value = b.select(usable, b.divide(p_next[0], q_next[0]), value)
        new_dot = b.select(usable, b.divide(b.subtract(p_next[1], b.multiply(value, q_next[1])), q_next[0]), value_dot)
        change = b.select(usable, b.abs(b.subtract(new_dot, value_dot)), b.full_like(k, 1))
        going_on = b.and_(b.compare("GT", change, b.full_like(k, _epsilon(a))), b.compare("LT", k, b.full_like(k, MOST_CONVERGENTS)))
        return [b.and_(active, going_on), k, value, new_dot, *_rescaled(b, p_next[0], [*p_next, *q_next, *p, *q])]

    zero, one = b.full_like(a, 0), b.full_like(a, 1)
    p, p_old = [b.add(x, one), zero], [one, zero]
    z = b.add(b.subtract(b.add(x, one), a), one)
    q, q_old = [b.multiply(z, x), b.negate(x)], [x, zero]
    value = b.divide(p[0], q[0])
    value_dot = b.divide(b.subtract(p[1], b.multiply(value, q[1])), q[0])
    _, _, value, value_dot, *_ = _loop(b, [wanted, zero, value, value_dot, *p, *q, *p_old, *q_old], step)
    return b.add(b.multiply(value, b.subtract(b.log(x), b.like(chlo.DigammaOp, a))), value_dot)


def _rescaled(b: OpBuilder, p: Value, state: Sequence[Value]) -> list[Value]:
    """The state of the recurrences, made smaller by one factor where it becomes large; the quotients stay."""
    small = b.full_like(p, _epsilon(p))
    large = b.compare("GT", b.abs(p), b.divide(b.full_like(p, 1), small))
    return [b.select(large, b.multiply(value, small), value) for value in state]


def _loop(b: OpBuilder, carried: Carried, step: Callable[[OpBuilder, Carried], Carried]) -> Sequence[Value]:
    """Makes steps until all elements are done; elements that are done stay as they are."""
    types = [value.type for value in carried]
    condition, body = Block(arg_types=types), Block(arg_types=types)
    test, inside = OpBuilder(condition, location=b.location), OpBuilder(body, location=b.location)
    active = condition.args[0]
    is_any = test.reduce(core.Kind.or_, active, range(rank(active))) if rank(active) else active
    append(condition, hlo.ReturnOp.create(operands=[is_any]))
    active = body.args[0]
    first, *others = step(inside, body.args)
    kept = [inside.select(active, new, old) for new, old in zip(others, body.args[1:], strict=True)]
    append(body, hlo.ReturnOp.create(operands=[first, *kept]))
    loop = hlo.WhileOp.create(operands=list(carried), result_types=types, regions=[Region([condition]), Region([body])], location=b.location)
    return b.insert(loop).results


def _epsilon(x: Value) -> float:
    return float(np.finfo(dtype_of(element(x))).eps)


def _largest(x: Value) -> float:
    return float(np.finfo(dtype_of(element(x))).max)
