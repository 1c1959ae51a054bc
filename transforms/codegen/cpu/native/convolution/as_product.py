"""Emits convolutions as matrix products on a view of the input: positions within a window are dimensions of the view, by their strides.

With the input padded and dilated, element (image, output position o, window position w, feature) of all windows lies at
``image * s_n + sum((o_d * stride_d + w_d * dilation_d) * s_d) + feature * s_f``: strides, with elements shared. The kernel is
a matrix over (window position, feature) and output features, so the convolution is one contraction for
:mod:`wengert.transforms.codegen.cpu.matmul`, which copies what a kernel cannot read in place. Images are taken in blocks that
give the product enough rows, so that such a copy stays small. Groups are a batch dimension of the product.

Where even that is too much, output positions are taken one by one.

Where the output's order of dimensions is not one that a product has, it is computed in scratch memory and then moved.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

from msgspec import Struct

from wengert.dialects import stablehlo
from wengert.dialects.kernel.memory import aligned
from wengert.dialects.kernel.product_elements import UnsupportedMatmul
from wengert.dialects.stablehlo.convolution_windows import windows_of
from wengert.ir.tensor_types import c64, c128, f32, f64, is_integer, is_unsigned, rank, shape
from wengert.ir.tensor_types import element as element_type
from wengert.transforms.codegen.cpu import matmul
from wengert.transforms.codegen.cpu.native.base import NativeKernel, NativeText, native
from wengert.transforms.codegen.cpu.native.boxes import copy_box, strides_of, zero
from wengert.transforms.codegen.cpu.native.convolution.depthwise import Depthwise
from wengert.transforms.codegen.cpu.native.convolution.direct import DirectConvolution
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.kernel.winograd import MARK
from wengert.transforms.schedule.products.choice import choose, nanoseconds
from wengert.transforms.schedule.products.operands import product
from wengert.transforms.schedule.products.plan import MatmulPlan, plan_of
from wengert.transforms.schedule.target import GENERIC, Target

MOST_BYTES = 1 << 25
"""If the product would copy more than so many bytes, it is made for one output position at a time. (That is the gradient of a
kernel: its output is small, its window the whole image.)"""
ROWS = 1024
"""Images are taken together until the product has about so many rows."""


_NAMES: dict[Any, str] = {f32: "f32", f64: "f64", c64: "c64", c128: "c128"}


def _name(type: Any) -> str:
    return f"{'ui' if is_unsigned(type) else 'i'}{type.width.data}" if is_integer(type) else _NAMES.get(type, str(type))


class _Axis(Struct, frozen=True):
    """A dimension of the product: its extent and its strides in the padded input, in the kernel and in the output."""

    extent: int
    x: int
    w: int
    out: int


@native(stablehlo.ConvolutionOp)
class Convolution(NativeKernel):
    """One contraction, after the copies of its operands and before that of its result."""

    def __init__(self, op: stablehlo.ConvolutionOp, target: Target):
        super().__init__(op, target)
        self.n = rank(op.lhs) - 2
        self.w = windows_of(op)
        lhs, rhs, out = shape(op.lhs), shape(op.rhs), shape(op.result)
        self.images = lhs[self.w.lhs[0]] // self.w.batch_groups
        self.group_count = self.w.groups * self.w.batch_groups
        self.features = rhs[self.w.rhs[0]]
        self.outputs = rhs[self.w.rhs[1]] // self.group_count
        self.positions = [out[d] for d in self.w.out[2:]]
        self.window = [rhs[d] for d in self.w.rhs[2:]]
        self.block = self._block()
        self.by_position = False
        if not self.is_empty and self.plan.scratch_bytes > MOST_BYTES:
            self.by_position = True
            del self.plan, self.order

    @classmethod
    def supports(cls, op: stablehlo.ConvolutionOp) -> bool:
        if MARK in op.attributes or Depthwise.supports(op) or DirectConvolution.supports(op):
            return False
        if prod(shape(op.result)) == 0 or 0 in shape(op.rhs):
            return True
        try:
            return bool(cls(op, GENERIC).plan)
        except UnsupportedMatmul:
            return False

    # -- how the work is cut

    def _block(self) -> int:
        """The number of images that are computed together: a divisor of their number."""
        if self.w.out[0] != 0 or self.w.batch_groups > 1 or self.images == 0:
            return max(self.images, 1)
        wanted = -(-ROWS // max(prod(self.positions), 1))
        return next(b for b in range(1, self.images + 1) if self.images % b == 0 and (b >= wanted or b == self.images))

    @cached_property
    def is_padded(self) -> bool:
        """Whether the input is copied, for zeros around it and between its elements."""
        return any(n > 0 for n in (*self.w.low, *self.w.high)) or any(b > 1 for b in self.w.base)

    @cached_property
    def reach(self) -> list[int]:
        """The extents of the dilated and padded input (or of the input, where it is used in place)."""
        lhs = shape(self.op.lhs)
        if not self.is_padded:
            return [lhs[d] for d in self.w.lhs[2:]]
        dilated = [max((lhs[d] - 1) * b + 1, 0) for d, b in zip(self.w.lhs[2:], self.w.base, strict=True)]
        return [max(n + max(low, 0) + max(high, 0), 1) for n, low, high in zip(dilated, self.w.low, self.w.high, strict=True)]

    @cached_property
    def input_extents(self) -> list[int]:
        """The padded input of one block of images, in the input's order of dimensions."""
        extents = list(shape(self.op.lhs))
        if self.is_padded:
            extents[self.w.lhs[0]] = self.block * self.w.batch_groups
        for d, n in zip(self.w.lhs[2:], self.reach, strict=True):
            extents[d] = n
        return extents

    @cached_property
    def x_strides(self) -> tuple[int, ...]:
        return strides_of(self.input_extents)

    @cached_property
    def x_offset(self) -> int:
        """The offset of the first element that negative padding leaves."""
        return sum(-min(low, 0) * self.x_strides[d] for d, low in zip(self.w.lhs[2:], self.w.low, strict=True))

    # -- the contraction

    @cached_property
    def axes(self) -> dict[str, list[_Axis]]:
        """The dimensions of the product by their roles: images, positions, groups, outputs, features, window positions."""
        w, x, k, out = self.w, self.x_strides, strides_of(shape(self.op.rhs)), strides_of(shape(self.op.result))
        per_group = self.images * x[w.lhs[0]] if w.batch_groups > 1 else self.features * x[w.lhs[1]]
        return {
            "image": [_Axis(self.block, x[w.lhs[0]], 0, out[w.out[0]])],
            "position": [_Axis(n, s * x[d], 0, out[o]) for n, s, d, o in zip(self.positions, w.strides, w.lhs[2:], w.out[2:], strict=True)],
            "group": [_Axis(self.group_count, per_group, self.outputs * k[w.rhs[1]], self.outputs * out[w.out[1]])],
            "output": [_Axis(self.outputs, 0, k[w.rhs[1]], out[w.out[1]])],
            "feature": [_Axis(self.features, x[w.lhs[1]], k[w.rhs[0]], 0)],
            "window": [_Axis(n, d * x[a], k[b], 0) for n, d, a, b in zip(self.window, w.dilations, w.lhs[2:], w.rhs[2:], strict=True)],
        }

    @cached_property
    def order(self) -> tuple[list[_Axis], list[_Axis], list[_Axis], bool]:
        """Batch dimensions, free ones of the first and of the second operand, and whether the first is the kernel."""
        axes = self.axes
        free = axes["image"] if self.by_position else [*axes["image"], *axes["position"]]
        moving = sorted(free, key=lambda a: -a.out)
        feature = axes["output"][0].out
        before = [a for a in moving if a.out > feature or a.extent == 1]
        after = [a for a in moving if a not in before]
        groups = axes["group"] if self.group_count > 1 else []
        if not after:
            return groups, before, axes["output"], False
        return [*before, *groups], axes["output"], after, True

    @cached_property
    def plan(self) -> MatmulPlan:
        """The product of one block of images."""
        batch, first, second, exchanged = self.order
        contracted = [*self.axes["window"], *self.axes["feature"]]
        sides = [[*batch, *first, *contracted], [*batch, *second, *contracted]]
        kernel_side = 0 if exchanged else 1
        strides = [[a.w if side == kernel_side else a.x for a in axes] for side, axes in enumerate(sides)]
        names = [_name(element_type(value)) for value in ((self.op.rhs, self.op.lhs) if exchanged else (self.op.lhs, self.op.rhs))]
        count = len(batch)
        contraction = product(
            [a.extent for a in sides[0]],
            [a.extent for a in sides[1]],
            _name(element_type(self.op.result)),
            lhs_batch=range(count),
            rhs_batch=range(count),
            lhs_contracting=range(count + len(first), len(sides[0])),
            rhs_contracting=range(count + len(second), len(sides[1])),
            lhs_strides=strides[0],
            rhs_strides=strides[1],
            lhs_element=names[0],
            rhs_element=names[1],
        )
        return plan_of(contraction, choose(contraction, self.target, parallel=False))

    @cached_property
    def result_axes(self) -> list[_Axis]:
        """The dimensions of the product's result, in its order."""
        batch, first, second, _ = self.order
        return [*batch, *first, *second]

    @cached_property
    def is_in_place(self) -> bool:
        """Whether the product's result lies as the output does."""
        steps = strides_of([a.extent for a in self.result_axes])
        return all(a.extent == 1 or a.out == step for a, step in zip(self.result_axes, steps, strict=True))

    # -- memory

    @cached_property
    def parts(self) -> list[int]:
        """Bytes of: the padded input, the reversed kernel, the result before it is moved, the product's own scratch."""
        op = self.op
        return [
            aligned(prod(self.input_extents) * value_element(op.lhs).size) if self.is_padded else 0,
            aligned(prod(shape(op.rhs)) * value_element(op.rhs).size) if any(self.w.flips) else 0,
            0 if self.is_in_place else aligned(prod(a.extent for a in self.result_axes) * value_element(op.result).size),
            aligned(self.plan.scratch_bytes) if self.plan.scratch_bytes else 0,
        ]

    @property
    def is_empty(self) -> bool:
        """Whether the result is empty, or all zeros because the sums are empty."""
        return prod(shape(self.op.result)) == 0 or 0 in shape(self.op.rhs)

    def scratch_bytes(self) -> int:
        return 0 if self.is_empty else sum(self.parts)

    # -- code

    def parallel_work(self) -> tuple[int, float]:
        if self.is_empty or 0 in (self.images, self.block):
            return 1, 0.0
        blocks, positions = self.images // self.block, prod(self.positions) if self.by_position else 1
        return positions if self._parallel_over_positions else blocks, nanoseconds(self.plan, self.target) * blocks * positions

    @property
    def _parallel_over_positions(self) -> bool:
        """Whether the parallel iterations are the output positions of the only block of images."""
        return self.by_position and self.images == self.block

    def emit(self, builder: KernelBuilder) -> None:
        if self.is_empty:
            zero(builder, "%q0", prod(shape(self.op.result)) * value_element(self.op.result).size)
            return
        offsets = [sum(self.parts[:n]) for n in range(4)]
        padded, kernel, moved, own = [builder.byte("%scratch", offset) for offset in offsets]
        if any(self.w.flips):
            self._reverse(builder, kernel)
        if self.is_padded:
            zero(builder, padded, self.parts[0])
        kernel = kernel if any(self.w.flips) else "%p1"
        image_in = self.block * strides_of(shape(self.op.lhs))[self.w.lhs[0]]
        image_out = self.block * self.axes["image"][0].out
        blocks = builder.loops if self._parallel_over_positions else builder.parallel_loops
        positions = builder.parallel_loops if self._parallel_over_positions else builder.loops
        with blocks([self.images // self.block]) as (number,):
            source = builder.address("%p0", value_element(self.op.lhs), builder.multiply(number, image_in))
            target = builder.address("%q0", value_element(self.op.result), builder.multiply(number, image_out))
            if self.is_padded:
                self._pad(builder, source, padded)
                source = padded
            looped = self.axes["position"] if self.by_position else []
            with positions([a.extent for a in looped]) as at:
                x = builder.linear([(i, a.x) for i, a in zip(at, looped, strict=True)], self.x_offset)
                place = builder.address(target, value_element(self.op.result), builder.linear([(i, a.out) for i, a in zip(at, looped, strict=True)]))
                self._product(builder, builder.address(source, value_element(self.op.lhs), x), kernel, place, moved, own)

    def _product(self, builder: KernelBuilder, x: str, kernel: str, target: str, moved: str, own: str) -> None:
        first, second = (kernel, x) if self.order[3] else (x, kernel)
        result = target if self.is_in_place else moved
        builder.call_void("KERNEL.product", [("ptr", pointer) for pointer in (first, second, result, own)])
        if not self.is_in_place:
            extents = [a.extent for a in self.result_axes]
            copy_box(builder, value_element(self.op.result), extents, moved, strides_of(extents), target, [a.out for a in self.result_axes])

    def _pad(self, builder: KernelBuilder, source: str, padded: str) -> None:
        """The images between the zeros, which no image overwrites."""
        extents = list(shape(self.op.lhs))
        extents[self.w.lhs[0]] = self.block * self.w.batch_groups
        steps, offset = list(self.x_strides), 0
        for d, low, base in zip(self.w.lhs[2:], self.w.low, self.w.base, strict=True):
            offset += max(low, 0) * steps[d]
            steps[d] *= base
        element = value_element(self.op.lhs)
        copy_box(builder, element, extents, source, strides_of(shape(self.op.lhs)), builder.address(padded, element, offset), steps)

    def _reverse(self, builder: KernelBuilder, kernel: str) -> None:
        extents, element = shape(self.op.rhs), value_element(self.op.rhs)
        steps, offset = list(strides_of(extents)), 0
        for d, flip in zip(self.w.rhs[2:], self.w.flips, strict=True):
            if flip:
                offset += (extents[d] - 1) * steps[d]
                steps[d] = -steps[d]
        copy_box(builder, element, extents, "%p1", strides_of(extents), builder.address(kernel, element, offset), steps)

    def text(self, *, strict: bool) -> NativeText:
        around = super().text(strict=strict)
        if self.is_empty:
            return around
        product = matmul.emit_function(self.plan, "KERNEL.product", "internal")
        needed = matmul.helpers(self.plan)
        symbols = {symbol: text.strip() for symbol, text in needed.items() if symbol in self.plan.symbols}
        shared = {symbol: text for symbol, text in needed.items() if symbol not in symbols}
        return NativeText(product + around.text, {**around.helpers, **shared}, {**around.symbols, **symbols})
