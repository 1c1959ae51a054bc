"""A kernel of the gpu level while it is being written: how it is launched, on what memory, and what a thread does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct
from xdsl.ir import Attribute, BlockArgument, SSAValue

from wengert.transforms.codegen.gpu.body import Buffer
from wengert.transforms.codegen.gpu.functions import Functions


class Ids(Struct, frozen=True):
    """The place of a thread: the number of its group, its number in the group, and the memory that the group shares."""

    group: SSAValue
    thread: SSAValue
    workgroup: Sequence[SSAValue]


class Kernel(Struct, frozen=True):
    """One launch: so many groups of so many threads, its buffers in workgroup memory (elements and their type), and what a thread does."""

    groups: int
    threads: int
    write: Callable[[Functions, Ids], None]
    workgroup: Sequence[tuple[int, Attribute]] = ()


class Memory(Struct, frozen=True):
    """The buffers of a nest: of its inputs, its results, and the parts of its scratch memory that hold the totals of parts."""

    inputs: Mapping[BlockArgument, Buffer]
    outputs: Sequence[Buffer]
    scratch: Sequence[Buffer] = ()
