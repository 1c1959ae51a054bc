"""The memref dialect with its atomic ops, which xDSL has no text or no class for.

::

    %old = memref.atomic_rmw addf %x, %m[%i] : (f32, memref<64xf32, 1>) -> f32
    %old = memref.generic_atomic_rmw %m[%i] : memref<64xf32, 1> {
    ^bb0(%current: f32):
      ...
      memref.atomic_yield %new : f32
    }

Both read an element, combine it and write it back with no other access in between, and return what was read.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, ClassVar, cast

from msgspec import Struct
from xdsl.dialects import memref
from xdsl.dialects.builtin import I64, IndexType, IntegerAttr, MemRefType
from xdsl.ir import Attribute, Block, Dialect, Operation, Region, SSAValue
from xdsl.irdl import operand_def, prop_def, region_def, result_def, traits_def, var_operand_def
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import DEVICE
from wengert.dialects.gpu.base import DeviceOp, shown
from wengert.dialects.gpu.text import subscripts
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.operations import op_definition
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Writer
from wengert.ir.syntax import parts as sx
from wengert.ir.tensor_types import is_float, is_integer

_INDEX = IndexType()


class AtomicKind(IntEnum):
    """Ways in which an atomic op combines the element with its operand, by upstream's numbers."""

    ADDF = 0
    ADDI = 1
    ASSIGN = 2
    MAXIMUMF = 3
    MAXS = 4
    MAXU = 5
    MINIMUMF = 6
    MINS = 7
    MINU = 8
    MULF = 9
    MULI = 10
    ORI = 11
    ANDI = 12
    MAXNUMF = 13
    MINNUMF = 14
    XORI = 15

    @property
    def word(self) -> str:
        """The kind as it is written."""
        return self.name.lower()

    @property
    def takes_floats(self) -> bool:
        """Whether it combines floating-point numbers."""
        return self.name.endswith("F")


class _Kind(Struct, frozen=True):
    """The word of a kind."""

    def read(self, reader: Reader) -> Attribute:
        return int_attr(AtomicKind[reader.word_in([kind.word for kind in AtomicKind], "atomic kind").upper()])

    def text(self, value: Attribute, writer: Writer) -> str:
        return AtomicKind(int_of(value)).word


class _Combined(Struct, frozen=True):
    """``%x, %m[%i] : (f32, memref<64xf32, 1>) -> f32``: only the types of the value and of the memref are written."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.operands.append(reader.operand())
        reader.need(",")
        state.operands.append(reader.operand())
        state.operands += reader.listed("[", "]", reader.operand)
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.here
        types, state.result_types = reader.function_type()
        state.operand_types = (*types, *[_INDEX] * (len(state.operands) - 2))

    def write(self, op: Operation, writer: Writer) -> None:
        value, buffer, *indices = op.operands
        writer.write(f" {writer.value(value)}, {writer.value(buffer)}[{subscripts(writer, indices)}]")
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.function_type([value.type, buffer.type], op.result_types)}")


class _Generic(Struct, frozen=True):
    """``%m[%i] : memref<64xf32, 1> { ... }``."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.operands.append(reader.operand())
        state.operands += reader.listed("[", "]", reader.operand)
        reader.need(":")
        position = state.types_at = reader.skip()
        type = reader.type()
        if not isinstance(type, MemRefType):
            reader.fail(f"expected a memref, found {type}", position)
        state.operand_types = (type, *[_INDEX] * (len(state.operands) - 1))
        state.result_types = (cast("MemRefType[Any]", type).element_type,)
        state.regions.append(reader.region())
        state.set_attributes(reader.dictionary())

    def write(self, op: Operation, writer: Writer) -> None:
        buffer, *indices = op.operands
        writer.write(f" {writer.value(buffer)}[{subscripts(writer, indices)}] : {writer.type_text(buffer.type)}")
        writer.region(op.regions[0])
        writer.attribute_dictionary(op)


@op_definition
class AtomicRMWOp(DeviceOp):
    """Combines an element with a value, atomically; the result is what the element was."""

    name = "memref.atomic_rmw"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.Value("kind", _Kind()), _Combined())
    value = operand_def()
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    kind = prop_def(IntegerAttr[I64])
    result = result_def()

    @classmethod
    def of(cls, kind: AtomicKind, value: SSAValue, buffer: SSAValue, indices: tuple[SSAValue, ...]) -> AtomicRMWOp:
        """The op that combines one element."""
        return cls.create(operands=[value, buffer, *indices], result_types=[value.type], properties={"kind": int_attr(kind)})

    def verify_(self) -> None:
        type = cast("MemRefType[Any]", self.memref.type)
        if not 0 <= int_of(self.kind) < len(AtomicKind):
            raise VerifyException(f"there is no atomic kind {int_of(self.kind)}")
        kind = AtomicKind(int_of(self.kind))
        _expect_place(type, self.indices)
        if self.value.type != type.element_type or self.result.type != type.element_type:
            raise VerifyException(
                f"an element of {shown(type)} is combined with a value of type {shown(self.value.type)} and returned as {shown(self.result.type)}"
            )
        if kind is not AtomicKind.ASSIGN and not (is_float if kind.takes_floats else is_integer)(type.element_type):
            raise VerifyException(f"'{kind.word}' does not combine elements of type {shown(type.element_type)}")


@op_definition
class GenericAtomicRMWOp(DeviceOp):
    """Replaces an element by what the region makes of it, atomically; the result is what the element was."""

    name = "memref.generic_atomic_rmw"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(_Generic())
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    result = result_def()
    body = region_def("single_block")

    @classmethod
    def of(cls, buffer: SSAValue, indices: tuple[SSAValue, ...]) -> GenericAtomicRMWOp:
        """The op on one element, with an empty region that takes the element."""
        element = cast("MemRefType[Any]", buffer.type).element_type
        return cls.create(operands=[buffer, *indices], result_types=[element], regions=[Region(Block(arg_types=[element]))])

    def verify_(self) -> None:
        type = cast("MemRefType[Any]", self.memref.type)
        _expect_place(type, self.indices)
        if self.result.type != type.element_type or tuple(self.body.block.arg_types) != (type.element_type,):
            raise VerifyException(f"the region takes an element of {shown(type)}, and the op returns one")


@op_definition
class AtomicYieldOp(DeviceOp):
    """Ends the region of an atomic op with the new element."""

    name = "memref.atomic_yield"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.OptionalOperandTypes())
    value = operand_def()
    traits = traits_def(IsTerminator())

    def verify_(self) -> None:
        parent = self.parent_op()
        if isinstance(parent, GenericAtomicRMWOp) and self.value.type != parent.result.type:
            raise VerifyException(f"the new element has the type {shown(parent.result.type)}, found {shown(self.value.type)}")


def _expect_place(type: MemRefType[Any], indices: Any) -> None:
    if len(indices) != len(type.get_shape()):
        raise VerifyException(f"an element of {shown(type)} has {len(type.get_shape())} indices, found {len(indices)}")


MemRef = Dialect(
    "memref",
    [*(op for op in memref.MemRef.operations if op is not memref.AtomicRMWOp), AtomicRMWOp, AtomicYieldOp, GenericAtomicRMWOp],
    list(memref.MemRef.attributes),
)
