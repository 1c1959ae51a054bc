"""The text of the gpu dialect's ops, which is upstream's.

.. code-block:: text

    gpu.module @kernels [#nvvm.target<chip = "sm_90">] { ... }
    gpu.func @k(%x: memref<64xf32, 1>) workgroup(%part : memref<128xf32, 3>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} { ... }
    gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90">, assembly = "...">]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, IndexType, IntegerAttr, LocationAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from wengert.dialects.gpu.attributes import ReductionAttr
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.syntax.properties import Word
from wengert.ir.tensor_types import i1, i32

Argument = tuple[str, Attribute, int, LocationAttr | None]
INDEX = IndexType()
KERNEL = "gpu.kernel"
"""The property that makes a function one that the host launches."""
ATTRIBUTIONS = "workgroup_attributions"
"""The property that counts the buffers of a work-group among a function's arguments."""
HANDLER = "offloadingHandler"
"""The property that says which object of a binary is loaded."""
UNIT = UnitAttr()
_REDUCTION = Word(ReductionAttr)


class IndexResult(Struct, frozen=True):
    """One result, an index, which is not written."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.result_types = (INDEX,)

    def write(self, op: Operation, writer: Writer) -> None:
        if op.results[0].type != INDEX:
            raise Unwritable


class UpperBound(Struct, frozen=True):
    """``upper_bound 128``, or nothing."""

    properties: tuple[str, ...] = ("upper_bound",)

    def read(self, reader: Reader, state: OpState) -> None:
        if reader.accept_word("upper_bound"):
            state.properties["upper_bound"] = IntegerAttr(reader.integer(), INDEX)

    def write(self, op: Operation, writer: Writer) -> None:
        if (bound := op.properties.get("upper_bound")) is not None:
            writer.write(f" upper_bound {int_of(bound)}")


class ShuffleTypes(Struct, frozen=True):
    """``: f32``, the type of the value and of the first result."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.set_attributes(reader.dictionary())
        reader.need(":")
        state.types_at = reader.here
        type = reader.type()
        state.operand_types, state.result_types = (type, i32, i32), (type, i1)

    def write(self, op: Operation, writer: Writer) -> None:
        type = op.operands[0].type
        if op.result_types != (type, i1):
            raise Unwritable
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.type_text(type)}")


class ModuleText(Struct, frozen=True):
    """``@name <handler> [targets] attributes {...} { ops }``."""

    properties: tuple[str, ...] = ("sym_name", "targets", HANDLER)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["sym_name"] = StringAttr(reader.symbol())
        _read_handler(reader, state)
        if reader.peek() == "[":
            state.properties["targets"] = ArrayAttr(reader.listed("[", "]", reader.attribute))
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        region = reader.region(isolated=True)
        if not region.blocks:
            region.add_block(Block())
        state.regions.append(region)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {writer.symbol(_name(op))}")
        _write_handler(op, writer)
        if (targets := op.properties.get("targets")) is not None:
            writer.write(f" {writer.attribute_text(targets)}")
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0], arguments=False)


class BinaryText(Struct, frozen=True):
    """``@name <handler> {...} [objects]``."""

    properties: tuple[str, ...] = ("sym_name", "objects", HANDLER)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["sym_name"] = StringAttr(reader.symbol())
        _read_handler(reader, state)
        state.set_attributes(reader.dictionary())
        state.properties["objects"] = ArrayAttr(reader.listed("[", "]", reader.attribute))

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {writer.symbol(_name(op))}")
        _write_handler(op, writer)
        writer.attribute_dictionary(op)
        writer.write(f" {writer.attribute_text(op.properties['objects'])}")


def _name(op: Operation) -> str:
    return cast(StringAttr, op.properties["sym_name"]).data


def _read_handler(reader: Reader, state: OpState) -> None:
    if reader.accept("<"):
        state.properties[HANDLER] = reader.attribute()
        reader.need(">")


def _write_handler(op: Operation, writer: Writer) -> None:
    if (handler := op.properties.get(HANDLER)) is not None:
        writer.write(f" <{writer.attribute_text(handler)}>")


