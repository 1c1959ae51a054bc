"""The pieces of core's text: loops and branches bind the names that their regions use to the values that come in::

%0 = core.for %i to %n constants(%k = %c: tensor<3xf64>) carried(%x = %a: tensor<f64>) {
...
}
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from wengert.ir.attributes import int_attr, int_of
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.tensor_types import i64, tensor

Argument = tuple[str, Attribute, int, LocationAttr | None]

INDEX = tensor((), i64)
"""The type of trip counts and iteration numbers."""


def read_bound(reader: Reader, state: OpState, word: str) -> list[Argument]:
    """Reads ``word(%name = %value: T, ...)`` if it comes next: values become operands, names arguments of the regions."""
    arguments: list[Argument] = []

    def bound() -> None:
        name, _, position = reader.operand()
        reader.need("=")
        state.operands.append(reader.operand())
        reader.need(":")
        type = reader.type()
        state.operand_types = (*state.operand_types, type)
        arguments.append((name, type, position, None))

    if reader.accept_word(word):
        reader.listed("(", ")", bound)
    return arguments


def bound_text(writer: Writer, word: str, arguments: Sequence[BlockArgument], values: Sequence[SSAValue]) -> str:
    """The text that :func:`read_bound` reads."""
    if len(arguments) != len(values) or any(a.type != v.type for a, v in zip(arguments, values)):
        raise Unwritable
    shown = [f"{writer.name_argument(a, 'arg')} = {writer.value(v)}: {writer.type_text(v.type)}" for a, v in zip(arguments, values)]
    return f" {word}({', '.join(shown)})" if shown else ""


def check_places(op: Operation, writer: Writer) -> None:
    """Gives up the pretty form where it would lose the places of block arguments."""
    if writer.locations and any(a.location != op.location for region in op.regions for block in region.blocks for a in block.args):
        raise Unwritable


def share_names(writer: Writer, first: Block, other: Block) -> None:
    """Names the arguments of another region like those of the first."""
    if tuple(first.arg_types) != tuple(other.arg_types):
        raise Unwritable
    for value, twin in zip(first.args, other.args):
        writer.share_name(twin, writer.name_argument(value, "arg"))


class ForText(Struct, frozen=True):
    """``%i to %n constants(...) carried(...) { ... }``."""

    properties: tuple[str, ...] = ("constants",)

    def read(self, reader: Reader, state: OpState) -> None:
        name, _, position = reader.operand()
        reader.need_word("to")
        state.operands.append(reader.operand())
        state.operand_types = (INDEX,)
        constants = read_bound(reader, state, "constants")
        carried = read_bound(reader, state, "carried")
        state.properties["constants"] = int_attr(len(constants))
        state.result_types = tuple(type for _, type, _, _ in carried)
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        state.regions.append(reader.region([(name, INDEX, position, None), *constants, *carried], named=True))
        state.shares_location = True

    def write(self, op: Operation, writer: Writer) -> None:
        check_places(op, writer)
        block, constants = op.regions[0].block, int_of(op.properties["constants"])
        if op.operands[0].type != INDEX or block.args[0].type != INDEX or tuple(op.result_types) != tuple(v.type for v in op.operands[1 + constants :]):
            raise Unwritable
        writer.write(f" {writer.name_argument(block.args[0], 'arg')} to {writer.value(op.operands[0])}")
        writer.write(bound_text(writer, "constants", block.args[1 : 1 + constants], op.operands[1 : 1 + constants]))
        writer.write(bound_text(writer, "carried", block.args[1 + constants :], op.operands[1 + constants :]))
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0], arguments=False)


class WhileText(Struct, frozen=True):
    """``constants(...) carried(...) cond { ... } do { ... }``."""

    properties: tuple[str, ...] = ("constants",)

    def read(self, reader: Reader, state: OpState) -> None:
        constants = read_bound(reader, state, "constants")
        carried = read_bound(reader, state, "carried")
        state.properties["constants"] = int_attr(len(constants))
        state.result_types = tuple(type for _, type, _, _ in carried)
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        for word in ("cond", "do"):
            reader.need_word(word)
            state.regions.append(reader.region(constants + carried, named=True))
        state.shares_location = True

    def write(self, op: Operation, writer: Writer) -> None:
        check_places(op, writer)
        (condition, body), constants = (region.block for region in op.regions), int_of(op.properties["constants"])
        if tuple(op.result_types) != tuple(v.type for v in op.operands[constants:]):
            raise Unwritable
        share_names(writer, condition, body)
        writer.write(bound_text(writer, "constants", condition.args[:constants], op.operands[:constants]))
        writer.write(bound_text(writer, "carried", condition.args[constants:], op.operands[constants:]))
        writer.attribute_dictionary(op, keyword=True)
        writer.newline(" cond", op.regions[0])
        writer.write(" do")
        writer.region(op.regions[1], arguments=False)


class CaseText(Struct, frozen=True):
    """``%i: tensor<i32> inputs(...) -> (T, U) branch { ... } branch { ... }``."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        state.operands.append(reader.operand())
        reader.need(":")
        state.operand_types = (reader.type(),)
        inputs = read_bound(reader, state, "inputs")
        reader.need("->")
        state.result_types = reader.listed("(", ")", reader.type)
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        while reader.accept_word("branch"):
            state.regions.append(reader.region(inputs, named=True))
        state.shares_location = True

    def write(self, op: Operation, writer: Writer) -> None:
        check_places(op, writer)
        first, *others = (region.block for region in op.regions)
        for other in others:
            share_names(writer, first, other)
        writer.write(f" {writer.value(op.operands[0])}: {writer.type_text(op.operands[0].type)}")
        writer.write(bound_text(writer, "inputs", first.args, op.operands[1:]))
        writer.write(f" -> ({writer.types(op.result_types)})")
        writer.attribute_dictionary(op, keyword=True)
        for region in op.regions:
            writer.newline(" branch", region)
