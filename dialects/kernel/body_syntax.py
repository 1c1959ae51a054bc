"""The text of ops in the body of a nest: loads, indices, guards, scalars and scalar functions, and the writes at its end."""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Attribute, Operation

from wengert.dialects.kernel.affine import AffineText
from wengert.dialects.kernel.attributes import KINDS, AtAttr, WhereAttr, at_attr, guards_text, string
from wengert.dialects.kernel.functions import arity, is_comparison
from wengert.dialects.kernel.positions import Position
from wengert.dialects.kernel.subscripts import (
    Nest,
    element_of_buffer,
    extents_around,
    nest_around,
    read_affine,
    read_subscripts,
    subscripts_text,
)
from wengert.ir.attributes import int_array
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.syntax.types import FunctionType
from wengert.ir.tensor_types import i1, shape_of_type


class LoadText(Struct, frozen=True):
    """``%x[d0, d1 - 1] where (1 <= d1 < 5) : tensor<4x8xf32>``, or ``%x[%base + d0] : tensor<32xf32>, i32``."""

    properties: tuple[str, ...] = ("at", "where")

    def read(self, reader: Reader, state: OpState) -> None:
        nest_around(reader)
        state.operands.append(reader.operand())
        subscripts = read_subscripts(reader)
        if reader.accept_word("where"):
            state.properties["where"] = WhereAttr(read_affine(reader, AffineText.guards))
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.skip()
        type = reader.type()
        state.properties["at"] = at_attr(subscripts.flat(reader, type))
        state.operand_types = (type,)
        state.result_types = (element_of_buffer(type),)
        if subscripts.base is not None:
            state.operands.append(subscripts.base)
            reader.need(",")
            state.operand_types = (type, reader.type())

    def write(self, op: Operation, writer: Writer) -> None:
        source, *base = op.operands
        if op.results[0].type != element_of_buffer(source.type):
            raise Unwritable
        at, where = cast(AtAttr, op.properties["at"]).data, cast("WhereAttr | None", op.properties.get("where"))
        text = subscripts_text(at, source.type, extents_around(op), writer.values(base), guarded=where is not None)
        writer.write(f" {writer.value(source)}{text}")
        if where is not None:
            writer.write(f" where ({guards_text(where.data)})")
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.types([source.type, *[value.type for value in base]])}")


class IndexText(Struct, frozen=True):
    """``d0 * 2 + 1``."""

    properties: tuple[str, ...] = ("at",)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["at"] = at_attr(read_affine(reader, AffineText.position))

    def write(self, op: Operation, writer: Writer) -> None:
        extents_around(op)
        writer.write(f" {cast(AtAttr, op.properties['at']).data}")


class GuardsText(Struct, frozen=True):
    """``(0 <= d0 - 1 < 8, 2 <= d1 < 4)``."""

    properties: tuple[str, ...] = ("where",)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["where"] = WhereAttr(read_affine(reader, AffineText.guards))

    def write(self, op: Operation, writer: Writer) -> None:
        extents_around(op)
        writer.write(f" ({guards_text(cast(WhereAttr, op.properties['where']).data)})")


class ScalarText(Struct, frozen=True):
    """``2.500000e+00``: the element of a constant of rank 0, whose type comes after the colon."""

    properties: tuple[str, ...] = ("value",)

    def read(self, reader: Reader, state: OpState) -> None:
        start = reader.skip()
        end = reader.text.find(":", start)
        line = reader.text.find("\n", start)
        if end < 0 or 0 <= line < end:
            reader.unexpected("a number and its type, such as '1.0 : f32'")
        reader.here = end
        reader.need(":")
        type = reader.type()
        after = reader.here
        state.properties["value"] = reader.scalar(start, end, type)
        reader.here = after
        state.result_types = (type,)

    def write(self, op: Operation, writer: Writer) -> None:
        value = cast("Any", op.properties["value"])
        type = op.results[0].type
        if shape_of_type(value.type) or value.type.element_type != type or op.attributes:
            raise Unwritable
        text = writer.attribute_text(value)
        writer.write(f" {text[len('dense<') : text.rindex('> : ')]} : {writer.type_text(type)}")


