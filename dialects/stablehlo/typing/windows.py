"""Windows that slide over dimensions: the arithmetic that convolution, reduce_window and select_and_scatter share."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects.stablehlo.typing.checks import Shape, fail, int_list, padding_pairs
from wengert.ir.tensor_types import DYNAMIC


class Windows(Struct, frozen=True):
    """One entry per dimension that a window slides along."""

    sizes: Shape
    strides: Shape
    padding: tuple[tuple[int, int], ...]
    base_dilations: Shape
    window_dilations: Shape

    def output(self, shape: Shape) -> Shape:
        """The number of windows that fit along each dimension of a base of this shape."""
        return tuple(self._count(d, n) for d, n in enumerate(shape))

    def _count(self, d: int, n: int) -> int:
        if DYNAMIC in (n, self.sizes[d]):
            return DYNAMIC
        base = 0 if n == 0 else (n - 1) * self.base_dilations[d] + 1
        padded = base + sum(self.padding[d])
        reach = 0 if self.sizes[d] == 0 else (self.sizes[d] - 1) * self.window_dilations[d] + 1
        if padded < 0:
            fail(f"padding of {self.padding[d][0]} and {self.padding[d][1]} leaves a negative extent of {padded} in window dimension {d}")
        return 0 if padded == 0 or reach > padded else (padded - reach) // self.strides[d] + 1


def windows(
    op: Operation,
    sizes: Shape,
    *,
    base: str | None = "base_dilations",
    window: str | None = "window_dilations",
    padding: Sequence[tuple[int, int]] | None = None,
) -> Windows:
    """The windows of an op by its properties, all positive but the padding.

    ``base`` and ``window`` name the properties that hold dilations; ``padding`` is given where the op stores it in its own way.
    """
    rank = len(sizes)
    count = "one for each window dimension"
    described = Windows(
        sizes,
        int_list(op, "window_strides", rank, 1, count),
        tuple(padding_pairs(op, rank) if padding is None else padding),
        int_list(op, base, rank, 1, count) if base else (1,) * rank,
        int_list(op, window, rank, 1, count) if window else (1,) * rank,
    )
    for name, values in (
        ("the window's extents", sizes),
        ("window_strides", described.strides),
        (base, described.base_dilations),
        (window, described.window_dilations),
    ):
        for d, value in enumerate(values):
            if value <= 0 and not (value == DYNAMIC and values is sizes):
                fail(f"{name} must be positive, found {value} for window dimension {d}")
    return described
