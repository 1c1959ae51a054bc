"""The text of ops on buffers: what a region calls a buffer is bound to the buffer in the op's head.

.. code-block:: text

    kernel.launch ins(%x = %0: memref<8xf32>) outs(%1: memref<8xf32>) scratch(%2: memref<64xi8>) { ... }
    kernel.for %i: T to %n: T
        constants(%c = %0: T)
        carried(%now: T = %first: T into %last: T)
        next(%next: T = %spare: T)
        arena(%m = %a: T) { ... }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments

from wengert.dialects.core.syntax import Argument, check_places, share_names
from wengert.dialects.kernel.memory import Space, memref_of, space_of, value_type
from wengert.ir.attributes import int_array, int_attr, int_of, ints, segment_sizes
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.tensor_types import tensor

_LONG = 160
"""So many characters fit on a line."""
SEGMENTS = AttrSizedOperandSegments.attribute_name
Operand = tuple[tuple[str, int, int], Attribute]
"""An operand as it is written, and its type."""


class _Head:
    """The head of an op as it was read: operands group by group, and the arguments of its regions."""

    def __init__(self, reader: Reader):
        self.reader = reader
        self.groups: list[list[Operand]] = []

    def typed(self) -> Operand:
        """``%value: T``."""
        name = self.reader.operand()
        self.reader.need(":")
        return name, self.reader.type()

    def argument(self) -> Argument:
        """``%name: T`` of a region's argument."""
        (name, _, position), type = self.typed()
        return name, type, position, None

    def listed(self, word: str, item: Callable[[], None]) -> None:
        """``word(item, item)``, or nothing."""
        if self.reader.accept_word(word):
            self.reader.listed("(", ")", item)

    def values(self, word: str) -> None:
        """``word(%value: T, ...)`` as the next group of operands."""
        group: list[Operand] = []
        self.groups.append(group)
        self.listed(word, lambda: group.append(self.typed()))

    def bound(self, word: str, type: Callable[[Attribute], Attribute] = lambda type: type) -> list[Argument]:
        """``word(%name = %value: T, ...)`` as the next group; ``type`` gives an argument's type for its operand's."""
        group, arguments = list[Operand](), list[Argument]()
        self.groups.append(group)

        def item() -> None:
            name, _, position = self.reader.operand()
            self.reader.need("=")
            group.append(self.typed())
            arguments.append((name, type(group[-1][1]), position, None))

        self.listed(word, item)
        return arguments

    def finish(self, state: OpState) -> None:
        """Gives the op its operands."""
        state.operands = [name for group in self.groups for name, _ in group]
        state.operand_types = tuple(type for group in self.groups for _, type in group)
        state.properties[SEGMENTS] = segment_sizes(*map(len, self.groups))
        if self.reader.accept_word("attributes"):
            state.set_attributes(self.reader.dictionary())
        state.shares_location = True


def _typed(writer: Writer, value: SSAValue) -> str:
    return f"{writer.value(value)}: {writer.type_text(value.type)}"


def _argument(writer: Writer, value: BlockArgument) -> str:
    return f"{writer.name_argument(value, 'arg')}: {writer.type_text(value.type)}"


def _group(writer: Writer, word: str, items: Sequence[str]) -> None:
    if items:
        writer.write(f" {word}({', '.join(items)})")


def _line(writer: Writer, word: str, items: Sequence[str]) -> None:
    """The same on a line of its own, or one for each item where they are long."""
    if items:
        start = f"{writer.indent}    {word}("
        between = ", " if sum(map(len, items)) <= _LONG else f",\n{' ' * (len(start) - 1)}"
        writer.write(f"{start}{between.join(items)})")


def _bound(
    writer: Writer,
    word: str,
    arguments: Sequence[BlockArgument],
    values: Sequence[SSAValue],
    write: Callable[[Writer, str, Sequence[str]], None] = _line,
    *,
    by_value: bool = False,
) -> None:
    expected = [value_type(value.type) if by_value else value.type for value in values]
    if [argument.type for argument in arguments] != expected:
        raise Unwritable
    write(writer, word, [f"{writer.name_argument(a, 'arg')} = {_typed(writer, v)}" for a, v in zip(arguments, values, strict=True)])