class ScalarTypes(FunctionType):
    """``T`` for a function of operands of type T; the condition of ``select`` and the result of a comparison are i1. Else ``(T, U) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        function = cast(StringAttr, state.properties["function"]).data
        wanted = arity(function)
        if wanted != len(state.operands):
            reader.fail(f"'{function}' takes {wanted} operands; there are {len(state.operands)}", state.start)
        if reader.peek() == "(":
            super().read_types(reader, state)
            return
        type = reader.type()
        state.operand_types, state.result_types = _types_of(function, type, len(state.operands))

    def types(self, op: Operation, writer: Writer) -> str:
        function = cast(StringAttr, op.properties["function"]).data
        types = tuple(op.operand_types), tuple(op.result_types)
        if types[0] and types == _types_of(function, op.operand_types[-1], len(op.operands)):
            return writer.type_text(op.operand_types[-1])
        return super().types(op, writer)


def _types_of(function: str, type: Attribute, count: int) -> tuple[tuple[Attribute, ...], tuple[Attribute, ...]]:
    operands = (i1, type, type) if function == "select" else (type,) * count
    return operands, (i1 if is_comparison(function) else type,)


class FunctionText(Struct, frozen=True):
    """``%a, %b : f32`` after the name of the function, which is the name that is written for the op."""

    function: str = ""
    properties: tuple[str, ...] = ("function",)

    def read(self, reader: Reader, state: OpState) -> None:
        if not self.function:
            reader.fail("a scalar function is written by its own name, such as 'kernel.add'", state.start)
        state.properties["function"] = string(self.function)
        reader.operands(state)
        ScalarTypes().read(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        if arity(cast(StringAttr, op.properties["function"]).data) != len(op.operands):
            raise Unwritable
        writer.write(f" {writer.values(op.operands)}")
        ScalarTypes().write(op, writer)


# -- the end of a body


class YieldText(Struct, frozen=True):
    """``store %v to out0[d0, d1] : f32, add %w to out1[%base + d1] where %c : f32, i32``; in an op that is no nest ``%a, %b : T, U``."""

    properties: tuple[str, ...] = ("at", "kinds", "targets", "bases", "conditions")

    def read(self, reader: Reader, state: OpState) -> None:
        if reader.enclosing and isinstance(reader.enclosing[-1], Nest):
            self._read_writes(reader, state, reader.enclosing[-1])
        elif reader.peek() == "%":
            reader.operands(state)
            reader.need(":")
            state.types_at = reader.skip()
            state.operand_types = reader.types()

    def _read_writes(self, reader: Reader, state: OpState, nest: Nest) -> None:
        writes: list[_WriteText] = []
        while True:
            writes.append(_WriteText.read(reader, nest))
            if not reader.accept(","):
                break
        state.types_at = reader.here
        state.operands = [write.value for write in writes]
        types = [write.type for write in writes]
        state.properties["at"] = ArrayAttr([at_attr(write.at) for write in writes])
        state.properties["kinds"] = ArrayAttr([string(write.kind) for write in writes])
        if [write.target for write in writes] != list(range(len(writes))):
            state.properties["targets"] = int_array([write.target for write in writes])
        for name, extra in (("bases", [write.base for write in writes]), ("conditions", [write.condition for write in writes])):
            numbers = [-1] * len(writes)
            for number, operand in enumerate(extra):
                if operand is not None:
                    numbers[number] = len(state.operands)
                    state.operands.append(operand[0])
                    types.append(operand[1])
            if any(number >= 0 for number in numbers):
                state.properties[name] = int_array(numbers)
        state.operand_types = types

    def write(self, op: Operation, writer: Writer) -> None:
        if op.attributes:
            raise Unwritable
        if "at" not in op.properties:
            if op.operands:
                writer.write(f" {writer.values(op.operands)} : {writer.types(op.operand_types)}")
            return
        if not op.operands:
            raise Unwritable
        nest, extents = cast("Any", op.parent_op()), extents_around(op)
        texts: list[str] = []
        for write in nest.writes:
            at = subscripts_text(write.at, nest.outputs[write.target].type, extents, writer.value(write.base) if write.base is not None else "")
            where = "" if write.condition is None else f" where {writer.value(write.condition)}"
            types = writer.types([write.value.type, *([] if write.base is None else [write.base.type])])
            texts.append(f"{write.kind} {writer.value(write.value)} to out{write.target}{at}{where} : {types}")
        writer.write(" " + f",{writer.indent}             ".join(texts))


Operand = tuple[tuple[str, int, int], Attribute]


class _WriteText(Struct):
    """One write as it was read."""

    kind: str
    value: tuple[str, int, int]
    type: Attribute
    target: int
    at: Position
    base: Operand | None
    condition: Operand | None

    @staticmethod
    def read(reader: Reader, nest: Nest) -> _WriteText:
        kind = reader.word_in(KINDS, "kind of write")
        value = reader.operand()
        reader.need_word("to")
        target = nest.outputs[reader.word_in(nest.outputs, "result")]
        at = (subscripts := read_subscripts(reader)).flat(reader, nest.types[target])
        condition = (reader.operand(), cast(Attribute, i1)) if reader.accept_word("where") else None
        reader.need(":")
        type, base = reader.type(), None
        if subscripts.base is not None:
            reader.need(",")
            base = (subscripts.base, reader.type())
        return _WriteText(kind, value, type, target, at, base, condition)
