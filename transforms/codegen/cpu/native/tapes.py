"""Tapes: lists that grow while a loop runs, in memory that a call owns and frees when it ends, however it ends.

A tape's value is a handle of 16 bytes: the address of its record, and the position where it begins (``tape_from`` gives a part
of a tape). A record is four words: the record made before it in this call, its data, the number of values, and the capacity, for how
many values memory is allocated. The entry keeps the address of the last record and the bytes of all data in ``%tapes``, and walks the
list at its end. Since every op that changes a tape consumes it, changes are made in place.

An op that allocates returns a status, which is not 0 if there was no memory, or no more than the limit of
:mod:`wengert.runtime.tape_memory`, which is asked once tapes are large; the entry then ends with it. Positions are
checked: values beyond a tape's end read as zeros.
"""

from __future__ import annotations

from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import core
from wengert.dialects.core.control import TapeType
from wengert.ir.tensor_types import shape_of_type
from wengert.transforms.codegen.cpu.native.base import NativeKernel, native
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.symbols import ALLOWS, FREE
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import Element, element_of
from wengert.transforms.schedule.target import Target

_GROW = "wg.tape.grow"
_SMALL = 1 << 26
"""Up to so many bytes the limit is not checked."""

HELPERS = {
    "wg.tapes.c": "declare ptr @malloc(i64)\ndeclare ptr @realloc(ptr, i64)\ndeclare void @free(ptr)",
    FREE: f"""define internal void @{FREE}(ptr %tapes) nounwind {{
entry:
  %first = load ptr, ptr %tapes
  br label %head
head:
  %record = phi ptr [%first, %entry], [%next, %body]
  %done = icmp eq ptr %record, null
  br i1 %done, label %end, label %body
body:
  %next = load ptr, ptr %record
  %where = getelementptr ptr, ptr %record, i64 1
  %data = load ptr, ptr %where
  call void @free(ptr %data)
  call void @free(ptr %record)
  br label %head
end:
  store ptr null, ptr %tapes
  ret void
}}""",
    _GROW: f"""define internal i1 @{_GROW}(ptr %record, i64 %count, i64 %size, ptr %tapes) nounwind {{
entry:
  %data.at = getelementptr ptr, ptr %record, i64 1
  %count.at = getelementptr i64, ptr %record, i64 2
  %capacity.at = getelementptr i64, ptr %record, i64 3
  %before = load i64, ptr %count.at
  %capacity = load i64, ptr %capacity.at
  %longer = icmp sgt i64 %count, %before
  br i1 %longer, label %grow, label %good
grow:
  %fits = icmp sle i64 %count, %capacity
  br i1 %fits, label %clear, label %allocate
allocate:
  %double = shl i64 %capacity, 1
  %some = call i64 @llvm.smax.i64(i64 %double, i64 16)
  %wanted = call i64 @llvm.smax.i64(i64 %some, i64 %count)
  %product = call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 %wanted, i64 %size)
  %bytes = extractvalue {{i64, i1}} %product, 0
  %overflow = extractvalue {{i64, i1}} %product, 1
  br i1 %overflow, label %bad, label %ask
ask:
  %total.at = getelementptr i64, ptr %tapes, i64 1
  %allocated = load i64, ptr %total.at
  %freed = mul i64 %capacity, %size
  %rest = sub i64 %allocated, %freed
  %total = call i64 @llvm.uadd.sat.i64(i64 %rest, i64 %bytes)
  %large = icmp ugt i64 %total, {_SMALL}
  br i1 %large, label %check, label %take
check:
  %answer = call i32 @{ALLOWS}(i64 %total)
  %allowed = icmp ne i32 %answer, 0
  br i1 %allowed, label %take, label %bad
take:
  store i64 %total, ptr %total.at
  %least = call i64 @llvm.umax.i64(i64 %bytes, i64 1)
  %old = load ptr, ptr %data.at
  %new = call ptr @realloc(ptr %old, i64 %least)
  %none = icmp eq ptr %new, null
  br i1 %none, label %bad, label %keep
keep:
  store ptr %new, ptr %data.at
  store i64 %wanted, ptr %capacity.at
  br label %clear
clear:
  %data = load ptr, ptr %data.at
  %start = mul i64 %before, %size
  %first = getelementptr i8, ptr %data, i64 %start
  %more = sub i64 %count, %before
  %length = mul i64 %more, %size
  call void @llvm.memset.p0.i64(ptr %first, i8 0, i64 %length, i1 false)
  store i64 %count, ptr %count.at
  br label %good
good:
  ret i1 true
bad:
  ret i1 false
}}""",
}
"""The functions that a program with tapes defines once, by symbol."""


