"""Laws of arithmetic on real numbers and integers.

For floating point a law stands here only if it holds for every operand, NaN, infinities and both zeros included, or says what it
assumes. ``x + 0`` is not ``x`` for x = -0; ``x + (-0)`` is.
"""

from __future__ import annotations

from math import frexp
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.ir import Operation, SSAValue

from wengert.dialects import chlo, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.tensor_types import dtype_of, element, float_limits, is_boolean, is_complex, is_float, is_integer
from wengert.transforms.analysis.ranges import interval
from wengert.transforms.optimize.matching import is_inexact, is_splat_of, is_zero, made_by, splat, used_once
from wengert.transforms.optimize.rewrites import Assumption, Rewritten, rewrite

_IDEMPOTENT = (stablehlo.AbsOp, stablehlo.CeilOp, stablehlo.FloorOp, stablehlo.RoundNearestEvenOp, stablehlo.RoundNearestAfzOp)
_ROUNDING = (stablehlo.CeilOp, stablehlo.FloorOp, stablehlo.RoundNearestEvenOp, stablehlo.RoundNearestAfzOp)

_REACH = 8
"""The most ops back that bounds on an integer are looked for."""


def _either(op: Any) -> tuple[tuple[SSAValue, SSAValue], tuple[SSAValue, SSAValue]]:
    x, y = op.operands
    return (x, y), (y, x)


# -- sums


@rewrite(stablehlo.AddOp, given=[stablehlo.ConstantOp])
def add_nothing(b: OpBuilder, op: stablehlo.AddOp) -> Rewritten:
    """x + (-0) = x; for integers and booleans x + 0 = x"""
    for x, y in _either(op):
        if is_zero(y, negative=is_inexact(y)):
            return x
    return None


@rewrite(stablehlo.AddOp, needs=[Assumption.NO_SIGNED_ZEROS], given=[stablehlo.ConstantOp])
def add_zero(b: OpBuilder, op: stablehlo.AddOp) -> Rewritten:
    """x + 0 = x (not for x = -0)"""
    for x, y in _either(op):
        if is_inexact(y) and is_splat_of(y, 0):
            return x
    return None


@rewrite(stablehlo.SubtractOp, given=[stablehlo.ConstantOp])
def subtract_nothing(b: OpBuilder, op: stablehlo.SubtractOp) -> Rewritten:
    """x - 0 = x, the zero being positive"""
    return op.lhs if is_zero(op.rhs) else None


@rewrite(stablehlo.SubtractOp, needs=[Assumption.NO_SIGNED_ZEROS], given=[stablehlo.ConstantOp])
def subtract_zero(b: OpBuilder, op: stablehlo.SubtractOp) -> Rewritten:
    """x - (-0) = x (not for x = -0)"""
    return op.lhs if is_inexact(op.lhs) and is_splat_of(op.rhs, 0) else None


@rewrite(stablehlo.SubtractOp, given=[stablehlo.ConstantOp])
def subtract_from_nothing(b: OpBuilder, op: stablehlo.SubtractOp) -> Rewritten:
    """-0 - x = -x; for integers 0 - x = -x"""
    return b.negate(op.rhs) if is_zero(op.lhs, negative=is_inexact(op.lhs)) else None


@rewrite(stablehlo.SubtractOp, needs=[Assumption.NO_SIGNED_ZEROS], given=[stablehlo.ConstantOp])
def subtract_from_zero(b: OpBuilder, op: stablehlo.SubtractOp) -> Rewritten:
    """0 - x = -x (not for x = 0)"""
    return b.negate(op.rhs) if is_inexact(op.lhs) and is_splat_of(op.lhs, 0) else None


@rewrite(stablehlo.SubtractOp)
def subtract_integer_from_itself(b: OpBuilder, op: stablehlo.SubtractOp) -> Rewritten:
    """x - x = 0 for integers"""
    return b.full_like(op.lhs, 0) if op.lhs is op.rhs and is_integer(element(op.lhs)) else None


@rewrite(stablehlo.SubtractOp, needs=[Assumption.FINITE])
def subtract_from_itself(b: OpBuilder, op: stablehlo.SubtractOp) -> Rewritten:
    """x - x = 0 (not for infinities and NaN)"""
    return b.full_like(op.lhs, 0) if op.lhs is op.rhs else None


