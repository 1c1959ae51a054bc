"""Emits convolutions in Winograd's form (:mod:`wengert.transforms.kernel.winograd`, which chooses them), with tiles of 2 by 2 results of 3 by 3 windows.

The kernel is transformed once. Then blocks of lines of tiles one after another: their inputs are transformed, multiplied in 16 products by the register
tiles of direct convolutions, and transformed back. What is between stays in the second cache.

Differences of two infinite inputs are not numbers, and sums of large ones overflow, where single products and sums of the direct form do not. So zero times
each element of a block's result is added up, which is zero or not a number, and in the second case the block is computed again as plain sums. A result
is then infinite or not a number where it is so in the direct form.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod

from wengert.dialects import stablehlo
from wengert.dialects.kernel.memory import aligned
from wengert.dialects.kernel.schedule import Cut
from wengert.dialects.stablehlo.convolution_windows import windows_of
from wengert.ir.tensor_types import shape
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.native.base import ROWS, Cuttable, NativeKernel, native
from wengert.transforms.codegen.cpu.native.boxes import copy_box, strides_of, zero
from wengert.transforms.codegen.cpu.native.convolution import winograd_transforms as transforms
from wengert.transforms.codegen.cpu.native.convolution.bands import REPEATED
from wengert.transforms.codegen.cpu.native.convolution.shapes import PREPARED_NS
from wengert.transforms.codegen.cpu.native.convolution.tables import Axis, Part
from wengert.transforms.codegen.cpu.native.convolution.tiled_part import Form, Job
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.cpu.tasks import SCRATCH
from wengert.transforms.codegen.llvm.builder import Index, Operand
from wengert.transforms.kernel.winograd import MARK, tiling
from wengert.transforms.schedule.chunks import wanted_chunks
from wengert.transforms.schedule.target import Target

SIZE = 4
"""The bytes of an element."""
SKEW = 16
"""A line of the cache in elements. The places of tiles are so much further apart than they need, or those of one tile would all lie in one set of the cache."""


@native(stablehlo.ConvolutionOp)
class Winograd(NativeKernel):
    """Transforms, products, transforms; block by block."""

    def __init__(self, op: stablehlo.ConvolutionOp, target: Target):
        super().__init__(op, target)
        tiles = tiling(op)
        assert tiles is not None, f"an op with the attribute {MARK} has tiles"
        self.tiles, self.w, self.element = tiles, windows_of(op), value_element(op.lhs)

    @classmethod
    def supports(cls, op: stablehlo.ConvolutionOp) -> bool:
        return MARK in op.attributes and tiling(op) is not None

    # -- sizes

    @cached_property
    def lanes(self) -> int:
        """The tiles of a line that are transformed together: a power of two."""
        return min(self.target.vector_bytes // SIZE, 1 << (self.tiles.across.bit_length() - 1))

    @cached_property
    def pairs(self) -> int:
        return self.tiles.features * self.tiles.outputs

    @cached_property
    def padded(self) -> tuple[int, int, int]:
        """The features, lines and columns of an image with zeros around it."""
        (height, width), (low, high) = shape(self.op.lhs)[2:], (self.w.low, self.w.high)
        return self.tiles.features, height + low[0] + high[0], width + low[1] + high[1]

    @cached_property
    def strides(self) -> tuple[int, int]:
        """The distances of summed features and of results in a tap of the kernel."""
        return (self.tiles.outputs, 1) if self.w.rhs[0] < self.w.rhs[1] else (1, self.tiles.features)

    @cached_property
    def pieces(self) -> int:
        """Into how many ranges of blocks an image is cut for threads."""
        cut = self.schedule.cut
        return 1 if cut is None else self.tiles.blocks // cut.size

    @cached_property
    def apart(self) -> tuple[int, int, int]:
        """The distances of places of the kernel, of the input and of products, all transformed."""
        tiles = self.tiles
        return self.pairs + SKEW, tiles.features * tiles.columns + SKEW, tiles.outputs * tiles.columns + SKEW

    @cached_property
    def places(self) -> list[int]:
        """The byte offsets of taps, transformed kernel, padded image, transformed input, products, the vector of zeros, and of the tables."""
        offsets, lanes = [0], self.target.vector_bytes // SIZE
        for count in (9 * self.pairs, 16 * self.apart[0], prod(self.padded), 16 * self.apart[1], 16 * self.apart[2], lanes):
            offsets.append(offsets[-1] + aligned(SIZE * count))
        return offsets

    @cached_property
    def job(self) -> Job:
        """The products of a block: rows are results, columns its tiles."""
        tiles, (summed, result) = self.tiles, self.strides
        part = Part(
            (Axis(tiles.outputs, result, 0, tiles.columns),), (Axis(tiles.columns, 0, 1, 1),), (Axis(tiles.features, summed, tiles.columns, 0),), 0, 0, 0
        )
        lanes = self.target.vector_bytes // SIZE
        return Job.of(part, Form(self.target, self.element, lanes, False, False, 16, self.apart, packs=False), self.places[-1])

    def scratch_bytes(self) -> int:
        return self.job.end

    # -- threads

    def parallel_work(self) -> tuple[int, float]:
        return self.tiles.images * self.pieces, self.tiles.nanoseconds

    def cuttable(self) -> Mapping[int, Cuttable]:
        return {ROWS: Cuttable(self.tiles.blocks)}

    def choose_cut(self) -> Cut | None:
        blocks, work = self.tiles.blocks, self.tiles.nanoseconds / self.tiles.images
        if self.tiles.images > 1:
            return None
        repeated = PREPARED_NS * (16 * self.pairs + prod(self.padded))
        most = min(wanted_chunks(work), int(1 + REPEATED * work / repeated), blocks)
        ranges = next((n for n in range(most, 1, -1) if blocks % n == 0), 1)
        return Cut(0, blocks // ranges) if ranges > 1 else None

    # -- code

    def emit(self, builder: KernelBuilder) -> None:
        tiles = self.tiles
        taps, kernel, image, inputs, products, _, _ = [builder.byte(SCRATCH, at) for at in self.places]
        self._prepare(builder, taps, kernel)
        self.job.prepare(builder, inputs)
        zero(builder, image, SIZE * prod(self.padded))
        if tiles.columns > tiles.lines * tiles.across:
            zero(builder, inputs, SIZE * 16 * self.apart[1])
        height, width = 2 * tiles.down, 2 * tiles.across
        with builder.parallel_loops([tiles.images, self.pieces]) as (number, piece):
            self._pad(builder, number, image)
            target = builder.address("%q0", self.element, builder.multiply(number, tiles.outputs * height * width))
            each = tiles.blocks // self.pieces
            with builder.loops([each]) as (block,):
                line = builder.multiply(builder.linear([(piece, each)], block), tiles.lines)
                if tiles.blocks * tiles.lines > tiles.down:
                    line = builder.intrinsic("umin", "i64", line, tiles.down - tiles.lines)
                first = builder.address(image, self.element, builder.multiply(line, 2 * self.padded[2]))
                result = builder.address(target, self.element, builder.multiply(line, 2 * width))
                self._transform(builder, "input", first, self.padded[1] * self.padded[2], self.padded[2], inputs, tiles.features)
                self.job.run(builder, kernel, products, "null", (0, 0), inputs)
                self._back(builder, products, result)
                self._again_unless_finite(builder, first, taps, result)

    def _prepare(self, builder: KernelBuilder, taps: str, kernel: str) -> None:
        """The kernel tap by tap, then transformed."""
        step, offset = strides_of(shape(self.op.rhs)), 0
        features = sorted(self.w.rhs[:2])
        extents, reads = [3, 3, *[shape(self.op.rhs)[d] for d in features]], [step[2], step[3], *[step[d] for d in features]]
        for n, flip in enumerate(self.w.flips):
            if flip:
                offset, reads[n] = offset + 2 * reads[n], -reads[n]
        copy_box(builder, self.element, extents, builder.address("%p1", self.element, offset), reads, taps, strides_of(extents))
        lanes = self.target.vector_bytes // SIZE
        name = builder.module.once(transforms.symbol("kernel", lanes), lambda: transforms.kernel_function(lanes))
        builder.call_void(name, [("ptr", taps), ("ptr", kernel), ("i64", self.pairs), ("i64", self.apart[0])])

    def _pad(self, builder: KernelBuilder, number: Index, image: str) -> None:
        """An image between the zeros, which no image overwrites."""
        _, *extents = shape(self.op.lhs)
        source = builder.address("%p0", self.element, builder.multiply(number, prod(extents)))
        target = builder.address(image, self.element, self.w.low[0] * self.padded[2] + self.w.low[1])
        copy_box(builder, self.element, extents, source, strides_of(extents), target, strides_of(self.padded))

    def _transform(self, builder: KernelBuilder, what: str, image: str, plane: int, pitch: int, tiles: str, features: int, rest: str = "") -> None:
        """Calls the transform of the input, or that back to the result."""
        make = transforms.input_function if what == "input" else transforms.result_function
        name = builder.module.once(transforms.symbol(what, self.lanes), lambda: make(self.lanes))
        source, target = (image, tiles) if what == "input" else (tiles, image)
        numbers, apart = (plane, pitch), self.apart[1 if what == "input" else 2]
        operands: list[Operand] = [("ptr", source), *[("i64", n) for n in numbers], ("ptr", target), ("i64", apart), ("i64", self.tiles.columns)]
        operands += [("i64", features), ("i64", self.tiles.lines), ("i64", self.tiles.across), *([("ptr", rest)] if rest else [])]
        builder.call_void(name, operands)

    def _back(self, builder: KernelBuilder, products: str, result: str) -> None:
        tiles, rest = self.tiles, builder.byte(SCRATCH, self.places[5])
        builder.store(f"<{self.lanes} x float>", "zeroinitializer", rest, SIZE)
        self._transform(builder, "result", result, 4 * tiles.down * tiles.across, 2 * tiles.across, products, tiles.outputs, rest)

    def _again_unless_finite(self, builder: KernelBuilder, image: str, taps: str, result: str) -> None:
        tiles, form = self.tiles, Arithmetic("f32", self.lanes)
        total = form.sum_lanes(builder, builder.load(form.vector, builder.byte(SCRATCH, self.places[5]), SIZE))
        with builder.when(builder.fcmp("uno", "float", total, "0.0")):
            name = builder.module.once(transforms.symbol("plain", self.lanes), lambda: transforms.plain_function(self.lanes))
            _, lines, columns = self.padded
            numbers = (lines * columns, columns, tiles.features)
            target = (4 * tiles.down * tiles.across, 2 * tiles.across, tiles.outputs, 2 * tiles.lines, 2 * tiles.across)
            operands: list[Operand] = [("ptr", image), *[("i64", n) for n in numbers], ("ptr", taps), ("i64", self.pairs)]
            operands += [*[("i64", n) for n in self.strides], ("ptr", result), *[("i64", n) for n in target]]
            builder.call_void(name, operands)