def define_helpers(builder: KernelBuilder) -> None:
    """Adds :data:`HELPERS` to the program that a kernel belongs to."""
    builder.module.definitions.update(HELPERS)
    builder.module.external(ALLOWS, "i32", ["i64"])


def is_tape(value: SSAValue) -> bool:
    """Whether a value is a tape."""
    return isinstance(value.type, TapeType)


class TapeKernel(NativeKernel):
    """The base class of ops on tapes: the fields of handles, and the addresses of values on a tape."""

    returns_status = True
    uses_tapes = True

    def __init__(self, op: Any, target: Target):
        super().__init__(op, target)
        type = next(value.type for value in (*op.results, *op.operands) if is_tape(value))
        assert isinstance(type, TapeType)
        entry = cast("TensorType[Any]", type.entry_type)  # tapes of a length are tensors by now
        self.element: Element = element_of(entry.element_type)
        self.count = prod(shape_of_type(entry))
        self.bytes = self.count * self.element.size

    @classmethod
    def supports(cls, op: Operation) -> bool:
        return True

    # -- handles

    def handle(self, builder: KernelBuilder, pointer: str) -> tuple[str, str]:
        """The record and the first position of a tape."""
        define_helpers(builder)
        return builder.load("ptr", pointer), builder.load("i64", builder.byte(pointer, 8))

    def set_handle(self, builder: KernelBuilder, record: str, start: Index) -> None:
        """Writes the handle that is the result."""
        builder.store("ptr", record, "%q0")
        builder.store("i64", start, builder.byte("%q0", 8))

    def length(self, builder: KernelBuilder, record: str, start: str) -> str:
        """The number of values of a tape, from its first position on."""
        count = builder.load("i64", builder.byte(record, 16))
        return builder.intrinsic("smax", "i64", builder.binary("sub", "i64", count, start), 0)

    def value_address(self, builder: KernelBuilder, record: str, position: Index) -> str:
        """The address of the value at a position of a record."""
        data = builder.load("ptr", builder.byte(record, 8))
        return builder.byte(data, builder.multiply(position, self.bytes))

    def index(self, builder: KernelBuilder) -> str:
        return builder.load("i64", "%p1")

    def grow(self, builder: KernelBuilder, record: str, count: Index) -> None:
        """Grows a record to so many values, or ends with a status."""
        grown = builder.call(_GROW, "i1", [("ptr", record), ("i64", str(count)), ("i64", str(self.bytes)), ("ptr", "%tapes")])
        builder.fail(grown, unless=True)

    def copy(self, builder: KernelBuilder, source: str, target: str, count: Index = 1) -> None:
        """Moves values, which may overlap."""
        builder.move_bytes(source, target, builder.multiply(count, self.bytes))

    def add(self, builder: KernelBuilder, source: str, target: str, count: Index = 1) -> None:
        """Adds values to others, element by element."""
        memory, scalars = builder.memory(), builder.scalars()
        with builder.loop(0, builder.multiply(count, self.count)) as loop:
            at = builder.address(target, self.element, loop.index)
            operands: list[Value] = [memory.load(self.element, at), memory.load(self.element, builder.address(source, self.element, loop.index))]
            memory.store(self.element, scalars.apply("add", operands, [self.element] * 2, self.element), at)


