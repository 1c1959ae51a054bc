"""Threads of a group that reduce together: which of them compute which result, and the tree by which they combine what each has.

A group of G threads holds G / T teams of T. Threads of a team are neighbours: thread n is number n mod T of team n floordiv T. With ``columns`` they
are G / T apart, so that neighbouring threads are in neighbouring teams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from xdsl.dialects import arith
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.gpu import BarrierOp, ShuffleMode, ShuffleOp
from wengert.dialects.kernel.gpu_schedule import WARP
from wengert.ir.construction import append
from wengert.ir.tensor_types import i32
from wengert.transforms.codegen.gpu.code import INDEX, Code, Index
from wengert.transforms.codegen.gpu.totals import Combining


class Place(Struct, frozen=True):
    """Where a thread is: the number of its team's result, its own number in the team, the part of the reduction, whether there is such a result
    (None: there is), and whether it is the first of its team (None: it is alone)."""

    result: Index
    lane: Index
    part: Index
    active: SSAValue | None
    first: SSAValue | None


class Team(Struct, frozen=True):
    """So many results, each of ``count`` iterations that ``threads`` threads of a group of ``group`` reduce, ``elements`` at a time."""

    results: int
    group: int
    threads: int
    count: int
    columns: bool = False
    parts: int = 1
    elements: int = 1
    shuffle: bool = False

    @property
    def shared_cells(self) -> int:
        """The elements of workgroup memory that each value needs."""
        return self.group if self.threads > (WARP if self.shuffle else 1) else 0

    @property
    def teams(self) -> int:
        """The teams of a group."""
        return self.group // self.threads

    @property
    def rows(self) -> int:
        """The groups for all results, once."""
        return -(-self.results // self.teams)

    @property
    def groups(self) -> int:
        """All groups."""
        return self.rows * self.parts

    def place(self, code: Code, group: SSAValue, thread: SSAValue) -> Place:
        """Where a thread is."""
        part: Index = 0
        row: Index = group if self.groups > 1 else 0
        if self.parts > 1:
            part, row = code.quotient(row, self.rows), code.remainder(row, self.rows)
        team: Index = code.remainder(thread, self.teams) if self.columns else code.quotient(thread, self.threads) if self.teams > 1 else 0
        lane: Index = 0 if self.threads == 1 else code.quotient(thread, self.teams) if self.columns else code.remainder(thread, self.threads)
        result = code.plus(code.times(row, self.teams), team) if self.results > 1 else 0
        active = code.below(result if self.results > 1 else team, self.results) if self.results % self.teams else None
        first = code.compare("eq", code.value(lane), code.value(0)) if self.threads > 1 else None
        return Place(result, lane, part, active, first)

    def range(self, code: Code, lane: Index, part: Index) -> tuple[Index, Index]:
        """The first iteration of a thread, and the end of its part."""
        first = code.times(lane, self.elements)
        if self.parts == 1:
            return first, self.count
        step = self.threads * self.elements
        length = -(-self.count // (self.parts * step)) * step
        start = code.times(part, length)
        end = code.shared(arith.MinUIOp, [code.value(code.plus(start, length)), code.value(self.count)], INDEX)
        return code.plus(start, first), end


def reduced_in_team(
    combining: Combining,
    team: Team,
    place: Place,
    workgroup: Sequence[SSAValue],
    cells: Sequence[tuple[str, Attribute]],
    values: Sequence[SSAValue],
    thread: SSAValue,
) -> list[Callable[[], SSAValue]]:
    """Combines values across the threads of each team; what is returned reads the totals, in the first thread of a team.

    Args:
        combining: combines two values.
        team: the team.
        place: where the thread is.
        workgroup: memory of the group, one element for each thread and value.
        cells: the kind and the element type of each value.
        values: what the thread has.
        thread: the number of the thread in its group.
    """
    code = combining.code
    if team.threads == 1:
        return [(lambda value=value: value) for value in values]
    for buffer, value in zip(workgroup, values, strict=False):
        code.store(value, buffer, thread)
    half = team.threads // 2
    while half >= (WARP if team.shuffle else 1):
        code.act(BarrierOp)
        with code.when(code.below(place.lane, half)):
            other = code.plus(thread, half * (team.teams if team.columns else 1))
            for buffer, (kind, element) in zip(workgroup, cells, strict=True):
                code.store(combining.combined(kind, code.load(buffer, thread), code.load(buffer, other), element), buffer, thread)
        half //= 2
    if not team.shuffle:
        return [(lambda buffer=buffer: code.load(buffer, thread)) for buffer in workgroup]
    ends = [code.load(buffer, thread) for buffer in workgroup] if workgroup else list(values)
    return [(lambda end=end: end) for end in _shuffled(combining, ends, cells, half)]


def _shuffled(combining: Combining, values: Sequence[SSAValue], cells: Sequence[tuple[str, Attribute]], half: int) -> list[SSAValue]:
    """The same tree within a warp: each thread takes the value of the one ``half`` away, and so on. The first thread of every team combines what it would in
    workgroup memory."""
    code, ends = combining.code, list(values)
    while half:
        for number, (kind, element) in enumerate(cells):
            shuffle = ShuffleOp.of(ShuffleMode.XOR, ends[number], code.constant(half, i32), code.constant(WARP, i32))
            append(code.block, shuffle)
            ends[number] = combining.combined(kind, ends[number], shuffle.shuffled, element)
        half //= 2
    return ends
