"""The sections of resources: the bytes of constants that are written ``dense_resource<name>``, aligned in the file.

Other resources, such as the options of MLIR's reproducers, mean nothing here and are passed over.
"""

from __future__ import annotations

from wengert.ir.bytecode.cursor import Cursor
from wengert.ir.bytecode.names import read_group
from wengert.ir.bytecode.sections import Section
from wengert.ir.bytecode.strings import Strings

_BLOB = 0


class Resources:
    """The resources of dialects by number: names, and bytes of those that have any."""

    def __init__(self, sections: dict[Section, Cursor], strings: Strings, dialects: list[str]):
        self._resources: list[tuple[str, bytes | None]] = []
        offsets, contents = sections.get(Section.RESOURCE_OFFSETS), sections.get(Section.RESOURCES)
        if offsets is None or contents is None:
            if offsets is not contents:
                present = contents or offsets
                assert present is not None
                present.fail("the bytecode is damaged: one of the two sections of resources is missing")
            return
        for _ in range(offsets.count("groups of resources")):
            strings.read(offsets)
            for _ in range(offsets.count("resources")):
                self._resource(offsets, contents, strings)

        def one(_: str) -> None:
            self._resources.append(self._resource(offsets, contents, strings))

        while offsets.left:
            read_group(offsets, dialects, one)

    def _resource(self, offsets: Cursor, contents: Cursor, strings: Strings) -> tuple[str, bytes | None]:
        name, size, kind = strings.read(offsets), offsets.varint(), offsets.byte()
        start = contents.here
        contents.take(size)
        if kind != _BLOB or not size:
            return name, None
        entry = contents.within(start, start + size)
        alignment, length = entry.varint(), entry.varint()
        entry.align(alignment)
        return name, entry.take(length)

    def read(self, cursor: Cursor) -> tuple[str, bytes | None]:
        """Reads the number of a resource: its name and its bytes."""
        number = cursor.varint()
        if number >= len(self._resources):
            cursor.fail(f"the bytecode is damaged: there is no resource {number} among {len(self._resources)}")
        return self._resources[number]
