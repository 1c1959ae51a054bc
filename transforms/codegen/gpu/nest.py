"""The kernels of a nest at the gpu level, as its schedule asks for.

One kernel as a rule. Results that are combined in memory are filled with neutral elements by a kernel of their own first, and what a reduction in parts
leaves in scratch memory is combined by one more. Nothing is decided here (:mod:`wengert.dialects.kernel.gpu_schedule`), and what is asked for can be done
(:mod:`wengert.transforms.schedule.gpu.legality`).

The order of a sum: a thread adds up its iterations one after the other; with others, thread t of T takes iterations t, t + T, ... (or, with ``elements`` = E, E
neighbouring ones at a time), then the totals of threads t and t + T/2 are combined, those of t and t + T/4, and so on. Parts are combined in the same way. It
follows from shapes and the schedule alone, so every run gives the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.ir import SSAValue

from wengert.dialects.kernel import STORE, NestOp, Write
from wengert.dialects.kernel.gpu_schedule import GpuSchedule, Reduce
from wengert.dialects.kernel.schedule import Schedule
from wengert.ir.tensor_types import size
from wengert.transforms.codegen.gpu.body import Body, Buffer
from wengert.transforms.codegen.gpu.code import Index, Values
from wengert.transforms.codegen.gpu.functions import Functions, register_type
from wengert.transforms.codegen.gpu.kernel import Ids, Kernel, Memory
from wengert.transforms.codegen.gpu.products import TiledProduct
from wengert.transforms.codegen.gpu.teams import Team, reduced_in_team
from wengert.transforms.codegen.gpu.totals import Combining, Total, filled, is_in_memory, totals_of
from wengert.transforms.codegen.gpu.transposes import Transposed
from wengert.transforms.codegen.gpu.warp_products import WarpProduct
from wengert.transforms.schedule.gpu.conflicts import apart_in
from wengert.transforms.schedule.placement import Placement

_NEIGHBOURS = 32
"""So many threads read what lies side by side in memory: a warp of most devices."""


def kernels_of(op: NestOp, schedule: GpuSchedule, memory: Memory) -> list[Kernel]:
    """The launches that compute a nest, in order."""
    placed = Placement.scheduled(op, Schedule(order=schedule.order))
    fills = [_fill(memory.outputs[target], size(op.outputs[target]), kind) for target, kind in filled(placed, len(schedule.threads)).items()]
    fills = [fill for fill in fills if fill.groups]
    if 0 in op.extents:
        return fills
    if schedule.tile is not None:
        product = WarpProduct if schedule.tile.warp else TiledProduct
        return [*fills, product(placed, schedule, memory).kernel()]
    nest = _Nest(placed, schedule, memory)
    return [*fills, nest.kernel(), *nest.last_kernels()]


def _fill(buffer: Buffer, count: int, kind: str) -> Kernel:
    """Neutral elements in all of a buffer."""
    threads = min(256, count)

    def write(functions: Functions, ids: Ids) -> None:
        code, combining = functions.code, Combining(functions)
        at = code.plus(code.times(ids.group, threads) if count > threads else 0, ids.thread)
        with code.when(code.below(at, count) if count % threads else None):
            code.store(combining.rounded(kind, combining.neutral(kind, buffer.element), buffer.element), buffer.memref, at)

    return Kernel(-(-count // threads) if count else 0, threads, write)


class _Nest:
    """Writes the main kernel of a nest: which iterations are a thread's, the loops that it runs, what it combines and where it puts that."""

    def __init__(self, placed: Placement, schedule: GpuSchedule, memory: Memory):
        self.placed, self.schedule, self.memory = placed, schedule, memory
        self.op, self.team = placed.op, schedule.reduce
        self.shared = len(schedule.threads)
        self.reduced = len(self.team.loops) if self.team is not None else 0
        self.lanes = schedule.elements
        self.vector = (self.shared + self.reduced if self.reduced and not self._columns else self.shared) - 1
        self.atomic = [target for target in range(len(placed.op.outputs)) if schedule.atomic and self._meets(target)]
        self.totals = totals_of(placed, self.shared)
        self.of_team = [total for total in self.totals if self.reduced and total.level < self.shared]
        shares = self.lanes if self.vector < self.shared else 1
        self.results = -(-prod(placed.extents[: self.shared]) // shares)

    @property
    def _columns(self) -> bool:
        return self.team is not None and self.team.columns

    def _meets(self, target: int) -> bool:
        """Whether several threads may combine into one element of a result."""
        return not set(self.schedule.threads) <= apart_in([write for write in self.op.writes if write.target == target], self.op.extents)

    # -- launches

    def kernel(self) -> Kernel:
        """The kernel of the nest itself."""
        if self.schedule.transpose is not None:
            return Transposed(self.placed, self.schedule, self.memory, self._finish).kernel()
        if self.team is None:
            return Kernel(-(-self.results // self.schedule.group), self.schedule.group, self._alone)
        team = self._team(self.team)
        types = [register_type(Combining.working_type(t.write.kind, t.write.value.type)) for t in self.of_team] if team.shared_cells else []
        return Kernel(team.groups, team.group, lambda functions, ids: self._together(functions, ids, team), [(team.shared_cells, type) for type in types])

    def last_kernels(self) -> list[Kernel]:
        """The kernel that combines the parts of a reduction, if there are several."""
        if self.team is None or self.team.parts == 1:
            return []
        threads = min(256, 1 << (self.team.parts.bit_length() - 1))
        if self.results < _NEIGHBOURS:
            team = Team(self.results, threads, threads, self.team.parts)
        else:  # neighbouring threads read neighbouring results
            threads = min(threads, 256 // _NEIGHBOURS)
            team = Team(self.results, threads * _NEIGHBOURS, threads, self.team.parts, columns=True)
        types = [register_type(Combining.working_type(t.write.kind, t.write.value.type)) for t in self.of_team]
        return [Kernel(team.groups, team.group, lambda functions, ids: self._combine_parts(functions, ids, team), [(team.group, type) for type in types])]

    def _team(self, team: Reduce) -> Team:
        count = prod(self.placed.extents[self.shared : self.shared + self.reduced])
        return Team(self.results, self.schedule.group, team.threads, count, team.columns, team.parts, 1 if team.columns else self.lanes, team.shuffle)

    # -- what a thread does

    def _alone(self, functions: Functions, ids: Ids) -> None:
        code, group = functions.code, self.schedule.group
        at = code.plus(code.times(ids.group, group) if self.results > group else 0, ids.thread if group > 1 else 0)
        with code.when(code.below(at, self.results) if self.results % group else None):
            self._run(functions, at)

    def _run(self, functions: Functions, at: Index) -> None:
        """The iterations of one thread; the last thread may have fewer elements than the others."""
        code, count = functions.code, prod(self.placed.extents[: self.shared])
        rest = count % self.lanes if self.vector < self.shared else 0
        if not rest:
            self._several(functions, at)
            return
        full = code.below(at, count // self.lanes)
        with code.when(full):
            self._several(functions, at)
        with code.when(functions.negated(full)), code.loop(count - rest, count, 1) as loop:
            work = _Work(self, functions, lanes=1)
            work.body.index[0] = loop.index
            work.level(self.shared - 1, {})

    def _finish(self, functions: Functions, body: Body) -> None:
        """Computes what is left of an iteration, and does its writes."""
        for write in self.placed.writes:
            for value in (write.value, write.base, write.condition):
                if value is not None:
                    body.evaluate(value)
        _Work(self, functions, body=body).write_all({})

    def _several(self, functions: Functions, at: Index) -> None:
        work = _Work(self, functions)
        work.share(at)
        work.level(self.shared - 1, {})

    def _together(self, functions: Functions, ids: Ids, team: Team) -> None:
        code, work = functions.code, _Work(self, functions)
        place = team.place(code, ids.group, ids.thread)
        neutral = [work.combining.neutral(t.write.kind, t.write.value.type) for t in self.of_team]

        def add_up() -> Values:
            work.share(place.result)
            return work.team_loop(team, place.lane, place.part)

        ends = code.choose(place.active, add_up, lambda: neutral)
        cells = [(total.write.kind, total.write.value.type) for total in self.of_team]
        ends = reduced_in_team(work.combining, team, place, ids.workgroup, cells, ends, ids.thread)
        conditions = [x for x in (place.first, place.active) if x is not None]
        with code.when(code.both(conditions) if conditions else None):
            work.share(place.result)
            for number, (total, read) in enumerate(zip(self.of_team, ends, strict=True)):
                if team.parts > 1:
                    code.store(read(), self.memory.scratch[number].memref, code.plus(code.times(place.part, self.results), place.result))
                else:
                    work.close(total, [read()])

    def _combine_parts(self, functions: Functions, ids: Ids, team: Team) -> None:
        code, work = functions.code, _Work(self, functions)
        place = team.place(code, ids.group, ids.thread)
        neutral = [work.combining.neutral(t.write.kind, t.write.value.type) for t in self.of_team]

        def add_up() -> Values:
            with code.loop(place.lane, team.count, team.threads, neutral) as loop:
                at = code.plus(code.times(loop.index, self.results), place.result)
                read = [code.load(buffer.memref, at) for buffer in self.memory.scratch]
                parts = zip(self.of_team, loop.carried, read, strict=True)
                loop.next = [work.combining.combined(t.write.kind, before, part, t.write.value.type) for t, before, part in parts]
            return list(loop.results)

        ends = code.choose(place.active, add_up, lambda: neutral)
        cells = [(total.write.kind, total.write.value.type) for total in self.of_team]
        ends = reduced_in_team(work.combining, team, place, ids.workgroup, cells, ends, ids.thread)
        conditions = [x for x in (place.first, place.active) if x is not None]
        with code.when(code.both(conditions) if conditions else None):
            work.share(place.result)
            for total, end in zip(self.of_team, ends, strict=True):
                work.close(total, [end()])


class _Work:
    """The work of one thread in its iterations."""

    def __init__(self, nest: _Nest, functions: Functions, lanes: int = 0, body: Body | None = None):
        self.nest, self.functions, self.code = nest, functions, functions.code
        self.lanes = lanes or nest.lanes
        self.combining = Combining(functions)
        self.body = body or Body(functions.code, functions, nest.placed, nest.memory.inputs, self.lanes, nest.vector)

    def share(self, at: Index) -> None:
        """Sets the indices of the loops that threads share, from the number of a thread or a team."""
        extents, nest = self.nest.placed.extents, self.nest
        for d in reversed(range(nest.shared)):
            extent = extents[d] // (nest.lanes if d == nest.vector else 1)
            index = at if d == 0 else self.code.remainder(at, extent)
            at = self.code.quotient(at, extent) if d else 0
            self.body.index[d] = self.code.times(index, nest.lanes) if d == nest.vector else index

    def level(self, level: int, running: dict[Total, Values]) -> None:
        """What is done at the body of a loop, inner loops included; ``running`` are the totals so far of what outer loops have begun."""
        nest = self.nest
        if level == nest.shared - 1:
            for outer in range(-1, level):
                self.body.compute(outer)
        self.body.compute(level)
        if level == nest.placed.inner:
            self.write_all(running)
            return
        begun = {total: self._neutral(total) for total in nest.totals if total.level == level and total not in running}
        carried = {**running, **begun}
        with self.code.loop(0, nest.placed.extents[level + 1], 1, _flat(carried)) as loop:
            self.body.index[level + 1] = loop.index
            inside = _unflat(carried, loop.carried)
            self.level(level + 1, inside)
            loop.next = _flat(inside)
        ended = _unflat(carried, loop.results)
        for total in begun:
            self.close(total, ended[total])
        running.update({total: ended[total] for total in running})

    def team_loop(self, team: Team, lane: Index, part: Index) -> Values:
        """The loop of a thread over its share of what its team reduces; gives the totals of the thread."""
        nest = self.nest
        for outer in range(-1, nest.shared):
            self.body.compute(outer)
        running = {total: self._neutral(total) for total in nest.of_team}
        start, stop = team.range(self.code, lane, part)
        with self.code.loop(start, stop, team.threads * team.elements, _flat(running)) as loop:
            at: Index = loop.index
            for d in reversed(range(nest.shared, nest.shared + nest.reduced)):
                extent = nest.placed.extents[d]
                self.body.index[d] = at if d == nest.shared else self.code.remainder(at, extent)
                at = self.code.quotient(at, extent) if d > nest.shared else 0
            for outer in range(nest.shared, nest.shared + nest.reduced - 1):
                self.body.compute(outer)
            inside = _unflat(running, loop.carried)
            self.level(nest.shared + nest.reduced - 1, inside)
            loop.next = _flat(inside)
        return list(loop.results)

    # -- writes

    def _neutral(self, total: Total) -> Values:
        """What a total begins with, in each lane in which its element is another one."""
        count = self.lanes if self.body.changes(total.at) else 1
        return [self.combining.neutral(total.write.kind, total.write.value.type)] * count

    def write_all(self, running: dict[Total, Values]) -> None:
        """The writes of an iteration, and what it adds to totals."""
        for write in self.nest.placed.writes:
            total = next((total for total in running if total.write == write), None)
            if total is not None:
                self._add(total, running)
                continue
            for lane in range(self.body.copies(write)):
                with self.code.when(self.body.get(write.condition, lane) if write.condition is not None else None):
                    self._write(write, self.body.get(write.value, lane), lane)

    def _add(self, total: Total, running: dict[Total, Values]) -> None:
        """Combines a total with the values of all lanes: each with its own, or one with all of them in order."""
        write, element = total.write, total.write.value.type
        sums = list(running[total])
        for lane in range(self.lanes):
            value = self.combining.widened(write.kind, self.body.get(write.value, lane), element)
            place = lane if len(sums) > 1 else 0
            sums[place] = self.combining.combined(write.kind, sums[place], value, element)
        running[total] = sums

    def _write(self, write: Write, value: SSAValue, lane: int) -> None:
        """Stores a value, or combines it with what is at its place."""
        at = self.body.place(write.at, write.base, lane)
        buffer = self.nest.memory.outputs[write.target]
        if write.kind == STORE or not is_in_memory(self.nest.placed, write, self.nest.shared):
            self.code.store(value, buffer.memref, at)
        elif write.target in self.nest.atomic:
            self.combining.atomically(write, value, buffer, at)
        else:
            self._combine(write, self.combining.widened(write.kind, value, write.value.type), buffer, at)

    def close(self, total: Total, ends: Values) -> None:
        """Puts a total where it goes."""
        write = total.write
        buffer = self.nest.memory.outputs[write.target]
        for lane, end in enumerate(ends):
            at = self.body.place(write.at, None, lane)
            if not total.in_memory:
                self.code.store(self.combining.rounded(write.kind, end, write.value.type), buffer.memref, at)
            elif write.target in self.nest.atomic:
                self.combining.atomically(write, end, buffer, at)
            else:
                self._combine(write, end, buffer, at)

    def _combine(self, write: Write, value: SSAValue, buffer: Buffer, at: Index) -> None:
        element = write.value.type
        old = self.combining.widened(write.kind, self.body.load(buffer, at), element)
        new = self.combining.combined(write.kind, old, value, element)
        self.code.store(self.combining.rounded(write.kind, new, element), buffer.memref, at)


def _flat(running: Mapping[Total, Values]) -> Values:
    return [value for values in running.values() for value in values]


def _unflat(running: Mapping[Total, Values], values: Sequence[SSAValue]) -> dict[Total, Values]:
    """Values in the order of :func:`_flat` as those of totals."""
    left = iter(values)
    return {total: [next(left) for _ in before] for total, before in running.items()}
