"""The parts of a merged launch: kernels, copies, loops and branches, one after another in a work-group.

The buffers of a part are places, whatever regions of the host they were handed to; loops and branches say in which order parts run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.gpu import LaunchOp
from wengert.dialects.kernel.memory import bytes_of
from wengert.transforms.codegen.gpu.merging.places import Access, Place


class Memory(Struct, frozen=True):
    """Bytes that begin at a place, as flat elements: ``type`` is a memref of global memory."""

    place: Place
    type: MemRefType[Any]

    @property
    def element(self) -> Attribute:
        """The type of an element."""
        return self.type.element_type

    @property
    def count(self) -> int:
        """The number of elements."""
        return self.type.get_shape()[0]

    def access(self, *, written: bool) -> Access:
        """An access to all of it."""
        return Access(self.place, bytes_of(self.type), written)


class KernelPart(Struct, frozen=True, eq=False):
    """A launch of ``groups`` groups of ``threads`` threads.

    Attributes:
        op: the launch.
        buffers: where the buffers lie that its body uses, and as what.
        written: those of them that it writes.
        scalars: the constants that its body uses from outside.
        waits: whether its threads wait for one another.
        subgroups: whether those of a subgroup hand each other values.
        cost: the cycles of one group.
    """

    op: LaunchOp
    groups: int
    threads: int
    buffers: Mapping[SSAValue, Memory]
    written: frozenset[SSAValue]
    scalars: Sequence[SSAValue]
    waits: bool
    subgroups: bool
    ops: int
    cost: float

    def accesses(self) -> list[Access]:
        """What it reads and writes."""
        return [memory.access(written=value in self.written) for value, memory in self.buffers.items()]


class CopyPart(Struct, frozen=True, eq=False):
    """The elements of one buffer are copied to another, which is apart from it."""

    source: Memory
    target: Memory

    def accesses(self) -> list[Access]:
        """What it reads and writes."""
        return [self.source.access(written=False), self.target.access(written=True)]


class LoopPart(Struct, frozen=True, eq=False):
    """What loops have in common. ``first``: the cell of the iteration or of the condition; ``begin`` and ``finish`` bring carried values to where
    the body has them and from there, ``swap`` brings what the body has written to where it reads."""

    first: SSAValue
    begin: Sequence[Part]
    body: Sequence[Part]
    swap: Sequence[Part]
    finish: Sequence[Part]


class ForPart(LoopPart, frozen=True, eq=False):
    """A loop of so many iterations, a number or one in memory."""

    count: int | Memory


class WhilePart(LoopPart, frozen=True, eq=False):
    """A loop as long as a condition holds, which its parts compute."""

    condition: Sequence[Part]
    holds: Memory


class CasePart(Struct, frozen=True, eq=False):
    """The branch that a number in memory picks; the last one if it is out of range."""

    index: Memory
    branches: Sequence[Sequence[Part]]


Part = KernelPart | CopyPart | ForPart | WhilePart | CasePart


def inner_parts(part: Part) -> Sequence[Sequence[Part]]:
    """The lists of parts inside of a part."""
    if isinstance(part, LoopPart):
        condition = part.condition if isinstance(part, WhilePart) else ()
        return [part.begin, condition, part.body, part.swap, part.finish]
    return part.branches if isinstance(part, CasePart) else []


def all_parts(parts: Sequence[Part]) -> list[Part]:
    """The parts and all inside of them, in their order."""
    return [each for part in parts for each in (part, *[inner for inside in inner_parts(part) for inner in all_parts(inside)])]


def kernels_in(parts: Sequence[Part]) -> list[KernelPart]:
    """The kernels among the parts and inside of them."""
    return [part for part in all_parts(parts) if isinstance(part, KernelPart)]


def accesses_of(parts: Sequence[Part]) -> list[Access]:
    """The accesses of parts and of all inside of them."""
    accesses: list[Access] = []
    for part in all_parts(parts):
        if isinstance(part, KernelPart | CopyPart):
            accesses += part.accesses()
        elif isinstance(part, CasePart):
            accesses.append(part.index.access(written=False))
    return accesses


def needs_barriers(parts: Sequence[Part]) -> bool:
    """Whether several threads that do the parts have to wait for one another."""
    before: list[Access] = []
    for part in parts:
        if isinstance(part, LoopPart) or (isinstance(part, KernelPart) and part.waits):
            return True
        if isinstance(part, CasePart) and any(needs_barriers(branch) for branch in part.branches):
            return True
        accesses = accesses_of([part])
        if any(one.meets(other) for one in accesses for other in before):
            return True
        before += accesses
    return False


def kernels_in_branches(parts: Sequence[Part]) -> list[KernelPart]:
    """The kernels that run in one branch of several."""
    return [kernel for part in all_parts(parts) if isinstance(part, CasePart) for branch in part.branches for kernel in kernels_in(branch)]
