"""Reads the symbols of object files (ELF, 64 bits, little-endian; its specification is the System V ABI): the functions in them, and what they lack.

A file of another format has none of either.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

_SYMBOL_TABLE, _FUNCTION, _GLOBAL = 2, 2, 1
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


class _Symbol(NamedTuple):
    name: str
    kind: int
    binding: int
    section: int
    """Zero where the symbol is not in the file."""
    offset: int
    size: int

    @property
    def is_function(self) -> bool:
        return self.kind == _FUNCTION and self.size > 0


def functions_of(image: bytes) -> dict[str, tuple[int, int]]:
    """The functions of an object file by name: offset in their section and size."""
    return {symbol.name: (symbol.offset, symbol.size) for symbol in _symbols(image) if symbol.is_function}


def visible(image: bytes) -> str | None:
    """The first function of an object file that others see."""
    return next((symbol.name for symbol in _symbols(image) if symbol.is_function and symbol.binding == _GLOBAL), None)


def undefined(*images: bytes) -> set[str]:
    """The symbols that object files refer to and none of them defines. The table of addresses that the linker makes itself is none of them."""
    symbols = [symbol for image in images for symbol in _symbols(image)]
    return {s.name for s in symbols if not s.section} - {s.name for s in symbols if s.section} - {"", "_GLOBAL_OFFSET_TABLE_"}


def _symbols(image: bytes) -> Iterator[_Symbol]:
    if image[:6] != b"\x7fELF\x02\x01":
        return
    (at,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    sections: list[tuple[int, ...]] = [_SECTION.unpack_from(image, at + number * size) for number in range(count)]
    for table in sections:
        if table[1] == _SYMBOL_TABLE:
            names = sections[table[6]][4]
            for name, info, _, section, offset, extent in _SYMBOL.iter_unpack(image[table[4] : table[4] + table[5]]):
                yield _Symbol(image[names + name : image.index(0, names + name)].decode(), info & 15, info >> 4, section, offset, extent)