@rewrite(stablehlo.AddOp, given=[stablehlo.NegateOp])
def add_negated(b: OpBuilder, op: stablehlo.AddOp) -> Rewritten:
    """x + (-y) = x - y"""
    for x, y in _either(op):
        if (negated := made_by(y, stablehlo.NegateOp)) is not None:
            return b.subtract(x, negated.operand)
    return None


@rewrite(stablehlo.SubtractOp, given=[stablehlo.NegateOp])
def subtract_negated(b: OpBuilder, op: stablehlo.SubtractOp) -> Rewritten:
    """x - (-y) = x + y"""
    negated = made_by(op.rhs, stablehlo.NegateOp)
    return None if negated is None else b.add(op.lhs, negated.operand)


@rewrite(stablehlo.AddOp, given=[stablehlo.ConstantOp])
def add_integer_constants(b: OpBuilder, op: stablehlo.AddOp) -> Rewritten:
    """(x + c) + d = x + (c + d) for integers, which wrap around"""
    if not _is_number(op.result):
        return None
    for x, d in _either(op):
        inner = made_by(x, stablehlo.AddOp)
        if inner is None or splat(d) is None:
            continue
        for y, c in _either(inner):
            if splat(c) is not None:
                return b.add(y, b.add(c, d))
    return None


@rewrite(stablehlo.SubtractOp, given=[stablehlo.ConstantOp])
def subtract_integer_constant(b: OpBuilder, op: stablehlo.SubtractOp) -> Rewritten:
    """x - c = x + (-c) for integers, which wrap around"""
    if not _is_number(op.result) or splat(op.rhs) is None:
        return None
    return b.add(op.lhs, b.negate(op.rhs))


def _is_number(x: SSAValue) -> bool:
    return is_integer(element(x)) and not is_boolean(element(x))


# -- products


@rewrite(stablehlo.MultiplyOp, given=[stablehlo.ConstantOp])
def multiply_by_one(b: OpBuilder, op: stablehlo.MultiplyOp) -> Rewritten:
    """x * 1 = x"""
    if is_complex(element(op.result)):
        return None
    for x, y in _either(op):
        if is_splat_of(y, 1):
            return x
    return None


@rewrite(stablehlo.MultiplyOp, given=[stablehlo.ConstantOp])
def multiply_by_minus_one(b: OpBuilder, op: stablehlo.MultiplyOp) -> Rewritten:
    """x * -1 = -x"""
    if is_complex(element(op.result)) or is_boolean(element(op.result)):
        return None
    for x, y in _either(op):
        if is_splat_of(y, -1):
            return b.negate(x)
    return None


@rewrite(stablehlo.MultiplyOp, given=[stablehlo.ConstantOp])
def multiply_integer_by_zero(b: OpBuilder, op: stablehlo.MultiplyOp) -> Rewritten:
    """x * 0 = 0 for integers and booleans"""
    if is_integer(element(op.result)):
        for _, y in _either(op):
            if is_splat_of(y, 0):
                return y
    return None


@rewrite(stablehlo.MultiplyOp, needs=[Assumption.FINITE, Assumption.NO_SIGNED_ZEROS], given=[stablehlo.ConstantOp])
def multiply_by_zero(b: OpBuilder, op: stablehlo.MultiplyOp) -> Rewritten:
    """x * 0 = 0 (not for infinities, NaN and negative x)"""
    for _, y in _either(op):
        if is_splat_of(y, 0):
            return y
    return None


@rewrite(stablehlo.MultiplyOp, given=[stablehlo.NegateOp])
def multiply_negated(b: OpBuilder, op: stablehlo.MultiplyOp) -> Rewritten:
    """(-x) * (-y) = x * y; (-x) * c = x * (-c)"""
    if is_complex(element(op.result)):
        return None
    for x, y in _either(op):
        negated = made_by(x, stablehlo.NegateOp)
        if negated is None:
            continue
        if (other := made_by(y, stablehlo.NegateOp)) is not None:
            return b.multiply(negated.operand, other.operand)
        if splat(y) is not None:
            return b.multiply(negated.operand, b.negate(y))
    return None


@rewrite(stablehlo.NegateOp, given=[stablehlo.MultiplyOp])
def negate_multiple(b: OpBuilder, op: stablehlo.NegateOp) -> Rewritten:
    """-(x * c) = x * (-c), unless the product is needed anyway"""
    product = made_by(op.operand, stablehlo.MultiplyOp)
    if product is None or is_complex(element(op.result)) or not used_once(op.operand):
        return None
    for x, c in _either(product):
        if splat(c) is not None:
            return b.multiply(x, b.negate(c))
    return None


