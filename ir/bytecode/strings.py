"""The section of strings: the sizes of all, the last one first, then their bytes, each with a zero byte behind it."""

from __future__ import annotations

from collections.abc import Iterable

from wengert.ir.bytecode.cursor import Cursor
from wengert.ir.bytecode.output import Output


class Strings:
    """The strings of a file by number. A string is decoded when it is first asked for."""

    def __init__(self, section: Cursor):
        self._section = section
        end, places = section.end, list[tuple[int, int]]()
        for _ in range(section.count("strings")):
            at = section.here
            size = section.varint()
            if not 0 < size <= end - section.here:
                section.fail("the bytecode is damaged: a string is larger than its section", at)
            places.append((end - size, end - 1))
            end -= size
        if end != section.here:
            section.fail("the bytecode is damaged: bytes between the sizes of strings and their contents")
        self._places = places[::-1]
        self._texts: list[str | None] = [None] * len(places)

    def at(self, number: int, cursor: Cursor) -> str:
        """The string of a number that was read at the cursor."""
        if number >= len(self._texts):
            cursor.fail(f"the bytecode is damaged: there is no string {number} among {len(self._texts)}")
        text = self._texts[number]
        if text is None:
            text = self._texts[number] = self._section.decoded(*self._places[number])
        return text

    def read(self, cursor: Cursor) -> str:
        """Reads the number of a string: the string."""
        return self.at(cursor.varint(), cursor)


def write_strings(texts: Iterable[str]) -> bytes:
    """The contents of a section of strings."""
    encoded = [text.encode("utf-8", "surrogateescape") + b"\0" for text in texts]
    output = Output()
    output.varint(len(encoded))
    for data in reversed(encoded):
        output.varint(len(data))
    output.put(b"".join(encoded))
    return bytes(output.data)
