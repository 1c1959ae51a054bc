"""The memory of a compiled program, read off its IR on buffers, and what the arena holds where it is fullest."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.memory import ALIGNMENT, Space, byte_size, space_of
from wengert.ir.location.places import describe_within
from wengert.ir.traversal import operands_of, ops_in, ops_of


class Memory(Struct, frozen=True):
    """The bytes that a call needs: what it is given, what it returns, constants, and one arena for all else.

    Attributes:
        inputs, results, constants, arena: bytes by where they lie.
        kept: of the arena, what ops before the one at which it is fullest have left for it and for later ones; in a reverse derivative mostly what
            the forward part keeps.
        temporaries: what that op adds: its results, scratch memory, arenas of its regions.
        place: where in the source that op is.
    """

    inputs: int
    results: int
    constants: int
    arena: int
    kept: int = 0
    temporaries: int = 0
    place: str = ""

    @property
    def gaps(self) -> int:
        """What of the arena is not in use when it is fullest."""
        return self.arena - self.kept - self.temporaries

    @property
    def total(self) -> int:
        """The peak: everything, since all of it is allocated at once."""
        return self.inputs + self.results + self.constants + self.arena


def memory_of(function: FuncOp) -> Memory:
    """The memory of a function on buffers. Tapes of loops whose iterations are not counted grow beside it; their handles are in it."""
    spaces = dict.fromkeys(Space, 0)
    for op in ops_of(function, ops.AllocOp, ops.GlobalOp):
        spaces[space_of(op.memref.type)] += byte_size(op.memref)
    given = {True: 0, False: 0}
    for argument in function.body.block.args:
        given[ops.is_result(function, argument.index)] += byte_size(argument)
    return Memory(given[False], given[True], spaces[Space.CONSTANT], spaces[Space.ARENA], *_fullest(function))


def _fullest(function: FuncOp) -> tuple[int, int, str]:
    """What the op at which the arena is fullest finds there, what it adds, and its place. Liveness backward, in units of the alignment."""
    steps = [
        (op, *(arena_spans(values) for values in buffers_of(op)))
        for op in reversed(ops_in(function.body.block))
        if not isinstance(op, ops.AllocOp | ops.ViewOp | ops.GlobalOp)
    ]
    live = _Live(span for _, *kinds in steps for spans in kinds for span in spans)
    best, place = (-1, 0), ""
    for op, written, read, scratch in steps:
        live.set([*written, *read, *scratch], True)
        full = live.count
        live.set([*written, *scratch], False)
        live.set(read, True)
        if full > sum(best):
            best, place = (live.count, full - live.count), describe_within(op)
    return max(best[0], 0) * ALIGNMENT, best[1] * ALIGNMENT, place


Span = tuple[int, int]


def buffers_of(op: Operation) -> tuple[list[SSAValue], list[SSAValue], list[SSAValue]]:
    """The buffers that an op writes as a whole, those that it reads, and those that it uses while it runs."""
    if isinstance(op, ops.LaunchOp):
        return list(op.written), list(op.read), [op.scratch] if op.scratch is not None else []
    if isinstance(op, ops.CopyOp):
        return [op.target], [op.source], []
    if isinstance(op, ops.ForOp | ops.WhileOp):
        first = [op.count] if isinstance(op, ops.ForOp) else []
        return list(op.outs), [*first, *op.constants, *op.initial], [*op.spare, op.arena]
    if isinstance(op, ops.CaseOp | ops.StripLoopOp):
        index = [op.index] if isinstance(op, ops.CaseOp) else []
        return list(op.outs), [*index, *op.ins], [op.arena] if op.arena is not None else []
    return [], list(operands_of(op)), []


def arena_spans(values: list[SSAValue]) -> list[Span]:
    """The parts of the arena that buffers are, in units of the alignment."""
    spans: list[Span] = []
    for value in values:
        base, at = ops.location(value)
        if isinstance(base.owner, ops.AllocOp) and space_of(base.type) is Space.ARENA:
            spans.append((at // ALIGNMENT, -(-(at + byte_size(value)) // ALIGNMENT)))
    return spans


class _Live:
    """The live parts of the arena between the places at which any buffer begins or ends; ``count``: how many units."""

    def __init__(self, spans: Iterable[Span]):
        places = sorted({place for span in spans for place in span})
        self._index = {place: k for k, place in enumerate(places)}
        self._sizes = np.diff(np.array(places, np.int64))
        self._live = np.zeros(len(self._sizes), np.bool_)
        self.count = 0

    def set(self, spans: Iterable[Span], value: bool) -> None:
        """Marks parts as live or not."""
        for low, high in spans:
            part = slice(self._index[low], self._index[high])
            before = int(self._sizes[part] @ self._live[part])
            self._live[part] = value
            self.count += (high - low if value else 0) - before
