"""Assigns every value of a kernel-level block its place in memory.

Values that share storage form one *buffer*: a reshape and its operand, a result and the ``into`` operand that it
updates, a result that overwrites a dying operand element by element, a loop's result and the initial value that dies
with it. Inputs and constants lie where the caller has them and are never written; the values that the block returns are written
straight to the caller's outputs; all others get an offset in one arena, allocated in program order from what is free
at that op (best fit).

The regions of loops and branches are closed, so each is assigned like a function of its own: its inputs and outputs are
buffers that the op around it provides, and its arena is a range of the enclosing one.

The assignment becomes IR in :mod:`wengert.transforms.bufferize.rewrite`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from math import prod
from typing import Any, cast

from msgspec import Struct, field
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel import STORE, LoadOp, NestOp, StripMineOp
from wengert.dialects.kernel.memory import ALIGNMENT, aligned, byte_size
from wengert.dialects.kernel.overwriting import carried, reads_what_it_writes
from wengert.ir.tensor_types import shape_of_type
from wengert.ir.traversal import operands_of, ops_in

CELL_BYTES = 64
"""Larger values of loops lie in the arena, not on the stack."""


class Origin(Enum):
    """The memory in which a buffer lies: an input's, an output's, a constant's, or the arena."""

    INPUT = auto()
    OUTPUT = auto()
    CONSTANT = auto()
    ARENA = auto()


class Place(Struct, frozen=True):
    """A buffer's memory: the number of the input, output or constant, or the offset in the arena."""

    origin: Origin
    at: int


class Range(Struct, frozen=True):
    """A part of the arena."""

    at: int
    bytes: int


class Copy(Struct):
    """An output that is copied at the end, since the value that is returned is an input, a constant, or returned twice."""

    source: SSAValue
    output: int


class MemoryLayout(Struct):
    """Places of all values, copies to make at the end, the arena's size in bytes, and scratch memory of single ops.

    ``initial``: results that begin as copies of operands, since the operands that they update are needed again. ``inner``: the
    layouts of regions. Constants are numbered across all of them.
    """

    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    constants: list[stablehlo.ConstantOp] = field(default_factory=list[stablehlo.ConstantOp])
    copies: list[Copy] = field(default_factory=list[Copy])
    initial: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    scratch: dict[Operation, Range] = field(default_factory=dict[Operation, "Range"])
    inner: dict[Block, MemoryLayout] = field(default_factory=dict[Block, "MemoryLayout"])
    arena_bytes: int = 0
    alignment: int = ALIGNMENT


Scratch = Callable[[Operation], int]


def assign(block: Block, scratch: Scratch = lambda op: 0, alignment: int = ALIGNMENT) -> MemoryLayout:
    """Assigns a place, at a multiple of ``alignment`` bytes, to every value of a kernel-level block; ``scratch`` gives the bytes that an op needs while it
    runs."""
    return _Assignment(block, scratch, MemoryLayout(alignment=alignment), frozenset()).run()


def in_place_nests(function: FuncOp) -> frozenset[NestOp]:
    """The nests of a kernel-level function that will overwrite an operand that they read, as ``bufferize`` will place it.

    A schedule has to know: such a nest may not compute an element twice, nor in another order than it reads.
    """
    return frozenset(overwriting_nests(assign(function.body.block)))


def overwriting_nests(layout: MemoryLayout) -> list[NestOp]:
    """The nests that overwrite an operand that they read, those of regions among them."""
    places = layout.places
    nests = dict.fromkeys(value.owner for value in places if isinstance(value.owner, NestOp))
    overwriting = [nest for nest in nests if {places[value] for value in nest.inputs} & {places[value] for value in nest.outputs}]
    return [*overwriting, *[nest for inner in layout.inner.values() for nest in overwriting_nests(inner)]]