class ViewText(Struct, frozen=True):
    """``%memory[64] : T to U``."""

    properties: tuple[str, ...] = ("offset",)

    def read(self, reader: Reader, state: OpState) -> None:
        state.operands.append(reader.operand())
        reader.need("[")
        state.properties["offset"] = int_attr(reader.integer())
        reader.need("]")
        _read_two_types(reader, state)
        state.operand_types, state.result_types = state.operand_types[:1], state.operand_types[1:]

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {writer.value(op.operands[0])}[{int_of(op.properties['offset'])}]")
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.type_text(op.operands[0].type)} to {writer.type_text(op.results[0].type)}")


class CopyText(Struct, frozen=True):
    """``%source, %target : T to U``."""

    properties: tuple[str, ...] = ()

    def read(self, reader: Reader, state: OpState) -> None:
        reader.operands(state)
        _read_two_types(reader, state)

    def write(self, op: Operation, writer: Writer) -> None:
        source, target = op.operands
        writer.write(f" {writer.value(source)}, {writer.value(target)}")
        writer.attribute_dictionary(op)
        writer.write(f" : {writer.type_text(source.type)} to {writer.type_text(target.type)}")


def _read_two_types(reader: Reader, state: OpState) -> None:
    state.set_attributes(reader.dictionary())
    reader.need(":")
    state.types_at = reader.here
    first = reader.type()
    reader.need_word("to")
    state.operand_types = (first, reader.type())


class GlobalText(Struct, frozen=True):
    """``dense<...> : tensor<8xf32>``, from which the result's type follows."""

    properties: tuple[str, ...] = ("value",)

    def read(self, reader: Reader, state: OpState) -> None:
        state.set_attributes(reader.dictionary())
        value: Any = reader.attribute()
        state.properties["value"] = value
        type = value.type
        state.result_types = (memref_of(tensor(type.get_shape(), type.element_type), Space.CONSTANT),)

    def write(self, op: Operation, writer: Writer) -> None:
        writer.attribute_dictionary(op)
        writer.write(f" {writer.attribute_text(op.properties['value'])}")


class LaunchText(Struct, frozen=True):
    """``ins(%x = %a: T) outs(%b: U) scratch(%c: V) { kernel }``."""

    properties: tuple[str, ...] = (SEGMENTS,)

    def read(self, reader: Reader, state: OpState) -> None:
        head = _Head(reader)
        arguments = head.bound("ins", value_type)
        head.values("outs")
        head.values("scratch")
        head.finish(state)
        state.regions.append(reader.region(arguments, named=True))

    def write(self, op: Any, writer: Writer) -> None:
        check_places(op, writer)
        _bound(writer, "ins", op.body.block.args, op.ins, _group, by_value=True)
        _group(writer, "outs", [_typed(writer, value) for value in op.outs])
        _group(writer, "scratch", [_typed(writer, op.scratch)] if op.scratch is not None else [])
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0], arguments=False)


def _read_loop(head: _Head) -> list[Argument]:
    """The constants, what is carried, the buffers that come next, and the arena; returns the regions' arguments."""
    arguments = head.bound("constants")
    initial, outs, spare = list[Operand](), list[Operand](), list[Operand]()
    head.groups += [initial, outs, spare]
    reader = head.reader

    def carried() -> None:
        arguments.append(head.argument())
        reader.need("=")
        initial.append(head.typed())
        reader.need_word("into")
        outs.append(head.typed())

    def following() -> None:
        arguments.append(head.argument())
        if space_of(arguments[-1][1]) is not Space.STACK:
            reader.need("=")
            spare.append(head.typed())

    head.listed("carried", carried)
    head.listed("next", following)
    return [*arguments, *head.bound("arena")]


def _write_loop(op: Any, writer: Writer) -> None:
    block: Block = op.body.block
    _bound(writer, "constants", block.args[1 : 1 + len(op.constants)], op.constants)
    carried = zip(op.now(), op.initial, op.outs, strict=True)
    _line(writer, "carried", [f"{_argument(writer, a)} = {_typed(writer, first)} into {_typed(writer, last)}" for a, first, last in carried])
    spare = iter(op.spare)
    following = [_argument(writer, a) + (f" = {_typed(writer, next(spare))}" if space_of(a.type) is not Space.STACK else "") for a in op.next()]
    _line(writer, "next", following)
    _bound(writer, "arena", block.args[-1:], [op.arena])
    writer.attribute_dictionary(op, keyword=True)


