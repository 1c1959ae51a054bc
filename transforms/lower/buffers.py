"""Buffers: where every value of a kernel-level function lies while it runs.

Values that share storage form one *buffer*: a reshape and its operand, a result and the ``into`` operand that it
continues, a result that overwrites a dying operand element by element. Inputs and constants lie where the caller has
them and are never written; what the function returns is written straight to the caller's output; everything else gets an
offset in one arena, allotted in program order from what is free at that moment (best fit).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.kernel import STORE, LoadOp, NestOp
from wengert.ir.tensor_types import dtype_of, shape_of_type

ALIGNMENT = 64


class Space(Enum):
    """Which memory a buffer lies in."""

    INPUT = auto()
    OUTPUT = auto()
    CONSTANT = auto()
    ARENA = auto()


@dataclass(frozen=True)
class Place:
    """A buffer's memory: the number of the input, output or constant, or the offset in the arena."""

    space: Space
    at: int


@dataclass
class Copy:
    """An output that is made by copying: what is returned is an input, a constant, or returned twice."""

    source: SSAValue
    output: int


@dataclass
class Buffers:
    """Places of all values, the constants in order, copies to make at the end, and the arena's size in bytes."""

    places: dict[SSAValue, Place] = field(default_factory=dict[SSAValue, Place])
    constants: list[stablehlo.ConstantOp] = field(default_factory=list[stablehlo.ConstantOp])
    copies: list[Copy] = field(default_factory=list[Copy])
    scratch: dict[Operation, Place] = field(default_factory=dict[Operation, Place])
    arena_bytes: int = 0


def byte_size(value: SSAValue) -> int:
    """How many bytes the elements of a tensor value take."""
    type = cast("TensorType[Any]", value.type)
    return prod(shape_of_type(type)) * dtype_of(type.element_type).itemsize


def assign(block: Block, scratch: Callable[[Operation], int] = lambda op: 0) -> Buffers:
    """Places for every value of a kernel-level block; ``scratch`` tells how many bytes an op needs while it runs."""
    return _Assignment(block, scratch).run()


class _Storage:
    """Values that share one buffer, and the ops between which it is live."""

    __slots__ = ("bytes", "fixed", "first", "last", "place", "values")

    def __init__(self, value: SSAValue, first: int, fixed: bool):
        self.values = [value]
        self.bytes = byte_size(value)
        self.first = first
        self.last = first
        self.fixed = fixed
        self.place: Place | None = None


class _Assignment:
    def __init__(self, block: Block, scratch: Callable[[Operation], int]):
        self.block = block
        self.scratch = scratch
        self.ops = list(block.ops)
        self.found = Buffers()
        self.storage: dict[SSAValue, _Storage] = {}

    def run(self) -> Buffers:
        for number, arg in enumerate(self.block.args):
            self.storage[arg] = _Storage(arg, -1, True)
            self.storage[arg].place = Place(Space.INPUT, number)
        for number, op in enumerate(self.ops):
            self._define(number, op)
        self._place_outputs()
        self._place_arena()
        for value, storage in self.storage.items():
            assert storage.place is not None
            self.found.places[value] = storage.place
        return self.found

    def _define(self, number: int, op: Operation) -> None:
        for operand in op.operands:
            self.storage[operand].last = number
        if isinstance(op, stablehlo.ConstantOp):
            storage = self.storage[op.output] = _Storage(op.output, number, True)
            storage.place = Place(Space.CONSTANT, len(self.found.constants))
            self.found.constants.append(op)
        elif isinstance(op, stablehlo.ReshapeOp):
            self._share(op.result, op.operand)
        elif isinstance(op, NestOp):
            for result, tie in zip(op.results, op.tied, strict=True):
                if tie >= 0:
                    self._share(result, op.into[tie])
                else:
                    self.storage[result] = _Storage(result, number, False)
        else:
            for result in op.results:
                self.storage[result] = _Storage(result, number, False)

    def _share(self, value: SSAValue, other: SSAValue) -> None:
        storage = self.storage[value] = self.storage[other]
        storage.values.append(value)

    def _place_outputs(self) -> None:
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        for output, value in enumerate(last.operands):
            storage = self.storage[value]
            if storage.place is None:
                storage.place = Place(Space.OUTPUT, output)
            else:
                self.found.copies.append(Copy(value, output))

    def _place_arena(self) -> None:
        ends: dict[int, list[_Storage]] = {}
        for storage in {id(s): s for s in self.storage.values()}.values():
            if storage.place is None:
                ends.setdefault(storage.last, []).append(storage)
        free = _FreeList()
        reused: set[int] = set()
        for number, op in enumerate(self.ops):
            taken = self._reuse(number, op, reused) if isinstance(op, NestOp) else set[int]()
            reused |= taken
            for result in op.results:
                storage = self.storage[result]
                if storage.place is None and storage.first == number:
                    storage.place = Place(Space.ARENA, free.take(storage.bytes))
            if extra := self.scratch(op):
                self.found.scratch[op] = Place(Space.ARENA, free.take(extra))
                free.give(self.found.scratch[op].at, extra)
            for storage in ends.get(number, ()):
                if id(storage) not in reused:
                    assert storage.place is not None
                    free.give(storage.place.at, storage.bytes)
        self.found.arena_bytes = free.end

    def _reuse(self, number: int, op: NestOp, reused: set[int]) -> set[int]:
        """Lets results overwrite operands that die here and are read only where they are overwritten."""
        taken: set[int] = set()
        writes = op.writes
        for target, result in enumerate(op.results):
            storage = self.storage[result]
            mine = [write for write in writes if write.target == target]
            if storage.place is not None or storage.first != number or len(mine) != 1 or mine[0].kind != STORE:
                continue
            for argument, operand in zip(op.body.block.args, op.inputs, strict=True):
                other = self.storage[operand]
                dies = other.last == number and not other.fixed and other.place is not None and other.place.space is Space.ARENA
                if not dies or id(other) in taken or id(other) in reused or other.bytes != storage.bytes or not _same_width(operand, result):
                    continue
                if list(op.inputs).count(operand) == 1 and self._only_at(op, other, argument, mine[0].at):
                    storage.place = other.place
                    taken.add(id(other))
                    break
        return taken

    def _only_at(self, op: NestOp, other: _Storage, argument: SSAValue, at: object) -> bool:
        """Whether the nest reads the buffer by this argument alone, and only at this position, whole."""
        if sum(self.storage[operand] is other for operand in op.inputs) != 1 or any(self.storage[operand] is other for operand in op.into):
            return False
        loads = [use.operation for use in argument.uses]
        return all(isinstance(load, LoadOp) and load.at.data == at and load.where is None and load.base is None for load in loads)


def _same_width(one: SSAValue, other: SSAValue) -> bool:
    return byte_size(one) == byte_size(other) and prod(shape_of_type(cast("TensorType[Any]", one.type))) == prod(shape_of_type(cast("TensorType[Any]", other.type)))


class _FreeList:
    """Free ranges of an arena that grows at its end."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int]] = []
        self.end = 0

    def take(self, count: int) -> int:
        """The offset of a range of so many bytes: the smallest free one that is large enough, or new ones at the end."""
        count = _aligned(count)
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
        high = low + _aligned(count)
        for other in list(self.ranges):
            if other[1] == low or other[0] == high:
                self.ranges.remove(other)
                low, high = min(low, other[0]), max(high, other[1])
        if high > low:
            self.ranges.append((low, high))


def _aligned(count: int) -> int:
    return (max(count, 1) + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT

