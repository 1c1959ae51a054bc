"""The text of launches, which is upstream's.

.. code-block:: text

    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %m, %sy = %c1, %sz = %c1)
        workgroup(%part : memref<128xf32, 3>) { ... }
    gpu.launch_func @kernels::@k blocks in (%n, %c1, %c1) threads in (%m, %c1, %c1) args(%x : memref<64xf32, 1>)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from wengert.dialects.gpu.text import ATTRIBUTIONS, INDEX, Argument, read_attributions, refuse, write_attributions
from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer

_LONG = 160
"""So many characters fit on a line."""
_NOT_THERE = "launches are in order, of work-groups that are no clusters, with memory that is declared"
_SYMBOLS = ("module", "function")


class LaunchText(Struct, frozen=True):
    """``blocks(...) in (...) threads(...) in (...) module(@m) function(@f) workgroup(...) private(...) { ... } {...}``."""

    properties: tuple[str, ...] = (ATTRIBUTIONS, *_SYMBOLS)

    def read(self, reader: Reader, state: OpState) -> None:
        refuse(reader, ("async", "clusters"), _NOT_THERE)
        ids, sizes = list[Argument](), list[Argument]()
        for word in ("blocks", "threads"):
            reader.need_word(word)
            ids += self._names(reader)
            reader.need_word("in")
            sizes += self._sizes(reader, state)
        state.operand_types = (INDEX,) * len(state.operands)
        refuse(reader, ("dynamic_shared_memory_size",), _NOT_THERE)
        for word in _SYMBOLS:
            if reader.accept_word(word):
                reader.need("(")
                state.properties[word] = StringAttr(reader.symbol())
                reader.need(")")
        attributions = read_attributions(reader, state)
        state.regions.append(reader.region([*ids, *sizes, *attributions], named=True))
        state.set_attributes(reader.dictionary())

    def _names(self, reader: Reader) -> list[Argument]:
        start = reader.skip()

        def name() -> Argument:
            written, _, position = reader.operand()
            return written, INDEX, position, reader.location()

        return _three(reader, reader.listed("(", ")", name), start)

    def _sizes(self, reader: Reader, state: OpState) -> list[Argument]:
        start = reader.skip()

        def size() -> Argument:
            written, _, position = reader.operand()
            reader.need("=")
            state.operands.append(reader.operand())
            return written, INDEX, position, None

        return _three(reader, reader.listed("(", ")", size), start)

    def write(self, op: Operation, writer: Writer) -> None:
        arguments = op.regions[0].blocks[0].args
        if len(arguments) < 12 or len(op.operands) != 6 or (writer.locations and any(a.location != op.location for a in arguments)):
            raise Unwritable
        for word, first in (("blocks", 0), ("threads", 3)):
            sizes = zip(arguments[first + 6 : first + 9], op.operands[first : first + 3])
            shown = ", ".join([f"{_named(writer, size)} = {writer.value(value)}" for size, value in sizes])
            writer.write(f" {word}({', '.join(_named(writer, a) for a in arguments[first : first + 3])}) in ({shown})")
        for word in _SYMBOLS:
            if (symbol := op.properties.get(word)) is not None:
                writer.write(f" {word}({writer.symbol(cast(StringAttr, symbol).data)})")
        write_attributions(op, arguments[12:], writer)
        writer.region(op.regions[0], arguments=False)
        writer.attribute_dictionary(op)


def _three(reader: Reader, written: list[Argument], start: int) -> list[Argument]:
    if len(written) != 3:
        reader.fail(f"expected a name for each of three dimensions, found {len(written)}", start)
    return written


def _named(writer: Writer, argument: BlockArgument) -> str:
    return writer.name_argument(argument, "arg")


class LaunchFuncText(Struct, frozen=True):
    """``@module::@kernel blocks in (...) threads in (...) args(%x : T, ...) {...}``."""

    properties: tuple[str, ...] = ("kernel",)

    def read(self, reader: Reader, state: OpState) -> None:
        refuse(reader, ("async", "clusters"), _NOT_THERE)
        state.properties["kernel"] = reader.symbol_reference()
        refuse(reader, ("clusters",), _NOT_THERE)
        for word in ("blocks", "threads"):
            reader.need_word(word)
            reader.need_word("in")
            start = reader.skip()
            sizes = reader.listed("(", ")", reader.operand)
            if len(sizes) != 3:
                reader.fail(f"expected a size for each of three dimensions, found {len(sizes)}", start)
            state.operands += sizes
        refuse(reader, ("dynamic_shared_memory_size",), _NOT_THERE)
        types: list[Attribute] = [INDEX] * 6

        def argument() -> None:
            state.operands.append(reader.operand())
            reader.need(":")
            types.append(reader.type())

        if reader.accept_word("args"):
            reader.listed("(", ")", argument)
        state.operand_types = types
        state.set_attributes(reader.dictionary())

    def write(self, op: Operation, writer: Writer) -> None:
        sizes, arguments = op.operands[:6], op.operands[6:]
        if len(sizes) != 6 or any(size.type != INDEX for size in sizes):
            raise Unwritable
        kernel = writer.attribute_text(op.properties["kernel"])
        writer.write(f" {kernel} blocks in ({writer.values(sizes[:3])}) threads in ({writer.values(sizes[3:])})")
        if arguments:
            writer.write(_arguments(writer, arguments))
        writer.attribute_dictionary(op)


def _arguments(writer: Writer, arguments: Sequence[SSAValue[Any]]) -> str:
    """``args(%x : T, ...)``, on a line of its own and one for each where they are long."""
    items = [f"{writer.value(value)} : {writer.type_text(value.type)}" for value in arguments]
    if sum(map(len, items)) <= _LONG // 2:
        return f" args({', '.join(items)})"
    start = f"{writer.indent}    args("
    between = ", " if sum(map(len, items)) <= _LONG else f",\n{' ' * (len(start) - 1)}"
    return f"{start}{between.join(items)})"
