"""The ops of upstream's nvgpu dialect by which the threads of a warp multiply matrices, and copy from global memory to workgroup memory while they work.

::

    %a = nvgpu.ldmatrix %tile[%i] {numTiles = 4 : i32, transpose = false} : memref<5120xbf16, 3> -> vector<4x2xbf16>
    %d = nvgpu.mma.sync(%a, %b, %c) {mmaShape = [16, 8, 16]} : (vector<4x2xbf16>, vector<2x2xbf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %t = nvgpu.device_async_copy %x[%i], %tile[%j], 8, %n {bypassL1} : memref<4096xbf16, 1> to memref<5120xbf16, 3>
    %g = nvgpu.device_async_create_group %t
    nvgpu.device_async_wait %g {numGroups = 1 : i32}

Every thread of a warp has a part of each matrix, a *fragment*: which elements these are, the PTX ISA says (9.7.15.5). Of those that multiply bf16 and f16,
thread l has

- of the left factor, of 16 by 16, elements [l / 4 + 8 (r mod 2), 2 (l mod 4) + j + 8 (r / 2)] as [r, j] of a ``vector<4x2>``;
- of the right factor, of 16 by 8, elements [2 (l mod 4) + j + 8 r, l / 4] as [r, j] of a ``vector<2x2>``;
- of the sum, of 16 by 8, elements [l / 4 + 8 r, 2 (l mod 4) + j] as [r, j] of a ``vector<2x2>``.

tf32 is f32 of which ten bits of the mantissa count: of these, factors are 16 by 8 and 8 by 8, in a ``vector<4x1>`` and a ``vector<2x1>``, with
l mod 4 + 4 (r / 2) for the column of the left one, and l mod 4 + 4 r for the row of the right one.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast

from msgspec import Struct
from xdsl.dialects.builtin import I32, ArrayAttr, BoolAttr, IndexType, IntegerAttr, MemRefType, UnitAttr, VectorType
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import AttrSizedOperandSegments, irdl_attr_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def, var_operand_def
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.facts import DEVICE
from wengert.dialects.gpu.base import DeviceOp, shown
from wengert.dialects.gpu.memory import DeviceSpace, device_space
from wengert.dialects.gpu.text import subscripts
from wengert.ir.attributes import int_attr, int_of, segment_sizes
from wengert.ir.operations import op_definition
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.syntax import parts as sx
from wengert.ir.tensor_types import bf16, f16, f32, i32

_INDEX = IndexType()
WARP = 32
"""The threads of a warp."""
SIXTEEN_BITS = (f16, bf16)
COPIED_BYTES = (4, 8, 16)
"""The bytes that one asynchronous copy may move."""


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """The result of an asynchronous copy or a group of them: something to wait for."""

    name = "nvgpu.device.async.token"


TOKEN = TokenType()


def fragment(element: Attribute, registers: int, each: int) -> VectorType[Any]:
    """The type of a thread's part of a matrix."""
    return VectorType(element, [registers, each])


@op_definition
class MmaSyncOp(DeviceOp):
    """The sum of a matrix and the product of two others, by all threads of a warp. Products are exact; in which order they are added up, and when sums are
    rounded, is the device's own."""

    name = "nvgpu.mma.sync"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.ParenthesizedOperands(), sx.FunctionType())
    left = operand_def(VectorType)
    right = operand_def(VectorType)
    sum = operand_def(VectorType)
    shape = prop_def(ArrayAttr[IntegerAttr], prop_name="mmaShape")
    tf32 = opt_prop_def(UnitAttr, prop_name="tf32Enabled")
    result = result_def(VectorType)

    @classmethod
    def of(cls, left: SSAValue, right: SSAValue, sum: SSAValue) -> MmaSyncOp:
        """The product of fragments."""
        element = cast("VectorType[Any]", left.type).element_type
        properties: dict[str, Attribute] = {"mmaShape": ArrayAttr([int_attr(n) for n in (16, 8, depth_of(element))])}
        if element == f32:
            properties["tf32Enabled"] = UnitAttr()
        return cls.create(operands=[left, right, sum], result_types=[sum.type], properties=properties)

    @property
    def element(self) -> Attribute:
        """The type of the factors' elements."""
        return cast("VectorType[Any]", self.left.type).element_type

    @property
    def extents(self) -> tuple[int, ...]:
        """Rows, columns and depth."""
        return tuple([int_of(n) for n in self.shape])

    def verify_(self) -> None:
        element = self.element
        if element not in (*SIXTEEN_BITS, f32):
            raise VerifyException(f"matrices of bf16, f16 or f32 are multiplied, found {shown(element)}")
        each = 1 if element == f32 else 2
        wanted = (fragment(element, 4, each), fragment(element, 2, each), fragment(f32, 2, 2), fragment(f32, 2, 2))
        for what, value, type in zip(("the left factor", "the right factor", "the sum", "the result"), (*self.operands, self.result), wanted, strict=True):
            if value.type != type:
                raise VerifyException(f"{what} has the type {shown(type)}, found {shown(value.type)}")
        if self.extents != (16, 8, depth_of(element)):
            raise VerifyException(f"a product of {shown(element)} has mmaShape = [16, 8, {depth_of(element)}], found {list(self.extents)}")
        if (element == f32) != (self.tf32 is not None):
            raise VerifyException("tf32Enabled is for f32, which is rounded to tf32, and for nothing else")


