"""Emits depthwise convolutions, with one output per group, as folds: there is too little work per element for a matrix product.

Every output element is the sum over its window of products with the kernel, many elements at a time in lanes: along the
features where they are innermost, else along a row of the image.
"""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace

from wengert.dialects import stablehlo
from wengert.dialects.stablehlo.convolution_windows import windows_of
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import i1, shape
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.boxes import strides_of
from wengert.transforms.codegen.cpu.native.convolution.direct import DirectConvolution
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.reductions.folds import Axis, Fold, Lanes
from wengert.transforms.codegen.cpu.native.reductions.kernels import chosen, neutral_value
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value
from wengert.transforms.schedule.target import Target


@native(stablehlo.ConvolutionOp)
class Depthwise(Fold):
    """Folds over the positions in a window, and the features of a group; padding is zero."""

    def __init__(self, op: stablehlo.ConvolutionOp, target: Target):
        super().__init__(op, target)
        self.w = windows_of(op)
        self.element = value_element(op.lhs)
        self.operands = self.state = (self.element,)
        self.out, kernel, n = shape(op.result), shape(op.rhs), len(self.w.strides)
        self.folded = tuple([kernel[d] for d in (*self.w.rhs[2:], self.w.rhs[0])])
        axes = {
            self.w.lhs[0]: Axis(shape(op.lhs)[self.w.lhs[0]], out=self.w.out[0]),
            self.w.lhs[1]: Axis(shape(op.lhs)[self.w.lhs[1]], self.w.out[1], n, self.folded[-1]),
        }
        for i, (d, o) in enumerate(zip(self.w.lhs[2:], self.w.out[2:], strict=True)):
            axes[d] = Axis(shape(op.lhs)[d], o, i, self.w.strides[i], self.w.dilations[i], self.w.low[i], self.w.base[i])
        self.axes = tuple([axes[d] for d in range(len(axes))])

    @classmethod
    def supports(cls, op: stablehlo.ConvolutionOp) -> bool:
        w = windows_of(op)
        same = element_type(op.lhs) == element_type(op.rhs) == element_type(op.result) != i1
        return same and w.batch_groups == 1 and 1 < w.groups == shape(op.rhs)[w.rhs[1]] and not DirectConvolution.supports(op)

    def start(self, builder: KernelBuilder, lanes: int) -> list[Value]:
        return [neutral_value(builder, "add", self.element, lanes)]

    def step(self, builder: KernelBuilder, lanes: Lanes, state: list[Value], values: list[Value], at: list[Index], inside: str | None) -> list[Value]:
        scalars, value = builder.scalars(lanes.count), values[0]
        if inside is not None:
            value = chosen(builder, lanes.count, self.element, inside, value, neutral_value(builder, "add", self.element, lanes.count))
        product = scalars.apply("multiply", [value, self._weight(builder, lanes, at)], [self.element] * 2, replace(self.element, narrow=""))
        return [scalars.combine("add", state[0], product, self.element)]

    def _weight(self, builder: KernelBuilder, lanes: Lanes, at: list[Index]) -> Value:
        steps = strides_of(shape(self.op.rhs))
        place = builder.linear([(lanes.index[self.w.out[1]], steps[self.w.rhs[1]]), (at[-1], steps[self.w.rhs[0]])])
        for position, d, n, flip in zip(at, self.w.rhs[2:], self.folded, self.w.flips, strict=False):
            where = position if not flip else builder.add(n - 1, builder.multiply(position, -1))
            place = builder.add(place, builder.multiply(where, steps[d]))
        step = steps[self.w.rhs[1]] if self.w.out[1] == len(self.out) - 1 else 0
        return self.load_lanes(builder, lanes, "%p1", self.element, place, step)

    def finish(self, builder: KernelBuilder, lanes: Lanes, state: list[Value]) -> None:
        value = state[0]
        if self.element.narrow:
            value = builder.scalars(lanes.count).narrowed(cast(str, value), self.element.narrow)
        self.store(builder, lanes, 0, self.element, value)
