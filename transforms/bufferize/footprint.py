"""Reads from the IR how much memory a program takes."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from wengert.dialects.kernel.buffers import AllocOp, GlobalOp, is_result
from wengert.dialects.kernel.memory import Space, byte_size, space_of
from wengert.ir.traversal import ops_of


class Footprint(Struct, frozen=True):
    """The bytes of a function on buffers by where they lie. Scratch memory and what loops need is part of the arena; tapes grow while
    the program runs, and only their handles are counted. ``stack`` are cells, most of which become registers."""

    inputs: int
    results: int
    constants: int
    arena: int
    stack: int


def footprint(function: FuncOp) -> Footprint:
    """How many bytes a function on buffers takes."""
    arguments = function.body.block.args
    made = [op.memref for op in ops_of(function, AllocOp)]
    return Footprint(
        inputs=_bytes(argument for argument in arguments if not is_result(function, argument.index)),
        results=_bytes(argument for argument in arguments if is_result(function, argument.index)),
        constants=_bytes(op.memref for op in ops_of(function, GlobalOp)),
        arena=_bytes(memref for memref in made if space_of(memref.type) is Space.ARENA),
        stack=_bytes(memref for memref in made if space_of(memref.type) is Space.STACK),
    )


def _bytes(values: Iterable[SSAValue]) -> int:
    return sum(byte_size(value) for value in values)
