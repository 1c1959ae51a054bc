"""Emits a loop nest as one LLVM function, as its schedule asks for: scalar outer loops around an explicitly vectorised innermost one.

Every value of the body is computed at the level of the innermost loop that it depends on, so that invariant values leave the
inner loops without an optimisation pass. At the innermost level a register holds several lanes; the last iterations, which do
not fill it, run once more with fewer active lanes.

A reduction over inner loops accumulates in registers, whose lanes are combined at the end; one over outer loops with an inner one kept
accumulates in the result itself.

Nothing is decided here: what the loops are, how many lanes and registers, which loop is parallel, is in the schedule
(:mod:`wengert.dialects.kernel.schedule`). The parts, each on the ones before it: ``registers``, ``addresses``, ``guards``, ``loads`` and ``writes``,
``reductions``, ``tiles``, ``body``, ``innermost``.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from wengert.dialects.kernel.positions import Position
from wengert.dialects.kernel.schedule import Schedule
from wengert.transforms.codegen.cpu.long_code import needs_frame
from wengert.transforms.codegen.cpu.nest.addresses import Addresses
from wengert.transforms.codegen.cpu.nest.body import Body
from wengert.transforms.codegen.cpu.nest.context import Context
from wengert.transforms.codegen.cpu.nest.guards import Guards
from wengert.transforms.codegen.cpu.nest.innermost import Innermost
from wengert.transforms.codegen.cpu.nest.loads import Loads
from wengert.transforms.codegen.cpu.nest.reductions import Reductions
from wengert.transforms.codegen.cpu.nest.registers import Registers
from wengert.transforms.codegen.cpu.nest.tiles import Tiles
from wengert.transforms.codegen.cpu.nest.writes import Writes
from wengert.transforms.codegen.cpu.pointers.frames import FRAME, read_near
from wengert.transforms.codegen.cpu.tasks import BEGIN, END, begin_chunk, begin_task, parameters
from wengert.transforms.codegen.llvm.types import element_of
from wengert.transforms.schedule.chunks import Split
from wengert.transforms.schedule.parallel import ranges, shared_loop
from wengert.transforms.schedule.placement import Placement
from wengert.transforms.schedule.target import Target


class NestText(Struct, frozen=True):
    """The definition of a nest's function, those of functions that it calls, how its outermost loop is shared by threads, and whether it takes its pointers
    in a frame (:mod:`wengert.transforms.codegen.cpu.pointers.frames`) though it is no task."""

    text: str
    functions: Mapping[str, str]
    split: Split | None
    framed: bool


def emit_nest(placed: Placement, schedule: Schedule, target: Target, name: str, *, strict: bool, in_place: bool, debug_lines: bool = False) -> NestText:
    """Emits the function of a nest that runs as its schedule asks for.

    Args:
        placed: the nest as :func:`wengert.transforms.schedule.legality.check` placed it, which has made sure that it can.
        schedule: its schedule.
        target: the processor.
        name: the name of the function.
        strict: sums of products are not contracted.
        in_place: the nest may write to a buffer that it reads.
        debug_lines: marks say which op instructions come from.
    """
    return _Emission(Context(placed, schedule, target, strict, in_place=in_place, debug_lines=debug_lines)).run(name)


class _Emission:
    """The outer loops, around the innermost one or around tiles."""

    def __init__(self, nest: Context):
        self.nest = nest
        self.registers = Registers(nest)
        self.addresses = Addresses(nest, self.registers)
        guards = Guards(nest, self.registers, self.addresses)
        loads = Loads(nest, self.registers, self.addresses, guards)
        self.writes = Writes(nest, self.registers, self.addresses)
        self.reductions = Reductions(nest, self.registers, self.addresses)
        self.tiles = Tiles(nest, self.registers, self.addresses)
        self.body = Body(nest, self.registers, self.addresses, guards, loads, self.tiles, self.writes)
        self.innermost = Innermost(nest, self.registers, self.addresses, guards, self.body, self.writes, self.reductions)
        self.split = shared_loop(nest.op, nest.schedule, nest.extents)
        base = nest.placed.writes[0].base if nest.schedule.owned else None
        self.owning_level = -1 if base is None else nest.placed.depth[base]

    def run(self, name: str) -> NestText:
        """The definition of the function."""
        op, out = self.nest.op, self.nest.out
        pointers = [f"%p{n}" for n in range(len(op.inputs))] + [f"%q{n}" for n in range(len(op.outputs))]
        many = needs_frame(len(pointers))
        if not many:
            begin_task(out, pointers, self.split)
        elif self.split is not None:
            begin_chunk(out, self.split.grain, self.split.iterations, joined=self.split.joined)
        if self.split is None:
            self.reductions.fill_results()
        self.tiles.allocate()
        if 0 not in self.nest.extents:
            self._level(-1)
        framed = many and self.split is None
        if many:
            read_near(out, pointers)
        text = out.definition(name, [f"ptr {FRAME}"] if framed else parameters(pointers, self.split), attributes=self.nest.target.attributes)
        return NestText(text, out.module.definitions, self.split, framed)

    def _level(self, level: int) -> None:
        """The code at the body of one loop (-1: of the function), inner loops included."""
        inner = self.nest.inner
        if inner < 0:
            self.body.emit(-1, 1, 1)
            self.writes.emit(1, 1)
            return
        self.body.emit(level, 1, 1)
        if level >= 0 and level == self.owning_level:
            with self.nest.out.when(self._is_owned(level)), self.registers.scope({}):
                self._inside(level)
            return
        self._inside(level)

    def _is_owned(self, level: int) -> str:
        """Whether what is updated in the loops inside lies in the ranges of this task."""
        (write,), out, owned = self.nest.placed.writes, self.nest.out, self.nest.schedule.owned
        assert write.base is not None
        at, base = self.nest.placed.loops[write.at], self.registers.get(write.base, 1)
        outer = Position(at.offset, tuple([term for term in at.terms if isinstance(term[0], int) and term[0] <= level]))
        kind = element_of(write.base.type).register
        position = out.add(str(base) if kind == "i64" else out.cast("sext", str(base), kind, "i64"), self.addresses.position(outer))
        first, count = (out.multiply(number, owned) for number in (BEGIN, out.binary("sub", "i64", END, BEGIN)))
        return out.icmp("ult", "i64", out.binary("sub", "i64", position, first), count)

    def _inside(self, level: int) -> None:
        """The loops inside of one loop, after its own values."""
        inner = self.nest.inner
        self.body.prepare_inner(level)
        if level + 1 == inner:
            self.innermost.emit()
        elif self.tiles.slots and level + 2 == inner:
            self._tiles()
        else:
            finishing = [r for r in self.reductions.in_registers if r.level == level]
            for reduction in finishing:
                self.reductions.open_slot(reduction)
            self._loop(level + 1)
            for reduction in finishing:
                self.reductions.close_slot(reduction)

    def _loop(self, level: int) -> None:
        if level == 0 and self.split is not None and not self.nest.schedule.owned:
            self._outermost(self.split, BEGIN, END)
        elif level == 0 and (overlapping := ranges(self.nest.op, self.nest.schedule)) is not None:
            self._outermost(overlapping, 0, overlapping.iterations)
        else:
            with self.nest.out.rotated_loop(self.nest.extents[level]) as loop, self.registers.scope({("index", level): loop.index}):
                self._level(level)

    def _outermost(self, split: Split, begin: str | int, end: str | int) -> None:
        """Emits the iterations of the outermost loop that belong to a chunk, or all of one that goes through ranges which overlap."""
        with self.nest.out.rotated_loop(end, start=begin) as loop:
            at = loop.index
            if split.step != 1:
                at = self.nest.out.intrinsic("umin", "i64", self.addresses.times(at, split.step), split.last)
            with self.registers.scope({("index", 0): at}):
                if self.split is not None:
                    self.reductions.fill_results(at)
                self._level(0)

    def _tiles(self) -> None:
        level = self.nest.inner - 1
        with self.tiles.rows() as column:
            self.body.emit(level, 1, 1)
            self.body.prepare_inner(level)
            self.innermost.one([], column, self.nest.lanes)
