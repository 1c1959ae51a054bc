"""Loop-invariant code motion: what a loop computes from its constants alone is computed once, in front of it.

Loops are visited from the inside out, so that what leaves an inner loop can leave the outer one as well. Ops that only make or
arrange elements (constants, broadcasts, reshapes) stay where they are unless something that moves needs them: they cost
nothing inside a kernel, while outside their results would have to be kept. Moving an op out of a loop that does not run
computes it in vain, which is harmless since only pure ops move; but a derivative of it would be taken in vain as well, and zero times
infinity is NaN. So before differentiation ops leave only loops that are known to run.

Before and after::

    core.for %i to %n constants(%a = %w) carried(%x = %x0) {           %s = stablehlo.sine %w
      %s = stablehlo.sine %a                                           core.for %i to %n constants(%b = %s) carried(%x = %x0) {
      %y = stablehlo.multiply %x, %s                                     %y = stablehlo.multiply %x, %b
      stablehlo.return %y                                                stablehlo.return %y
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import Pure

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.ad import LinearizeOp
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.construction import erase
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import ops_of
from wengert.transforms.optimize.matching import splat

_ARRANGING = (hlo.ConstantOp, hlo.IotaOp, hlo.BroadcastInDimOp, hlo.ReshapeOp, hlo.SliceOp, hlo.ReverseOp)
Loop = core.ForOp | core.WhileOp


@dataclass(frozen=True)
class LicmPass(ModulePass):
    """Moves what does not change out of loops."""

    name = "licm"

    certain: bool = False
    """Only out of loops that are known to run."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        licm(op, certain=self.certain)


def licm(module: ModuleOp, *, certain: bool = False) -> None:
    """Moves loop-invariant ops of all functions in front of their loops, in place; ``certain``: of loops that are known to run."""
    for op in reversed(ops_of(module, core.ForOp, core.WhileOp)):
        if certain and not _runs(op):
            continue
        for block in _blocks(op):
            _hoist(op, block)


def _runs(loop: Loop) -> bool:
    trips = splat(loop.trip_count) if isinstance(loop, core.ForOp) else None
    return trips is not None and trips > 0


def _blocks(loop: Loop) -> list[Block]:
    return [loop.body.block] if isinstance(loop, core.ForOp) else [loop.condition.block, loop.body.block]


def _first(loop: Loop) -> int:
    """The position of a body's first constant among its arguments."""
    return 1 if isinstance(loop, core.ForOp) else 0


def _hoist(loop: Loop, block: Block) -> None:
    first, fixed = _first(loop), int_of(loop.constants)
    constants = block.args[first : first + fixed]
    invariant: set[SSAValue] = set(constants)
    candidates: list[Operation] = []
    for op in block.ops:
        if _may_leave(op) and all(operand in invariant for operand in op.operands) and op.results:
            invariant.update(op.results)
            candidates.append(op)
    moving = _moving(candidates)
    if moving:
        _move(loop, block, dict(zip(constants, loop.constant_operands, strict=True)), moving)


def _may_leave(op: Operation) -> bool:
    """Whether an op may be computed elsewhere; a linear map can only be applied in the block that it is made in."""
    return op.has_trait(Pure, value_if_unregistered=False) and not op.regions and not isinstance(op, LinearizeOp)


def _moving(candidates: Sequence[Operation]) -> list[Operation]:
    """The candidates that are worth it, and what they need, in order."""
    wanted: set[Operation] = set()
    for op in reversed(candidates):
        if not isinstance(op, _ARRANGING) or any(use.operation in wanted for result in op.results for use in result.uses):
            wanted.add(op)
    return [op for op in candidates if op in wanted and may_rewrite("hoist", op)]


def _move(loop: Loop, block: Block, outside: dict[SSAValue, SSAValue], moving: Sequence[Operation]) -> None:
    assert loop.parent is not None
    gone = set(moving)
    for op in moving:
        copy = type(op).create(
            operands=[outside[operand] for operand in op.operands],
            result_types=[result.type for result in op.results],
            properties=op.properties,
            attributes=op.attributes,
            location=op.location,
        )
        loop.parent.insert_op_before(copy, loop)
        outside.update(zip(op.results, copy.results, strict=True))
    for op in moving:
        for result in op.results:
            if any(use.operation not in gone for use in result.uses):
                result.replace_uses_with_if(_new_constant(loop, block, outside[result]), lambda use: use.operation not in gone)
    for op in reversed(moving):
        erase(op)


def _new_constant(loop: Loop, block: Block, value: SSAValue) -> SSAValue:
    """The argument by which a block sees a value from outside, after the constants that there are."""
    fixed = int_of(loop.constants)
    position = _first(loop) + fixed
    argument_here: SSAValue | None = None
    for other in _blocks(loop):
        argument = other.insert_arg(value.type, position)
        if other is block:
            argument_here = argument
    inputs = list(loop.inputs)
    leading = list(loop.operands[: len(loop.operands) - len(inputs)])
    loop.operands = [*leading, *inputs[:fixed], value, *inputs[fixed:]]
    loop.properties["constants"] = int_attr(fixed + 1)
    assert argument_here is not None
    return argument_here
