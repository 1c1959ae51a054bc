"""The text of modules, functions, calls and returns, as JAX prints them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, LocationAttr, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.ir.parsing.operations import OpState, Reader
from wengert.ir.printing.printer import Unwritable, Writer
from wengert.ir.symbols import VISIBILITIES
from wengert.ir.syntax import parts as sx


class ModuleText:
    """``@name attributes {...} { ops }``."""

    properties = ("sym_name",)

    def read(self, reader: Reader, state: OpState) -> None:
        if reader.peek() == "@":
            state.properties["sym_name"] = StringAttr(reader.symbol())
        if reader.accept_word("attributes"):
            state.set_attributes(reader.dictionary())
        region = reader.region(isolated=True)
        if not region.blocks:
            region.add_block(Block())
        state.regions.append(region)

    def write(self, op: Operation, writer: Writer) -> None:
        blocks = op.regions[0].blocks
        if len(blocks) != 1 or blocks[0].args:
            raise Unwritable
        name = op.properties.get("sym_name")
        if name is not None:
            writer.write(f" {writer.symbol(cast(StringAttr, name).data)}")
        writer.attribute_dictionary(op, keyword=True)
        writer.region(op.regions[0], arguments=False)


class FunctionText:
    """``public @f(%x: T {a = 1}) -> (U {b = 2}) attributes {...} { ops }``."""

    properties = ("sym_name", "sym_visibility", "function_type", "arg_attrs", "res_attrs")

    def read(self, reader: Reader, state: OpState) -> None:
        if (word := reader.next_word()) in VISIBILITIES:
            reader.word()
            state.properties["sym_visibility"] = StringAttr(word)
        elif word:
            reader.word_in(VISIBILITIES, "visibility")
        state.properties["sym_name"] = StringAttr(reader.symbol())
        arguments: list[tuple[str, Attribute, int, LocationAttr | None]] = []
        inputs, argument_attributes = list[Attribute](), list[dict[str, Attribute]]()

        def argument() -> None:
            name = reader.operand() if reader.peek() == "%" else None
            if name is not None:
                reader.need(":")
            type = reader.type()
            inputs.append(type)
            argument_attributes.append(reader.dictionary())
            location = reader.location()
            if name is not None:
                arguments.append((name[0], type, name[2], location))

        arguments_at = reader.skip()
        reader.listed("(", ")", argument)
        outputs, result_attributes = self._results(reader)
        state.properties["function_type"] = FunctionType.from_lists(inputs, outputs)
        for key, dictionaries in (("arg_attrs", argument_attributes), ("res_attrs", result_attributes)):
            if any(dictionaries):
                state.properties[key] = ArrayAttr([DictionaryAttr(entry) for entry in dictionaries])
        if reader.accept_word("attributes"):
            position = reader.skip()
            attributes = reader.dictionary()
            for key in self.properties:
                if key in attributes:
                    reader.fail(f"'{key}' is said by the function's head, not by its attributes", position)
            state.set_attributes(attributes)
        if reader.peek() != "{":
            state.regions.append(Region())
            return
        if len(arguments) != len(inputs):
            reader.fail("the arguments of a function with a body need names", arguments_at)
        state.regions.append(reader.region(arguments, isolated=True, named=True))

    def _results(self, reader: Reader) -> tuple[list[Attribute], list[dict[str, Attribute]]]:
        types, attributes = list[Attribute](), list[dict[str, Attribute]]()

        def result() -> None:
            types.append(reader.type())
            attributes.append(reader.dictionary())

        if reader.accept("->"):
            if reader.peek() == "(":
                reader.listed("(", ")", result)
            else:
                types.append(reader.type())
        return types, attributes

    def write(self, op: Operation, writer: Writer) -> None:
        properties = op.properties
        if (visibility := properties.get("sym_visibility")) is not None:
            if cast(StringAttr, visibility).data not in VISIBILITIES:
                raise Unwritable
            writer.write(f" {cast(StringAttr, visibility).data}")
        writer.write(f" {writer.symbol(cast(StringAttr, properties['sym_name']).data)}(")
        type = cast(FunctionType, properties["function_type"])
        blocks = op.regions[0].blocks
        if blocks and tuple(blocks[0].arg_types) != type.inputs.data:
            raise Unwritable
        attributes = _entries(properties.get("arg_attrs"), len(type.inputs))
        if blocks:
            shown = [writer.block_argument(value, dictionary) for value, dictionary in zip(blocks[0].args, attributes)]
        else:
            shown = [writer.type_text(value) + writer.dictionary_text(dictionary) for value, dictionary in zip(type.inputs, attributes)]
        writer.write(", ".join(shown) + ")")
        self._write_results(type, _entries(properties.get("res_attrs"), len(type.outputs)), writer)
        writer.attribute_dictionary(op, keyword=True)
        if blocks:
            writer.region(op.regions[0], arguments=False)

    def _write_results(self, type: FunctionType, attributes: Sequence[DictionaryAttr | None], writer: Writer) -> None:
        if not type.outputs.data:
            return
        shown = ", ".join(writer.type_text(type) + writer.dictionary_text(a) for type, a in zip(type.outputs, attributes))
        bare = len(type.outputs) == 1 and not isinstance(type.outputs.data[0], FunctionType) and not (attributes[0] and attributes[0].data)
        writer.write(f" -> {shown}" if bare else f" -> ({shown})")


def _entries(attributes: Attribute | None, count: int) -> list[DictionaryAttr | None]:
    if attributes is None:
        return [None] * count
    dictionaries = [cast(DictionaryAttr, a) for a in cast("ArrayAttr[Attribute]", attributes)]
    return [*dictionaries, *([None] * (count - len(dictionaries)))]


class CalleeText:
    """``@f(%x, %y)``."""

    properties = ("callee",)

    def read(self, reader: Reader, state: OpState) -> None:
        name = reader.symbol()
        nested: list[str] = []
        while reader.accept("::"):
            nested.append(reader.symbol())
        state.properties["callee"] = SymbolRefAttr(name, nested)
        reader.need("(")
        if not reader.accept(")"):
            reader.operands(state)
            reader.need(")")

    def write(self, op: Operation, writer: Writer) -> None:
        writer.write(f" {writer.attribute_text(op.properties['callee'])}({writer.values(op.operands)})")


SYNTAXES = {
    "builtin.module": sx.Syntax(ModuleText()),
    "func.func": sx.Syntax(FunctionText()),
    "func.call": sx.Syntax(CalleeText(), sx.FunctionType()),
    "func.return": sx.Syntax(sx.OptionalOperandTypes()),
}
"""The syntax of the ops that xDSL defines and JAX prints."""
