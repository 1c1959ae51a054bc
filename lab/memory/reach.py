"""Finds what a cotangent reaches in a program on buffers: for each launch, which of the buffers that it writes depend on one.

A kernel may compute values of the forward and of the reverse part in one loop, so that a nest's results are told apart by what their values are computed from.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.memory import ALIGNMENT, Space, byte_size, space_of
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.analysis.memory import arena_spans, buffers_of


def reached_by(function: FuncOp, steps: Sequence[Operation], cotangents: Sequence[int]) -> list[set[SSAValue]]:
    """For each step, the buffers that it writes with values that depend on the cotangents, which are arguments of these numbers."""
    arena = max(
        (byte_size(op.memref) for op in ops_in(function.body.block) if isinstance(op, ops.AllocOp) and space_of(op.memref.type) is Space.ARENA), default=0
    )
    marked = _Marked(arena)
    marked.bases.update(function.body.block.args[n] for n in cotangents)
    reached: list[set[SSAValue]] = []
    for op in steps:
        written, read, _ = buffers_of(op)
        from_cotangents = [marked.holds(value) for value in read]
        flags = [any(from_cotangents[n] for n in sources) for sources in _sources(op, len(written), len(read))]
        for value, flag in zip(written, flags, strict=True):
            marked.write(value, flag)
        reached.append({value for value, flag in zip(written, flags, strict=True) if flag})
    return reached


class _Marked:
    """The memory that depends on cotangents: parts of the arena, and whole inputs and results."""

    def __init__(self, arena: int):
        self._arena = np.zeros(arena // ALIGNMENT + 1, np.bool_)
        self.bases: set[SSAValue] = set()

    def holds(self, value: SSAValue) -> bool:
        return ops.location(value)[0] in self.bases or any(bool(self._arena[low:high].any()) for low, high in arena_spans([value]))

    def write(self, value: SSAValue, flag: bool) -> None:
        spans = arena_spans([value])
        for low, high in spans:
            self._arena[low:high] = flag
        if not spans and flag:
            self.bases.add(ops.location(value)[0])


def _sources(op: Operation, written: int, read: int) -> list[set[int]]:
    """For each buffer that an op writes, the numbers of those among the buffers that it reads on which its values depend."""
    kernel = op.kernel if isinstance(op, ops.LaunchOp) else None
    if not isinstance(kernel, NestOp):
        return [set(range(read))] * written
    known: dict[SSAValue, set[int]] = {argument: {n} for n, argument in enumerate(kernel.body.block.args)}
    for inner in kernel.body.block.ops:
        sources = set[int]().union(*(known.get(operand, set()) for operand in operands_of(inner)))
        known.update((result, sources) for result in inner.results)
    reached: list[set[int]] = [set() for _ in range(written)]
    for write in kernel.writes:
        parts = (write.value, write.base, write.condition)
        reached[write.target] = reached[write.target].union(*(known.get(part, set()) for part in parts if part is not None))
    arguments = len(kernel.body.block.args)
    for number, tied in enumerate(kernel.tied):
        if tied >= 0:
            reached[number].add(min(arguments + tied, read - 1))
    return reached
