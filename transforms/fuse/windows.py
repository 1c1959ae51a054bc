"""Rewrites window reductions so that they take fewer steps: pads operands beforehand, and reduces one dimension after the other.

A window that may reach over an edge has a guard for every element; where the padding is written first (by the nest
that computes the operand, as a rule), none has. And since a reduction in any order may go by rows, too, a window of
7 x 7 takes 7 + 7 steps for an element instead of 49.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import element, f32, f64, is_float, shape, size
from wengert.transforms.core.kinds import neutral
from wengert.transforms.core.recognisers.windows import Window
from wengert.transforms.fuse.rewriting import has_matches, replace_ops

FEWEST_READS = 3
"""Windows of fewer elements do not read their operand often enough to copy it."""
LARGEST_SHARE = 0.7
"""The share of steps up to which reducing by dimensions pays, since intermediate results are written and read."""


@dataclass(frozen=True)
class WindowReductionsPass(ModulePass):
    """Pads operands beforehand, and reduces wide windows one dimension after the other; sums and products only if they may be reassociated."""

    name = "window-reductions"

    reassociate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (core.WindowReduceOp,), lambda window: _steps(window, self.reassociate), _reduced)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (core.WindowReduceOp,), lambda window: _steps(window, self.reassociate))


def _steps(op: core.WindowReduceOp, reassociate: bool) -> list[Sequence[int]]:
    """The dimensions that are reduced in each step: one after the other or all at once; none if the op stays as it is."""
    window = Window.of_core(op)
    if not size(op.result) or not size(op.operand) or prod(window.extents) < FEWEST_READS:
        return []
    order = _order(op, window) if reassociate or op.kind.data not in (Kind.add, Kind.mul) else []
    if order:
        return [[d] for d in order]
    is_plain = all(pair == (0, 0) for pair in window.padding) and all(step == 1 for step in window.base_dilations)
    return [] if is_plain else [range(len(window.extents))]


def _order(op: core.WindowReduceOp, window: Window) -> list[int]:
    """The dimensions in the order in which they are reduced, those first that shrink most; empty if that does not pay."""
    type = element(op.operand)
    if is_float(type) and type not in (f32, f64):
        return []  # one rounding at the end, not one for each dimension
    extents = list(shape(op.operand))
    result = shape(op.result)
    order = sorted([d for d, n in enumerate(window.extents) if n > 1], key=lambda d: result[d] / extents[d])
    steps = 0
    for d in order:
        extents[d] = result[d]
        steps += prod(extents) * (window.extents[d] + 1)
    return order if len(order) > 1 and steps < LARGEST_SHARE * size(op.result) * prod(window.extents) else []


def _reduced(b: OpBuilder, op: core.WindowReduceOp, steps: list[Sequence[int]]) -> Value:
    window, kind = Window.of_core(op), op.kind.data
    reduced = _strided(b, _padded(b, op.operand, window, kind), op, [d for d, n in enumerate(window.extents) if n == 1])
    parts = (window.extents, window.strides, window.dilations)
    ones, none = [1] * len(window.extents), [(0, 0)] * len(window.extents)
    for dims in steps:
        extents, strides, dilations = ([n if d in dims and w > 1 else 1 for d, (n, w) in enumerate(zip(x, window.extents, strict=True))] for x in parts)
        reduced = b.window_reduce(kind, reduced, extents, strides, ones, dilations, none)
    return reduced


def _strided(b: OpBuilder, x: Value, op: core.WindowReduceOp, dims: Sequence[int]) -> Value:
    """The elements that windows of one element read, along the dimensions in which nothing is reduced."""
    strides = [n if d in dims else 1 for d, n in enumerate(ints(op.window_strides))]
    if max(strides, default=1) == 1:
        return x
    limits = [(m - 1) * s + 1 if d in dims else n for d, (n, m, s) in enumerate(zip(shape(x), shape(op.result), strides, strict=True))]
    return b.slice(x, [0] * len(limits), limits, strides)


def _padded(b: OpBuilder, x: Value, window: Window, kind: Kind) -> Value:
    low, high = ([pair[side] for pair in window.padding] for side in (0, 1))
    interior = [step - 1 for step in window.base_dilations]
    if not any((*low, *high, *interior)):
        return x
    return b.pad(x, b.scalar(neutral(kind, element(x)), element(x)), low, high, interior)
