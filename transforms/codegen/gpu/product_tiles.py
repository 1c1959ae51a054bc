"""The tiles of a product's results, one for each group of threads: the loops that its nest has, how many tiles there are, and where each begins."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from wengert.dialects.kernel.gpu_schedule import GpuSchedule, Tile
from wengert.transforms.codegen.gpu.code import Code, Index
from wengert.transforms.schedule.placement import Placement, Write


class ProductTiles:
    """The tiles of a product.

    Args:
        placed: the nest with its loops in the order of its schedule: those around, rows, columns, and the summed one.
        schedule: its schedule.

    Attributes:
        tile: the extents of a tile, and who computes it.
        around: how many loops are around.
        row, column, depth: the loops over rows and columns, and the summed one.
    """

    def __init__(self, placed: Placement, schedule: GpuSchedule):
        assert schedule.tile is not None
        self.placed = placed
        self.tile: Tile = schedule.tile
        self.around = len(schedule.threads)
        self.row, self.column, self.depth = self.around, self.around + 1, self.around + 2

    @property
    def write(self) -> Write:
        """The one result."""
        (write,) = self.placed.writes
        return write

    @property
    def groups(self) -> int:
        """How many tiles there are, and so groups of threads."""
        return prod(self.placed.extents[: self.around]) * prod(self._counts)

    @property
    def _counts(self) -> list[int]:
        """The tiles along rows and along columns."""
        return [-(-self.placed.extents[d] // size) for d, size in zip((self.row, self.column), self.tile.size, strict=False)]

    def begin(self, code: Code, group: SSAValue) -> tuple[dict[int, Index], Index, Index]:
        """The indices of the loops around a group's tile, its first row and its first column. Neighbouring groups have neighbouring columns."""
        down, across = self._counts
        at = code.quotient(group, across)
        outside = code.quotient(at, down)
        row, column = code.times(code.remainder(at, down), self.tile.size[0]), code.times(code.remainder(group, across), self.tile.size[1])
        return self._indices_around(code, outside), row, column

    def _indices_around(self, code: Code, at: Index) -> dict[int, Index]:
        """The indices of the loops around, from the number of what they run."""
        index: dict[int, Index] = {}
        for d in reversed(range(self.around)):
            extent = self.placed.extents[d]
            index[d] = code.remainder(at, extent) if d else at
            at = code.quotient(at, extent)
        return index
