"""Emits running combinations along a dimension: sequential along it, many of the other elements at once in lanes, or by ranges if there are few others.

What has been combined so far stays in registers, so 16-bit floats are rounded only where they are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import prod
from typing import cast

from wengert.dialects import core
from wengert.dialects.core import Kind
from wengert.dialects.kernel.schedule import Cut
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import is_boolean, is_complex, shape
from wengert.transforms.codegen.cpu.native.base import STEPS, Cuttable, NativeKernel, native
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.reductions.folds import flat, grouped
from wengert.transforms.codegen.cpu.native.reductions.kernels import nest_kind, neutral_value
from wengert.transforms.codegen.cpu.native.reductions.range_scans import BLOCKS, STEP_NS, TOTAL_NS, RangeScan, size_of_ranges
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.codegen.llvm.types import vector
from wengert.transforms.schedule.target import Target

_LATENCY_NS = 1.5
"""The nanoseconds of one step along the dimension: the latency of the combining operation."""
CHUNK = 8
"""Neighbouring registers that run together, so that a step reads and writes whole cache lines in a row."""


@native(core.CumulativeOp)
class Cumulative(NativeKernel):
    """The operand as [outer, n, inner]: lanes along inner, or along outer if inner is small. A few long lines may be cut into ranges."""

    def __init__(self, op: core.CumulativeOp, target: Target):
        super().__init__(op, target)
        self.element = value_element(op.operand)
        self.kind = nest_kind(op.kind.data, is_boolean(element_type(op.operand)))
        extents, axis = shape(op.operand), int_of(op.dimension)
        self.outer, self.n, self.inner = prod(extents[:axis]), extents[axis], prod(extents[axis + 1 :])

    @classmethod
    def supports(cls, op: core.CumulativeOp) -> bool:
        return not is_complex(element_type(op.operand)) or op.kind.data in (Kind.add, Kind.mul)

    def _is_along_outer(self) -> bool:
        """Whether lanes are neighbours in the outer dimensions."""
        lanes = self._lanes()
        return self.inner < lanes // 2 and self.outer >= lanes

    def _lanes(self) -> int:
        return max(self.target.vector_bytes // max(self.element.part_size, 4), 1)

    # -- by ranges

    def cuttable(self) -> Mapping[int, Cuttable]:
        rounds = self.element.kind in "fc" and self.kind in ("add", "mul")
        return {STEPS: Cuttable(self.n if self.outer * self.inner else 0, BLOCKS, equal=False, reassociates=rounds)}

    def choose_cut(self) -> Cut | None:
        size = size_of_ranges(self.outer, self.n, self.inner)
        return None if size is None else Cut(STEPS, size)

    @cached_property
    def by_ranges(self) -> RangeScan | None:
        """How lines are cut; None if they are not."""
        if self.schedule.cut is None:
            return None
        return RangeScan(self.element, self.kind, self.outer, self.n, self.inner, bool(int_of(self.op.reverse)), self.schedule.cut.size)

    def scratch_bytes(self) -> int:
        return self.common_bytes()

    def common_bytes(self) -> int:
        return 0 if self.by_ranges is None else self.by_ranges.bytes_of_totals()

    def finishing(self) -> Sequence[tuple[int, float]]:
        return () if self.by_ranges is None or self.outer * self.n * self.inner == 0 else [self.by_ranges.work(STEP_NS)]

    def emit_finish(self, builder: KernelBuilder, stage: int, common: str) -> None:
        assert self.by_ranges is not None
        self.by_ranges.emit_running(builder, common)

    # -- line by line

    def parallel_work(self) -> tuple[int, float]:
        if self.by_ranges is not None:
            return self.by_ranges.work(TOTAL_NS)
        total, blocks = self.outer * self.n * self.inner, self.extents[0] * -(-self.extents[1] // self.widths[0])
        return blocks, total * _LATENCY_NS / min(self._lanes(), max(self.outer, self.inner, 1))

    @cached_property
    def extents(self) -> tuple[int, int]:
        """The elements beside one another that are gone through one after the other, and those that are in lanes."""
        return (self.inner, self.outer) if self._is_along_outer() else (self.outer, self.inner)

    @cached_property
    def widths(self) -> tuple[int, int]:
        """How many of those in lanes run together, and how many there are in a register."""
        lanes = self._lanes()
        while lanes > 1 and lanes // 2 >= self.extents[1]:
            lanes //= 2
        return lanes * (1 if self._is_along_outer() else CHUNK), lanes

    def emit(self, builder: KernelBuilder) -> None:
        if self.outer * self.n * self.inner == 0:
            return
        if self.by_ranges is not None:
            self.by_ranges.emit_totals(builder, self.common(builder))
            return
        (rest, extent), (width, _) = self.extents, self.widths
        rest_step = 1 if self._is_along_outer() else self.n * self.inner
        if self.cut is None:
            with builder.loops([rest]) as (other,):
                self._blocks(builder, builder.multiply(other, rest_step), 0, extent)
            return
        count = extent // width
        with builder.parallel_loops([rest, -(-extent // width)]) as (other, block):
            start = builder.multiply(other, rest_step)
            if extent % width == 0:
                self._block(builder, start, builder.multiply(block, width), width)
                return
            if count == 0:
                self._blocks(builder, start, 0, extent)
                return
            with builder.conditional(builder.icmp("ult", "i64", block, count)) as branches:
                self._block(builder, start, builder.multiply(block, width), width)
                branches.otherwise()
                self._blocks(builder, start, count * width, extent)

    def _blocks(self, builder: KernelBuilder, start: Index, done: int, extent: int) -> None:
        """All elements in lanes from one on: as many as run together at a time, then registers, then the last few."""
        lanes = self.widths[1]
        for width in dict.fromkeys(self.widths):
            whole = (extent - done) // width * width
            with builder.loop(done, done + whole, step=width) as loop:
                self._block(builder, start, loop.index, width)
            done += whole
        if done < extent:
            self._rows(builder, builder.add(start, done * self._step), self._step, [(lanes, extent - done)])

    def _block(self, builder: KernelBuilder, start: Index, first: Index, width: int) -> None:
        """So many elements in lanes from one on."""
        lanes, step = self.widths[1], self._step
        self._rows(builder, builder.add(start, builder.multiply(first, step)), step, [(lanes, lanes)] * (width // lanes))

    @property
    def _step(self) -> int:
        """The distance of the elements in lanes."""
        return self.n * self.inner if self._is_along_outer() else 1

    def _rows(self, builder: KernelBuilder, start: Index, step: int, registers: list[tuple[int, int]]) -> None:
        """Runs along the dimension for neighbours in several registers, each of (lanes, active lanes)."""
        element = self.element
        lanes = registers[0][0]
        initial = [neutral_value(builder, self.kind, element, lanes) for _ in registers]
        kind = vector(element.register, lanes)
        with builder.loop(0, self.n, [(kind, part) for part in flat(initial)], downward=bool(int_of(self.op.reverse))) as loop:
            totals = grouped(loop.values, [element] * len(registers))
            index = builder.add(start, builder.multiply(loop.index, self.inner))
            following: list[Value] = []
            for number, (total, (_, active)) in enumerate(zip(totals, registers, strict=True)):
                following.append(self._next(builder, builder.add(index, number * lanes * step), step, total, lanes, active))
            loop.carry(*flat(following))

    def _next(self, builder: KernelBuilder, index: Index, step: int, total: Value, lanes: int, active: int) -> Value:
        """Combines the elements at an index and writes what has been combined."""
        element, scalars, memory = self.element, builder.scalars(lanes), builder.memory(lanes, active)
        source, target = builder.address("%p0", element, index), builder.address("%q0", element, index)

        def lane(address: str, number: int) -> str:
            return builder.address(address, element, number * step)

        if lanes == 1:
            x: Value = memory.load(element, source)
        elif step == 1 and (active == lanes or element.size >= 4):
            x = memory.load_contiguous(element, source, 1)
        else:
            x = memory.load_lanes(element, lambda number: lane(source, number))
        total = scalars.combine(self.kind, total, x, element)
        kept = scalars.narrowed(cast(str, total), element.narrow) if element.narrow else total
        if lanes == 1:
            memory.store(element, kept, target)
        elif step == 1:
            memory.store_contiguous(element, kept, target, 1)
        else:
            memory.store_lanes(element, kept, lambda number: lane(target, number))
        return total
