"""Loop fission: a nest becomes several that compute its results apart, where one of them would keep threads from sharing the loops of another.

A nest that adds up rows and columns of a matrix has no loop whose iterations all write different elements; of two nests, one for each, the first has the
outer loop, the second the inner one. What both compute is computed twice.

Before and after::

    %rows, %columns = nest (d0, d1) { add %v to out0[d0], add %v to out1[d1] }

    %rows = nest (d0, d1) { add %v to out0[d0] }
    %columns = nest (d0, d1) { add %v to out1[d1] }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects.kernel import NestOp, Write, nest, yielded
from wengert.ir.construction import append, copy_op, erase, insert_before, replace_uses
from wengert.ir.pipeline.actions import may_rewrite
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.kernel.blocks import kernel_blocks
from wengert.transforms.schedule.gpu.conflicts import apart_in
from wengert.transforms.schedule.gpu.legality import is_total

MOST_SERIAL = 64
"""So few iterations a thread runs one after the other rather than that a second kernel is launched."""


@dataclass(frozen=True)
class FissionPass(ModulePass):
    """Splits nests whose results, computed apart, leave more loops to threads."""

    name = "fission"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for block in kernel_blocks(op):
            for nest_op in ops_in(block):
                if isinstance(nest_op, NestOp) and nest_op.gpu_schedule is None and len(groups := _groups(nest_op)) > 1 and may_rewrite("fission", nest_op):
                    _split(nest_op, groups)


def _groups(op: NestOp) -> list[list[int]]:
    """The results in groups that one nest can write; each joins the first group with which it can be."""
    targets = range(len(op.outputs))
    if 0 in op.extents:
        return [list(targets)]
    writes = [[write for write in op.writes if write.target == target] for target in targets]
    apart = [apart_in(parts, op.extents) for parts in writes]
    groups: list[list[int]] = []
    for target in sorted(targets, key=lambda target: (len(apart[target]), target)):
        for members in groups:
            if _fit(op, [*members, target], writes, apart):
                members.append(target)
                break
        else:
            groups.append([target])
    return sorted(sorted(members) for members in groups)


def _fit(op: NestOp, members: Sequence[int], writes: Sequence[Sequence[Write]], apart: Sequence[set[int]]) -> bool:
    """Whether results can be written in one nest without loss: over the loops that not all of them leave to threads, each is added up, or written apart."""
    every = set(range(len(op.extents)))
    rest = every - every.intersection(*[apart[target] for target in members])
    if prod(op.extents[d] for d in rest) < MOST_SERIAL:
        return True
    return all(rest <= apart[target] or all(is_total(op, write, tuple(rest)) for write in writes[target]) for target in members)


def _split(op: NestOp, groups: Sequence[Sequence[int]]) -> None:
    """Puts a nest for each group of results in the place of one."""
    for targets in groups:
        made = part_of(op, targets)
        insert_before(op, made)
        for target, result in zip(targets, made.outputs, strict=True):
            replace_uses(op.outputs[target], result)
    erase(op)


def part_of(op: NestOp, targets: Sequence[int]) -> NestOp:
    """The nest that computes some of the results."""
    number = {target: at for at, target in enumerate(targets)}
    writes = [write for write in op.writes if write.target in number]
    needed = needed_by([scalar for write in writes for scalar in (write.value, write.base, write.condition) if scalar is not None])
    used = [n for n, argument in enumerate(op.body.block.args) if any(use.operation in needed for use in argument.uses)]
    body = Block(arg_types=[op.inputs[n].type for n in used])
    values: dict[SSAValue, SSAValue] = {op.body.block.args[n]: body.args[at] for at, n in enumerate(used)}
    for inner in ops_in(op.body.block)[:-1]:
        if inner in needed:
            append(body, copy_op(inner, values))
    get = values.get
    append(body, yielded([Write(values[w.value], w.at, w.kind, number[w.target], get(w.base), get(w.condition)) for w in writes]))  # pyright: ignore[reportArgumentType, reportCallIssue]
    kept = [op.tied[target] for target in targets]
    into = sorted({tie for tie in kept if tie >= 0})
    ties = [into.index(tie) if tie >= 0 else -1 for tie in kept]
    made = nest([op.inputs[n] for n in used], [op.into[n] for n in into], [op.outputs[t].type for t in targets], op.extents, ties, body)
    made.location = op.location
    return made


def needed_by(scalars: Sequence[SSAValue]) -> set[Operation]:
    """The ops of a body that scalars in it depend on."""
    needed = set[Operation]()
    waiting = list(scalars)
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, Operation) and owner not in needed:
            needed.add(owner)
            waiting += operands_of(owner)
    return needed
