"""Laws of control flow: a branch that is known to be taken takes the place of its op, and what does not change is not carried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.ir import Block, Operation

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core.control import keep_policy
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i64
from wengert.transforms.optimize.flows import flow_of
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
def loop_of_at_most_one_iteration(b: OpBuilder, op: core.ForOp) -> Rewritten:
    """A loop of no iterations gives its initial values; one of a single iteration is its body"""
    trips = splat(op.trip_count)
    if trips is None or trips > 1:
        return None
    if trips < 1:
        return op.initial
    return cast(Rewriter, b).splice(op.block, [b.scalar(0, i64), *op.inputs])


@rewrite(core.ForOp, core.WhileOp)
def carried_unchanged(b: OpBuilder, op: core.ForOp | core.WhileOp) -> Rewritten:
    """What every iteration of a loop hands on as it was is a constant of the loop"""
    flow = flow_of(op)
    assert flow is not None
    body = flow.blocks[-1]
    end = flow.returning()[0]
    first = flow.own_arguments + flow.constants
    still = [k for k, value in enumerate(end.operands) if value is body.args[first + k]]
    if not still:
        return None
    initial = op.operands[flow.own_operands + flow.constants :]
    moving = [k for k in range(len(op.results)) if k not in still]
    if not moving:
        return initial
    for block in flow.blocks:
        _make_constants(block, first, still)
    end.operands = [end.operands[k] for k in moving]
    made = b.create(
        type(op),
        [*op.operands[: flow.own_operands + flow.constants], *(initial[k] for k in still), *(initial[k] for k in moving)],
        [op.results[k].type for k in moving],
        {"constants": int_attr(flow.constants + len(still))},
        [op.detach_region(region) for region in list(op.regions)],
    )
    moved = dict(zip(moving, keep_policy(op, made), strict=True))
    if made:
        cast(Rewriter, b).visit_next(cast(Operation, made[0].owner))
    return [moved.get(k, initial[k]) for k in range(len(op.results))]


def _make_constants(block: Block, first: int, still: Sequence[int]) -> None:
    """Puts these carried arguments in front of the others, and drops what they were."""
    for position, k in enumerate(still):
        old = block.args[first + position + k]
        argument = block.insert_arg(old.type, first + position)
        argument.name_hint = old.name_hint
        old.replace_all_uses_with(argument)
    for argument in [block.args[first + len(still) + k] for k in still]:
        block.erase_arg(argument)
