"""Emits reductions that a loop nest cannot express: windows, regions of any kind over several operands, extreme positions."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any, cast

from wengert.dialects import core, stablehlo
from wengert.dialects.core import Extreme, Kind
from wengert.ir.attributes import int_of, ints
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import element as element_type
from wengert.ir.tensor_types import is_boolean, is_complex, rank, shape
from wengert.transforms.codegen.cpu.native.base import native
from wengert.transforms.codegen.cpu.native.boxes import strides_of
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.reductions.folds import ENOUGH_ROWS, Axis, Fold, Lanes, merged
from wengert.transforms.codegen.cpu.native.regions import is_inlinable
from wengert.transforms.codegen.cpu.native.value_elements import value_element
from wengert.transforms.codegen.llvm.builder import Index
from wengert.transforms.codegen.llvm.scalars import Value, neutral
from wengert.transforms.codegen.llvm.types import Element, splat
from wengert.transforms.schedule.target import Target

LEAST_CHANNELS = 16
"""Ranges of fewer channels would share cache lines."""
SELECTED_NS = 2.0
"""What it takes to combine a source with the element that its window has selected."""


def nest_kind(kind: Kind, boolean: bool) -> str:
    """The name by which scalars combine; booleans do so by and, or."""
    if boolean:
        return "or" if kind in (Kind.add, Kind.max, Kind.or_) else "and"
    return str(kind.value)


def neutral_value(builder: KernelBuilder, kind: str, element: Element, lanes: int) -> Value:
    """The neutral element in every lane."""
    text = splat(element.register, neutral(kind, element), lanes)
    return (text, splat(element.register, neutral("add", element), lanes)) if element.kind == "c" else text


def chosen(builder: KernelBuilder, lanes: int, element: Element, condition: str, x: Value, y: Value) -> Value:
    """x where the condition holds, else y."""
    return builder.scalars(lanes).apply("select", [condition, x, y], [element, element, element], element)


def window_axes(op: Any, operand_extents: tuple[int, ...], edges: list[tuple[int, int]]) -> tuple[Axis, ...]:
    """The axes of an op on windows."""

    def listed(name: str) -> tuple[int, ...]:
        attribute = getattr(op, name, None)
        return ints(attribute) if attribute is not None else (1,) * len(operand_extents)

    parts = zip(operand_extents, listed("window_strides"), listed("window_dilations"), listed("base_dilations"), edges, strict=True)
    return tuple([Axis(n, d, d, stride, dilation, low, base) for d, (n, stride, dilation, base, (low, _)) in enumerate(parts)])


def edges_of(op: Any, n: int) -> list[tuple[int, int]]:
    """Low and high padding by dimension."""
    if op.padding is None:
        return [(0, 0)] * n
    if isinstance(op, core.WindowReduceOp):
        listed = ints(op.padding)
        return list(zip(listed[::2], listed[1::2], strict=True))
    return [(int(low), int(high)) for low, high in to_numpy(op.padding)]


@native(core.WindowReduceOp)
class WindowReduce(Fold):
    """Padding holds the neutral element; 16-bit floats are summed as f32 and rounded at the end."""

    def __init__(self, op: core.WindowReduceOp, target: Target):
        super().__init__(op, target)
        self.element = value_element(op.operand)
        self.kind = nest_kind(op.kind.data, is_boolean(element_type(op.operand)))
        self.out = shape(op.result)
        self.folded = ints(op.window_dimensions)
        self.axes = window_axes(op, shape(op.operand), edges_of(op, len(self.folded)))
        self.operands = self.state = (self.element,)

    @classmethod
    def supports(cls, op: core.WindowReduceOp) -> bool:
        return not is_complex(element_type(op.operand)) or op.kind.data in (Kind.add, Kind.mul)

    def start(self, builder: KernelBuilder, lanes: int) -> list[Value]:
        return [neutral_value(builder, self.kind, self.element, lanes)]

    def step(self, builder: KernelBuilder, lanes: Lanes, state: list[Value], values: list[Value], at: list[Index], inside: str | None) -> list[Value]:
        value = values[0]
        if inside is not None:
            value = chosen(builder, lanes.count, self.element, inside, value, neutral_value(builder, self.kind, self.element, lanes.count))
        return [builder.scalars(lanes.count).combine(self.kind, state[0], value, self.element)]

    def finish(self, builder: KernelBuilder, lanes: Lanes, state: list[Value]) -> None:
        value = state[0]
        if self.element.narrow:
            value = builder.scalars(lanes.count).narrowed(cast(str, value), self.element.narrow)
        self.store(builder, lanes, 0, self.element, value)


class RegionFold(Fold):
    """A fold by a region: (state..., elements...) -> state."""

    def __init__(self, op: Any, target: Target):
        super().__init__(op, target)
        self.count = len(op.inputs)
        self.operands = self.state = tuple([value_element(value) for value in op.inputs])

    @classmethod
    def supports(cls, op: Any) -> bool:
        same = all(element_type(x) == element_type(i) == element_type(r) for x, i, r in zip(op.inputs, op.operands[len(op.inputs) :], op.results, strict=True))
        return same and is_inlinable(op.body)

    def start(self, builder: KernelBuilder, lanes: int) -> list[Value]:
        initial: list[Value] = []
        for number, element in enumerate(self.state):
            initial.append(builder.broadcast(element, builder.memory().load(element, f"%p{self.count + number}"), lanes))
        return initial

    def step(self, builder: KernelBuilder, lanes: Lanes, state: list[Value], values: list[Value], at: list[Index], inside: str | None) -> list[Value]:
        if inside is not None:
            initial = self.start(builder, lanes.count)
            values = [chosen(builder, lanes.count, e, inside, x, i) for e, x, i in zip(self.state, values, initial, strict=True)]
        return self.inline(builder, lanes.count, self.op.body, [*state, *values])

    def finish(self, builder: KernelBuilder, lanes: Lanes, state: list[Value]) -> None:
        for number, (element, value) in enumerate(zip(self.state, state, strict=True)):
            self.store(builder, lanes, number, element, value)


@native(stablehlo.ReduceOp)
class Reduce(RegionFold):
    """From the initial values, in row-major order of the folded dimensions."""

    def __init__(self, op: stablehlo.ReduceOp, target: Target):
        super().__init__(op, target)
        self.out, self.folded, self.axes = merged(shape(op.inputs[0]), ints(op.dimensions))


@native(stablehlo.ReduceWindowOp)
class ReduceWindow(RegionFold):
    """From the initial values, which padding holds too."""

    def __init__(self, op: stablehlo.ReduceWindowOp, target: Target):
        super().__init__(op, target)
        extents = shape(op.inputs[0])
        self.out, self.folded = shape(op.results[0]), ints(op.window_dimensions)
        self.axes = window_axes(op, extents, edges_of(op, len(extents)))


@native(core.ArgReduceOp)
class ArgReduce(Fold):
    """The lowest position of the extreme element, or of the first NaN."""

    def __init__(self, op: core.ArgReduceOp, target: Target):
        super().__init__(op, target)
        self.element, self.number = value_element(op.operand), value_element(op.index)
        self.operands, self.state = (self.element,), (self.element, self.number)
        self.out, self.folded, self.axes = merged(shape(op.operand), (int_of(op.dimension),))
        self.largest = op.extreme.data == Extreme.max

    @classmethod
    def supports(cls, op: core.ArgReduceOp) -> bool:
        return not is_complex(element_type(op.operand))

    def start(self, builder: KernelBuilder, lanes: int) -> list[Value]:
        kind = "max" if self.largest else "min"
        if self.element.kind == "b":
            kind = "or" if self.largest else "and"
        return [neutral_value(builder, kind, self.element, lanes), splat(self.number.register, "0", lanes)]

    def step(self, builder: KernelBuilder, lanes: Lanes, state: list[Value], values: list[Value], at: list[Index], inside: str | None) -> list[Value]:
        scalars, element = builder.scalars(lanes.count), self.element
        best, x = cast(str, state[0]), cast(str, values[0])
        if element.kind == "b":
            flip = scalars.binary("xor", "i1", best if self.largest else x, scalars.constant("i1", "true"))
            better = scalars.binary("and", "i1", flip, x if self.largest else best)
        else:
            better = cast(str, scalars.apply("gt" if self.largest else "lt", [x, best], [element, element], element))
        if element.kind == "f":
            first = scalars.binary("and", "i1", scalars.compare("uno", element.register, x, x), scalars.compare("ord", element.register, best, best))
            better = scalars.binary("or", "i1", better, first)
        number = self._number(builder, at[0], lanes.count)
        return [chosen(builder, lanes.count, element, better, x, best), chosen(builder, lanes.count, self.number, better, number, state[1])]

    def _number(self, builder: KernelBuilder, at: Index, lanes: int) -> str:
        register = self.number.register
        if isinstance(at, int):
            return splat(register, str(at), lanes)
        scalar = at if register == "i64" else builder.cast("trunc", at, "i64", register)
        return builder.splat(register, scalar, lanes)

    def finish(self, builder: KernelBuilder, lanes: Lanes, state: list[Value]) -> None:
        self.store(builder, lanes, 0, self.element, state[0])
        self.store(builder, lanes, 1, self.number, state[1])


@native(stablehlo.SelectAndScatterOp)
class SelectAndScatter(Fold):
    """Window by window: finds the element that is selected, and combines the source's value into the result there.

    Windows overlap, so that those of one image are gone through in order; images, and channels that come before rows, are independent, and so are channels that
    come last, of which threads share ranges where there are few images.
    """

    most_lanes = 1

    def __init__(self, op: stablehlo.SelectAndScatterOp, target: Target):
        super().__init__(op, target)
        self.element = value_element(op.operand)
        self.operands, self.state = (self.element,), (Element("i", "i64", "i64", 8), self.element)
        self.out = shape(op.source)
        self.folded = ints(op.window_dimensions) if op.window_dimensions is not None else (1,) * rank(op.operand)
        self.axes = window_axes(op, shape(op.operand), edges_of(op, rank(op.operand)))

    @classmethod
    def supports(cls, op: stablehlo.SelectAndScatterOp) -> bool:
        return is_inlinable(op.select) and is_inlinable(op.scatter) and element_type(op.source) == element_type(op.operand)

    def parallel_work(self) -> tuple[int, float]:
        return prod(self.out[: self._apart]) * self._ranges, prod(self.out) * (prod(self.folded) + SELECTED_NS)

    @cached_property
    def _apart(self) -> int:
        """The number of leading dimensions along which a window is one element, that of its own index; the last dimension is none of them."""
        own = [self._is_own(d) for d in range(len(self.out) - 1)]
        return own.index(False) if False in own else len(own)

    def _is_own(self, d: int) -> bool:
        """Whether a window is one element along a dimension, that of its own index."""
        axis = self.axes[d]
        return (self.folded[d], self.out[d], axis.out_step, axis.low, axis.base) == (1, shape(self.op.operand)[d], 1, 0, 1)

    @cached_property
    def _ranges(self) -> int:
        """Into how many ranges channels that come last are cut, where there are few images."""
        if len(self.out) < 2 or prod(self.out[: self._apart]) >= ENOUGH_ROWS or not self._is_own(len(self.out) - 1):
            return 1
        return next((n for n in range(self.out[-1] // LEAST_CHANNELS, 1, -1) if self.out[-1] % n == 0), 1)

    def emit(self, builder: KernelBuilder) -> None:
        extents, apart, initial = shape(self.op.operand), self._apart, builder.memory().load(self.element, "%p2")
        if self.cut is not None and self._ranges > 1:
            self._emit_ranges(builder, initial)
            return
        with builder.parallel_loops(self.out[:apart]) as images:
            count = prod(extents[apart:])
            first = builder.linear([(image, prod(extents[d + 1 :])) for d, image in enumerate(images)])
            with builder.loop(0, count) as loop:
                builder.memory().store(self.element, initial, builder.address("%q0", self.element, builder.add(first, loop.index)))
            if 0 not in self.out:
                with builder.loops(self.out[apart:-1]) as rows:
                    self.elements(builder, [*images, *rows])

    def _emit_ranges(self, builder: KernelBuilder, initial: Value) -> None:
        """The channels of a range, of one image."""
        extents, apart, width = shape(self.op.operand), self._apart, self.out[-1] // self._ranges
        with builder.parallel_loops([*self.out[:apart], self._ranges]) as (*images, number):
            start = builder.multiply(number, width)
            first = builder.linear([(image, prod(extents[d + 1 :])) for d, image in enumerate(images)])
            with builder.loops([*extents[apart:-1], width]) as place:
                inside = builder.linear(list(zip(place, strides_of(extents[apart:]), strict=True)))
                builder.memory().store(self.element, initial, builder.address("%q0", self.element, builder.add(builder.add(first, inside), start)))
            if 0 not in self.out:
                with builder.loops(self.out[apart:-1]) as rows, builder.loop(start, builder.add(start, width)) as channel:
                    self.element_at(builder, [*images, *rows, channel.index])

    def start(self, builder: KernelBuilder, lanes: int) -> list[Value]:
        zero = {"f": "0.0", "c": "0.0", "b": "false"}.get(self.element.kind, "0")
        return ["-1", (zero, zero) if self.element.kind == "c" else zero]

    def step(self, builder: KernelBuilder, lanes: Lanes, state: list[Value], values: list[Value], at: list[Index], inside: str | None) -> list[Value]:
        scalars = builder.scalars()
        number, best = cast(str, state[0]), state[1]
        stays = cast(str, self.inline(builder, 1, self.op.select, [best, values[0]])[0])
        better = scalars.binary("or", "i1", scalars.compare("slt", "i64", number, "0"), scalars.binary("xor", "i1", stays, "true"))
        if inside is not None:
            better = scalars.binary("and", "i1", better, inside)
        return [scalars.select(better, "i64", str(self.first_index), number), chosen(builder, 1, self.element, better, values[0], best)]

    def finish(self, builder: KernelBuilder, lanes: Lanes, state: list[Value]) -> None:
        number = cast(str, state[0])
        with builder.when(builder.icmp("sge", "i64", number, 0)):
            memory, target = builder.memory(), builder.address("%q0", self.element, number)
            source = memory.load(self.element, builder.address("%p1", self.element, self.out_index(builder, lanes)))
            combined = self.inline(builder, 1, self.op.scatter, [memory.load(self.element, target), source])
            memory.store(self.element, combined[0], target)