@rewrite(stablehlo.MultiplyOp, given=[stablehlo.ConstantOp])
def multiply_integer_constants(b: OpBuilder, op: stablehlo.MultiplyOp) -> Rewritten:
    """(x * c) * d = x * (c * d) for integers, which wrap around"""
    if not _is_number(op.result):
        return None
    for x, d in _either(op):
        inner = made_by(x, stablehlo.MultiplyOp)
        if inner is None or splat(d) is None:
            continue
        for y, c in _either(inner):
            if splat(c) is not None:
                return b.multiply(y, b.multiply(c, d))
    return None


# -- quotients and powers


@rewrite(stablehlo.DivideOp, given=[stablehlo.ConstantOp])
def divide_by_one(b: OpBuilder, op: stablehlo.DivideOp) -> Rewritten:
    """x / 1 = x"""
    return op.lhs if is_splat_of(op.rhs, 1) and not is_complex(element(op.result)) else None


@rewrite(stablehlo.DivideOp, given=[stablehlo.ConstantOp])
def divide_by_minus_one(b: OpBuilder, op: stablehlo.DivideOp) -> Rewritten:
    """x / -1 = -x for floating point (for integers the lowest one overflows)"""
    return b.negate(op.lhs) if is_splat_of(op.rhs, -1) and is_float(element(op.result)) else None


@rewrite(stablehlo.DivideOp, given=[stablehlo.ConstantOp])
def divide_by_power_of_two(b: OpBuilder, op: stablehlo.DivideOp) -> Rewritten:
    """x / c = x * (1 / c) where c is a power of two and 1 / c is a normal number"""
    c = splat(op.rhs)
    if c is None or not is_float(element(op.result)) or not np.isfinite(c) or abs(frexp(float(c))[0]) != 0.5:
        return None
    dtype = dtype_of(element(op.result))
    reciprocal = 1.0 / float(c)
    smallest, largest = _normal_range(dtype)
    if not smallest <= abs(reciprocal) <= largest or abs(float(c)) < smallest:
        return None
    return b.multiply(op.lhs, b.full_like(op.rhs, reciprocal))


def _normal_range(dtype: np.dtype[Any]) -> tuple[float, float]:
    limits = float_limits(dtype)
    return float(limits.smallest_normal), float(limits.max)


@rewrite(stablehlo.DivideOp, given=[stablehlo.NegateOp])
def divide_negated(b: OpBuilder, op: stablehlo.DivideOp) -> Rewritten:
    """(-x) / (-y) = x / y; (-x) / c = x / (-c); c / (-x) = (-c) / x, all for floating point"""
    if not is_float(element(op.result)):
        return None
    above, below = made_by(op.lhs, stablehlo.NegateOp), made_by(op.rhs, stablehlo.NegateOp)
    if above is not None and below is not None:
        return b.divide(above.operand, below.operand)
    if above is not None and splat(op.rhs) is not None:
        return b.divide(above.operand, b.negate(op.rhs))
    if below is not None and splat(op.lhs) is not None:
        return b.divide(b.negate(op.lhs), below.operand)
    return None


@rewrite(stablehlo.RemainderOp, given=[stablehlo.ConstantOp])
def integer_remainder_by_one(b: OpBuilder, op: stablehlo.RemainderOp) -> Rewritten:
    """x % 1 = 0 for integers"""
    return b.full_like(op.lhs, 0) if _is_number(op.result) and is_splat_of(op.rhs, 1) else None


@rewrite(stablehlo.PowerOp, given=[stablehlo.ConstantOp])
def power_of_constant_exponent(b: OpBuilder, op: stablehlo.PowerOp) -> Rewritten:
    """x ** 0 = 1, x ** 1 = x, x ** 2 = x * x, x ** -1 = 1 / x (each the exact power, rounded once)"""
    exponent = splat(op.rhs)
    if exponent is None or is_complex(element(op.result)) or is_boolean(element(op.result)):
        return None
    if exponent == 0:
        return b.full_like(op.lhs, 1)
    if exponent == 1:
        return op.lhs
    if exponent == 2:
        return b.multiply(op.lhs, op.lhs)
    return b.divide(b.full_like(op.lhs, 1), op.lhs) if exponent == -1 and is_float(element(op.result)) else None


# -- signs and rounding


