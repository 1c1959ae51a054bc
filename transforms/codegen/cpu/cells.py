"""Small values of loops on the stack, where LLVM turns them into registers.

What a loop carries from trip to trip and what its body computes lies in *cells*, one for each small buffer of the body. The
kernels of a body are inlined, so that all that is done with a cell are loads and stores at known places: scalar replacement of
aggregates makes values of them, after loops of few trips have been unrolled. A cell whose address is passed to code that is not
inlined simply stays in memory.
"""

from __future__ import annotations

from wengert.transforms.bufferize.buffers import Buffers, Space, byte_size

CELL_BYTES = 64
"""What is larger lies in the arena."""

PROMOTE = '"wengert-promote"'
"""The attribute of a function whose cells are to become registers."""


def cells(buffers: Buffers) -> dict[int, int]:
    """The bytes of the cell for each offset of a body's arena at which only small values lie. Buffers at different offsets hold
    different values, or are not live at once, so each may have a cell of its own."""
    sizes: dict[int, int] = {}
    for value, place in buffers.places.items():
        if place.space is Space.ARENA:
            sizes[place.at] = max(sizes.get(place.at, 1), byte_size(value))
    held = {place.at for place in buffers.scratch.values()}
    return {at: size for at, size in sizes.items() if size <= CELL_BYTES and at not in held}
