"""The work of a kernel at the gpu level, read from its text: bytes of memory, strides and widths of accesses, flops, threads.

Positions are evaluated for threads of some groups (:mod:`wengert.transforms.analysis.gpu.lanes`); nothing is run, and no time is measured.

An *access* is what a thread does at once: neighbouring elements that it reads or writes in one block of code are one. Its *stride* is how far the next thread
is: 1 if the threads of a warp read one piece of memory from its beginning to its end, 0 if all read the same.

*Bytes asked for* are those that the threads of a warp touch, each counted once for each time that the warp does so. *Bytes moved* are the same for a buffer
that is larger than any cache (:data:`CACHED`), and what is touched of it, once, for a smaller one. Bytes *needed* are what is touched of all buffers, once.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import gpu
from wengert.dialects.gpu.atomics import AtomicRMWOp, GenericAtomicRMWOp
from wengert.dialects.gpu.matrices import WARP, DeviceAsyncCopyOp, LdMatrixOp, MmaSyncOp
from wengert.dialects.gpu.memory import DeviceSpace, device_space
from wengert.dialects.gpu.scalars import Meaning, meaning, meaning_of_name, type_name
from wengert.dialects.scalar_functions import function_facts
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import bytes_of_type, is_complex, is_float, tensor
from wengert.transforms.analysis.gpu.lanes import Array, Sample, Walk, warps

CACHED = 1 << 20
"""Buffers of which no more is touched stay in the cache that all groups share, on every device that there is a description of."""
WIDEST = 16
"""The most bytes of an access of a thread."""
SECTOR = 32
"""Memory is moved in pieces of so many bytes."""


@dataclass(frozen=True)
class Access:
    """The accesses of a kernel's threads at one place of it.

    Attributes:
        buffer: the number of the buffer among the arguments, or ``shared0``, ``shared1``, ... for those of the group.
        space: where the buffer is.
        writes: whether it writes; an atomic update counts as a write.
        element: bytes of an element.
        elements: how many neighbours a thread takes.
        stride: between neighbouring threads, in instructions; None where positions depend on data. A thread that takes more neighbours than one instruction
            moves has as many as it needs, and a stride of that.
        count: how often it is done, by all threads.
        asked: bytes that warps touch.
        sectors: bytes of the pieces of memory that these lie in.
    """

    buffer: str
    space: DeviceSpace
    writes: bool
    element: int
    elements: int
    stride: int | None
    count: float
    asked: float
    sectors: float

    @property
    def is_straight(self) -> bool:
        """Whether neighbouring threads take neighbours, or all the same."""
        return self.stride in (-1, 0, 1)

    @property
    def width(self) -> int:
        """The bytes that one instruction moves."""
        return _width(self.element, self.elements)


@dataclass(frozen=True)
class Traffic:
    """The bytes moved between a buffer of global memory and a kernel: what warps read and write, and what is touched of the buffer, once."""

    read: float
    written: float
    distinct: float

    @property
    def moved(self) -> float:
        """The bytes that a memory behind a cache moves."""
        sides = (self.read, self.written)
        return sum(min(side, self.distinct) for side in sides) if self.distinct <= CACHED else sum(sides)

    @property
    def needed(self) -> float:
        """The bytes that have to be moved: what is touched, once for reading and once for writing."""
        return sum(min(side, self.distinct) for side in (self.read, self.written))


@dataclass(frozen=True)
class KernelCost:
    """The figures of a kernel in one launch.

    Attributes:
        name: the kernel.
        groups, threads: of the launch, and of a group.
        workgroup_bytes: memory of a group.
        accesses: what it does to memory.
        traffic: by the number of the argument.
        flops: by the type of the operands.
        transcendentals: how many functions are computed.
        uncounted: whether there are loops whose iterations depend on data; these are counted once.
    """

    name: str
    groups: int
    threads: int
    workgroup_bytes: int
    accesses: tuple[Access, ...]
    traffic: dict[int, Traffic]
    flops: dict[str, float]
    transcendentals: float
    uncounted: bool = False

    @property
    def moved(self) -> float:
        """Bytes between the kernel and the global memory."""
        return sum(traffic.moved for traffic in self.traffic.values())

    @property
    def needed(self) -> float:
        """Bytes of what it reads and writes, each once."""
        return sum(traffic.needed for traffic in self.traffic.values())

    @property
    def excess(self) -> float:
        """How many times what is needed is moved; 1 where nothing is."""
        return self.moved / self.needed if self.needed else 1.0

    @property
    def crooked(self) -> list[Access]:
        """Accesses to global memory whose stride is neither 0 nor 1."""
        return [access for access in self.accesses if access.space is DeviceSpace.GLOBAL and not access.is_straight]


def kernel_cost(kernel: gpu.FuncOp, groups: int) -> KernelCost:
    """The figures of a kernel that is launched in so many groups."""
    assert kernel.known_block_size is not None
    return _Count(kernel, groups, prod(ints(kernel.known_block_size))).result()


@dataclass
class _Span:
    """The least and the largest position that is touched of a buffer; all of it where positions depend on data."""

    low: int
    high: int

    def add(self, low: int, high: int) -> None:
        self.low, self.high = min(self.low, low), max(self.high, high)


class _Count:
    def __init__(self, kernel: gpu.FuncOp, groups: int, threads: int):
        self.kernel, self.sample = kernel, Sample(groups, threads)
        shared = {buffer: f"shared{number}" for number, buffer in enumerate(kernel.workgroup_buffers)}
        self.names: dict[SSAValue, str] = {**{buffer: str(number) for number, buffer in enumerate(kernel.inputs)}, **shared}
        self.accesses: dict[tuple[Operation, ...], Access] = {}
        self.spans: dict[str, _Span] = {}
        self.flops = collections.defaultdict[str, float](float)
        self.transcendentals = 0.0

    def result(self) -> KernelCost:
        walk = Walk(self.sample, self._block)
        walk.kernel(self.kernel)
        accesses = tuple(self.accesses.values())
        shared = sum(_bytes(buffer) for buffer in self.kernel.workgroup_buffers)
        traffic = {number: self._traffic(str(number), accesses) for number in range(len(self.kernel.inputs)) if str(number) in self.spans}
        name = self.kernel.sym_name.data
        return KernelCost(name, self.sample.count, self.sample.size, shared, accesses, traffic, dict(self.flops), self.transcendentals, walk.uncounted)

    def _traffic(self, name: str, accesses: Sequence[Access]) -> Traffic:
        mine = [access for access in accesses if access.buffer == name]
        span = self.spans[name]
        touched = (span.high - span.low + 1) * mine[0].element
        read, written = (sum(access.asked for access in mine if access.writes is writes) for writes in (False, True))
        return Traffic(read, written, min(touched, read + written))

    # -- a block of code

    def _block(self, ops: Sequence[Operation], times: Array | float, walk: Walk) -> None:
        total = self.sample.total(times)
        if not total:
            return
        touched = dict[tuple[SSAValue, bool], list[tuple[Operation, Any]]]()
        for op in ops:
            if isinstance(op, memref.LoadOp | memref.StoreOp | AtomicRMWOp | GenericAtomicRMWOp):
                touched.setdefault((op.memref, not isinstance(op, memref.LoadOp)), []).append((op, _place(op.indices, walk)))
            elif isinstance(op, DeviceAsyncCopyOp):
                self._copy(op, times, walk)
            elif isinstance(op, LdMatrixOp):
                self._load_matrices(op, times, walk)
            elif isinstance(op, MmaSyncOp):
                self.flops[f"tensor {'tf32' if op.tf32 is not None else op.element}"] += 2 * prod(op.extents) * total / WARP
            elif (function := _function(op)) is not None:
                self._compute(function, total)
        for (buffer, writes), places in touched.items():
            if buffer in self.names:
                for run in _runs(places, np.asarray(times)):
                    self._access(buffer, writes, run, times, total)

    def _copy(self, op: DeviceAsyncCopyOp, times: Array | float, walk: Walk) -> None:
        """What is read of global memory, if all of it is; and what is written."""
        some = walk.get(op.some) if op.some is not None else op.count
        reading = np.asarray(times) * (np.asarray(some) > 0) if some is not None else times
        for buffer, indices, often in ((op.source, op.source_indices, reading), (op.target, op.target_indices, times)):
            at, total = _place(indices, walk), self.sample.total(often)
            if buffer in self.names and total:
                run = _Run((op, op) if buffer is op.source else (op,), None if at is None else np.asarray(at), op.count)
                self._access(buffer, buffer is op.target, run, often, total)

    def _load_matrices(self, op: LdMatrixOp, times: Array | float, walk: Walk) -> None:
        """Threads read rows of as many matrices as there are; 8 threads name the rows of each."""
        at, tiles = _place(op.indices, walk), int_of(op.tiles)
        naming = np.asarray(times) * (self.sample.threads % WARP < 8 * tiles)
        if op.memref in self.names and (total := self.sample.total(naming)):
            run = _Run((op,), None if at is None else np.asarray(at), 4 * cast("VectorType[Any]", op.result.type).get_shape()[1])
            self._access(op.memref, False, run, naming, total)

    def _compute(self, function: Meaning, total: float) -> None:
        element = function.operands[-1]
        if is_float(element) or is_complex(element):
            facts = function_facts(function.function)
            self.flops[type_name(element)] += facts.flops[is_complex(element)] * total
            self.transcendentals += facts.transcendental * total

    def _access(self, buffer: SSAValue, writes: bool, run: _Run, times: Array | float, total: float) -> None:
        element = bytes_of_type(tensor((), cast("MemRefType[Any]", buffer.type).element_type))
        known = self.accesses.get(run.ops)
        name, space = self.names[buffer], device_space(buffer.type)
        assert space is not None
        if run.at is None:
            self._touch(name, 0, _count(buffer) - 1)
            asked = sectors = total * element
            sectors = total * max(element, SECTOR)
            made = Access(name, space, writes, element, 1, None, total, asked, sectors)
        else:
            active = np.asarray(times) > 0
            reached = run.at if active.all() else np.broadcast_to(run.at, np.broadcast_shapes(active.shape, run.at.shape))
            low, high = (end(reached, where=active, initial=first) for end, first in ((np.min, _count(buffer)), (np.max, 0)))
            self._touch(name, int(low), int(high) + run.length - 1)
            stride, share, spread = self._pattern(run, active, element)
            asked = total * run.length * element * share
            made = Access(name, space, writes, element, run.length, stride, total, asked, asked * spread)
        if known is not None:
            clearer = made if made.count >= known.count else known
            made = Access(
                name, space, writes, element, made.elements, clearer.stride, known.count + total, known.asked + made.asked, known.sectors + made.sectors
            )
        self.accesses[run.ops] = made

    def _touch(self, name: str, low: int, high: int) -> None:
        self.spans.setdefault(name, _Span(low, high)).add(low, high)

    def _pattern(self, run: _Run, active: Array, element: int) -> tuple[int, float, float]:
        """The usual stride of neighbouring threads; the share of a warp's elements that no other of its threads has; and how many times their bytes the
        pieces of memory have in which they lie."""
        at, here = warps(self.sample, np.asarray(run.at), active)
        at, here = at[here.any(1)], here[here.any(1)]
        if not len(at):
            return 0, 1.0, 1.0
        both = here[:, 1:] & here[:, :-1]
        steps = np.diff(at, axis=1)[both]
        stride = 1
        if len(steps):
            values, counts = np.unique(steps, return_counts=True)
            stride = int(values[counts.argmax()])
            whole = run.length * element // _width(element, run.length)
            stride = stride // run.length * whole if stride % run.length == 0 else max(abs(stride), 2)
        every = (at[:, :, None] + np.arange(run.length)).reshape(len(at), -1)
        taken = np.repeat(here, run.length, axis=1)
        distinct, pieces = _distinct(every, taken), _distinct(every * element // SECTOR, taken)
        return stride, distinct / taken.sum(), pieces * SECTOR / (distinct * element)


@dataclass(frozen=True)
class _Run:
    """Ops of one block that take neighbouring elements: their first position in every thread."""

    ops: tuple[Operation, ...]
    at: Array | None
    length: int


def _runs(places: Sequence[tuple[Operation, Any]], times: Array) -> list[_Run]:
    """Accesses of a block to one buffer, with those joined that are neighbours in every thread."""
    clusters: list[tuple[Array, dict[int, list[Operation]]]] = []
    made: list[_Run] = []
    for op, at in places:
        if at is None:
            made.append(_Run((op,), None, 1))
            continue
        position = np.asarray(at)
        for first, members in clusters:
            offset = position - first
            if (offset == offset.flat[0]).all():
                members.setdefault(int(offset.flat[0]), []).append(op)
                break
        else:
            clusters.append((position, {0: [op]}))
    for first, members in clusters:
        offsets = sorted(members)
        start = 0
        for n in range(1, len(offsets) + 1):
            if n == len(offsets) or offsets[n] != offsets[n - 1] + 1:
                ops = [op for offset in offsets[start:n] for op in members[offset]]
                made.append(_Run(tuple(ops), first + offsets[start], n - start))
                start = n
    return made


def _distinct(values: Array, taken: Array) -> int:
    """How many values rows have that are taken, each counted once in its row."""
    low = values.min()
    ordered = np.sort(np.where(taken, values - low, -1), axis=1)
    return int(((np.diff(ordered, axis=1) != 0) & (ordered[:, 1:] >= 0)).sum() + (ordered[:, 0] >= 0).sum())


def _width(element: int, elements: int) -> int:
    """The bytes of one instruction for so many neighbours."""
    width = element
    while width < WIDEST and elements * element % (2 * width) == 0:
        width *= 2
    return width


def _place(indices: Sequence[SSAValue], walk: Walk) -> Any:
    """The position of an element of a flat buffer, as far as it is known."""
    return walk.get(indices[0]) if len(indices) == 1 else None if indices else 0


def _function(op: Operation) -> Meaning | None:
    return meaning_of_name(op.callee.string_value()) if isinstance(op, func.CallOp) else meaning(op)


def _count(buffer: SSAValue) -> int:
    return prod(cast("MemRefType[Any]", buffer.type).get_shape())


def _bytes(buffer: SSAValue) -> int:
    return _count(buffer) * bytes_of_type(tensor((), cast("MemRefType[Any]", buffer.type).element_type))
