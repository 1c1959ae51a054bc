"""Finds what a nest reads transposed, and chooses whether it goes through workgroup memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.dialects.kernel import LoadOp, NestOp
from wengert.dialects.kernel.gpu_schedule import Transpose
from wengert.ir.tensor_types import bytes_of_type, tensor
from wengert.ir.traversal import ops_in
from wengert.transforms.schedule.gpu.products import MOST_WORKGROUP_BYTES

SIDE = 32
LEAST = 1 << 16
"""Nests of fewer iterations read with strides, from the cache."""


def transposed_loads(op: NestOp, loop: int, last: int) -> list[LoadOp]:
    """The loads that are contiguous along one loop, and have a stride along another."""
    loads = [inner for inner in ops_in(op.body.block) if isinstance(inner, LoadOp) and inner.base is None and inner.where is None]
    return [load for load in loads if (at := load.at.data).is_affine() and abs(at.coefficient(loop)) == 1 and abs(at.coefficient(last)) > 1]


def choose_transpose(op: NestOp, threads: Sequence[int]) -> Transpose | None:
    """The loop along which most of what is read with a stride along the last loop is contiguous; None if it does not pay."""
    extents = op.extents
    if len(threads) < 2 or prod(extents) < LEAST or extents[threads[-1]] < SIDE:
        return None

    def moved(loop: int) -> int:
        return sum(bytes_of_type(tensor((), load.result.type)) for load in transposed_loads(op, loop, threads[-1]))

    loop = max(threads[:-1], key=lambda d: (moved(d), d))
    fits = 0 < moved(loop) * SIDE * (SIDE + 1) <= MOST_WORKGROUP_BYTES
    return Transpose(loop, SIDE) if fits and extents[loop] >= SIDE else None
