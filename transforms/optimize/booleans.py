"""Laws of logic, bits, comparison and selection."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.attributes import ComparisonDirection, ComparisonType
from wengert.ir.tensor_types import dtype_of, element, is_boolean, is_integer, shape
from wengert.transforms.optimize.matching import is_splat_of, made_by, splat
from wengert.transforms.optimize.rewrites import Rewritten, rewrite

_COMPLEMENT = {ComparisonDirection.EQ: "NE", ComparisonDirection.NE: "EQ"}
_INTEGER_COMPLEMENT = {ComparisonDirection.LT: "GE", ComparisonDirection.GE: "LT", ComparisonDirection.GT: "LE", ComparisonDirection.LE: "GT"}
_REFLEXIVE = {ComparisonDirection.EQ, ComparisonDirection.GE, ComparisonDirection.LE}


def _is_ones(x: SSAValue) -> bool:
    """Whether all bits are set (for booleans: true)."""
    bits = splat(x)
    return bits is not None and bool(bits == (True if is_boolean(element(x)) else np.invert(dtype_of(element(x)).type(0))))


@rewrite(stablehlo.NotOp, given=[stablehlo.NotOp])
def double_complement(b: OpBuilder, op: stablehlo.NotOp) -> Rewritten:
    """not (not x) = x"""
    inner = made_by(op.operand, stablehlo.NotOp)
    return None if inner is None else inner.operand


@rewrite(stablehlo.NotOp, given=[stablehlo.CompareOp])
def complement_of_comparison(b: OpBuilder, op: stablehlo.NotOp) -> Rewritten:
    """not (x = y) is x != y and the reverse; for integers also not (x < y) is x >= y"""
    inner = made_by(op.operand, stablehlo.CompareOp)
    if inner is None:
        return None
    direction = inner.comparison_direction.data
    other = _COMPLEMENT.get(direction) or (_INTEGER_COMPLEMENT.get(direction) if is_integer(element(inner.lhs)) else None)
    return None if other is None else b.compare(other, inner.lhs, inner.rhs, None if inner.compare_type is None else str(inner.compare_type.data))


@rewrite(stablehlo.AndOp, stablehlo.OrOp)
def bits_with_itself(b: OpBuilder, op: Any) -> Rewritten:
    """x and x = x or x = x"""
    return op.lhs if op.lhs is op.rhs else None


@rewrite(stablehlo.AndOp, given=[stablehlo.ConstantOp])
def and_with_constant(b: OpBuilder, op: stablehlo.AndOp) -> Rewritten:
    """x and 0 = 0; x and (all ones) = x"""
    for x, y in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if is_splat_of(y, 0):
            return y
        if _is_ones(y):
            return x
    return None


@rewrite(stablehlo.OrOp, given=[stablehlo.ConstantOp])
def or_with_constant(b: OpBuilder, op: stablehlo.OrOp) -> Rewritten:
    """x or 0 = x; x or (all ones) = all ones"""
    for x, y in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if is_splat_of(y, 0):
            return x
        if _is_ones(y):
            return y
    return None


@rewrite(stablehlo.XorOp)
def xor_with_constant(b: OpBuilder, op: stablehlo.XorOp) -> Rewritten:
    """x xor x = 0; x xor 0 = x; x xor (all ones) = not x"""
    if op.lhs is op.rhs:
        return b.full_like(op.lhs, 0)
    for x, y in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if is_splat_of(y, 0):
            return x
        if _is_ones(y):
            return b.not_(x)
    return None


@rewrite(stablehlo.ShiftLeftOp, stablehlo.ShiftRightArithmeticOp, stablehlo.ShiftRightLogicalOp, given=[stablehlo.ConstantOp])
def shift_by_nothing(b: OpBuilder, op: Any) -> Rewritten:
    """x shifted by 0 = x"""
    return op.lhs if is_splat_of(op.rhs, 0) else None


@rewrite(stablehlo.CompareOp)
def compare_with_itself(b: OpBuilder, op: stablehlo.CompareOp) -> Rewritten:
    """x = x for integers; x < x never, also for NaN"""
    if op.lhs is not op.rhs:
        return None
    direction = op.comparison_direction.data
    total = op.compare_type is not None and op.compare_type.data is ComparisonType.TOTALORDER
    if is_integer(element(op.lhs)) or total:
        return b.full(direction in _REFLEXIVE, op.result.type)  # pyright: ignore[reportArgumentType]
    return b.full(False, op.result.type) if direction in (ComparisonDirection.LT, ComparisonDirection.GT) else None  # pyright: ignore[reportArgumentType]


@rewrite(stablehlo.CompareOp, given=[stablehlo.ConstantOp])
def compare_boolean_with_constant(b: OpBuilder, op: stablehlo.CompareOp) -> Rewritten:
    """p = true is p, p = false is not p, and the reverse for !="""
    direction = op.comparison_direction.data
    if not is_boolean(element(op.lhs)) or direction not in _COMPLEMENT:
        return None
    for p, constant in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        value = splat(constant)
        if value is not None:
            return p if bool(value) == (direction is ComparisonDirection.EQ) else b.not_(p)
    return None


@rewrite(stablehlo.CompareOp, given=[stablehlo.ConvertOp])
def compare_converted_boolean(b: OpBuilder, op: stablehlo.CompareOp) -> Rewritten:
    """convert(p) != 0 is p, and convert(p) = 0 is not p, for a boolean p"""
    direction = op.comparison_direction.data
    converted = made_by(op.lhs, stablehlo.ConvertOp)
    if converted is None or not is_boolean(element(converted.operand)) or direction not in _COMPLEMENT or not is_splat_of(op.rhs, 0):
        return None
    return converted.operand if direction is ComparisonDirection.NE else b.not_(converted.operand)


@rewrite(stablehlo.SelectOp)
def select_known(b: OpBuilder, op: stablehlo.SelectOp) -> Rewritten:
    """select(true, x, y) = x; select(false, x, y) = y; select(p, x, x) = x"""
    if op.on_true is op.on_false:
        return op.on_true
    pred = splat(op.pred)
    return None if pred is None else op.on_true if pred else op.on_false


@rewrite(stablehlo.SelectOp, given=[stablehlo.ConstantOp])
def select_between_booleans(b: OpBuilder, op: stablehlo.SelectOp) -> Rewritten:
    """select(p, true, false) = p; select(p, false, true) = not p"""
    if not is_boolean(element(op.result)) or shape(op.pred) != shape(op.result):
        return None
    chosen = (splat(op.on_true), splat(op.on_false))
    if None in chosen or chosen[0] == chosen[1]:
        return None
    return op.pred if chosen[0] else b.not_(op.pred)


@rewrite(stablehlo.SelectOp, given=[stablehlo.NotOp])
def select_by_complement(b: OpBuilder, op: stablehlo.SelectOp) -> Rewritten:
    """select(not p, x, y) = select(p, y, x)"""
    inner = made_by(op.pred, stablehlo.NotOp)
    return None if inner is None else b.select(inner.operand, op.on_false, op.on_true)


@rewrite(stablehlo.SelectOp, given=[stablehlo.SelectOp])
def select_of_select(b: OpBuilder, op: stablehlo.SelectOp) -> Rewritten:
    """select(p, select(p, x, y), z) = select(p, x, z), and the same on the other side"""
    first, second = made_by(op.on_true, stablehlo.SelectOp), made_by(op.on_false, stablehlo.SelectOp)
    if first is not None and first.pred is op.pred:
        return b.select(op.pred, first.on_true, op.on_false)
    if second is not None and second.pred is op.pred:
        return b.select(op.pred, op.on_true, second.on_false)
    return None


@rewrite(stablehlo.SelectOp, given=[stablehlo.BroadcastInDimOp])
def select_by_splat_broadcast(b: OpBuilder, op: stablehlo.SelectOp) -> Rewritten:
    """select(broadcast(p), x, y) = select(p, x, y) for a scalar p"""
    spread = made_by(op.pred, stablehlo.BroadcastInDimOp)
    return b.select(spread.operand, op.on_true, op.on_false) if spread is not None and shape(spread.operand) == () and shape(op.pred) != () else None


@rewrite(stablehlo.ClampOp, given=[stablehlo.ConstantOp])
def clamp_by_infinities(b: OpBuilder, op: stablehlo.ClampOp) -> Rewritten:
    """clamp(-inf, x, inf) = x"""
    low, high = splat(op.min), splat(op.max)
    return op.operand if low is not None and high is not None and low == -np.inf and high == np.inf else None
