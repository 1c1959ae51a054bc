"""Memory as the IR names it: address spaces, memref types, and the bytes that values take.

A memref says in which memory its elements lie. Without a space it is the caller's, as what a function takes and returns, or either of the two
buffers that a loop swaps::

    memref<8x128xf32>                           // the caller's
    memref<8x128xf32, #kernel.space<arena>>     // temporary values, one allocation for a whole program
    memref<16xf32, #kernel.space<constant>>     // written once, when the program is loaded
    memref<f64, #kernel.space<stack>>           // private to the code that runs a loop, mostly registers
    memref<1024xf32, 1>                         // any of these as a device sees it, flat: what the kernels of a gpu.module take

The handle of a tape, whose own memory grows while the program runs, is an element like any other: ``memref<!core.tape<tensor<3xf64>>>``.
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, IntAttr, IntegerAttr, MemRefType, NoneAttr, TensorType
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from wengert.dialects.core.control import TapeType
from wengert.ir.construction import unverified
from wengert.ir.tensor_types import bytes_of_type, i8, shape_of_type, tensor

ALIGNMENT = 64
"""Every buffer begins at a multiple of so many bytes: a cache line, and the longest vector register."""
TAPE_BYTES = 16
"""The size of a tape's handle."""


class Space(StrEnum):
    """An address space."""

    DEFAULT = "default"
    ARENA = "arena"
    CONSTANT = "constant"
    STACK = "stack"


@irdl_attr_definition
class SpaceAttr(Data[Space]):
    """The address space of a memref: ``#kernel.space<arena>``."""

    name = "kernel.space"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Space:
        with parser.in_angle_brackets():
            word = parser.parse_identifier("an address space")
        known = [space.value for space in Space if space is not Space.DEFAULT]
        if word not in known:
            parser.raise_error(f"unknown address space '{word}'; expected one of {', '.join(known)}")
        return Space(word)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


_SPACES: dict[Space, Attribute] = {space: NoneAttr() if space is Space.DEFAULT else SpaceAttr(space) for space in Space}
_CONTIGUOUS = NoneAttr()


def memref_of(type: Attribute, space: Space = Space.DEFAULT) -> MemRefType[Any]:
    """The memref in which a value of this type, a tensor or a tape, lies in a space; kept on the type, as its extents are."""
    made = type.__dict__.get("_memrefs")
    if made is None:
        made = dict[Space, MemRefType[Any]]()
        object.__setattr__(type, "_memrefs", made)
    memref = made.get(space)
    if memref is None:
        shape, element = (
            ((), type) if isinstance(type, TapeType) else (shape_of_type(cast("TensorType[Any]", type)), cast("TensorType[Any]", type).element_type)
        )
        memref = made[space] = _memref(shape, element, space)
        object.__setattr__(memref, "_value_type", type)
    return memref


@lru_cache(maxsize=4096)
def _extents(shape: tuple[int, ...]) -> ArrayAttr[IntAttr]:
    return ArrayAttr([IntAttr(extent) for extent in shape])


def _memref(shape: tuple[int, ...], element: Attribute, space: Space) -> MemRefType[Any]:
    return unverified(MemRefType, shape=_extents(shape), element_type=element, layout=_CONTIGUOUS, memory_space=_SPACES[space])


@lru_cache(maxsize=4096)
def bytes_in(count: int, space: Space) -> MemRefType[Any]:
    """The memref of so many bytes in a space."""
    return _memref((count,), i8, space)


def value_type(memref: Attribute) -> Attribute:
    """The type of the value that a memref holds: a tensor, or a tape."""
    value = memref.__dict__.get("_value_type")
    if value is None:
        type = cast("MemRefType[Any]", memref)
        value = type.element_type if isinstance(type.element_type, TapeType) else tensor(type.get_shape(), type.element_type)
        object.__setattr__(memref, "_value_type", value)
    return value


def space_of(memref: Attribute) -> Space:
    """The address space of a memref."""
    space = cast("MemRefType[Any]", memref).memory_space
    return space.data if isinstance(space, SpaceAttr) else Space.DEFAULT


def is_on_device(memref: Attribute) -> bool:
    """Whether a memref is one of a device's global memory, as kernels at the gpu level take it: ``memref<4810xf32, 1>``."""
    space = cast("MemRefType[Any]", memref).memory_space
    return isinstance(space, IntegerAttr) and cast("IntegerAttr[Any]", space).value.data == 1


def bytes_of(type: Attribute) -> int:
    """How many bytes a tensor, a tape's handle or a memref takes; kept on the type."""
    count: int | None = type.__dict__.get("_bytes")
    if count is None:
        count = _bytes_of(type)
        object.__setattr__(type, "_bytes", count)
    return count


def _bytes_of(type: Attribute) -> int:
    value = value_type(cast("MemRefType[Any]", type)) if isinstance(type, MemRefType) else type
    return TAPE_BYTES if isinstance(value, TapeType) else bytes_of_type(cast("TensorType[Any]", value))


def byte_size(value: SSAValue) -> int:
    """How many bytes a tensor, a tape's handle or a memref takes."""
    return bytes_of(value.type)


def aligned(count: int, alignment: int = ALIGNMENT) -> int:
    """The bytes that a buffer of so many bytes occupies where buffers begin at multiples of ``alignment``."""
    return (max(count, 1) + alignment - 1) // alignment * alignment