def swaps(op: core.ForOp | core.WhileOp, body: MemoryLayout) -> list[bool]:
    """For each carried value whether the body, of this layout, leaves it in a second buffer, and not in the one from which it was read."""
    last = op.body.block.last_op
    assert last is not None
    first = len(op.body.block.args) - len(op.results)
    return [body.places[value] != Place(Origin.INPUT, first + number) for number, value in enumerate(operands_of(last))]


def loop_layout(op: core.ForOp | core.WhileOp, body: MemoryLayout, alignment: int) -> tuple[list[int], int]:
    """Offsets in a loop's scratch memory: of second buffers for what is carried and needs one, and of the index or condition."""
    offsets: list[int] = []
    end = 0
    for value, swap in zip(op.initial, swaps(op, body), strict=True):
        offsets.append(end)
        end += aligned(byte_size(value), alignment) if swap and byte_size(value) > CELL_BYTES else 0
    return offsets, end


def stack_cells(layout: MemoryLayout) -> dict[int, list[SSAValue]]:
    """The values of a loop's body that lie on the stack, by their offset in its arena: small ones, where no larger one lies at
    the same offset. LLVM makes registers of them. Buffers at different offsets hold different values, or are not live at once, so
    each offset has a cell of its own."""
    values_at: dict[int, list[SSAValue]] = {}
    for value, place in layout.places.items():
        if place.origin is Origin.ARENA:
            values_at.setdefault(place.at, []).append(value)
    taken = {part.at for part in layout.scratch.values()}
    return {at: values for at, values in values_at.items() if at not in taken and max(map(byte_size, values)) <= CELL_BYTES}


class _Storage:
    """Values that share one buffer, and the ops between which it is live."""

    __slots__ = ("bytes", "first", "fixed", "last", "place", "values")

    def __init__(self, value: SSAValue, first: int, last: int, fixed: bool):
        self.values = [value]
        self.bytes = byte_size(value)
        self.first = first
        self.last = last
        self.fixed = fixed
        self.place: Place | None = None