class ForText(Struct, frozen=True):
    """``%i: T to %n: T constants(...) carried(...) next(...) arena(...) { ... }``."""

    properties: tuple[str, ...] = (SEGMENTS,)

    def read(self, reader: Reader, state: OpState) -> None:
        head = _Head(reader)
        index = head.argument()
        reader.need_word("to")
        head.groups.append([head.typed()])
        arguments = _read_loop(head)
        head.finish(state)
        state.regions.append(reader.region([index, *arguments], named=True))

    def write(self, op: Any, writer: Writer) -> None:
        check_places(op, writer)
        writer.write(f" {_argument(writer, op.body.block.args[0])} to {_typed(writer, op.count)}")
        _write_loop(op, writer)
        writer.region(op.body, arguments=False)


class WhileText(Struct, frozen=True):
    """``%more: T constants(...) carried(...) next(...) arena(...) cond { ... } do { ... }``."""

    properties: tuple[str, ...] = (SEGMENTS,)

    def read(self, reader: Reader, state: OpState) -> None:
        head = _Head(reader)
        answer = head.argument()
        arguments = _read_loop(head)
        head.finish(state)
        for word in ("cond", "do"):
            reader.need_word(word)
            state.regions.append(reader.region([answer, *arguments], named=True))

    def write(self, op: Any, writer: Writer) -> None:
        check_places(op, writer)
        share_names(writer, op.body.block, op.condition.block)
        writer.write(f" {_argument(writer, op.body.block.args[0])}")
        _write_loop(op, writer)
        writer.newline(" cond", op.condition)
        writer.write(" do")
        writer.region(op.body, arguments=False)


class CaseText(Struct, frozen=True):
    """``%index: T ins(...) outs(...) arena(...) branch { ... } branch { ... }``."""

    properties: tuple[str, ...] = (SEGMENTS,)

    def read(self, reader: Reader, state: OpState) -> None:
        head = _Head(reader)
        head.groups.append([head.typed()])
        arguments = [*head.bound("ins"), *head.bound("outs"), *head.bound("arena")]
        head.finish(state)
        while reader.accept_word("branch"):
            state.regions.append(reader.region(arguments, named=True))

    def write(self, op: Any, writer: Writer) -> None:
        check_places(op, writer)
        first, *others = (region.block for region in op.regions)
        for other in others:
            share_names(writer, first, other)
        writer.write(f" {_typed(writer, op.index)}")
        _write_bound(op, writer, first)
        writer.attribute_dictionary(op, keyword=True)
        for region in op.regions:
            writer.newline(" branch", region)


def _write_bound(op: Any, writer: Writer, block: Block) -> None:
    arena = [op.arena] if op.arena is not None else []
    start = 0
    for word, values in (("ins", op.ins), ("outs", op.outs), ("arena", arena)):
        _bound(writer, word, block.args[start : start + len(values)], values)
        start += len(values)


class StripLoopText(Struct, frozen=True):
    """``16 ins(%x: T = %a: U step 128) outs(...) arena(...) { ... }``."""

    properties: tuple[str, ...] = (SEGMENTS, "iterations", "steps")

    def read(self, reader: Reader, state: OpState) -> None:
        head = _Head(reader)
        state.properties["iterations"] = int_attr(reader.integer())
        arguments, steps = list[Argument](), list[int]()
        for word in ("ins", "outs"):
            group: list[Operand] = []
            head.groups.append(group)

            def strip(group: list[Operand] = group) -> None:
                arguments.append(head.argument())
                reader.need("=")
                group.append(head.typed())
                reader.need_word("step")
                steps.append(reader.integer())

            head.listed(word, strip)
        arguments += head.bound("arena")
        state.properties["steps"] = int_array(steps)
        head.finish(state)
        state.regions.append(reader.region(arguments, named=True))

    def write(self, op: Any, writer: Writer) -> None:
        check_places(op, writer)
        block: Block = op.body.block
        writer.write(f" {int_of(op.iterations)}")
        values = [*op.ins, *op.outs]
        shown = [
            f"{_argument(writer, a)} = {_typed(writer, v)} step {step}" for a, v, step in zip(block.args[: len(values)], values, ints(op.steps), strict=True)
        ]
        _line(writer, "ins", shown[: len(op.ins)])
        _line(writer, "outs", shown[len(op.ins) :])
        _bound(writer, "arena", block.args[len(values) :], [op.arena] if op.arena is not None else [])
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.body, arguments=False)
