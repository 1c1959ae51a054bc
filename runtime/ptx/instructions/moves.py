"""Moves between registers, packing and unpacking, and addresses of other spaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.runtime.ptx.accesses import WINDOWS
from wengert.runtime.ptx.instructions.context import Context, Run
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.program import Sink, Vector
from wengert.runtime.ptx.types import TYPES, UNSIGNED

_FAMILY = "Moves and conversions"


@models(
    "mov",
    family=_FAMILY,
    forms="`.pred`, 16, 32 and 64 bits; special registers, addresses; `{a, b}` from and to 32 and 64 bits; `.b128` from and to pairs refused",
)
def move(context: Context) -> Run:
    """A copy, or a word taken apart or put together."""
    type = context.type()
    target, source = (context.operands[0], context.operands[1]) if len(context.operands) == 2 else (None, None)
    if isinstance(target, Vector):
        return _unpack(context, target)
    if isinstance(source, Vector):
        return _pack(context, source)
    if type.bits in (8, 128) or type.kind in "ht" or type.count == 2:
        context.refuse(f".{type.name}")
    return context.elementwise(lambda x: x, type, type)


def _widths(context: Context, vector: Vector) -> tuple[Any, Any]:
    """The types of the word and of its elements."""
    bits = next((m for m in context.instruction.modifiers if m[1:].isdigit()), "b0")[1:]
    whole, part = TYPES.get(f"b{bits}"), TYPES.get(f"b{int(bits) // max(len(vector.elements), 1)}")
    if whole is None or part is None or whole.bits > 64:
        context.refuse("a word of these elements")
    return whole, part


def _unpack(context: Context, vector: Vector) -> Run:
    whole, part = _widths(context, vector)
    context.finish(2)
    read = context.read(1, whole)
    writes = [(k, context.writer(element, part)) for k, element in enumerate(vector.elements) if not isinstance(element, Sink)]
    word = UNSIGNED[whole.bits].type

    def run(lanes: Lanes) -> None:
        x = read(lanes)
        values = [(x >> word(k * part.bits)).astype(part.dtype) for k, _ in writes]
        for value, (_, write) in zip(values, writes):
            write(lanes, value)

    return run


def _pack(context: Context, vector: Vector) -> Run:
    whole, part = _widths(context, vector)
    context.finish(2)
    reads = [context.reader(element, part) for element in vector.elements]
    write = context.write(0, whole)
    word = UNSIGNED[whole.bits].type

    def run(lanes: Lanes) -> None:
        result = np.zeros(1, whole.dtype)
        for k, read in enumerate(reads):
            result = result | (read(lanes).astype(whole.dtype) << word(k * part.bits))
        write(lanes, result)

    return run


@models("cvta", family=_FAMILY, forms="`.to` and from, `.global .const .shared .local .param`, `.u64`")
def convert_address(context: Context) -> Run:
    """An address of a space as a generic one, or the other way."""
    to = context.flag("to")
    space = context.required("global", "const", "shared", "shared::cta", "local", "param")
    type = context.type("u64")
    start = np.array([WINDOWS.get(space.split("::")[0], 0)], type.dtype)
    return context.elementwise((lambda x: x - start) if to else (lambda x: x + start), type, type)


@models("isspacep", family=_FAMILY, forms="`.global .shared .local`")
def is_space(context: Context) -> Run:
    """Whether a generic address lies in a space."""
    space = context.required("global", "shared", "shared::cta", "local").split("::")[0]
    inside = {name: (np.uint64(start), np.uint64(start + (1 << 32))) for name, start in WINDOWS.items()}
    if space == "global":
        last = max(end for _, end in inside.values())
        return context.elementwise(lambda x: x >= last, TYPES["pred"], TYPES["u64"])
    start, end = inside[space]
    return context.elementwise(lambda x: (x >= start) & (x < end), TYPES["pred"], TYPES["u64"])
