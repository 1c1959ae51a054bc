"""The sections that a bytecode file consists of, and their frame: a number for the kind, a length, an alignment if there is one, and the contents."""

from __future__ import annotations

from enum import IntEnum

from wengert.ir.bytecode.cursor import ALIGNMENT_BYTE, MAGIC, Cursor
from wengert.ir.bytecode.output import Output

LATEST = 6
"""The latest version of the format."""

DIALECT_VERSIONS, LAZY_REGIONS, USE_LISTS, ELIDED_LOCATIONS, NATIVE_PROPERTIES, NATIVE_SEGMENTS = 1, 2, 3, 4, 5, 6
"""The versions that brought something: versions of dialects, regions in sections of their own, the order of uses, no locations of arguments where they are
unknown, properties apart from attributes, and sizes of groups of operands that are no attributes."""


class Section(IntEnum):
    """The kinds of sections."""

    STRINGS = 0
    DIALECTS = 1
    ENTRIES = 2
    OFFSETS = 3
    IR = 4
    RESOURCES = 5
    RESOURCE_OFFSETS = 6
    VERSIONS = 7
    PROPERTIES = 8


_REQUIRED = (Section.STRINGS, Section.DIALECTS, Section.ENTRIES, Section.OFFSETS, Section.IR)
_NAMES = {
    Section.STRINGS: "strings",
    Section.DIALECTS: "dialects",
    Section.ENTRIES: "attributes and types",
    Section.OFFSETS: "the places of attributes and types",
    Section.IR: "operations",
    Section.RESOURCES: "resources",
    Section.RESOURCE_OFFSETS: "the places of resources",
    Section.VERSIONS: "versions",
    Section.PROPERTIES: "properties",
}


def read_header(cursor: Cursor) -> tuple[int, str]:
    """Reads the version of the format and the name of what wrote the file."""
    if cursor.take(min(4, cursor.left)) != MAGIC:
        cursor.fail("this is not MLIR bytecode, which begins with 'ML\\xefR'", 0)
    version = cursor.varint()
    if version > LATEST:
        cursor.fail(
            f"bytecode version {version} is not supported, only those up to {LATEST}", 4, hint=f"mlir-opt --emit-bytecode-version={LATEST} writes an older one"
        )
    return version, cursor.text()


def read_section(cursor: Cursor) -> tuple[Section, Cursor]:
    """Reads a section: its kind, and a cursor over its contents."""
    start = cursor.here
    mark = cursor.byte()
    kind = mark & 0x7F
    if kind not in _NAMES:
        cursor.fail(f"the bytecode is damaged: there is no section of kind {kind}", start)
    length = cursor.varint()
    if mark & 0x80:
        cursor.align(cursor.varint())
    if length > cursor.left:
        cursor.fail(f"the bytecode is damaged or truncated: a section of {length} bytes, {cursor.left} left", start)
    cursor.here += length
    return Section(kind), cursor.within(cursor.here - length, cursor.here)


def read_sections(cursor: Cursor) -> dict[Section, Cursor]:
    """Reads all sections up to the end of the file."""
    sections: dict[Section, Cursor] = {}
    while cursor.left:
        start = cursor.here
        kind, contents = read_section(cursor)
        if kind in sections:
            cursor.fail(f"the bytecode is damaged: two sections of {_NAMES[kind]}", start)
        sections[kind] = contents
    for kind in _REQUIRED:
        if kind not in sections:
            cursor.fail(f"the bytecode is damaged or truncated: it has no section of {_NAMES[kind]}")
    return sections


def write_section(output: Output, kind: Section, contents: bytes, alignment: int = 1) -> None:
    """Writes a section; aligned contents begin at a multiple of the alignment in the file."""
    output.byte(kind | (0x80 if alignment > 1 else 0))
    output.varint(len(contents))
    if alignment > 1:
        output.varint(alignment)
        output.put(bytes([ALIGNMENT_BYTE]) * (-output.size % alignment))
    output.put(contents)
