"""Emits convolutions without a matrix of windows: register tiles whose operands lie in the padded input and in the kernel themselves.

Every element of the result is a sum over window positions and features of products of an input and a weight. A tile of some rows
by some vectors of columns of such sums stays in registers (:mod:`.tiles`). In one of two forms:

* features in lanes: rows are images and positions, columns the output features. The kernel is copied so that the features of a group of
  columns are neighbours, unless they lie so.
* positions in lanes: rows are output features, columns the positions of a line of the image, where that is contiguous.

Depthwise convolutions have groups of one feature: those are in lanes where they are neighbours, and where they are not, the gradient of
the kernel has lanes along lines (:mod:`.lines`).

Long contractions (the gradient of a kernel sums over all images) are cut into blocks whose operands stay in the nearest cache, as in K. Goto
and R. van de Geijn, ACM TOMS 34 (2008); the direct form is that of J. Zhang, F. Franchetti and T. M. Low, High Performance Zero-Memory
Overhead Direct Convolutions, ICML 2018. A dilated input falls into phases (:mod:`.geometry`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product
from math import gcd, prod

from msgspec.structs import replace

from wengert.dialects import stablehlo
from wengert.dialects.kernel.memory import aligned
from wengert.dialects.kernel.schedule import Cut
from wengert.dialects.stablehlo.convolution_windows import windows_of
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import f32, f64, rank, shape
from wengert.transforms.codegen.cpu.native.base import COMMON, NativeKernel, native
from wengert.transforms.codegen.cpu.native.boxes import copy_box, strides_of, zero
from wengert.transforms.codegen.cpu.native.convolution.geometry import Phase, phases, room
from wengert.transforms.codegen.cpu.native.convolution.lines import LineJob
from wengert.transforms.codegen.cpu.native.convolution.tables import Axis, Part, merged, points
from wengert.transforms.codegen.cpu.native.convolution.tiled_part import Form, Job
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.cpu.tasks import SCRATCH
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import vector
from wengert.transforms.kernel.winograd import MARK
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.target import GENERIC, Target

MOST_PHASES = 16
"""Each phase has code of its own, though the tiles are shared."""
ROWS = 256
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
REPEATED = 0.05
"""The share of the work that may be repeated, or added, so that threads can share the rest."""
ADDED_NS = 0.5
"""The nanoseconds that an element of the result costs for each range of terms: it is written apart, which takes room in the caches, and added up."""
MOST_RANGES = 32
FINISHED = 4096
"""The elements of the result that a chunk adds up at the end."""


@native(stablehlo.ConvolutionOp)
class DirectConvolution(NativeKernel):
    """Tables and copies, then tiles."""

    def __init__(self, op: stablehlo.ConvolutionOp, target: Target):
        super().__init__(op, target)
        self.w = w = windows_of(op)
        self.element = value_element(op.lhs)
        lhs, rhs, out = (tuple(shape(value)) for value in (op.lhs, op.rhs, op.result))
        self.groups = w.groups * w.batch_groups
        self.images, self.features = lhs[w.lhs[0]] // w.batch_groups, rhs[w.rhs[0]]
        self.outputs = rhs[w.rhs[1]] // self.groups
        self.spaces = [phases(out[w.out[i + 2]], rhs[w.rhs[i + 2]], w.strides[i], w.base[i], w.dilations[i], low) for i, low in enumerate(w.low)]

    @classmethod
    def supports(cls, op: stablehlo.ConvolutionOp) -> bool:
        types = {element_type(value) for value in (op.lhs, op.rhs, op.result)}
        if MARK in op.attributes or types not in ({f32}, {f64}) or rank(op.lhs) == 2 or 0 in (prod(shape(op.result)), prod(shape(op.rhs)), prod(shape(op.lhs))):
            return False
        kernel = cls(op, GENERIC)
        if kernel.groups > 1 and kernel.outputs == 1 and not (kernel.by_channel or kernel.by_line or kernel.by_position):
            return False
        return prod(map(len, kernel.spaces)) <= MOST_PHASES and max(map(prod, (kernel.extents, shape(op.rhs), shape(op.result)))) < 2**31

    # -- the input, padded

    @cached_property
    def block(self) -> int:
        """The number of images that are computed together: a divisor of their number."""
        if self.w.batch_groups > 1 or self.w.out[0] != 0:
            return self.images
        out = shape(self.op.result)
        wanted = -(-ROWS // prod([out[d] for d in self.w.out[2:]]))
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

    def rows_to_cut(self) -> int:
        if self.images > self.block or self.leaves_zeros or not all(part.rows for part in self.whole_parts):
            return 0
        return gcd(*[part.rows[0].extent for part in self.whole_parts])

    def terms_to_cut(self) -> int:
        """The features of a long sum, such as the images that the gradient of a kernel is summed over. Every range of them is a convolution of its own."""
        alone = self.images == self.block and self.groups == 1 and not (self.leaves_zeros or self.by_position or self.by_line)
        return self.features if alone else 0

    def choose_cut(self) -> Cut | None:
        return self._choose_terms() or self._choose_rows()

    def _choose_terms(self) -> Cut | None:
        terms = self.terms_to_cut()
        most = min(wanted_chunks(self.work), MOST_RANGES, int(REPEATED * self.work / (ADDED_NS * prod(shape(self.op.result)))), terms)
        ranges = next((n for n in range(most, 1, -1) if terms % n == 0), 1)
        return Cut(1, terms // ranges) if ranges > 1 else None

    def _choose_rows(self) -> Cut | None:
        rows = self.rows_to_cut()
        if rows < 2:
            return None
        repeated = PREPARED_NS * (prod(self.extents) + prod(shape(self.op.rhs)))
        most = min(wanted_chunks(self.work), int(1 + REPEATED * self.work / repeated), rows)
        ranges = next((n for n in range(most, 1, -1) if rows % n == 0), 1)
        return Cut(0, rows // ranges) if ranges > 1 else None

    @cached_property
    def pieces(self) -> int:
        """Into how many ranges of rows the only block is cut for threads, each of which pads and packs for itself."""
        cut = self.schedule.cut
        return 1 if cut is None or cut.loop else self.rows_to_cut() // cut.size

    @cached_property
    def ranges(self) -> int:
        """Into how many ranges of features the sums are cut for threads, each with a result of its own."""
        cut = self.schedule.cut
        return self.features // cut.size if cut is not None and cut.loop else 1

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
            window.append(Axis(p.window, p.x_window * x[w.lhs[i + 2]], sign * p.w_step * k[w.rhs[i + 2]]))
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

    # -- memory

    @cached_property
    def form(self) -> Form:
        """The properties that all parts share."""
        return Form(self.target, self.element, self.lanes, self.by_position, self.by_channel, self.looped_groups, self.group_steps)

    @cached_property
    def jobs(self) -> list[Job | LineJob]:
        """The parts, and where their tables and copies lie in the scratch memory."""
        jobs: list[Job | LineJob] = []
        offset = aligned((prod(self.extents) + self.lanes) * self.element.size) if self.is_padded else 0
        for part in self.parts:
            job = LineJob(part, self.form, offset) if self.by_line else Job.of(part, self.form, offset)
            jobs.append(job)
            offset = job.end
        return jobs

    @cached_property
    def moved_bytes(self) -> int:
        """The bytes of a result that is not computed in place."""
        return max([job.moved_bytes for job in self.jobs if isinstance(job, Job)], default=0)

    def scratch_bytes(self) -> int:
        return self.common_bytes() + (self.jobs[-1].end if self.jobs else 0) + self.moved_bytes

    def common_bytes(self) -> int:
        return 0 if self.ranges == 1 else self.ranges * self._range_bytes

    @property
    def _range_bytes(self) -> int:
        """The bytes of the result of one range of features."""
        return aligned(prod(shape(self.op.result)) * self.element.size)

    # -- code

    def parallel_work(self) -> tuple[int, float]:
        blocks = self.images // self.block
        return blocks * self.pieces * self.ranges, blocks * self.ranges * self.work

    def finishing(self) -> tuple[int, float]:
        elements = prod(shape(self.op.result))
        return (-(-elements // FINISHED), ADDED_NS * elements * self.ranges) if self.ranges > 1 else (0, 0.0)

    def emit_finish(self, builder: KernelBuilder, common: str) -> None:
        """The results of all ranges, added up in their order: registers at a time, and the last few elements one by one."""
        elements, lanes = prod(shape(self.op.result)), self.target.vector_bytes // self.element.size
        whole = elements - elements % lanes
        with builder.parallel_loops([-(-elements // FINISHED)]) as (number,):
            first = builder.multiply(number, FINISHED)
            end = builder.intrinsic("umin", "i64", builder.add(first, FINISHED), elements)
            with builder.loop(first, builder.intrinsic("umin", "i64", end, whole), step=lanes) as loop:
                self._add_ranges(builder, common, loop.index, vector(self.element.memory, lanes))
            with builder.loop(builder.intrinsic("umax", "i64", first, whole), end) as loop:
                self._add_ranges(builder, common, loop.index, self.element.memory)

    def _add_ranges(self, builder: KernelBuilder, common: str, place: Index, kind: str) -> None:
        """Elements of the result from one on."""
        element, align = self.element, self.element.size
        total = builder.load(kind, builder.address(common, element, place), align)
        for n in range(1, self.ranges):
            part = builder.load(kind, builder.address(builder.byte(common, n * self._range_bytes), element, place), align)
            total = builder.binary("fadd", kind, total, part)
        builder.store(kind, total, builder.address("%q0", element, place), align)

    def _emit_ranges(self, builder: KernelBuilder) -> None:
        """Each range of features is a convolution of its own, whose result lies in the common memory."""
        size, w, each = self.element.size, self.w, self.features // self.ranges
        private = self.scratch_bytes() - self.common_bytes()
        common = builder.byte(SCRATCH, private) if self.cut is None else COMMON
        input_step, kernel_step = each * strides_of(shape(self.op.lhs))[w.lhs[1]], each * strides_of(shape(self.op.rhs))[w.rhs[0]]
        moved = builder.byte(SCRATCH, private - self.moved_bytes)
        with builder.parallel_loops([self.ranges]) as (number,):
            source = builder.address("%p0", self.element, builder.multiply(number, input_step))
            kernel = builder.address("%p1", self.element, builder.multiply(number, kernel_step))
            target = builder.byte(common, builder.multiply(number, self._range_bytes))
            if self.is_padded:
                zero(builder, SCRATCH, (prod(self.extents) + self.lanes) * size)
                self._pad(builder, source, SCRATCH)
            for job in self.jobs:
                job.prepare(builder, kernel)
                job.run(builder, SCRATCH if self.is_padded else source, target, moved, 0, kernel)
        if self.cut is None:
            self.emit_finish(builder, common)

    def emit(self, builder: KernelBuilder) -> None:
        if self.ranges > 1:
            self._emit_ranges(builder)
            return
        size = self.element.size
        padded = "%scratch"
        moved = builder.byte("%scratch", self.jobs[-1].end if self.jobs else 0)
        for job in self.jobs:
            job.prepare(builder)
        if self.is_padded:
            zero(builder, padded, (prod(self.extents) + self.lanes) * size)
        w, out = self.w, strides_of(shape(self.op.result))
        image_in, image_out = self.block * strides_of(shape(self.op.lhs))[w.lhs[0]], self.block * out[w.out[0]]
        if self.is_padded and self.pieces > 1:
            self._pad(builder, "%p0", padded)
        with builder.parallel_loops([self.images // self.block * self.pieces]) as (number,):
            image, piece = (number, 0) if self.pieces == 1 else (0, number)
            source = builder.address("%p0", self.element, builder.multiply(image, image_in))
            target = builder.address("%q0", self.element, builder.multiply(image, image_out))
            if self.is_padded and self.pieces == 1:
                self._pad(builder, source, padded)
            if self.leaves_zeros:
                zero(builder, target, prod(shape(self.op.result)) // (self.images // self.block) * size)
            for job in self.jobs:
                job.run(builder, padded if self.is_padded else source, target, moved, piece)

    def _pad(self, builder: KernelBuilder, source: str, padded: str) -> None:
        """The images between the zeros, which no image overwrites."""
        extents = list(shape(self.op.lhs))
        extents[self.w.lhs[0]] = self.block * self.w.batch_groups
        extents[self.w.lhs[1]] //= self.ranges
        offset = sum(low * self.x_strides[d] for d, (low, _) in zip(self.w.lhs[2:], self.room, strict=True))
        copy_box(builder, self.element, extents, source, strides_of(shape(self.op.lhs)), builder.address(padded, self.element, offset), self.x_strides)

    @cached_property
    def group_steps(self) -> tuple[int, int, int]:
        """The distances in the input, the kernel and the result from group to group."""
        w, x, k, out = self.w, self.x_strides, strides_of(shape(self.op.rhs)), strides_of(shape(self.op.result))
        per_group = self.images * x[w.lhs[0]] if w.batch_groups > 1 else self.features * x[w.lhs[1]]
        return per_group, self.outputs * k[w.rhs[1]], self.outputs * out[w.out[1]]
