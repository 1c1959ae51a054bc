"""The end of an op's text: its attribute dictionary, a colon, and the types in one of the forms that StableHLO uses."""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, Operation

from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.tensor_types import is_complex, tensor


class Types:
    """The attribute dictionary, a colon, and types in some form."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        if not reader.colon():
            state.set_attributes(reader.dictionary())
            if not reader.colon():
                reader.need(":")
        state.types_at = reader.here
        self.read_types(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.attribute_dictionary(op)
        writer.write(f" : {self.types(op, writer)}")

    def read_types(self, reader: Reader, state: OpState) -> None:
        """Reads the types after the colon."""
        raise NotImplementedError

    def types(self, op: Operation, writer: Writer) -> str:
        """The types as text."""
        raise NotImplementedError


class FunctionType(Types):
    """``(T, U) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        state.operand_types, state.result_types = reader.function_type()

    def types(self, op: Operation, writer: Writer) -> str:
        return writer.function_type(op.operand_types, op.result_types)


class SameType(FunctionType):
    """``T`` where all operands and the result have type T, else ``(T, U) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        type = reader.type_if_tensor()
        if type is None:
            if reader.peek() == "(":
                super().read_types(reader, state)
                return
            type = reader.type()
        state.operand_types, state.result_types = (type,) * len(state.operands), (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        results = op.result_types
        if len(results) == 1 and all(type == results[0] for type in op.operand_types):
            return writer.type_text(results[0])
        return super().types(op, writer)


class SelectType(FunctionType):
    """``P, T`` for a predicate of type P and values of type T, else ``(P, T, U) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        if reader.peek() == "(":
            super().read_types(reader, state)
            return
        pred = reader.type()
        reader.need(",")
        type = reader.type()
        state.operand_types, state.result_types = (pred, type, type), (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        if len(op.operands) == 3 and op.operands[1].type == op.operands[2].type == op.results[0].type:
            return f"{writer.type_text(op.operands[0].type)}, {writer.type_text(op.results[0].type)}"
        return super().types(op, writer)


class ComplexTypes(FunctionType):
    """The complex result's type, from which those of the real operands follow, else ``(T, T) -> V``."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        if reader.peek() == "(":
            super().read_types(reader, state)
            return
        position = reader.skip()
        type = reader.type()
        part = _real_part(type)
        if part is None:
            reader.fail(f"expected a tensor of complex numbers, found {type}", position)
        state.operand_types, state.result_types = (part,) * len(state.operands), (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        part = _real_part(op.results[0].type)
        if part is not None and all(type == part for type in op.operand_types):
            return writer.type_text(op.results[0].type)
        return super().types(op, writer)


def _real_part(type: Attribute) -> Attribute | None:
    if isinstance(type, TensorType):
        tensor_type = cast("TensorType[Any]", type)
        if is_complex(tensor_type.element_type):
            return tensor(tensor_type.get_shape(), tensor_type.element_type.element_type)
    return None


class ArrowTypes(Types):
    """``T, U -> V`` or ``T -> (V, W)``: a function type without parentheses around the operands."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        state.operand_types = reader.types()
        reader.need("->")
        state.result_types = reader.listed("(", ")", reader.type) if reader.peek() == "(" else (reader.type(),)

    def types(self, op: Operation, writer: Writer) -> str:
        results = writer.types(op.result_types)
        return f"{writer.types(op.operand_types)} -> {results if len(op.results) == 1 else f'({results})'}"


class ResultTypes(Types):
    """The types of the results, of an op without operands."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        state.result_types = reader.types()

    def types(self, op: Operation, writer: Writer) -> str:
        if op.operands or not op.results:
            raise Unwritable
        return writer.types(op.result_types)


class OneType(Types):
    """``T``: of every operand and of the single result, of which there is always one."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        type = reader.type()
        state.operand_types, state.result_types = (type,) * len(state.operands), (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        if len(op.results) != 1 or any(type != op.results[0].type for type in op.operand_types):
            raise Unwritable
        return writer.type_text(op.results[0].type)


class TupleTypes(Types):
    """``tuple<T, U>``, from which the operands' types follow."""

    def read_types(self, reader: Reader, state: OpState) -> None:
        position = reader.skip()
        type = reader.type()
        if not isinstance(type, TupleType):
            reader.fail(f"expected a tuple type, found {type}", position)
        state.operand_types, state.result_types = type.types.data, (type,)

    def types(self, op: Operation, writer: Writer) -> str:
        type = op.results[0].type
        if not isinstance(type, TupleType) or tuple(op.operand_types) != type.types.data:
            raise Unwritable
        return writer.type_text(type)


class OptionalOperandTypes(Struct, frozen=True):
    """``%a, %b : T, U``, or nothing where there are no operands (``return``); with ``results`` they have the same types."""

    results: bool = False
    empty: str = ""
    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.set_attributes(reader.dictionary())
        if reader.peek() == "%":
            reader.operands(state)
            state.set_attributes(reader.dictionary())
            reader.need(":")
            state.types_at = reader.skip()
            state.operand_types = reader.types()
        else:
            for mark in self.empty:
                reader.need(mark)
        if self.results:
            state.result_types = state.operand_types

    def write(self, op: Operation, writer: Writer) -> None:
        if op.regions or tuple(op.result_types) != (tuple(op.operand_types) if self.results else ()):
            raise Unwritable
        writer.attribute_dictionary(op)
        if op.operands:
            writer.write(f" {writer.values(op.operands)} : {writer.types(op.operand_types)}")
        elif self.empty:
            writer.write(f" {self.empty}")
