"""Running combinations along a dimension: sequential along it, many of the other elements at once in lanes.

What has been combined so far stays in registers, so 16-bit floats are rounded only where they are written.
"""

from __future__ import annotations

from math import prod
from typing import cast

from wengert.dialects import core
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import element, is_boolean, is_complex, shape
from wengert.transforms.lower.cpu_scalars import Value
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.cpu_types import vector
from wengert.transforms.lower.native.base import NativeKernel, native
from wengert.transforms.lower.native.code import Code, Index
from wengert.transforms.lower.native.folds import flat, grouped
from wengert.transforms.lower.native.held import held
from wengert.transforms.lower.native.reductions import nest_kind, neutral_value


@native(core.CumulativeOp)
class Cumulative(NativeKernel):
    """The operand as [outer, n, inner]: lanes along inner, or along outer if inner is small."""

    def __init__(self, op: core.CumulativeOp, target: Target):
        super().__init__(op, target)
        self.element = held(op.operand)
        self.kind = nest_kind(op.kind.data, is_boolean(element(op.operand)))
        extents, axis = shape(op.operand), int_of(op.dimension)
        self.outer, self.n, self.inner = prod(extents[:axis]), extents[axis], prod(extents[axis + 1 :])

    @classmethod
    def supports(cls, op: core.CumulativeOp) -> bool:
        return not is_complex(element(op.operand)) or op.kind.data is Kind.add

    def emit(self, code: Code) -> None:
        if self.outer * self.n * self.inner == 0:
            return
        lanes = max(code.target.vector_bytes // max(self.element.part_size, 4), 1)
        along_outer = self.inner < lanes // 2 and self.outer >= lanes
        rest, extent = (self.inner, self.outer) if along_outer else (self.outer, self.inner)
        while lanes > 1 and lanes // 2 >= extent:
            lanes //= 2
        step, rest_step = (self.n * self.inner, 1) if along_outer else (1, self.n * self.inner)
        whole = extent // lanes * lanes
        with code.loops([rest]) as (other,):
            start = code.times(other, rest_step)
            with code.loop(0, whole, step=lanes) as loop:
                self._row(code, code.add(start, code.times(loop.index, step)), step, lanes, lanes)
            if whole < extent:
                self._row(code, code.add(start, whole * step), step, lanes, extent - whole)

    def _row(self, code: Code, start: Index, step: int, lanes: int, active: int) -> None:
        held_, scalars, memory = self.element, code.scalars(lanes), code.memory(lanes, active)
        initial = neutral_value(code, self.kind, held_, lanes)
        kind = vector(held_.register, lanes)
        contiguous = step == 1 and (active == lanes or held_.size >= 4)
        with code.loop(0, self.n, [(kind, part) for part in flat([initial])], downward=bool(int_of(self.op.reverse))) as loop:
            (total,) = grouped(loop.values, [held_])
            index = code.add(start, code.times(loop.index, self.inner))
            source, target = code.address("%p0", held_, index), code.address("%q0", held_, index)

            def lane(address: str, number: int) -> str:
                return code.address(address, held_, number * step)

            if lanes == 1:
                x: Value = memory.load(held_, source)
            elif contiguous:
                x = memory.load_contiguous(held_, source, 1)
            else:
                x = memory.load_lanes(held_, lambda number: lane(source, number))
            total = scalars.combine(self.kind, total, x, held_)
            kept = scalars.narrowed(cast(str, total), held_.narrow) if held_.narrow else total
            if lanes == 1:
                memory.store(held_, kept, target)
            elif step == 1:
                memory.store_contiguous(held_, kept, target, 1)
            else:
                memory.store_lanes(held_, kept, lambda number: lane(target, number))
            loop.carry(*flat([total]))
