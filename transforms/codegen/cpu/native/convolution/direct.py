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
from math import prod

from wengert.dialects import stablehlo
from wengert.dialects.kernel.memory import aligned
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import f32, f64, rank, shape
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.boxes import copy_box, strides_of, zero
from wengert.transforms.codegen.cpu.native.convolution.lines import LineJob
from wengert.transforms.codegen.cpu.native.convolution.shapes import ADDED_NS, ConvolutionShapes
from wengert.transforms.codegen.cpu.native.convolution.tiled_part import Form, Job
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.tasks import SCRATCH
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.types import vector
from wengert.transforms.kernel.winograd import MARK
from wengert.transforms.schedule.target import GENERIC

MOST_PHASES = 16
"""Each phase has code of its own, though the tiles are shared."""
FINISHED = 4096
"""The elements of the result that a chunk adds up at the end."""


@native(stablehlo.ConvolutionOp)
class DirectConvolution(ConvolutionShapes):
    """Tables and copies, then tiles."""

    prepares = True

    @classmethod
    def supports(cls, op: stablehlo.ConvolutionOp) -> bool:
        types = {element_type(value) for value in (op.lhs, op.rhs, op.result)}
        if MARK in op.attributes or types not in ({f32}, {f64}) or rank(op.lhs) == 2 or 0 in (prod(shape(op.result)), prod(shape(op.rhs)), prod(shape(op.lhs))):
            return False
        kernel = cls(op, GENERIC)
        if kernel.groups > 1 and kernel.outputs == 1 and not (kernel.by_channel or kernel.by_line or kernel.by_position):
            return False
        return prod(map(len, kernel.spaces)) <= MOST_PHASES and max(map(prod, (kernel.extents, shape(op.rhs), shape(op.result)))) < 2**31

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
        return 0 if self.sums == 1 else self.sums * self._range_bytes

    @property
    def sums(self) -> int:
        """The results that are added up."""
        return self.ranges * self.bands

    @property
    def _range_bytes(self) -> int:
        """The bytes of the result of one range of features."""
        return aligned(prod(shape(self.op.result)) * self.element.size)

    # -- code

    def parallel_work(self) -> tuple[int, float]:
        blocks = self.images // self.block
        return blocks * self.pieces * self.sums, blocks * self.sums * self.work

    def finishing(self) -> Sequence[tuple[int, float]]:
        elements = prod(shape(self.op.result))
        return [(-(-elements // FINISHED), ADDED_NS * elements * self.sums)] if self.sums > 1 else ()

    def emit_finish(self, builder: KernelBuilder, stage: int, common: str) -> None:
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
        for n in range(1, self.sums):
            part = builder.load(kind, builder.address(builder.byte(common, n * self._range_bytes), element, place), align)
            total = builder.binary("fadd", kind, total, part)
        builder.store(kind, total, builder.address("%q0", element, place), align)

    def _emit_ranges(self, builder: KernelBuilder) -> None:
        """Each range of features, and band of their windows, is a convolution of its own, whose result lies in the common memory."""
        size, w, each = self.element.size, self.w, self.features // self.ranges
        private = self.scratch_bytes() - self.common_bytes()
        common = self.common(builder)
        input_step, kernel_step = each * strides_of(shape(self.op.lhs))[w.lhs[1]], each * strides_of(shape(self.op.rhs))[w.rhs[0]]
        moved = builder.byte(SCRATCH, private - self.moved_bytes)
        with builder.parallel_loops([self.ranges, self.bands]) as (number, band):
            source = builder.address("%p0", self.element, builder.multiply(number, input_step))
            kernel = builder.address("%p1", self.element, builder.linear([(number, kernel_step), (band, self.band_steps[1])]))
            target = builder.byte(common, builder.linear([(number, self.bands * self._range_bytes), (band, self._range_bytes)]))
            if self.is_padded:
                zero(builder, SCRATCH, (prod(self.extents) + self.lanes) * size)
                self._pad(builder, source, SCRATCH, band)
            else:
                source = builder.address(source, self.element, builder.multiply(band, self.band_steps[0]))
            for job in self.jobs:
                job.prepare(builder, kernel)
                job.run(builder, SCRATCH if self.is_padded else source, target, moved, (0, 0), kernel)

    def emit(self, builder: KernelBuilder) -> None:
        if self.sums > 1:
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
        once = self.is_padded and self.images == self.block and self.pieces > 1 and self.band is None
        if once:
            self._pad(builder, "%p0", padded)
        with builder.parallel_loops([self.images // self.block, self.pieces]) as (image, piece):
            source = builder.address("%p0", self.element, builder.multiply(image, image_in))
            target = builder.address("%q0", self.element, builder.multiply(image, image_out))
            if self.is_padded and not once:
                self._pad(builder, source, padded, piece)
            if self.leaves_zeros:
                zero(builder, target, prod(shape(self.op.result)) // (self.images // self.block) * size)
            for job in self.jobs:
                job.run(builder, padded if self.is_padded else source, target, moved, (0 if self.band is not None else piece, piece))

    def _pad(self, builder: KernelBuilder, source: str, padded: str, band: Index = 0) -> None:
        """The images between the zeros, which no image overwrites; or a band of them."""
        extents = list(shape(self.op.lhs))
        extents[self.w.lhs[0]] = self.block * self.w.batch_groups
        extents[self.w.lhs[1]] //= self.ranges
        if self.band is not None:
            offset = sum(low * self.x_strides[d] for d, (low, _) in zip(self.w.lhs[2:], self.room, strict=True) if d != self.band.dimension)
            self.band.pad(builder, self.element, band, source, (extents, strides_of(shape(self.op.lhs))), padded, (offset, self.x_strides))
            return
        offset = sum(low * self.x_strides[d] for d, (low, _) in zip(self.w.lhs[2:], self.room, strict=True))
        copy_box(builder, self.element, extents, source, strides_of(shape(self.op.lhs)), builder.address(padded, self.element, offset), self.x_strides)