class _Assignment:
    def __init__(self, block: Block, scratch: Scratch, layout: MemoryLayout, mutable: frozenset[int]):
        self.block = block
        self.scratch = scratch
        self.mutable = mutable
        self.ops = ops_in(block)
        self.layout = layout
        self.storage: dict[SSAValue, _Storage] = {}
        self.last_use: dict[SSAValue, int] = {}

    def run(self) -> MemoryLayout:
        for number, op in enumerate(self.ops):
            for operand in operands_of(op):
                self.last_use[operand] = number
        for number, arg in enumerate(self.block.args):
            storage = self._new(arg, -1, fixed=number not in self.mutable)
            storage.place = Place(Origin.INPUT, number)
        for number, op in enumerate(self.ops):
            self._define(number, op)
        self._place_outputs()
        self._place_arena()
        for value, storage in self.storage.items():
            assert storage.place is not None
            self.layout.places[value] = storage.place
        return self.layout

    # -- values that share storage

    def _new(self, value: SSAValue, first: int, *, fixed: bool = False) -> _Storage:
        storage = self.storage[value] = _Storage(value, first, max(first, self.last_use.get(value, first)), fixed)
        return storage

    def _share(self, value: SSAValue, other: SSAValue) -> None:
        storage = self.storage[value] = self.storage[other]
        storage.values.append(value)
        storage.last = max(storage.last, self.last_use.get(value, storage.last))

    def _define(self, number: int, op: Operation) -> None:
        if isinstance(op, stablehlo.ConstantOp):
            storage = self._new(op.output, number, fixed=True)
            storage.place = Place(Origin.CONSTANT, len(self.layout.constants))
            self.layout.constants.append(op)
        elif isinstance(op, stablehlo.ReshapeOp):
            self._share(op.result, op.operand)
        elif isinstance(op, NestOp):
            for result, tie in zip(op.results, op.tied, strict=True):
                if tie >= 0:
                    self._update_in_place(number, op, result, op.into[tie])
                else:
                    self._new(result, number)
        elif isinstance(op, core.ForOp | core.WhileOp):
            for result, initial in zip(op.results, op.initial, strict=True):
                self._update_in_place(number, op, result, initial)
        else:
            for result in op.results:
                self._new(result, number)
        for region in op.regions:
            if isinstance(op, core.ForOp | core.WhileOp | core.CaseOp | StripMineOp):
                self._assign_region(op, region.block)

    def _update_in_place(self, number: int, op: Operation, result: SSAValue, operand: SSAValue) -> None:
        """Gives the result the operand's memory if no other op needs that, else marks it to begin as a copy."""
        storage = self.storage[operand]
        others = op.inputs if isinstance(op, NestOp) else operands_of(op)
        if isinstance(op, core.ForOp | core.WhileOp):  # what begins in several carried values is copied before the loop into all of them but one
            others = [operand, *others[: len(others) - len(op.initial)]]
        uses = sum(self.storage[value] is storage for value in others) + (isinstance(op, NestOp) and sum(self.storage[value] is storage for value in op.into))
        taken = any(self.storage.get(other) is storage for other in op.results)
        alone = uses == 1 or (uses == 2 and isinstance(op, NestOp) and not runs_twice(op) and self._reads_what_it_writes(op, op.results.index(result), storage))
        if not storage.fixed and storage.last == number and alone and not taken:
            self._share(result, operand)
        else:
            self._new(result, number)
            self.layout.initial[result] = operand

    def _reads_what_it_writes(self, op: NestOp, target: int, storage: _Storage) -> bool:
        arguments = [argument for argument, operand in zip(op.body.block.args, op.inputs, strict=True) if self.storage[operand] is storage]
        return reads_what_it_writes(op, target, arguments)

    def _assign_region(self, op: Operation, block: Block) -> None:
        """Assigns the values of a region; a loop's body may overwrite what it carries."""
        mutable = frozenset([argument.index for argument in carried(op, block)]) if block is op.regions[-1].block else frozenset[int]()
        inner = MemoryLayout(constants=self.layout.constants, alignment=self.layout.alignment)
        self.layout.inner[block] = _Assignment(block, self.scratch, inner, mutable).run()

    # -- places

    def _place_outputs(self) -> None:
        last = self.block.last_op
        assert last is not None
        for output, value in enumerate(operands_of(last)):
            storage = self.storage[value]
            if storage.place is None:
                storage.place = Place(Origin.OUTPUT, output)
            else:
                self.layout.copies.append(Copy(value, output))

    def _place_arena(self) -> None:
        ends: dict[int, list[_Storage]] = {}
        for storage in {id(s): s for s in self.storage.values()}.values():
            if storage.place is None:
                ends.setdefault(storage.last, []).append(storage)
        free = _FreeList(self.layout.alignment)
        reused: set[int] = set()
        for number, op in enumerate(self.ops):
            if isinstance(op, NestOp) and not runs_twice(op):
                reused |= self._reuse(number, op, reused)
            for result in op.results:
                storage = self.storage[result]
                if storage.place is None and storage.first == number:
                    storage.place = Place(Origin.ARENA, free.take(storage.bytes))
            if extra := self._scratch_bytes(op):
                self.layout.scratch[op] = Range(free.take(extra), extra)
                free.give(self.layout.scratch[op].at, extra)
            for storage in ends.get(number, ()):
                if id(storage) not in reused:
                    assert storage.place is not None
                    free.give(storage.place.at, storage.bytes)
        self.layout.arena_bytes = free.end

    def _scratch_bytes(self, op: Operation) -> int:
        """The bytes that an op needs while it runs: the arenas of its regions (only one of which runs at a time) and its own."""
        if not isinstance(op, core.ForOp | core.WhileOp | core.CaseOp | StripMineOp):
            return self.scratch(op)
        regions = max(self.layout.inner[region.block].arena_bytes for region in op.regions)
        return regions if isinstance(op, core.CaseOp | StripMineOp) else self._around(op) + regions

    def _around(self, op: core.ForOp | core.WhileOp) -> int:
        """The bytes that a loop needs beside what its regions do."""
        return loop_layout(op, self.layout.inner[op.body.block], self.layout.alignment)[1] + self.layout.alignment

    def _reuse(self, number: int, op: NestOp, reused: set[int]) -> set[int]:
        """Gives results the memory of operands that die here and are read only where they are overwritten."""
        taken: set[int] = set()
        fresh = [(target, result) for target, result in enumerate(op.results) if self._is_unplaced(result, number) and op.tied[target] < 0]
        dying = [(argument, operand) for argument, operand in zip(op.body.block.args, op.inputs, strict=True) if self._dies(operand, number)] if fresh else []
        if not dying:
            return taken
        writes = op.writes
        for target, result in fresh:
            mine = [write for write in writes if write.target == target]
            if len(mine) != 1 or mine[0].kind != STORE:
                continue
            storage = self.storage[result]
            for argument, operand in dying:
                other = self.storage[operand]
                if id(other) in taken or id(other) in reused or not _same_layout(operand, result, other, storage):
                    continue
                if self._only_at(op, other, argument, mine[0].at):
                    storage.place = other.place
                    taken.add(id(other))
                    break
        return taken

    def _is_unplaced(self, value: SSAValue, number: int) -> bool:
        """Whether the memory of a value begins with this op, and has no place yet."""
        storage = self.storage[value]
        return storage.place is None and storage.first == number

    def _dies(self, value: SSAValue, number: int) -> bool:
        """Whether a value of the arena is needed until this op, and no longer."""
        storage = self.storage[value]
        return storage.last == number and not storage.fixed and storage.place is not None and storage.place.origin is Origin.ARENA

    def _only_at(self, op: NestOp, other: _Storage, argument: SSAValue, at: object) -> bool:
        """Whether the nest reads a buffer by this argument alone, and only at this position, without guards."""
        if sum(self.storage[operand] is other for operand in (*op.inputs, *op.into)) != 1:
            return False
        loads = [use.operation for use in argument.uses]
        return all(isinstance(load, LoadOp) and load.at.data == at and load.where is None and load.base is None for load in loads)