class FunctionText(Struct, frozen=True):
    """``@f(%x: T) -> U workgroup(%w : V) private(%p : W) kernel attributes {...} { ops }``."""

    properties: tuple[str, ...] = ("sym_name", "function_type", "arg_attrs", KERNEL, ATTRIBUTIONS)

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["sym_name"] = StringAttr(reader.symbol())
        arguments, attributes = list[Argument](), list[dict[str, Attribute]]()

        def argument() -> None:
            name, _, position = reader.operand()
            reader.need(":")
            type = reader.type()
            attributes.append(reader.dictionary())
            arguments.append((name, type, position, reader.location()))

        reader.listed("(", ")", argument)
        outputs: Sequence[Attribute] = ()
        if reader.accept("->"):
            outputs = reader.listed("(", ")", reader.type) if reader.peek() == "(" else (reader.type(),)
        state.properties["function_type"] = FunctionType.from_lists([type for _, type, _, _ in arguments], outputs)
        if any(attributes):
            state.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(entry) for entry in attributes])
        arguments += read_attributions(reader, state)
        if reader.accept_word("kernel"):
            state.properties[KERNEL] = UNIT
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        state.regions.append(reader.region(arguments, isolated=True, named=True))

    def write(self, op: Operation, writer: Writer) -> None:
        block, type = op.regions[0].blocks[0], cast(FunctionType, op.properties["function_type"])
        count = len(type.inputs)
        if tuple(block.arg_types)[:count] != type.inputs.data:
            raise Unwritable
        dictionaries = cast("ArrayAttr[DictionaryAttr] | None", op.properties.get("arg_attrs")) or [None] * count
        shown = ", ".join([writer.block_argument(argument, entry) for argument, entry in zip(block.args, dictionaries)])
        writer.write(f" {writer.symbol(_name(op))}({shown})")
        if (outputs := type.outputs.data) != ():
            writer.write(f" -> {writer.type_text(outputs[0])}" if len(outputs) == 1 else f" -> ({writer.types(outputs)})")
        write_attributions(op, block.args[count:], writer)
        if KERNEL in op.properties:
            writer.write(" kernel")
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0], arguments=False)


def read_attributions(reader: Reader, state: OpState) -> list[Argument]:
    """``workgroup(%w : T) private(%p : T)``, both of which may be missing."""
    shared = reader.listed("(", ")", reader.block_argument) if reader.accept_word("workgroup") else []
    if shared:
        state.properties[ATTRIBUTIONS] = int_attr(len(shared))
    return [*shared, *(reader.listed("(", ")", reader.block_argument) if reader.accept_word("private") else [])]


def write_attributions(op: Operation, arguments: Sequence[BlockArgument], writer: Writer) -> None:
    """The text that :func:`read_attributions` reads."""
    count = int_of(op.properties[ATTRIBUTIONS]) if ATTRIBUTIONS in op.properties else 0
    for word, group in (("workgroup", arguments[:count]), ("private", arguments[count:])):
        if group:
            writer.write(f" {word}({', '.join(writer.block_argument(argument) for argument in group)})")


def refuse(reader: Reader, words: Sequence[str], why: str) -> None:
    """Fails at one of these words, which upstream has and we have not."""
    word = reader.next_word()
    if word in words:
        reader.fail(f"'{word}' is not supported: {why}")


class SubgroupReduceText(Struct, frozen=True):
    """``add %x uniform cluster(size = 8, stride = 2)``."""

    properties: tuple[str, ...] = ("op", "uniform", "cluster_size", "cluster_stride")

    def read(self, reader: Reader, state: OpState) -> None:
        state.properties["op"] = _REDUCTION.read(reader)
        reader.operands(state)
        if reader.accept_word("uniform"):
            state.properties["uniform"] = UNIT
        if reader.accept_word("cluster"):
            reader.need("(")
            self._number(reader, state, "size")
            if reader.accept(","):
                self._number(reader, state, "stride")
            reader.need(")")

    def _number(self, reader: Reader, state: OpState, word: str) -> None:
        reader.need_word(word)
        reader.need("=")
        state.properties[f"cluster_{word}"] = int_attr(reader.integer(32), 32)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {_REDUCTION.text(op.properties['op'], writer)} {writer.values(op.operands)}")
        if "uniform" in op.properties:
            writer.write(" uniform")
        if "cluster_size" in op.properties:
            stride = f", stride = {int_of(op.properties['cluster_stride'])}" if "cluster_stride" in op.properties else ""
            writer.write(f" cluster(size = {int_of(op.properties['cluster_size'])}{stride})")


def subscripts(writer: Writer, indices: Sequence[SSAValue]) -> str:
    """``%i, %j``. Raises Unwritable where one is no index: the short form does not say types."""
    if any(not isinstance(index.type, IndexType) for index in indices):
        raise Unwritable
    return writer.values(indices)
