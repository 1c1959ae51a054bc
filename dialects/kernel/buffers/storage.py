"""Memory on kernel level: the ops that allocate it, name a part of it and copy it, and questions about where a buffer lies."""

from __future__ import annotations

from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, MemRefType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, SSAValue
from xdsl.irdl import (
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import COPY, STRUCTURE
from wengert.dialects.kernel.buffers import text
from wengert.dialects.kernel.memory import ALIGNMENT, Space, byte_size, is_on_device, space_of, value_type
from wengert.ir.attributes import I64Attr, int_of
from wengert.ir.operations import DialectOperation, op_definition
from wengert.ir.syntax import parts as sx
from wengert.ir.tensor_types import dtype_of

RESULT = "kernel.result"
"""The attribute of the arguments of a function that receive its results."""


@op_definition
class AllocOp(DialectOperation):
    """Memory that is there as long as its block runs: a function's arena, or a cell on the stack."""

    name = "kernel.alloc"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(sx.ResultTypes())
    alignment = opt_prop_def(I64Attr)
    memref = result_def(MemRefType)

    def verify_(self) -> None:
        if space_of(self.memref.type) not in (Space.ARENA, Space.STACK):
            raise VerifyException(f"memory is allocated in the arena or on the stack, found {self.memref.type}")


@op_definition
class ViewOp(DialectOperation):
    """The part of a buffer that begins at a byte, as elements of some type; in space 1, the same memory as kernels of a device see it."""

    name = "kernel.view"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(text.ViewText())
    source = operand_def(MemRefType)
    offset = prop_def(I64Attr)
    memref = result_def(MemRefType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        at, count, whole = int_of(self.offset), byte_size(self.memref), byte_size(self.source)
        if at < 0 or at % ALIGNMENT or at + count > max(whole, count if not at else 0):
            raise VerifyException(f"a view of {count} bytes at {at} must lie in the {whole} bytes of {self.source.type} and begin at a multiple of {ALIGNMENT}")
        if space_of(self.source.type) != space_of(self.memref.type) and not is_on_device(self.memref.type):
            raise VerifyException("a view lies in the address space of what it is a part of, or is what a kernel of a device is given of it")


@op_definition
class GlobalOp(DialectOperation):
    """A constant in memory."""

    name = "kernel.global"
    FACTS: ClassVar = STRUCTURE
    SYNTAX: ClassVar = sx.Syntax(text.GlobalText())
    value = prop_def(DenseIntOrFPElementsAttr)
    memref = result_def(MemRefType)
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if value_type(self.memref.type) != self.value.type or space_of(self.memref.type) is not Space.CONSTANT:
            raise VerifyException(f"a constant of {self.value.type} does not lie in {self.memref.type}")


@op_definition
class CopyOp(DialectOperation):
    """Copies the bytes of one buffer to another, or nothing if they are one."""

    name = "kernel.copy"
    FACTS: ClassVar = COPY
    SYNTAX: ClassVar = sx.Syntax(text.CopyText())
    source = operand_def(MemRefType)
    target = operand_def(MemRefType)

    def verify_(self) -> None:
        if byte_size(self.source) != byte_size(self.target):
            raise VerifyException(f"buffers of one size are copied, found {self.source.type} and {self.target.type}")
        expect_writable(self.target)


def location(value: SSAValue) -> tuple[SSAValue, int]:
    """The beginning of a buffer: what it is a view of, and how many bytes from there."""
    at = 0
    while type(value.owner) is ViewOp:
        at += int_of(value.owner.offset)
        value = value.owner.source
    return value, at


def overlap(one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers have bytes in common, as far as one block tells."""
    (base, at), (other_base, other_at) = location(one), location(other)
    return base is other_base and max(at, other_at) < min(at + byte_size(one), other_at + byte_size(other))


def element_size(value: SSAValue) -> int:
    """The bytes of one element of a buffer."""
    type = value_type(value.type)
    return dtype_of(cast("TensorType[Any]", type).element_type).itemsize if isinstance(type, TensorType) else byte_size(value)


def expect_writable(buffer: SSAValue) -> None:
    """The buffer is neither a constant nor an input of the function."""
    if space_of(buffer.type) is Space.CONSTANT:
        raise VerifyException("a constant is not written")
    base, _ = location(buffer)
    function = base.owner.parent_op() if isinstance(base.owner, Block) else None
    if isinstance(base, BlockArgument) and isinstance(function, FuncOp) and not is_result(function, base.index):
        raise VerifyException(f"argument {base.index} of the function is not a result of it: it is not written")


def is_result(function: FuncOp, number: int) -> bool:
    """Whether an argument of a function receives one of its results."""
    return function.arg_attrs is not None and RESULT in function.arg_attrs.data[number].data


def is_bufferized(function: FuncOp) -> bool:
    """Whether the function's values have got their memory: it takes buffers."""
    kind = function.function_type
    return not kind.outputs.data and all(isinstance(type, MemRefType) for type in kind.inputs.data)