@rewrite(stablehlo.NegateOp, given=[stablehlo.NegateOp])
def double_negation(b: OpBuilder, op: stablehlo.NegateOp) -> Rewritten:
    """-(-x) = x"""
    inner = made_by(op.operand, stablehlo.NegateOp)
    return None if inner is None else inner.operand


@rewrite(stablehlo.NegateOp, needs=[Assumption.NO_SIGNED_ZEROS], given=[stablehlo.SubtractOp])
def negate_difference(b: OpBuilder, op: stablehlo.NegateOp) -> Rewritten:
    """-(x - y) = y - x (not for x = y)"""
    inner = made_by(op.operand, stablehlo.SubtractOp)
    return b.subtract(inner.rhs, inner.lhs) if inner is not None and used_once(op.operand) else None


@rewrite(stablehlo.NegateOp, given=[stablehlo.SubtractOp])
def negate_integer_difference(b: OpBuilder, op: stablehlo.NegateOp) -> Rewritten:
    """-(x - y) = y - x for integers"""
    inner = made_by(op.operand, stablehlo.SubtractOp)
    return b.subtract(inner.rhs, inner.lhs) if inner is not None and used_once(op.operand) and _is_number(op.result) else None


@rewrite(stablehlo.AbsOp, chlo.SquareOp, stablehlo.CosineOp, chlo.CoshOp, given=[stablehlo.NegateOp])
def even_function(b: OpBuilder, op: Any) -> Rewritten:
    """f(-x) = f(x) for abs, square, cosine and cosh of real numbers"""
    inner = made_by(op.operand, stablehlo.NegateOp)
    if inner is None or not is_float(element(op.operand)):
        return None
    return b.one(cast("type[Operation]", type(op)), (inner.operand,), op.result.type, **op.properties)


@rewrite(chlo.SquareOp, given=[stablehlo.AbsOp])
def square_of_absolute(b: OpBuilder, op: chlo.SquareOp) -> Rewritten:
    """|x| squared = x squared for real numbers"""
    inner = made_by(op.operand, stablehlo.AbsOp)
    return b.square(inner.operand) if inner is not None and is_float(element(inner.operand)) else None


@rewrite(*_IDEMPOTENT)
def idempotent(b: OpBuilder, op: Any) -> Rewritten:
    """f(f(x)) = f(x) for abs, floor, ceil and rounding; rounding what is rounded changes nothing"""
    inner = op.operand.owner
    rounded = isinstance(op, _ROUNDING) and isinstance(inner, _ROUNDING)
    return op.operand if isinstance(inner, Operation) and (type(inner) is type(op) or rounded) and op.operand.type == op.result.type else None


# -- extremes


@rewrite(stablehlo.MaximumOp, stablehlo.MinimumOp)
def extreme_of_itself(b: OpBuilder, op: Any) -> Rewritten:
    """max(x, x) = min(x, x) = x"""
    return op.lhs if op.lhs is op.rhs else None


@rewrite(stablehlo.MaximumOp, stablehlo.MinimumOp, given=[stablehlo.ConstantOp])
def extreme_with_infinity(b: OpBuilder, op: Any) -> Rewritten:
    """max(x, -inf) = x and min(x, inf) = x; for integers with the lowest and the highest one"""
    element_type = element(op.result)
    if is_complex(element_type) or is_boolean(element_type):
        return None
    largest = isinstance(op, stablehlo.MaximumOp)
    for x, y in _either(op):
        bound = splat(y)
        if bound is None:
            continue
        if is_float(element_type):
            limit: Any = -np.inf if largest else np.inf
        else:
            limits = ml_dtypes.iinfo(dtype_of(element_type))
            limit = limits.min if largest else limits.max
        if bound == limit:
            return x
    return None


@rewrite(stablehlo.MaximumOp, stablehlo.MinimumOp, given=[stablehlo.ConstantOp])
def extreme_within_range(b: OpBuilder, op: Any) -> Rewritten:
    """max(x, c) = x for integers that are known not to be below c; min(x, c) = x for those that are known not to be above"""
    if not is_integer(element(op.result)):
        return None
    largest = isinstance(op, stablehlo.MaximumOp)
    for x, y in _either(op):
        if isinstance(x.owner, stablehlo.ConstantOp):
            continue
        reach, bound = interval(x, _REACH), interval(y, 1)
        if reach is not None and bound is not None and (reach[0] >= bound[1] if largest else reach[1] <= bound[0]):
            return x
    return None
