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
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator

from wengert.ir.attributes import int_attr
from wengert.ir.construction import erase
from wengert.ir.pipeline import changes
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.optimize.effects import is_removable
from wengert.transforms.optimize.flows import Flow, flow_of


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
    return _sweep_regions(module, needed)


def needed_ops(values: Sequence[SSAValue]) -> set[Operation]:
    """The ops that these values are computed by, and from, in regions too."""
    needed = _Needed()
    needed.need(values)
    return needed.ops


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
                for op in ops_in(block):
                    if op.regions:
                        self.mark_roots(op)
                    if not (is_removable(root) if op is block.last_op and op.has_trait(IsTerminator, value_if_unregistered=False) else is_removable(op)):
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

    def need(self, values: Sequence[SSAValue]) -> None:
        """Marks values, and all that they depend on."""
        self._need_all(values)
        self.spread()

    def _need_all(self, values: Sequence[SSAValue]) -> None:
        known, pending = self.values, self._pending
        for value in values:
            if value not in known:
                known.add(value)
                pending.append(value)

    def _need_op(self, op: Operation) -> None:
        if op in self.ops:
            return
        self.ops.add(op)
        flow = flow_of(op) if op.regions else None
        if flow is not None:
            self._need_all(op.operands[: flow.own_operands])
            for end in flow.deciding():
                self._need_all(end.operands)
            self.ops.update((*flow.deciding(), *flow.returning()))
            return
        self._need_all(operands_of(op))
        for inner in op.walk() if op.regions and is_removable(op) else ():
            self.ops.add(inner)
            self._need_all(operands_of(inner))

    def spread(self) -> None:
        """Marks all that needed values depend on."""
        while self._pending:
            value = self._pending.pop()
            if value.__class__ is not OpResult:
                self._need_source(cast(BlockArgument, value))
                continue
            op = cast("OpResult[Any]", value).op
            self._need_op(op)
            flow = flow_of(op) if op.regions else None
            if flow is not None:
                index = op.results.index(value)
                self._need_all([end.operands[index] for end in flow.returning()])
                if flow.is_loop:
                    self._need(flow.passed[flow.constants + index])

    def _need_source(self, argument: BlockArgument) -> None:
        """Marks what an argument of a region gets its value from."""
        parent = argument.owner.parent_op()
        flow = None if parent is None else flow_of(parent)
        if parent is None or flow is None or argument.index < flow.own_arguments:
            return
        result = flow.result_of(argument.index)
        self._need(flow.passed[argument.index - flow.own_arguments] if result is None else parent.results[result])


def _sweep_regions(op: Operation, needed: _Needed, *, asked: bool = False) -> bool:
    changed = [_sweep(block, needed, asked=asked) for region in op.regions for block in region.blocks]
    return any(changed)


def _sweep(block: Block, needed: _Needed, *, asked: bool) -> bool:
    """Removes what is not needed from a block; ``asked``: as a part of a rewrite that was allowed."""
    changed = False
    op = block.last_op
    while op is not None:
        before, allowed = op.prev_op, asked
        if op not in needed.ops:
            if asked or may_rewrite("remove-unused-op", op):
                if changes.RECORDER is not None:
                    changes.RECORDER.removed(op)
                erase(op)
                changed = True
        elif op.regions:
            flow = flow_of(op)
            if flow is not None:
                shrunk = _shrink(flow, needed, asked=asked)
                allowed = asked or shrunk is not op  # what it carried goes with it
                changed |= shrunk is not op
                op = shrunk
            changed |= _sweep_regions(op, needed, asked=allowed)
        op = before
    return changed


def _shrink(flow: Flow, needed: _Needed, *, asked: bool) -> Operation:
    """The op without the results, carried values and constants that nothing needs; the op itself if it has none of those, or may not lose them."""
    op = flow.op
    results = [i for i, result in enumerate(op.results) if result in needed.values]
    constants = [i for i in range(flow.constants) if any(block.args and block.args[flow.own_arguments + i] in needed.values for block in flow.blocks)]
    if len(results) == len(op.results) and len(constants) == flow.constants:
        return op
    if not (asked or may_rewrite("remove-unused-results", op)):
        return op
    passed = [*constants, *(flow.constants + i for i in results)] if flow.is_loop else constants
    for end in flow.returning():
        end.operands = [end.operands[i] for i in results]
    for block in flow.blocks:
        _keep_arguments(block, flow.own_arguments, passed)
    operands = [*op.operands[: flow.own_operands], *(flow.passed[i] for i in passed)]
    return _rebuild(op, operands, results, len(constants))


def _keep_arguments(block: Block, own: int, passed: list[int]) -> None:
    kept = {*range(own), *(own + i for i in passed)}
    for argument in reversed(block.args):
        if argument.index not in kept:
            block.erase_arg(argument, safe_erase=False)


def _rebuild(op: Operation, operands: Sequence[SSAValue], results: list[int], constants: int) -> Operation:
    new = type(op).create(
        operands=operands,
        result_types=[op.results[i].type for i in results],
        properties={**op.properties, "constants": int_attr(constants)} if "constants" in op.properties else op.properties,
        attributes=op.attributes,
        regions=[op.detach_region(region) for region in list(op.regions)],
        location=op.location,
    )
    block = cast(Block, op.parent)
    block.insert_op_before(new, op)
    for i, result in zip(results, new.results, strict=True):
        result.name_hint = op.results[i].name_hint
        op.results[i].replace_all_uses_with(result)
    erase(op)
    return new
