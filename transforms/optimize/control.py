"""Laws of control flow: a branch that is known to be taken takes the place of its op."""

from __future__ import annotations

from typing import cast

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.tensor_types import i64
from wengert.transforms.optimize.matching import splat
from wengert.transforms.optimize.rewrites import Rewritten, rewrite
from wengert.transforms.rewriter import Rewriter


@rewrite(stablehlo.IfOp, given=[stablehlo.ConstantOp])
def known_condition(b: OpBuilder, op: stablehlo.IfOp) -> Rewritten:
    """if true then a else b = a; if false then a else b = b"""
    pred = splat(op.pred)
    return None if pred is None else cast(Rewriter, b).splice((op.true_branch if pred else op.false_branch).block)


@rewrite(stablehlo.CaseOp)
def known_case(b: OpBuilder, op: stablehlo.CaseOp) -> Rewritten:
    """case of a constant = its branch (the last one where the constant is out of range); a single branch is always taken"""
    branches = list(op.branches)
    index = splat(op.index)
    if len(branches) == 1:
        return cast(Rewriter, b).splice(branches[0].block)
    if index is None:
        return None
    return cast(Rewriter, b).splice(branches[int(index) if 0 <= index < len(branches) else -1].block)


@rewrite(core.CaseOp)
def known_closed_case(b: OpBuilder, op: core.CaseOp) -> Rewritten:
    """core.case of a constant = its branch (the last one where the constant is out of range); a single branch is always taken"""
    branches = list(op.branches)
    index = splat(op.index)
    if index is None and len(branches) != 1:
        return None
    taken = branches[int(index) if index is not None and 0 <= index < len(branches) else -1]
    return cast(Rewriter, b).splice(taken.block, op.inputs)


@rewrite(core.ForOp, given=[stablehlo.ConstantOp])
def loop_of_few_trips(b: OpBuilder, op: core.ForOp) -> Rewritten:
    """A loop of no trip gives its initial values; one of a single trip is its body"""
    trips = splat(op.trip_count)
    if trips is None or trips > 1:
        return None
    if trips < 1:
        return op.initial
    return cast(Rewriter, b).splice(op.block, [b.scalar(0, i64), *op.inputs])
