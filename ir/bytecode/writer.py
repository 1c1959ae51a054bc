"""Writing bytecode: a module in, bytes out that any MLIR reads whose version of the format is not older.

Before version 5 everything that an op has is an attribute. From then on properties are encoded as upstream's definitions of the ops have them, those of ops
that upstream does not know as a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import UNKNOWN_LOC, DictionaryAttr, LocationAttr, StringAttr, UnknownLoc, UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove

from wengert.ir.attributes import ints
from wengert.ir.bytecode.cursor import MAGIC
from wengert.ir.bytecode.fields import Encoding
from wengert.ir.bytecode.numbering import BUILTIN, Numbering
from wengert.ir.bytecode.output import Output
from wengert.ir.bytecode.properties import LATER
from wengert.ir.bytecode.sections import (
    DIALECT_VERSIONS,
    ELIDED_LOCATIONS,
    LATEST,
    LAZY_REGIONS,
    NATIVE_PROPERTIES,
    NATIVE_SEGMENTS,
    USE_LISTS,
    Section,
    write_section,
)
from wengert.ir.bytecode.strings import write_strings
from wengert.ir.location.places import error_at
from wengert.ir.printing.attributes import AttributeWriter
from wengert.ir.unregistered import written_name

_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _PROPERTIES = 1, 2, 4, 8, 16, 64
_SEGMENTS = "SegmentSizes:"


EncodingOf = Callable[[str], Encoding | None]
PropertiesOf = Callable[[str], tuple[str, ...] | None]


class Parts(Struct, frozen=True):
    """The parts of an op, as it is written: attributes, and properties as pairs of a name as in the table of properties and a value, or as a dictionary."""

    attributes: DictionaryAttr | None
    native: tuple[tuple[str, Attribute | None], ...] = ()
    dictionary: DictionaryAttr | None = None

    @property
    def mask(self) -> int:
        """The bits that say what there is."""
        return (_ATTRIBUTES if self.attributes is not None else 0) | (_PROPERTIES if self.native or self.dictionary is not None else 0)


def write_module(module: Operation, encoding: EncodingOf, properties: PropertiesOf, *, version: int, locations: bool, producer: str) -> bytes:
    """A module as bytecode.

    Args:
        module: the module.
        encoding: the encoding of a dialect by its name, None for one whose attributes are written as text.
        properties: the properties of an op by its name, in the order of bytecode, None for one of which they are not known.
        version: the version of the format, 0 to 6.
        locations: whether to write where ops come from.
        producer: what the file says that it was written by.

    Raises:
        ValueError: there is no such version.
        DiagnosticError: an op lacks a property that its definition demands, or is held in a form that only text has.
    """
    if not 0 <= version <= LATEST:
        raise ValueError(f"there are the bytecode versions 0 to {LATEST}, not {version}")
    return _Writer(version, locations, encoding, properties).write(module, producer)


class _Writer:
    """Writes a module: first all that is referred to is numbered, then the ops are written."""

    def __init__(self, version: int, locations: bool, encoding: EncodingOf, properties: PropertiesOf):
        text = AttributeWriter()
        self._version, self._locations, self._table = version, locations, properties
        self._numbering = Numbering(encoding, text.attribute_text)
        self._ops: dict[str, int] = {}
        self._parts: dict[int, Parts] = {}
        self._dictionaries: dict[tuple[Any, ...], DictionaryAttr] = {}
        self._blobs: dict[bytes, int] = {}
        self._values: dict[SSAValue, int] = {}

    def write(self, module: Operation, producer: str) -> bytes:
        for name in (BUILTIN, *sorted({written_name(op).partition(".")[0] for op in module.walk()})):
            self._numbering.dialect(name)
        self._collect(module)
        entries, places = self._numbering.finish()
        names = self._names()
        body = Output()
        body.flagged(1, False)
        self._operation(body, module, 0)
        properties = self._properties()
        output = Output()
        output.put(MAGIC)
        output.varint(self._version)
        output.text(producer)
        write_section(output, Section.DIALECTS, names)
        write_section(output, Section.ENTRIES, entries)
        write_section(output, Section.OFFSETS, places)
        write_section(output, Section.IR, bytes(body.data))
        self._write_resources(output)
        write_section(output, Section.STRINGS, write_strings(self._numbering.strings))
        if self._version >= NATIVE_PROPERTIES:
            write_section(output, Section.PROPERTIES, properties)
        return bytes(output.data)

    # -- numbering

    def _collect(self, op: Operation) -> None:
        """Notes all that an op and the ops in it refer to."""
        numbering = self._numbering
        name = written_name(op)
        if name not in self._ops:
            self._ops[name] = 0
            numbering.string(name.partition(".")[2])
        parts = self._parts[id(op)] = self._parts_of(op, name)
        for attribute in (self._location(op.location), parts.attributes, parts.dictionary, *(value for _, value in parts.native)):
            if attribute is not None:
                numbering.attribute(attribute)
        for result in op.results:
            numbering.type(result.type)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.args:
                    numbering.type(argument.type)
                    numbering.attribute(self._location(argument.location))
                inner = block.first_op
                while inner is not None:
                    self._collect(inner)
                    inner = inner.next_op

    def _location(self, location: LocationAttr) -> LocationAttr:
        return location if self._locations else UNKNOWN_LOC

    def _parts_of(self, op: Operation, name: str) -> Parts:
        if is_shortened(op):
            hint = "write text, which mlir-opt --emit-bytecode reads"
            raise error_at(op, f"'{name}' is held in a form that only text has, and cannot be written as bytecode", hint)
        attributes: Mapping[str, Attribute] = op.attributes
        if isinstance(op, UnregisteredOp):
            attributes = {key: value for key, value in attributes.items() if value is not op.op_name}
        if self._version < NATIVE_PROPERTIES:
            return Parts(self._dictionary({**attributes, **op.properties}))
        table = self._table(name)
        if table is None:
            return Parts(self._dictionary(attributes), dictionary=self._dictionary(op.properties))
        everything = {**attributes, **op.properties}
        native = tuple(self._native(op, key, everything) for key in table)
        if all(key.endswith(LATER) and value is None for key, value in native):
            native = ()  # as definitions write it that do not know the property
        named = {key.rstrip("?+") for key, _ in native} | {key.partition(":")[0] for key, _ in native}
        return Parts(self._dictionary({key: value for key, value in everything.items() if key not in named}), native)

    def _native(self, op: Operation, key: str, values: Mapping[str, Attribute]) -> tuple[str, Attribute | None]:
        value = values.get(key.partition(":")[0].rstrip("?+"))
        if value is None and not key.endswith(("?", LATER)):
            raise error_at(op, f"'{written_name(op)}' has no '{key.partition(':')[0]}', which bytecode needs")
        return key, value

    def _dictionary(self, entries: Mapping[str, Attribute]) -> DictionaryAttr | None:
        """A dictionary of attributes; one of the same objects is one object."""
        if not entries:
            return None
        key = tuple((name, id(value)) for name, value in sorted(entries.items()))
        known = self._dictionaries.get(key)
        if known is None:
            known = self._dictionaries[key] = DictionaryAttr(dict(entries))
        return known

    # -- sections

    def _names(self) -> bytes:
        output = Output()
        numbering, version = self._numbering, self._version
        output.varint(len(numbering.dialects))
        for dialect in numbering.dialects:
            number = numbering.strings[dialect]
            output.varint(number << 1 if version >= DIALECT_VERSIONS else number)
        by_dialect: dict[str, list[str]] = {}
        for name in self._ops:
            by_dialect.setdefault(name.partition(".")[0], []).append(name)
        if version >= ELIDED_LOCATIONS:
            output.varint(len(self._ops))
        number = 0
        for dialect, names in by_dialect.items():
            output.varint(numbering.dialects[dialect])
            output.varint(len(names))
            for name in names:
                self._ops[name], number = number, number + 1
                short = numbering.strings[name.partition(".")[2]]
                known = self._table(name) is not None
                output.varint(short << 1 | known if version >= NATIVE_PROPERTIES else short)
        return bytes(output.data)

    def _properties(self) -> bytes:
        output = Output()
        output.varint(len(self._blobs))
        for blob in self._blobs:
            output.varint(len(blob))
            output.put(blob)
        return bytes(output.data)

    def _write_resources(self, output: Output) -> None:
        resources = self._numbering.resources
        if not resources:
            return
        offsets = Output()
        offsets.varint(0)
        offsets.varint(self._numbering.dialects[BUILTIN])
        offsets.varint(len(resources))
        for name in resources:
            offsets.varint(self._numbering.strings[name])
            offsets.varint(0)
            offsets.byte(0)
        write_section(output, Section.RESOURCES, b"")
        write_section(output, Section.RESOURCE_OFFSETS, bytes(offsets.data))

    # -- ops

    def _operation(self, output: Output, op: Operation, first: int) -> None:
        """Writes an op; values that it defines inside are numbered from ``first`` on."""
        numbering, parts = self._numbering, self._parts[id(op)]
        output.varint(self._ops[written_name(op)])
        operands, results, regions = op.operands, op.results, op.regions
        mask = parts.mask | (_RESULTS if results else 0) | (_OPERANDS if operands else 0)
        output.byte(mask | (_SUCCESSORS if op.successors else 0) | (_REGIONS if regions else 0))
        output.varint(numbering.attribute(self._location(op.location)).number)
        if parts.attributes is not None:
            output.varint(numbering.attribute(parts.attributes).number)
        if parts.dictionary is not None:
            output.varint(numbering.attribute(parts.dictionary).number)
        elif parts.native:
            output.varint(self._blobs.setdefault(self._blob(parts), len(self._blobs)))
        if results:
            output.varint(len(results))
            for result in results:
                output.varint(numbering.type(result.type).number)
        if operands:
            output.varint(len(operands))
            for operand in operands:
                output.varint(self._values[operand])
        if op.successors:
            output.varint(len(op.successors))
            for successor in op.successors:
                output.varint(_index(successor))
        if regions:
            self._regions(output, op, first)

    def _blob(self, parts: Parts) -> bytes:
        """Properties as the op's definition encodes them."""
        output, numbering = Output(), self._numbering
        groups = [(key, value) for key, value in parts.native if _SEGMENTS in key]
        if self._version < NATIVE_SEGMENTS:
            for _, value in groups:
                assert value is not None
                output.varint(numbering.attribute(value).number)
        for key, value in parts.native:
            if _SEGMENTS in key:
                continue
            number = 0 if value is None else numbering.attribute(value).number
            if not key.endswith(("?", LATER)):
                output.varint(number)
            else:
                output.varint(number << 1 | 1 if value is not None else 0)
        if self._version >= NATIVE_SEGMENTS:
            for _, value in groups:
                assert value is not None
                sizes = ints(value)
                output.flagged(len(sizes), False)
                for size in sizes:
                    output.varint(size)
        return bytes(output.data)

    def _regions(self, output: Output, op: Operation, first: int) -> None:
        isolated = op.has_trait(IsolatedFromAbove, value_if_unregistered=False)
        output.flagged(len(op.regions), isolated)
        inner = Output() if isolated and self._version >= LAZY_REGIONS else output
        for region in op.regions:
            self._region(inner, region, 0 if isolated else first)
        if inner is not output:
            write_section(output, Section.IR, bytes(inner.data))

    def _region(self, output: Output, region: Region, first: int) -> None:
        blocks = list(region.blocks)
        output.varint(len(blocks))
        if not blocks:
            return
        number = first
        for block in blocks:
            for value in _defined(block):
                self._values[value] = number
                number += 1
        output.varint(number - first)
        for block in blocks:
            self._block(output, block, number)

    def _block(self, output: Output, block: Block, first: int) -> None:
        ops = list(block.ops)
        output.flagged(len(ops), bool(block.args))
        if block.args:
            output.varint(len(block.args))
            for argument in block.args:
                self._argument(output, argument)
            if self._version >= USE_LISTS:
                output.byte(0)
        for op in ops:
            self._operation(output, op, first)

    def _argument(self, output: Output, argument: Any) -> None:
        type, location = self._numbering.type(argument.type).number, self._location(argument.location)
        if self._version < ELIDED_LOCATIONS:
            output.varint(type)
            output.varint(self._numbering.attribute(location).number)
            return
        known = not isinstance(location, UnknownLoc)
        output.flagged(type, known)
        if known:
            output.varint(self._numbering.attribute(location).number)


_WITHOUT_REGIONS = frozenset(f"linalg.{name}" for name in ("yield", "index", "softmax", "pack", "unpack")) | frozenset(
    f"linalg.winograd_{name}_transform" for name in ("filter", "input", "output")
)


def is_shortened(op: Operation) -> bool:
    """Whether an op of linalg lacks what its custom form leaves out: the region of a named op, or the enumeration that words of iterators are."""
    if not op.name.startswith("linalg."):
        return False
    iterators = getattr(op.properties.get("iterator_types", op.attributes.get("iterator_types")), "data", ())
    return (not op.regions and op.name not in _WITHOUT_REGIONS) or any(isinstance(word, StringAttr) for word in iterators)


def _defined(block: Block) -> list[SSAValue]:
    """The values that a block defines, but for those in regions of its ops."""
    values: list[SSAValue] = list(block.args)
    op = block.first_op
    while op is not None:
        values += op.results
        op = op.next_op
    return values


def _index(block: Block) -> int:
    """The number of a block in its region."""
    assert block.parent is not None
    return next(number for number, other in enumerate(block.parent.blocks) if other is block)