def depth_of(element: Attribute) -> int:
    """Over how many products one op adds up."""
    return 8 if element == f32 else 16


class _Loaded(Struct, frozen=True):
    """``%m[%i] {...} : memref<64xbf16, 3> -> vector<4x2xbf16>``."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.operands.append(reader.operand())
        state.operands += reader.listed("[", "]", reader.operand)
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.here
        state.operand_types = (reader.type(), *[_INDEX] * (len(state.operands) - 1))
        reader.need("->")
        state.result_types = (reader.type(),)

    def write(self, op: Operation, writer: Writer) -> None:
        buffer, *indices = op.operands
        writer.write(f" {writer.value(buffer)}[{subscripts(writer, indices)}]")
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.type_text(buffer.type)} -> {writer.type_text(op.results[0].type)}")


@op_definition
class LdMatrixOp(DeviceOp):
    """Reads 1, 2 or 4 matrices of 8 by 8 elements of 16 bits from workgroup memory (or of 8 by 4 of 32 bits).

    Thread 8 i + j of a warp names the place where row j of matrix i begins, and thread l gets elements 2 (l mod 4) and the next of row l / 4 of each matrix,
    or of the transposed ones.
    """

    name = "nvgpu.ldmatrix"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(_Loaded())
    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    transpose = prop_def(BoolAttr)
    tiles = prop_def(IntegerAttr[I32], prop_name="numTiles")
    result = result_def(VectorType)

    @classmethod
    def of(cls, buffer: SSAValue, at: SSAValue, tiles: int, *, transpose: bool) -> LdMatrixOp:
        """The op on a flat buffer."""
        element = cast("MemRefType[Any]", buffer.type).element_type
        properties: dict[str, Attribute] = {"transpose": BoolAttr.from_bool(transpose), "numTiles": IntegerAttr(tiles, i32)}
        return cls.create(operands=[buffer, at], result_types=[fragment(element, tiles, _each(element))], properties=properties)

    @property
    def turned(self) -> bool:
        """Whether the transposed matrices are read."""
        return bool(int_of(self.transpose))

    def verify_(self) -> None:
        type = cast("MemRefType[Any]", self.memref.type)
        element = type.element_type
        if device_space(type) is not DeviceSpace.WORKGROUP:
            raise VerifyException(f"workgroup memory is read, found {shown(type)}")
        if len(self.indices) != len(type.get_shape()):
            raise VerifyException(f"an element of {shown(type)} has {len(type.get_shape())} indices, found {len(self.indices)}")
        if int_of(self.tiles) not in (1, 2, 4):
            raise VerifyException(f"1, 2 or 4 matrices are read, found numTiles = {int_of(self.tiles)}")
        if element not in (*SIXTEEN_BITS, f32) or (element == f32 and self.turned):
            raise VerifyException(f"elements of 16 bits are read, or of f32 that are not transposed, found {shown(element)}")
        wanted = fragment(element, int_of(self.tiles), _each(element))
        if self.result.type != wanted:
            raise VerifyException(f"the result has the type {shown(wanted)}, found {shown(self.result.type)}")


def _each(element: Attribute) -> int:
    return 1 if element == f32 else 2


class _Copied(Struct, frozen=True):
    """``%x[%i], %m[%j], 8, %n {...} : memref<64xbf16, 1> to memref<64xbf16, 3>``."""

    properties: tuple[str, ...] = ("dstElements", "operandSegmentSizes")

    def read(self, reader: Reader, state: OpState) -> None:
        source, places = reader.operand(), reader.listed("[", "]", reader.operand)
        reader.need(",")
        target, into = reader.operand(), reader.listed("[", "]", reader.operand)
        reader.need(",")
        state.properties["dstElements"] = IntegerAttr(reader.integer(), _INDEX)
        some = [reader.operand()] if reader.accept(",") else []
        state.operands += [target, *into, source, *places, *some]
        state.properties["operandSegmentSizes"] = segment_sizes(1, len(into), 1, len(places), len(some))
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.here
        given = reader.type()
        reader.need_word("to")
        taken = reader.type()
        state.operand_types = (taken, *[_INDEX] * len(into), given, *[_INDEX] * (len(places) + len(some)))
        state.result_types = (TOKEN,)

    def write(self, op: Operation, writer: Writer) -> None:
        assert isinstance(op, DeviceAsyncCopyOp)
        text = f" {writer.value(op.source)}[{writer.values(op.source_indices)}], {writer.value(op.target)}[{writer.values(op.target_indices)}], {op.count}"
        writer.write(text + (f", {writer.value(op.some)}" if op.some is not None else ""))
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.type_text(op.source.type)} to {writer.type_text(op.target.type)}")


@op_definition
class DeviceAsyncCopyOp(DeviceOp):
    """Begins to copy some neighbouring elements from global to workgroup memory. With a last operand only so many are read; the others become zero."""

    name = "nvgpu.device_async_copy"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(_Copied())
    target = operand_def(MemRefType)
    target_indices = var_operand_def(IndexType)
    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    some = opt_operand_def(IndexType)
    elements = prop_def(IntegerAttr[IndexType], prop_name="dstElements")
    bypass = opt_prop_def(UnitAttr, prop_name="bypassL1")
    token = result_def(TokenType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def of(cls, source: SSAValue, at: SSAValue, target: SSAValue, into: SSAValue, count: int, some: SSAValue | None = None) -> DeviceAsyncCopyOp:
        """A copy between flat buffers, past the cache of the processor where it moves 16 bytes."""
        properties: dict[str, Attribute] = {"dstElements": IntegerAttr(count, _INDEX)}
        if count * cast("MemRefType[Any]", source.type).element_type.size == max(COPIED_BYTES):
            properties["bypassL1"] = UnitAttr()
        properties["operandSegmentSizes"] = segment_sizes(1, 1, 1, 1, int(some is not None))
        return cls.create(operands=[target, into, source, at, *([] if some is None else [some])], result_types=[TOKEN], properties=properties)

    @property
    def count(self) -> int:
        """How many elements are written."""
        return int_of(self.elements)

    @property
    def bytes(self) -> int:
        """How many bytes are written."""
        return self.count * cast("Any", self.source.type).element_type.size

    def verify_(self) -> None:
        source, target = cast("MemRefType[Any]", self.source.type), cast("MemRefType[Any]", self.target.type)
        if device_space(source) is not DeviceSpace.GLOBAL or device_space(target) is not DeviceSpace.WORKGROUP or source.element_type != target.element_type:
            raise VerifyException(f"elements go from global to workgroup memory, found {shown(source)} to {shown(target)}")
        for type, indices in ((source, self.source_indices), (target, self.target_indices)):
            if len(indices) != len(type.get_shape()):
                raise VerifyException(f"an element of {shown(type)} has {len(type.get_shape())} indices, found {len(indices)}")
        if self.bytes not in COPIED_BYTES or (self.bypass is not None and self.bytes != max(COPIED_BYTES)):
            raise VerifyException(f"4, 8 or 16 bytes are copied, with bypassL1 16, found {self.bytes}")


class _LineOperands(sx.Operands, frozen=True):
    """The operands that follow on the same line: on the next one begins another op, perhaps with the name of its result. (Upstream prints none so.)"""

    def read(self, reader: Reader, state: OpState) -> None:
        position = reader.skip()
        if state.cls.name in reader.text[reader.text.rfind("\n", 0, position) + 1 : position] and reader.peek() == "%":
            reader.operands(state)


class _TokenTypes(Struct, frozen=True):
    """Nothing: operands are tokens. Where there are none, the op is written in the generic form, since the next op's result would be taken for one."""

    result: bool
    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.operand_types = (TOKEN,) * len(state.operands)
        state.result_types = (TOKEN,) * self.result

    def write(self, op: Operation, writer: Writer) -> None:
        if not op.operands:
            raise Unwritable


@op_definition
class DeviceAsyncCreateGroupOp(DeviceOp):
    """Makes one group of all copies of a thread that are in none."""

    name = "nvgpu.device_async_create_group"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(_LineOperands(), sx.AttributeDictionary(), _TokenTypes(result=True))
    copies = var_operand_def(TokenType)
    token = result_def(TokenType)


@op_definition
class DeviceAsyncWaitOp(DeviceOp):
    """A thread waits until all of its groups of copies have arrived, but for the last ``numGroups``."""

    name = "nvgpu.device_async_wait"
    FACTS: ClassVar = DEVICE
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(sx.Operands(), sx.AttributeDictionary(), _TokenTypes(result=False))
    group = operand_def(TokenType)
    groups = opt_prop_def(IntegerAttr[I32], prop_name="numGroups")

    @property
    def left(self) -> int:
        """How many groups need not have arrived."""
        return 0 if self.groups is None else int_of(self.groups)


NVGPU = Dialect("nvgpu", [DeviceAsyncCopyOp, DeviceAsyncCreateGroupOp, DeviceAsyncWaitOp, LdMatrixOp, MmaSyncOp], [TokenType])
