"""The section of properties: what ops have beside attributes, since version 5 encoded by the op's definition in upstream.

A definition encodes the properties in the order of their names, each as an attribute that the op has or may have, and the sizes of its groups of operands and
of results: before version 6 as an attribute in front, since then as a list of integers at the end, in which zeros may be left out.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr
from xdsl.ir import Attribute

from wengert.ir.attributes import segment_sizes
from wengert.ir.bytecode.cursor import Cursor
from wengert.ir.bytecode.entries import Entries, EntryCursor
from wengert.ir.bytecode.names import OpName
from wengert.ir.bytecode.sections import NATIVE_SEGMENTS

LATER = "+"
"""The mark of a property that an op may have, and that the op's definition had not in all versions: the last one, which may be missing."""

_SEGMENTS = "SegmentSizes:"
_MOST_SEGMENT_BITS = 8


class Properties:
    """The properties of a file by number: each is decoded anew for every op that has it."""

    def __init__(self, section: Cursor | None, entries: Entries, version: int):
        self._entries, self._version = entries, version
        self._places: list[tuple[int, int]] = []
        self._read: dict[tuple[int, str], dict[str, Attribute]] = {}
        if section is None:
            return
        for _ in range(section.count("properties")):
            size = section.varint()
            start = section.here
            section.take(size)
            self._places.append((start, start + size))
        section.finish("properties")

    def read(self, cursor: Cursor, op: OpName) -> dict[str, Attribute]:
        """Reads the number of properties of an op: the properties."""
        number = cursor.varint()
        read = self._read.get((number, op.name))
        if read is None:
            read = self._read[number, op.name] = self._decode(number, op, cursor)
        return read

    def _decode(self, number: int, op: OpName, at: Cursor) -> dict[str, Attribute]:
        if not op.registered:
            return self._dictionary(self._entries.attribute(number, at), at)
        if number >= len(self._places):
            at.fail(f"the bytecode is damaged: there are no properties {number} among {len(self._places)}")
        names = self._entries.vocabulary.properties(op.name)
        cursor = EntryCursor(self._entries, *self._places[number])
        if names is None:
            hint = "write the file with --emit-bytecode-version=4, where properties are attributes"
            at.fail(f"how the properties of '{op.name}' are encoded is not known", hint=hint)
        properties = self._native(names, cursor)
        if cursor.left:
            cursor.fail(f"the properties of '{op.name}' are encoded in another way: the bytecode is damaged, or of another version of the op")
        return self.without_defaults(op, properties)

    def _native(self, names: tuple[str, ...], cursor: EntryCursor) -> dict[str, Attribute]:
        properties: dict[str, Attribute] = {}
        plain = [name for name in names if _SEGMENTS not in name]
        groups = [name.partition(":")[::2] for name in names if _SEGMENTS in name]
        if self._version < NATIVE_SEGMENTS:
            for name, _ in groups:
                properties[name] = cursor.attribute()
        for name in plain:
            if not name.endswith(("?", LATER)):
                properties[name] = cursor.attribute()
            elif name.endswith(LATER) and not cursor.left:
                break
            elif (number := cursor.varint()) & 1:
                properties[name[:-1]] = self._entries.attribute(number >> 1, cursor)
        if self._version >= NATIVE_SEGMENTS:
            for name, count in groups:
                properties[name] = _sizes(cursor, int(count))
        return properties

    def without_defaults(self, op: OpName, properties: dict[str, Attribute]) -> dict[str, Attribute]:
        """The properties but for those that text leaves out."""
        defaults = self._entries.vocabulary.defaults(op.name)
        return {name: value for name, value in properties.items() if defaults.get(name) != value} if defaults else properties

    def _dictionary(self, attribute: Attribute, at: Cursor) -> dict[str, Attribute]:
        if not isinstance(attribute, DictionaryAttr):
            at.fail("the bytecode is damaged: the properties of an op are no dictionary")
        return dict(attribute.data)


def _sizes(cursor: Cursor, count: int) -> DenseArrayBase:
    """Reads the sizes of so many groups, of which only some may be written."""
    sizes = [0] * count
    coded = cursor.varint()
    written = coded >> 1
    if written > count:
        cursor.fail(f"the bytecode is damaged: {written} sizes for {count} groups")
    if written and coded & 1:
        bits = cursor.varint()
        if bits > _MOST_SEGMENT_BITS:
            cursor.fail("the bytecode is damaged: the sizes of groups are coded wrongly")
        for _ in range(written):
            pair = cursor.varint()
            place, size = pair & (1 << bits) - 1, pair >> bits
            if place >= count:
                cursor.fail(f"the bytecode is damaged: there is no group {place} among {count}")
            sizes[place] = size
    else:
        sizes[:written] = [cursor.varint() for _ in range(written)]
    if any(size >= 1 << 31 for size in sizes):
        cursor.fail("the bytecode is damaged: a group is too large")
    return segment_sizes(*sizes)
