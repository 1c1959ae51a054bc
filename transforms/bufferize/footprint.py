"""Counts the bytes that a program on buffers takes."""

from __future__ import annotations

from msgspec import Struct
from xdsl.dialects.func import FuncOp

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
    """The bytes that a function on buffers takes."""
    spaces = dict.fromkeys(Space, 0)
    for op in ops_of(function, AllocOp, GlobalOp):
        spaces[space_of(op.memref.type)] += byte_size(op.memref)
    inputs = results = 0
    for argument in function.body.block.args:
        if is_result(function, argument.index):
            results += byte_size(argument)
        else:
            inputs += byte_size(argument)
    return Footprint(inputs, results, spaces[Space.CONSTANT], spaces[Space.ARENA], spaces[Space.STACK])
