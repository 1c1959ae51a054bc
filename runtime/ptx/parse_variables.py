"""Declarations of variables and parameters, with their initial values."""

from __future__ import annotations

import struct

import numpy as np

from wengert.runtime.ptx.cursor import Cursor
from wengert.runtime.ptx.program import Symbol, Variable
from wengert.runtime.ptx.types import Scalar

LINKAGE = (".extern", ".visible", ".weak", ".common")
SPACES = (".global", ".const", ".shared", ".local", ".param")


def parse_variable(cursor: Cursor) -> Variable:
    """``.shared .align 4 .b8 name[256]``, with ``= {...}`` behind it if there is one."""
    space = cursor.take().text[1:]
    align = 0
    count = 1
    while cursor.token.kind == "dotted" and cursor.text in (".align", ".v2", ".v4", ".ptr", *SPACES, ".attribute"):
        word = cursor.take().text
        if word == ".align":
            align = cursor.integer()
        elif word in (".v2", ".v4"):
            count = int(word[2:])
        else:
            cursor.refuse(f"variables with '{word}' are not modelled", cursor.tokens[cursor.at - 1])
    type = cursor.type()
    align = _parse_pointer_facts(cursor) or align if space == "param" and cursor.text == ".ptr" else align
    token = cursor.kind("name", "a name")
    extent = _parse_extents(cursor)
    size = None if extent is None else type.size * count * extent
    data, references = (b"", ()) if not cursor.accept("=") else _parse_initializer(cursor, type)
    if size is not None and len(data) > size:
        cursor.fail(f"'{token.text}' has {size} bytes, its initial value {len(data)}", token)
    return Variable(token.text, space, type, max(align, type.size * count), size, cursor.place(token), data or None, references)


def _parse_pointer_facts(cursor: Cursor) -> int:
    """``.ptr .global .align 16``: what a pointer in a parameter points to. It says nothing about the parameter's own alignment."""
    cursor.expect(".ptr")
    while cursor.token.kind == "dotted":
        if cursor.take().text == ".align":
            cursor.integer()
    return 0


def _parse_extents(cursor: Cursor) -> int | None:
    extent: int | None = 1
    while cursor.accept("["):
        if cursor.accept("]"):
            extent = None
            continue
        number = cursor.integer()
        extent = None if extent is None else extent * number
        cursor.expect("]")
    return extent


def _parse_initializer(cursor: Cursor, type: Scalar) -> tuple[bytes, tuple[tuple[int, Symbol], ...]]:
    """The bytes of ``{...}`` or of one value, and the addresses among them."""
    data = bytearray()
    references: list[tuple[int, Symbol]] = []

    def element() -> None:
        if cursor.accept("{"):
            cursor.separated("}", element)
            return
        value = _parse_value(cursor)
        if isinstance(value, Symbol):
            references.append((len(data), value))
            value = 0
        data.extend(_encoded(cursor, value, type))

    element()
    return bytes(data), tuple(references)


def _parse_value(cursor: Cursor) -> int | float | Symbol:
    if cursor.token.kind == "name":
        name = cursor.take().text
        generic = name == "generic" and cursor.accept("(")
        if generic:
            name = cursor.kind("name", "the name of a variable").text
            cursor.expect(")")
        offset = cursor.integer() if cursor.accept("+") else cursor.integer() if cursor.text == "-" else 0
        return Symbol(name, offset, generic)
    sign = -1 if cursor.accept("-") else 1
    if cursor.token.kind == "float":
        return sign * parse_float(cursor.take().text)
    if cursor.following == "(":
        cursor.refuse("masked addresses in initial values are not modelled")
    return sign * cursor.integer()


def parse_float(text: str) -> float:
    """The number that a floating-point token stands for."""
    if text[:2] in ("0f", "0F"):
        return struct.unpack("<f", int(text[2:], 16).to_bytes(4, "little"))[0]
    if text[:2] in ("0d", "0D"):
        return struct.unpack("<d", int(text[2:], 16).to_bytes(8, "little"))[0]
    return float(text)


def _encoded(cursor: Cursor, value: float, type: Scalar) -> bytes:
    if type.kind == "f":
        return np.asarray(value).astype(type.dtype).tobytes()
    if isinstance(value, float):
        cursor.fail(f"a float in a variable of .{type.name}")
    return (value & ((1 << type.bits) - 1)).to_bytes(type.size, "little")
