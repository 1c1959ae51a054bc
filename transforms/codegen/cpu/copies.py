"""Copies large buffers in tasks, which threads share."""

from __future__ import annotations

from wengert.transforms.codegen.cpu.tasks import BEGIN, END, begin_task, parameters
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.chunks import Split, split
from wengert.transforms.schedule.target import Target

PAGE = 4096
"""Chunks are a multiple of so many bytes."""
BYTE_NS = 0.05
"""Reading and writing a byte: from caches and back to them more are moved in a nanosecond, from memory fewer."""
_SOURCE, _TARGET = "%source", "%target"


def copy_cut(count: int) -> Split | None:
    """How threads share a copy of so many bytes; None if one had better make it."""
    return split(-(-count // PAGE), BYTE_NS * count)


def copy_task(count: int, cut: Split, target: Target) -> str:
    """The task, named ``@KERNEL``, that copies so many bytes from its first pointer to its second one."""
    builder, pointers = FunctionBuilder(), [_SOURCE, _TARGET]
    begin_task(builder, pointers, cut)
    first = builder.multiply(BEGIN, PAGE)
    past = builder.intrinsic("umin", "i64", builder.multiply(END, PAGE), count)
    builder.copy_bytes(builder.offset(_SOURCE, "i8", first), builder.offset(_TARGET, "i8", first), builder.binary("sub nsw", "i64", past, first))
    return builder.definition("KERNEL", parameters(pointers, cut), attributes=target.attributes)
