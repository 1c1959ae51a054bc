"""Dead code elimination: keeps what the results and the side effects of a function need, and nothing else.

Marking starts from what functions return and from ops with effects and goes backward through uses; all that is not marked
is removed. Control flow is seen through: the result of a branch op needs only the values that its branches return for it,
and a value that a loop carries is needed only if its result, the condition or another needed carried value uses it. What is
carried for nothing, also in a cycle through the loop, is dropped from the loop.

Before and after::

    %0:2 = stablehlo.while(%i = %c0, %dead = %x) ...              %0 = stablehlo.while(%i = %c0) ...
      do { %1 = stablehlo.sine %dead ... return %i1, %1 }           do { ... return %i1 }
    return %0#0                                                   return %0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from wengert.dialects import stablehlo
from wengert.transforms.optimize.effects import is_removable

Branching = stablehlo.CaseOp | stablehlo.IfOp


@dataclass(frozen=True)
class DcePass(ModulePass):
    """Removes ops and carried values that nothing uses."""

    name = "dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        dce(op)


def dce(module: Operation) -> bool:
    """Removes dead code under an op (a module or a function), in place; returns whether there was any."""
    needed = _Needed()
    needed.mark_roots(module)
    needed.spread()
    return any([_sweep_region(region, needed) for region in module.regions])


class _Needed:
    """The values and ops that are needed, found by a worklist."""

    def __init__(self) -> None:
        self.values: set[SSAValue] = set()
        self.ops: set[Operation] = set()
        self._pending: list[SSAValue] = []

    def mark_roots(self, root: Operation) -> None:
        """Marks what functions return and the ops with effects, with all ops around them."""
        for region in root.regions:
            for block in region.blocks:
                for op in block.ops:
                    if op.regions:
                        self.mark_roots(op)
                    if not (is_removable(root) if op is block.last_op and op.has_trait(IsTerminator) else is_removable(op)):
                        self._need_with_parents(op)

    def _need_with_parents(self, op: Operation) -> None:
        parent: Operation | None = op
        while parent is not None and parent not in self.ops:
            self._need_op(parent)
            parent = parent.parent_op()

    def _need(self, value: SSAValue) -> None:
        if value not in self.values:
            self.values.add(value)
            self._pending.append(value)

    def _need_all(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self._need(value)

    def _need_op(self, op: Operation) -> None:
        if op in self.ops:
            return
        self.ops.add(op)
        if isinstance(op, stablehlo.WhileOp):
            self._need_all(_terminator(op.cond.block).operands)
            self.ops.update((_terminator(op.cond.block), _terminator(op.body.block)))
        elif isinstance(op, Branching):
            self._need(op.operands[0])
            self.ops.update(_terminator(region.block) for region in op.regions)
        else:
            self._need_all(op.operands)
            for inner in op.walk() if op.regions and is_removable(op) else ():
                self.ops.add(inner)
                self._need_all(inner.operands)

    def spread(self) -> None:
        """Marks all that needed values depend on."""
        while self._pending:
            value = self._pending.pop()
            if isinstance(value, BlockArgument):
                parent = value.owner.parent_op()
                if isinstance(parent, stablehlo.WhileOp):
                    self._need(parent.results[value.index])
                continue
            op = cast(Operation, value.owner)
            self._need_op(op)
            if isinstance(op, stablehlo.WhileOp):
                index = op.results.index(value)
                self._need_all((op.operands[index], _terminator(op.body.block).operands[index]))
            elif isinstance(op, Branching):
                index = op.results.index(value)
                self._need_all([_terminator(region.block).operands[index] for region in op.regions])


def _terminator(block: Block) -> Operation:
    return cast(Operation, block.last_op)


def _sweep_region(region: Region, needed: _Needed) -> bool:
    return any([_sweep(block, needed) for block in region.blocks])


def _sweep(block: Block, needed: _Needed) -> bool:
    changed = False
    op = block.last_op
    while op is not None:
        before = op.prev_op
        if op not in needed.ops:
            block.erase_op(op, safe_erase=False)
            changed = True
        elif op.regions:
            if isinstance(op, stablehlo.WhileOp | Branching):
                op, shrunk = _shrink(op, needed)
                changed |= shrunk
            changed |= any([_sweep_region(region, needed) for region in op.regions])
        op = before
    return changed


def _shrink(op: Operation, needed: _Needed) -> tuple[Operation, bool]:
    """The op without the results (for a loop: carried values) that nothing needs."""
    kept = [i for i, result in enumerate(op.results) if result in needed.values]
    if len(kept) == len(op.results):
        return op, False
    operands = list(op.operands)
    for region in op.regions:
        end = _terminator(region.block)
        if isinstance(op, stablehlo.WhileOp):
            if region is op.body:
                end.operands = [end.operands[i] for i in kept]
            _drop_arguments(region.block, kept)
        else:
            end.operands = [end.operands[i] for i in kept]
    if isinstance(op, stablehlo.WhileOp):
        operands = [operands[i] for i in kept]
    new = _with_results(op, operands, kept)
    return new, True


def _drop_arguments(block: Block, kept: list[int]) -> None:
    for index in reversed(range(len(block.args))):
        if index not in kept:
            block.erase_arg(block.args[index], safe_erase=False)


def _with_results(op: Operation, operands: list[SSAValue], kept: list[int]) -> Operation:
    new = type(op).create(
        operands=operands,
        result_types=[op.results[i].type for i in kept],
        properties=op.properties,
        attributes=op.attributes,
        regions=[op.detach_region(region) for region in list(op.regions)],
        location=op.location,
    )
    block = cast(Block, op.parent)
    block.insert_op_before(new, op)
    for i, result in zip(kept, new.results, strict=True):
        result.name_hint = op.results[i].name_hint
        op.results[i].replace_all_uses_with(result)
    block.erase_op(op, safe_erase=False)
    return new
