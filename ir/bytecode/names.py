"""The section of dialects: their names, the versions that they may note, and the names of ops by dialect."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from wengert.ir.bytecode.cursor import Cursor
from wengert.ir.bytecode.sections import DIALECT_VERSIONS, ELIDED_LOCATIONS, NATIVE_PROPERTIES, Section, read_section
from wengert.ir.bytecode.strings import Strings


class OpName(Struct, frozen=True):
    """The name of an op, and whether the program that wrote the file knew the op, so that its properties are encoded by the op's definition."""

    name: str
    registered: bool


class Names(Struct, frozen=True):
    """The dialects and the op names of a file, by number."""

    dialects: list[str]
    ops: list[OpName]


def read_names(section: Cursor, strings: Strings, version: int) -> Names:
    """Reads the section."""
    dialects = [_dialect(section, strings, version) for _ in range(section.count("dialects"))]
    ops: list[OpName] = []

    def op(dialect: str) -> None:
        number = section.varint()
        registered = False
        if version >= NATIVE_PROPERTIES:
            number, registered = number >> 1, bool(number & 1)
        name = strings.at(number, section)
        ops.append(OpName(f"{dialect}.{name}" if name else dialect, registered))

    if version >= ELIDED_LOCATIONS:
        section.count("names of ops")
    while section.left:
        read_group(section, dialects, op)
    return Names(dialects, ops)


def _dialect(section: Cursor, strings: Strings, version: int) -> str:
    number = section.varint()
    has_version = version >= DIALECT_VERSIONS and number & 1
    name = strings.at(number >> 1 if version >= DIALECT_VERSIONS else number, section)
    if has_version:
        start = section.here
        kind, _ = read_section(section)
        if kind is not Section.VERSIONS:
            section.fail("the bytecode is damaged: the version of a dialect is missing", start)
    return name


def read_group(cursor: Cursor, dialects: list[str], one: Callable[[str], None]) -> None:
    """Reads a group of things of one dialect: its number, how many, and each by ``one``."""
    number = cursor.varint()
    if number >= len(dialects):
        cursor.fail(f"the bytecode is damaged: there is no dialect {number} among {len(dialects)}")
    for _ in range(cursor.count("entries")):
        one(dialects[number])
