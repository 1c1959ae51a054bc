"""Cuts the images of a direct convolution into bands of rows, where there are fewer images than threads.

A band of the result reads the rows of the input around it, which it pads for itself, as it would an image of so many rows. The same serves a sum over the
positions of large windows (the gradient of a kernel): a range of its terms is a band of the window, which meets a band of the input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import ceil

from msgspec import Struct

from wengert.transforms.codegen.cpu.native.boxes import copy_box, zero
from wengert.transforms.codegen.cpu.native.convolution.geometry import Phase
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import Element

THREADS = (2, 4, 8, 16)
"""For so many threads the chunks are balanced."""
REPEATED = 0.05
"""The share of the work that may be repeated, or added, so that threads can share the rest."""
REPEATED_MORE = 0.02
"""The share where there are several images, which threads could share as they are."""


class Band(Struct, frozen=True):
    """The ``extent`` coordinates of the padded input that a band reads along one dimension; the next begins ``step`` later, the first ``low`` too early."""

    dimension: int
    extent: int
    step: int
    low: int

    @property
    def overlap(self) -> int:
        """The coordinates that a band and the next one read both."""
        return max(self.extent - self.step, 0)

    def pad(
        self,
        builder: KernelBuilder,
        element: Element,
        number: Index,
        source: str,
        of: tuple[Sequence[int], Sequence[int]],
        target: str,
        inside: tuple[int, Sequence[int]],
    ) -> None:
        """Copies the rows of the band of this number from an input, and zeros for those that it does not have. The target is contiguous.

        Args:
            builder: what the code is written to.
            element: the element type.
            number: which band.
            source: the address of the input.
            of: its extents, and its strides in elements.
            target: the address of the padded band.
            inside: where in a row of it the input begins, in elements, and its strides.
        """
        (extents, strides), (offset, steps), d = of, inside, self.dimension
        row = [1 if n <= d else extent for n, extent in enumerate(extents)]
        first = builder.add(builder.multiply(number, self.step), -self.low)
        with builder.loops(extents[:d]) as outer, builder.loop(0, self.extent) as loop:
            at = builder.add(first, loop.index)
            place = builder.address(target, element, builder.linear(list(zip([*outer, loop.index], steps, strict=False))))
            with builder.conditional(builder.icmp("ult", "i64", at, extents[d])) as branches:
                read = builder.address(source, element, builder.linear(list(zip([*outer, at], strides, strict=False))))
                copy_box(builder, element, row, read, strides, builder.address(place, element, offset), steps)
                branches.otherwise()
                zero(builder, place, steps[d] * element.size)


def rows_band(dimension: int, phases: Iterable[Phase], bands: int) -> Band | None:
    """The rows that a band of output rows reads; None if the phases have not the same number of rows, at the same steps."""
    looking = [p for p in phases if p.window]
    if len({(p.count, p.x_step) for p in looking}) != 1 or looking[0].count % bands:
        return None
    count, step = looking[0].count // bands, looking[0].x_step
    low = max([0, *(-p.origin for p in looking)])
    return Band(dimension, low + max(p.origin + step * (count - 1) + p.x_window * (p.window - 1) for p in looking) + 1, step * count, low)


def window_band(dimension: int, phase: Phase, bands: int) -> Band:
    """The elements that a band of a window reads, for all outputs."""
    rows, low = phase.window // bands, max(0, -phase.origin)
    return Band(dimension, low + phase.origin + phase.x_step * (phase.count - 1) + phase.x_window * (rows - 1) + 1, phase.x_window * rows, low)


def best_count(extent: int, others: int, most: int, work: float, extra: Callable[[int], float]) -> int:
    """Into how many equal bands an extent is best cut, of ``others`` images that are cut alike, into at most so many in all.

    Args:
        extent: what is cut.
        others: how many are cut.
        most: the number of all bands.
        work: the nanoseconds of all of them.
        extra: the nanoseconds that so many bands take longer than one.
    """

    def cost(bands: int) -> float:
        chunks = others * bands
        return sum([ceil(chunks / threads) * threads / chunks for threads in THREADS]) * (1 + extra(bands) / work)

    share = REPEATED if others == 1 else REPEATED_MORE
    able = [n for n in range(1, min(extent, most // others) + 1) if extent % n == 0 and extra(n) <= share * work]
    return min(able, key=cost, default=1)
