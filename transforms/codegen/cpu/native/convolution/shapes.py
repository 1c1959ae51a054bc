"""The loops of a direct convolution: its padded input, what lanes are, its parts, and how threads share them.

One thread computes a block of images after the other. Threads share the blocks, or pieces of them, which are ranges of rows (of output features where positions
are in lanes); a long sum is shared by ranges of its terms, each with a result of its own, which are added up in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product
from math import gcd, prod

from msgspec.structs import replace

from wengert.dialects import stablehlo
from wengert.dialects.kernel.schedule import Cut
from wengert.dialects.stablehlo.convolution_windows import windows_of
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.native.base import ROWS, TERM_ROWS, TERMS, Cuttable, NativeKernel
from wengert.transforms.codegen.cpu.native.boxes import strides_of
from wengert.transforms.codegen.cpu.native.convolution.bands import REPEATED, Band, best_count, rows_band, window_band
from wengert.transforms.codegen.cpu.native.convolution.geometry import Phase, phases, room
from wengert.transforms.codegen.cpu.native.convolution.tables import Axis, Part, merged, points
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.target import Target

POSITIONS = 256
"""Images are taken together until there are about so many positions."""
NEAR_BYTES = 1 << 17
"""A kernel of more bytes is not read again and again for every group of positions."""
FILLED = 0.7
"""Positions are in lanes if they fill them to this share of what features would, whose kernel is copied and whose results are turned."""
LEAST_LINE = 4
"""Shorter lines are not added up in lanes."""
FLOPS_PER_NS = 60.0
PREPARED_NS = 0.4
"""The nanoseconds of padding or packing an element."""
ADDED_NS = 0.5
"""The nanoseconds that an element of the result costs for each range of terms: it is written apart, which takes room in the caches, and added up."""
MOST_RANGES = 32
ENOUGH_RANGES = 16
"""So many images need not be cut into bands."""


class ConvolutionShapes(NativeKernel):
    """Extents that follow from the shapes, and from the schedule's cut."""

    def __init__(self, op: stablehlo.ConvolutionOp, target: Target):
        super().__init__(op, target)
        self.w = w = windows_of(op)
        self.element = value_element(op.lhs)
        lhs, rhs, out = (tuple(shape(value)) for value in (op.lhs, op.rhs, op.result))
        self.groups = w.groups * w.batch_groups
        self.images, self.features = lhs[w.lhs[0]] // w.batch_groups, rhs[w.rhs[0]]
        self.outputs = rhs[w.rhs[1]] // self.groups
        self.spaces = [phases(out[w.out[i + 2]], rhs[w.rhs[i + 2]], w.strides[i], w.base[i], w.dilations[i], low) for i, low in enumerate(w.low)]

    # -- the input, padded

    @cached_property
    def block(self) -> int:
        """The number of images that are computed together: a divisor of their number."""
        if self.w.batch_groups > 1 or self.w.out[0] != 0:
            return self.images
        out = shape(self.op.result)
        wanted = -(-POSITIONS // prod([out[d] for d in self.w.out[2:]]))
        return next(b for b in range(1, self.images + 1) if self.images % b == 0 and (b >= wanted or b == self.images))

    @cached_property
    def room(self) -> list[tuple[int, int]]:
        """Zeros before and after, by dimension in space."""
        return [room(phases_of_axis, shape(self.op.lhs)[d]) for phases_of_axis, d in zip(self.spaces, self.w.lhs[2:], strict=True)]

    @cached_property
    def is_padded(self) -> bool:
        """Whether the input is copied: for the zeros around it, or since lanes read beyond the end."""
        if not self.whole_parts:
            return False
        return any(low or high for low, high in self.room) or ((self.by_position or self.by_channel) and self.lanes > self.active)

    @cached_property
    def extents(self) -> list[int]:
        """The padded input of a block of images, in the input's order of dimensions (the input itself, where it is not copied)."""
        padded = list(shape(self.op.lhs))
        if any(low or high for low, high in self.room):
            padded[self.w.lhs[0]] = self.block * self.w.batch_groups
            padded[self.w.lhs[1]] //= self.ranges
            for d, (low, high) in zip(self.w.lhs[2:], self.room, strict=True):
                padded[d] += low + high
            if self.band is not None:
                padded[self.band.dimension] = self.band.extent
        return padded

    @cached_property
    def x_strides(self) -> tuple[int, ...]:
        return strides_of(self.extents)

    # -- the form

    @cached_property
    def line(self) -> int:
        """The dimension in space along whose outputs both the input and the result are contiguous, or -1."""
        x, out = self.x_strides, strides_of(shape(self.op.result))
        for i, (d, o) in enumerate(zip(self.w.lhs[2:], self.w.out[2:], strict=True)):
            if all(p.x_step * x[d] == 1 and p.count > 1 for p in self.spaces[i]) and out[o] == 1:
                return i
        return -1

    @cached_property
    def by_position(self) -> bool:
        """Whether lanes are positions."""
        if self.line < 0 or strides_of(shape(self.op.result))[self.w.out[1]] == 1 or prod(shape(self.op.rhs)) * self.element.size > NEAR_BYTES:
            return False
        return self._filled(min(p.count for p in self.spaces[self.line])) >= FILLED * self._filled(self.outputs)

    def _filled(self, columns: int) -> float:
        """The share of the lanes of whole registers that so many columns fill."""
        lanes = self.target.vector_bytes // self.element.size
        return columns / (-(-columns // lanes) * lanes)

    @cached_property
    def by_channel(self) -> bool:
        """Whether lanes are groups, of one output each, that are neighbours everywhere."""
        return self.groups > 1 and self.outputs == 1 and self.group_steps == (1, 1, 1)

    @cached_property
    def by_line(self) -> bool:
        """Whether lanes are neighbours along lines that are added up, each group giving results far from one another."""
        if self.outputs > 1 or self.by_channel or self.by_position or not self.whole_parts:
            return False
        lines = [part.contracted[-1] if part.contracted else Axis(1) for part in self.whole_parts]
        return all(line.extent >= LEAST_LINE and line.a == line.b == 1 for line in lines)

    @cached_property
    def lanes(self) -> int:
        """The number of columns in a vector."""
        lanes = self.target.vector_bytes // self.element.size
        if self.by_line:
            return lanes
        wanted = min(p.count for p in self.spaces[self.line]) if self.by_position else self.columns
        while lanes > 1 and lanes // 2 >= wanted:
            lanes //= 2
        return lanes

    @cached_property
    def active(self) -> int:
        """The number of lanes that are used in a vector that is not full."""
        if not self.by_position:
            return (self.columns - 1) % self.lanes + 1
        return min(self.lanes, *(p.count for p in self.spaces[self.line]))

    @property
    def columns(self) -> int:
        """The number of features, or groups, in lanes."""
        return self.groups if self.by_channel else self.outputs

    @property
    def looped_groups(self) -> int:
        """The groups that are computed one after another."""
        return 1 if self.by_channel else self.groups

    @cached_property
    def whole_parts(self) -> list[Part]:
        """The work of one group on one block of images, by combination of phases; without those whose window is empty."""
        return [self._part(chosen) for chosen in product(*self.spaces) if all(p.window for p in chosen)]

    @property
    def leaves_zeros(self) -> bool:
        """Whether some results are empty sums."""
        return len(self.whole_parts) < prod(map(len, self.spaces))

    @cached_property
    def work(self) -> float:
        """Nanoseconds of one block of images, or of one range of features, about."""
        return 2.0 * self.looped_groups * sum(points((*p.rows, *p.columns, *p.contracted)) for p in self.whole_parts) / FLOPS_PER_NS

    # -- cuts for threads

    @cached_property
    def uncut(self) -> ConvolutionShapes:
        """The same convolution, as it is on one thread."""
        return self if self.schedule.cut is None else type(self)(self.op, self.target)

    @cached_property
    def outer_space(self) -> int:
        """The dimension in space that is outermost in the input."""
        return min(range(len(self.spaces)), key=lambda i: self.w.lhs[i + 2])

    def cuttable(self) -> Mapping[int, Cuttable]:
        return {ROWS: Cuttable(self.rows_to_cut()), TERMS: Cuttable(self.terms_to_cut()), TERM_ROWS: Cuttable(self.term_rows_to_cut())}

    def rows_to_cut(self) -> int:
        """The number of rows of the result that all parts have, or 0."""
        whole = self.uncut
        if whole.leaves_zeros or not whole.whole_parts or not all(part.rows for part in whole.whole_parts):
            return 0
        return gcd(*[part.rows[0].extent for part in whole.whole_parts])

    def term_rows_to_cut(self) -> int:
        """The rows of the window, over which each feature's part of a long sum may be cut too, if they are those of the input."""
        space = self.spaces[self.outer_space]
        along_rows = self.uncut.by_line and len(self.spaces) == 1  # lanes go along what would be cut
        return space[0].window if self.terms_to_cut() and len(space) == 1 and not along_rows else 0

    def _rows_band(self, bands: int) -> Band | None:
        """The band of the input that a piece of rows reads, if its rows are those of the input and it is padded."""
        i, whole = self.outer_space, self.uncut
        if not whole.is_padded or whole.by_position or not any(low or high for low, high in self.room):
            return None
        band = rows_band(self.w.lhs[i + 2], self.spaces[i], bands)
        if band is None or any(part.rows[0].extent * part.rows[0].a != band.step * bands * whole.x_strides[band.dimension] for part in whole.whole_parts):
            return None
        return band if all(part.rows[0].extent == p.count for part in whole.whole_parts for p in self.spaces[i] if p.window) else None

    @property
    def _row_elements(self) -> int:
        """The elements of a row of the padded input, all images, or terms, and features."""
        return prod(self.extents) // self.extents[self.w.lhs[self.outer_space + 2]]

    @cached_property
    def band(self) -> Band | None:
        """What a piece, or a range of terms, reads of the padded input, if that is not all of it."""
        if self.bands > 1:
            return window_band(self.w.lhs[self.outer_space + 2], self.spaces[self.outer_space][0], self.bands)
        return self._rows_band(self.pieces) if self.pieces > 1 else None

    def terms_to_cut(self) -> int:
        """The features of a long sum, such as the images that the gradient of a kernel is summed over. Every range of them is a convolution of its own."""
        whole = self.uncut
        alone = self.images == self.block and self.w.groups == 1 and not (whole.leaves_zeros or whole.by_position)
        return self.features if alone and whole.whole_parts else 0

    def choose_cut(self) -> Cut | None:
        return self._choose_terms() or self._choose_rows()

    def _choose_terms(self) -> Cut | None:
        terms, rows = self.terms_to_cut(), self.term_rows_to_cut()
        most = min(wanted_chunks(self.work), MOST_RANGES, int(REPEATED * self.work / (ADDED_NS * prod(shape(self.op.result)))))
        if terms < min(ENOUGH_RANGES, most) and rows:
            i = self.outer_space
            row = PREPARED_NS * self._row_elements if self.is_padded else 0.0
            bands = best_count(rows, terms, most, self.work, lambda n: (n - 1) * row * window_band(i, self.spaces[i][0], n).overlap)
            if bands > 1:
                return Cut(TERM_ROWS, rows // bands)
        ranges = next((n for n in range(min(most, terms), 1, -1) if terms % n == 0), 1)
        return Cut(TERMS, terms // ranges) if ranges > 1 else None

    def _choose_rows(self) -> Cut | None:
        rows, blocks = self.rows_to_cut(), self.images // self.block
        if rows < 2:
            return None

        def repeated(bands: int) -> float:
            band = self._rows_band(bands)
            padded = 0 if not self.is_padded else prod(self.extents) if band is None else band.overlap * self._row_elements
            return PREPARED_NS * blocks * (bands - 1) * (padded + prod(shape(self.op.rhs)))

        bands = best_count(rows, blocks, wanted_chunks(blocks * self.work), blocks * self.work, repeated)
        return Cut(ROWS, rows // bands) if bands > 1 else None

    @cached_property
    def pieces(self) -> int:
        """Into how many ranges of rows every block is cut for threads, each of which pads and packs for itself."""
        cut = self.schedule.cut
        return 1 if cut is None or cut.loop else self.rows_to_cut() // cut.size

    @cached_property
    def ranges(self) -> int:
        """Into how many ranges of features the sums are cut for threads, each with a result of its own."""
        cut = self.schedule.cut
        return 1 if cut is None or not cut.loop else self.features if cut.loop == 2 else self.features // cut.size

    @cached_property
    def bands(self) -> int:
        """Into how many bands of the window each of them is cut besides."""
        cut = self.schedule.cut
        return self.spaces[self.outer_space][0].window // cut.size if cut is not None and cut.loop == 2 else 1

    @cached_property
    def parts(self) -> list[Part]:
        """The work of one group on one piece."""
        n = self.pieces
        return self.whole_parts if n == 1 else [replace(p, rows=(replace(p.rows[0], extent=p.rows[0].extent // n), *p.rows[1:])) for p in self.whole_parts]

    def _part(self, chosen: Sequence[Phase]) -> Part:
        w, x, k, out = self.w, self.x_strides, strides_of(shape(self.op.rhs)), strides_of(shape(self.op.result))
        kernel = shape(self.op.rhs)
        moving = [Axis(self.block, x[w.lhs[0]], 0, out[w.out[0]])]
        window: list[Axis] = []
        first_x = first_w = first_out = 0
        for i, p in enumerate(chosen):
            moving.append(Axis(p.count, p.x_step * x[w.lhs[i + 2]], 0, p.step * out[w.out[i + 2]]))
            sign = -1 if w.flips[i] else 1
            rows = p.window // self.bands if i == self.outer_space else p.window
            window.append(Axis(rows, p.x_window * x[w.lhs[i + 2]], sign * p.w_step * k[w.rhs[i + 2]]))
            first_x += (self.room[i][0] + p.origin) * x[w.lhs[i + 2]]
            first_w += (kernel[w.rhs[i + 2]] - 1 - p.w_first if w.flips[i] else p.w_first) * k[w.rhs[i + 2]]
            first_out += p.first * out[w.out[i + 2]]
        contracted = sorted([*window, Axis(self.features // self.ranges, x[w.lhs[1]], k[w.rhs[0]])], key=lambda axis: -axis.a)
        features = [Axis(self.columns, 0, k[w.rhs[1]], out[w.out[1]])]
        moving.sort(key=lambda axis: -axis.a)
        if not self.by_position:
            return Part(merged(moving), tuple(features), merged(contracted), first_x, first_w, first_out)
        moving = [axis for axis in moving if axis.extent > 1]  # the line is the last of them
        swapped = [[Axis(axis.extent, axis.b, axis.a, axis.c) for axis in axes] for axes in (features, moving, contracted)]
        return Part(tuple(swapped[0]), tuple(swapped[1]), merged(swapped[2]), first_w, first_x, first_out)

    @cached_property
    def group_steps(self) -> tuple[int, int, int]:
        """The distances in the input, the kernel and the result from group to group."""
        w, x, k, out = self.w, self.x_strides, strides_of(shape(self.op.rhs)), strides_of(shape(self.op.result))
        per_group = self.images * x[w.lhs[0]] if w.batch_groups > 1 else self.features * x[w.lhs[1]]
        return per_group, self.outputs * k[w.rhs[1]], self.outputs * out[w.out[1]]

    @property
    def band_steps(self) -> tuple[int, int]:
        """How far one band of the window is from the next, in the input and in the kernel."""
        i, kernel = self.outer_space, strides_of(shape(self.op.rhs))
        p = self.spaces[i][0]
        rows = p.window // self.bands
        steps = rows * p.x_window * self.x_strides[self.w.lhs[i + 2]], (-rows if self.w.flips[i] else rows) * p.w_step * kernel[self.w.rhs[i + 2]]
        return steps if self.bands > 1 else (0, 0)
