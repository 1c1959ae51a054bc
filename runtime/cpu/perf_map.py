"""Tells ``perf`` the functions of machine code that was loaded into memory: lines of ``/tmp/perf-<process>.map``, which it looks for by itself.

The file has the address, the size and the name of each function. They are read from the symbol table of the object file (ELF, 64 bits); for other
formats nothing is written.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

_SYMBOL_TABLE, _FUNCTION, _GLOBAL = 2, 2, 1
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


def functions_of(image: bytes) -> dict[str, tuple[int, int]]:
    """The functions of an object file by name: offset in their section and size. Empty for what is no ELF file of 64 bits."""
    return {name: place for name, place, _ in _all_functions(image)}


def visible(image: bytes) -> str | None:
    """The first function of an object file that others see."""
    return next((name for name, _, binding in _all_functions(image) if binding == _GLOBAL), None)


def _all_functions(image: bytes) -> list[tuple[str, tuple[int, int], int]]:
    if image[:6] != b"\x7fELF\x02\x01":
        return []
    (at,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    sections: list[tuple[int, ...]] = [_SECTION.unpack_from(image, at + number * size) for number in range(count)]
    return [function for table in sections if table[1] == _SYMBOL_TABLE for function in _functions(image, table, sections[table[6]][4])]


def _functions(image: bytes, table: tuple[int, ...], names: int) -> Iterator[tuple[str, tuple[int, int], int]]:
    """Names, places and bindings."""
    for start in range(table[4], table[4] + table[5], _SYMBOL.size):
        name, kind, _, _, value, size = _SYMBOL.unpack_from(image, start)
        if kind & 15 == _FUNCTION and size:
            yield image[names + name : image.index(0, names + name)].decode(), (value, size), kind >> 4


def write_map(image: bytes, entry: str, address: int, folder: str = "/tmp") -> None:
    """Appends the functions of an object file to this process's map, given where one of them was loaded. A file that cannot be written is left out."""
    functions = functions_of(image)
    if entry not in functions:
        return
    base = address - functions[entry][0]
    lines = [f"{base + offset:x} {size:x} {name}\n" for name, (offset, size) in functions.items()]
    try:
        with (Path(folder) / f"perf-{os.getpid()}.map").open("a") as file:
            file.writelines(lines)
    except OSError:
        return
