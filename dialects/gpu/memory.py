"""Memory of a device as kernels name it: memrefs in the numeric spaces that all targets know.

A kernel's buffers are flat and static: ``memref<4810xf32, 1>`` is global memory, ``memref<128xf32, 3>`` the memory of one work-group, and a memref without a
space one thread's own (``memref.alloca``). Integers have no sign (what an op does says it), booleans take a byte each, and so do
integers of 4 bits, as the low half of one of 8. Positions are ``index`` arithmetic.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, MemRefType, NoneAttr, Signedness
from xdsl.ir import Attribute

from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i8, is_integer

PRIVATE_SPACES = (0, 5)
"""The numbers of a thread's own memory: none, and what NVPTX and AMDGPU call it."""


class DeviceSpace(IntEnum):
    """An address space of a device, by its number."""

    PRIVATE = 0
    GLOBAL = 1
    WORKGROUP = 3


def device_memref(extent: int, element: Attribute, space: DeviceSpace = DeviceSpace.GLOBAL) -> MemRefType[Any]:
    """A flat buffer of so many elements of a type, which loses its sign: ``memref<4810xf32, 1>``."""
    number: Attribute = int_attr(int(space)) if space is not DeviceSpace.PRIVATE else NoneAttr()
    return MemRefType(i8 if has_four_bits(element) else signless(element), [extent], memory_space=number)


def has_four_bits(element: Attribute) -> bool:
    """Whether this is an integer of 4 bits, which is a byte on devices."""
    return is_integer(element) and element.width.data == 4


def signless(element: Attribute) -> Attribute:
    """The element type without a sign, as ``arith`` and ``memref`` have it on devices."""
    if is_integer(element) and element.signedness.data is not Signedness.SIGNLESS:
        return IntegerType(element.width.data)
    return element


def device_space(memref: Attribute) -> DeviceSpace | None:
    """The space of a memref; None if it has one that devices do not know."""
    space = cast("MemRefType[Any]", memref).memory_space
    if isinstance(space, NoneAttr):
        return DeviceSpace.PRIVATE
    if isinstance(space, IntegerAttr):
        number = cast("IntegerAttr[Any]", space).value.data
        if number in PRIVATE_SPACES:
            return DeviceSpace.PRIVATE
        return DeviceSpace(number) if number in (1, 3) else None
    return None
