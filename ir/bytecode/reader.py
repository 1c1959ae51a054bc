"""Reading bytecode: bytes in, a module out, as the parser makes one from text.

Every op has the location that the file gives it. What is damaged is refused with the position of the byte; nothing is made for a number of things that the
bytes cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import UNKNOWN_LOC, DictionaryAttr, LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.parser.core import ForwardDeclaredValue

from wengert.ir.bytecode.cursor import Cursor
from wengert.ir.bytecode.entries import Entries, Vocabulary
from wengert.ir.bytecode.names import Names, OpName, read_names
from wengert.ir.bytecode.properties import Properties
from wengert.ir.bytecode.resources import Resources
from wengert.ir.bytecode.sections import ELIDED_LOCATIONS, LAZY_REGIONS, USE_LISTS, Section, read_header, read_section, read_sections
from wengert.ir.bytecode.strings import Strings
from wengert.ir.construction import append
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.parsing.operations import OpState
from wengert.ir.pipeline.stages import stage

_DEPTH = 64
"""The deepest nesting of regions, as in text."""

_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USES, _PROPERTIES = 1, 2, 4, 8, 16, 32, 64
"""What an op has, as bits of a byte."""

VocabularyOf = Callable[[Sequence[str]], Vocabulary]


def read_module(data: bytes, filename: str, vocabulary_of: VocabularyOf) -> ModuleOp:
    """The module that bytecode means.

    Args:
        data: the bytes.
        filename: what diagnostics call them.
        vocabulary_of: what is known of dialects, for a file that has ops of these names.

    Raises:
        DiagnosticError: the bytes are not a module; the diagnostic says what is wrong and at which byte.
    """
    cursor = Cursor(data, filename, 0, len(data))
    try:
        return _read(cursor, vocabulary_of)
    except DiagnosticError:
        raise
    except RecursionError:
        raise _unreadable(filename, "it nests too deeply") from None
    except MemoryError:
        raise _unreadable(filename, "there is not enough memory") from None
    except Exception as error:  # whatever an attribute or an op of a dialect may raise on what nobody foresaw
        raise _unreadable(filename, " ".join(str(error).split())) from error


def _unreadable(filename: str, why: str) -> DiagnosticError:
    return DiagnosticError(Diagnostic(f"cannot read this bytecode: {why}", filename))


@stage()
def _read(cursor: Cursor, vocabulary_of: VocabularyOf) -> ModuleOp:
    version, _ = read_header(cursor)
    sections = read_sections(cursor)
    strings = Strings(sections[Section.STRINGS])
    names = read_names(sections[Section.DIALECTS], strings, version)
    vocabulary = vocabulary_of([op.name for op in names.ops])
    resources = Resources(sections, strings, names.dialects)
    entries = Entries(sections[Section.ENTRIES], sections[Section.OFFSETS], names.dialects, strings, resources, vocabulary)
    properties = Properties(sections.get(Section.PROPERTIES), entries, version)
    return Reader(version, names, entries, properties, cursor.filename).module(sections[Section.IR])


class Reader:
    """Reads ops, blocks and regions. Values are numbered in the order of their definitions, those of a region behind all of the region around it."""

    def __init__(self, version: int, names: Names, entries: Entries, properties: Properties, filename: str):
        self._version, self._names, self._entries, self._properties = version, names, entries, properties
        self._attribute, self._type = entries.attribute, entries.type
        self._classes: list[type[Operation] | None] = [None] * len(names.ops)
        self._parser = entries.vocabulary.parser("", filename)
        self._values: list[SSAValue | None] = []
        self._next = 0
        self._depth = 0

    def module(self, section: Cursor) -> ModuleOp:
        """Reads the whole section of operations."""
        block = Block()
        self._block(section, block, [block])
        section.finish("operations")
        ops = list(block.ops)
        if not ops:
            section.fail("the bytecode holds no operation")
        for op in ops:
            op.detach()
        if len(ops) == 1 and isinstance(ops[0], ModuleOp):
            return ops[0]
        return ModuleOp(ops)

    # -- regions

    def _regions(self, cursor: Cursor, count: int, isolated: bool) -> list[Region]:
        self._depth += 1
        if self._depth > _DEPTH:
            cursor.fail(f"regions nest deeper than {_DEPTH} levels")
        outer = self._values, self._next
        if isolated:
            self._values = []
            if self._version >= LAZY_REGIONS:
                start = cursor.here
                kind, cursor = read_section(cursor)
                if kind is not Section.IR:
                    cursor.fail("the bytecode is damaged: the regions of an op are missing", start)
        regions = [self._region(cursor) for _ in range(count)]
        if isolated and self._version >= LAZY_REGIONS:
            cursor.finish("regions")
        self._values, self._next = outer
        self._depth -= 1
        return regions

    def _region(self, cursor: Cursor) -> Region:
        region = Region()
        count = cursor.count("blocks")
        if not count:
            return region
        at = cursor.here
        defined = cursor.count("values")
        blocks = [Block() for _ in range(count)]
        region.add_block(blocks)
        values, first, outer = self._values, len(self._values), self._next
        values.extend([None] * defined)
        self._next = first
        for block in blocks:
            self._block(cursor, block, blocks)
        for value in values[first:]:
            if value is None or isinstance(value, ForwardDeclaredValue):
                cursor.fail("the bytecode is damaged: a value is used or counted that is not defined", at)
        del values[first:]
        self._next = outer
        return region

    def _block(self, cursor: Cursor, block: Block, blocks: list[Block]) -> None:
        coded = cursor.varint()
        if coded >> 1 > cursor.left:
            cursor.fail(f"the bytecode is damaged: {coded >> 1} operations cannot be in the {cursor.left} bytes that follow")
        if coded & 1:
            self._arguments(cursor, block)
            if self._version >= USE_LISTS and cursor.byte():
                self._pass_over_uses(cursor, len(block.args))
        for _ in range(coded >> 1):
            append(block, self._operation(cursor, blocks))

    def _arguments(self, cursor: Cursor, block: Block) -> None:
        for _ in range(cursor.count("arguments")):
            number, has_location = cursor.varint(), True
            if self._version >= ELIDED_LOCATIONS:
                number, has_location = number >> 1, bool(number & 1)
            argument = block.insert_arg(self._type(number, cursor), len(block.args))  # pyright: ignore[reportUnknownMemberType]
            argument.location = self._location(cursor) if has_location else UNKNOWN_LOC
        self._define(cursor, block.args)

    def _location(self, cursor: Cursor) -> LocationAttr:
        location = self._attribute(cursor.varint(), cursor)
        if not isinstance(location, LocationAttr):
            cursor.fail("the bytecode is damaged: the location of an op is no location")
        return location

    # -- operations

    def _operation(self, cursor: Cursor, blocks: list[Block]) -> Operation:
        number = cursor.varint()
        if number >= len(self._classes):
            cursor.fail(f"the bytecode is damaged: there is no name {number} of an op among {len(self._classes)}")
        cls = self._classes[number] or self._class(number, cursor)
        mask = cursor.byte()
        state = OpState(cls, 0)
        location = self._location(cursor)
        if mask & _ATTRIBUTES:
            state.attributes = self._dictionary(cursor)
        if mask & _PROPERTIES:
            self._read_properties(cursor, state, self._names.ops[number])
        elif mask & _ATTRIBUTES:
            written, state.attributes = self._properties.without_defaults(self._names.ops[number], state.attributes), {}
            state.set_attributes(written)
            state.drop_empty_dictionaries()
        results: Sequence[Attribute] = ()
        if mask & _RESULTS:
            results = [self._type(cursor.varint(), cursor) for _ in range(cursor.count("results"))]
        operands: Sequence[SSAValue] = ()
        if mask & _OPERANDS:
            operands = [self._operand(cursor) for _ in range(cursor.count("operands"))]
        if mask & _SUCCESSORS:
            state.successors = [self._successor(cursor, blocks) for _ in range(cursor.count("successors"))]
        if mask & _USES and self._version >= USE_LISTS:
            self._pass_over_uses(cursor, len(results))
        if mask & _REGIONS:
            coded = cursor.varint()
            if coded >> 1 > cursor.left:
                cursor.fail(f"the bytecode is damaged: {coded >> 1} regions cannot be in the {cursor.left} bytes that follow")
            state.regions = self._regions(cursor, coded >> 1, bool(coded & 1))
        op = cls.create(
            operands=operands,
            result_types=results,
            properties=state.properties,
            attributes=state.attributes,
            successors=state.successors,
            regions=state.regions,
            location=location,
        )
        if results:
            self._define(cursor, op.results)
        return op

    def _class(self, number: int, cursor: Cursor) -> type[Operation]:
        name = self._names.ops[number].name
        try:
            cls = self._parser.op_class(name, 0)
        except DiagnosticError as error:
            cursor.fail(error.diagnostic.message, hint=error.diagnostic.hint)
        self._classes[number] = cls
        return cls

    def _dictionary(self, cursor: Cursor) -> dict[str, Attribute]:
        attribute = self._attribute(cursor.varint(), cursor)
        if not isinstance(attribute, DictionaryAttr):
            cursor.fail("the bytecode is damaged: the attributes of an op are no dictionary")
        return dict(attribute.data)

    def _read_properties(self, cursor: Cursor, state: OpState, name: OpName) -> None:
        """Reads properties. Those that the op's class here does not have are attributes, as they are in text."""
        attributes, state.attributes = state.attributes, {}
        properties = self._properties.read(cursor, name)
        state.set_attributes(dict(properties))
        state.drop_empty_dictionaries()
        for key, value in attributes.items():
            state.attributes.setdefault(key, value)

    def _successor(self, cursor: Cursor, blocks: list[Block]) -> Block:
        number = cursor.varint()
        if number >= len(blocks):
            cursor.fail(f"the bytecode is damaged: there is no block {number} among {len(blocks)}")
        return blocks[number]

    # -- values

    def _operand(self, cursor: Cursor) -> SSAValue:
        number = cursor.varint()
        values = self._values
        if number >= len(values):
            cursor.fail(f"the bytecode is damaged: there is no value {number} among {len(values)}")
        value = values[number]
        if value is None:
            value = values[number] = ForwardDeclaredValue(UNKNOWN_LOC)
        return value

    def _define(self, cursor: Cursor, defined: Sequence[SSAValue]) -> None:
        """Gives values that were defined just now their numbers."""
        if not self._depth:
            return  # nothing can use what stands outside of all regions
        values = self._values
        for value in defined:
            if self._next >= len(values):
                cursor.fail("the bytecode is damaged: a region defines more values than it says")
            known, values[self._next] = values[self._next], value
            self._next += 1
            if known is not None:
                if not isinstance(known, ForwardDeclaredValue):
                    cursor.fail("the bytecode is damaged: a value is defined twice")
                known.replace_all_uses_with(value)

    def _pass_over_uses(self, cursor: Cursor, values: int) -> None:
        """Moves past the order in which values were used, which means nothing here."""
        for _ in range(cursor.count("values") if values > 1 else 1):
            if values > 1:
                cursor.varint()
            coded = cursor.varint()
            if coded >> 1 > cursor.left:
                cursor.fail("the bytecode is damaged: the order of uses is longer than the file")
            for _ in range(coded >> 1):
                cursor.varint()