@native(core.TapeCreateOp)
class TapeCreate(TapeKernel):
    """Allocates a record, at the head of the list."""

    def emit(self, builder: KernelBuilder) -> None:
        define_helpers(builder)
        record = builder.call("malloc", "ptr", [("i64", "32")])
        builder.fail(builder.icmp("eq", "ptr", record, "null"))
        builder.set_bytes(record, 32)
        builder.store("ptr", builder.load("ptr", "%tapes"), record)
        builder.store("ptr", record, "%tapes")
        self.set_handle(builder, record, 0)


@native(core.TapePushOp)
class TapePush(TapeKernel):
    """Appends one value."""

    def emit(self, builder: KernelBuilder) -> None:
        record, start = self.handle(builder, "%p0")
        count = builder.load("i64", builder.byte(record, 16))
        self.grow(builder, record, builder.add(count, 1))
        self.copy(builder, "%p1", self.value_address(builder, record, count))
        self.set_handle(builder, record, start)


@native(core.TapeExtendOp)
class TapeExtend(TapeKernel):
    """Appends the values of another tape."""

    def emit(self, builder: KernelBuilder) -> None:
        record, start = self.handle(builder, "%p0")
        other, first = self.handle(builder, "%p1")
        count, more = builder.load("i64", builder.byte(record, 16)), self.length(builder, other, first)
        self.grow(builder, record, builder.add(count, more))
        self.copy(builder, self.value_address(builder, other, first), self.value_address(builder, record, count), more)
        self.set_handle(builder, record, start)


@native(core.TapeSizeOp)
class TapeSize(TapeKernel):
    """Counts the values."""

    def emit(self, builder: KernelBuilder) -> None:
        builder.store("i64", self.length(builder, *self.handle(builder, "%p0")), "%q0")


@native(core.TapeReadOp, core.TapeGetOp)
class TapeRead(TapeKernel):
    """Reads the value at a position, zeros where there is none."""

    def emit(self, builder: KernelBuilder) -> None:
        record, start = self.handle(builder, "%p0")
        index = self.index(builder)
        inside = builder.icmp("ult", "i64", index, self.length(builder, record, start))
        builder.set_bytes("%q0", self.bytes)
        with builder.when(inside):
            self.copy(builder, self.value_address(builder, record, builder.add(start, index)), "%q0")


@native(core.TapeFromOp)
class TapeFrom(TapeKernel):
    """Makes a handle to the same record from another position on."""

    def emit(self, builder: KernelBuilder) -> None:
        record, start = self.handle(builder, "%p0")
        position = builder.intrinsic("smax", "i64", self.index(builder), 0)
        self.set_handle(builder, record, builder.add(start, position))


class TapeChange(TapeKernel):
    """Replaces values of a tape from a position on, or adds to them: one value, or those of another tape."""

    adds = False
    from_tape = False

    def emit(self, builder: KernelBuilder) -> None:
        record, start = self.handle(builder, "%p0")
        index = self.index(builder)
        source, more = "%p2", "1"
        with builder.when(builder.icmp("sge", "i64", index, 0)):
            position = builder.add(start, index)
            if self.from_tape:
                other, first = self.handle(builder, "%p2")
                more = self.length(builder, other, first)
                self.grow(builder, record, builder.add(position, more))
                source = self.value_address(builder, other, first)
            else:
                self.grow(builder, record, builder.add(position, 1))
            (self.add if self.adds else self.copy)(builder, source, self.value_address(builder, record, position), more)
        self.set_handle(builder, record, start)


@native(core.TapeSetOp)
class TapeSet(TapeChange):
    """Replaces one value."""


@native(core.TapeAddOp)
class TapeAdd(TapeChange):
    """Adds to one value."""

    adds = True


@native(core.TapeSetFromOp)
class TapeSetFrom(TapeChange):
    """Replaces several values."""

    from_tape = True


@native(core.TapeAddFromOp)
class TapeAddFrom(TapeChange):
    """Adds to several values."""

    adds = True
    from_tape = True
