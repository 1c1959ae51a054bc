"""Special registers: where a thread is, and how many there are."""

from __future__ import annotations

from typing import Any

import numpy as np

Extents = tuple[int, int, int]

SPECIAL = frozenset(
    [f"%{name}.{axis}" for name in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    + ["%laneid", "%warpid", "%nwarpid", "%gridid", "%dynamic_smem_size", "%total_smem_size", "WARP_SZ"]
    + [f"%lanemask_{which}" for which in ("eq", "le", "lt", "ge", "gt")]
)
"""The names of the special registers that are modelled."""

WARP = 32
"""Threads in a warp."""


def coordinates(number: Any, extents: Extents) -> tuple[Any, Any, Any]:
    """The three coordinates of the thread or block with a linear number."""
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


def thread_registers(thread: Any, block_extents: Extents, grid: Extents, shared_bytes: tuple[int, int]) -> dict[str, Any]:
    """Special registers that do not depend on the block: u32 by name, for threads of these numbers within their blocks.

    ``shared_bytes`` is dynamic and total shared memory of a block.
    """
    lane = (thread % WARP).astype(np.uint64)
    one = np.uint64(1)
    below = (one << lane) - one
    threads = int(np.prod(block_extents))
    registers: dict[str, Any] = {
        "%laneid": lane,
        "%warpid": thread // WARP,
        "%lanemask_eq": one << lane,
        "%lanemask_lt": below,
        "%lanemask_le": below | (one << lane),
        "%lanemask_gt": ~(below | (one << lane)) & np.uint64(0xFFFFFFFF),
        "%lanemask_ge": ~below & np.uint64(0xFFFFFFFF),
    }
    registers |= {f"%tid.{axis}": value for axis, value in zip("xyz", coordinates(thread, block_extents))}
    registers |= {f"%ntid.{axis}": value for axis, value in zip("xyz", block_extents)}
    registers |= {f"%nctaid.{axis}": value for axis, value in zip("xyz", grid)}
    registers |= {"%nwarpid": -(-threads // WARP), "%gridid": 0, "WARP_SZ": WARP, "%dynamic_smem_size": shared_bytes[0], "%total_smem_size": shared_bytes[1]}
    return {name: np.broadcast_to(np.asarray(value).astype(np.uint32), thread.shape) for name, value in registers.items()}


def block_registers(block: Any, grid: Extents) -> dict[str, Any]:
    """The coordinates of the blocks with these numbers."""
    return {f"%ctaid.{axis}": np.asarray(value).astype(np.uint32) for axis, value in zip("xyz", coordinates(block, grid))}