def runs_twice(op: NestOp) -> bool:
    """Whether a nest has a schedule by which some iterations run twice, so that it may not overwrite what it reads."""
    return op.schedule is not None and op.schedule.data.repeats


def _same_layout(operand: SSAValue, result: SSAValue, old: _Storage, new: _Storage) -> bool:
    """Whether element i of both lies at the same bytes, and the buffers are of one size."""
    count = [prod(shape_of_type(cast("TensorType[Any]", value.type))) for value in (operand, result)]
    return old.bytes == new.bytes and byte_size(operand) == byte_size(result) and count[0] == count[1]


class _FreeList:
    """Free ranges of an arena that grows at its end."""

    def __init__(self, alignment: int) -> None:
        self.alignment = alignment
        self.ranges: list[tuple[int, int]] = []
        self.end = 0

    def take(self, count: int) -> int:
        """The offset of a range of so many bytes: the smallest free one that is large enough, or new ones at the end."""
        count = aligned(count, self.alignment)
        fitting = [(high - low, low, high) for low, high in self.ranges if high - low >= count]
        if fitting:
            _, low, high = min(fitting)
            self.ranges.remove((low, high))
            if high - low > count:
                self.ranges.append((low + count, high))
            return low
        tail = next((r for r in self.ranges if r[1] == self.end), None)
        if tail is not None:
            self.ranges.remove(tail)
        low = tail[0] if tail is not None else self.end
        self.end = low + count
        return low

    def give(self, low: int, count: int) -> None:
        """Returns a range, joining it with its neighbours."""
        high = low + aligned(count, self.alignment)
        for other in list(self.ranges):
            if other[1] == low or other[0] == high:
                self.ranges.remove(other)
                low, high = min(low, other[0]), max(high, other[1])
        self.ranges.append((low, high))
