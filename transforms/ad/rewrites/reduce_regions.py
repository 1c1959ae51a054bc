"""Expansion of reductions by a general region into ops on whole tensors, from whose rules their derivatives follow.

A reduction combines its elements by a function that is associative by the specification, over a tree whose leaves are in
order. This pass chooses the tree: all pairs of neighbours along a dimension are combined at once, by the region's ops on whole
tensors (by batching), so a dimension of n elements takes log2(n) steps. Windows are built by doubling: a window of w
elements is combined from windows whose widths are the powers of two in w. Windows that all begin, or end, where the
dimension does are scans (:mod:`wengert.transforms.ad.building_blocks.associative_scan`).

Before and after, with ``f`` for the region::

    %0 = "stablehlo.reduce_window"(%x, %init) ({f})     %p = stablehlo.pad %x, %init
      window of 3, one element of padding               %2 = f(%p[0:n+1], %p[1:n+2])
                                                        %3 = f(%2[0:n], %p[2:n+2])
                                                        %0 = f(%init, %3)

JAX lowers cumulative_logsumexp to such a window on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import rank, shape, size
from wengert.ir.traversal import ops_of
from wengert.transforms.ad.batching.rule import Batching, Functions, Mapped
from wengert.transforms.ad.building_blocks.associative_scan import Direction, Values, along, associative_scan
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.core.closing import free_values
from wengert.transforms.core.recognisers.windows import Window
from wengert.transforms.rewriter import Rewriter


def expand_regions(module: ModuleOp, *, every: bool = False) -> None:
    """Expands reductions by a general region, in place: those that have a differentiable result in use, or every one."""
    ops = ops_of(module, hlo.ReduceOp, hlo.ReduceWindowOp)
    expand(module, [op for op in ops if every or any(has_tangent(r.type) and r.first_use is not None for r in op.results)])


def expand(module: ModuleOp, ops: Sequence[hlo.ReduceOp | hlo.ReduceWindowOp]) -> None:
    """Expands these reductions, in the order in which the program has them."""
    rewriter = Rewriter("expand-regions")
    for op in ops:
        rewriter.move_to(op)
        combine = Combination(rewriter, module, op.body.block)
        values = _reduced(combine, op) if isinstance(op, hlo.ReduceOp) else _windowed(combine, op)
        rewriter.replace(op, _with_initial(combine, op.init_values, values))


class Combination(Struct, frozen=True):
    """A region on scalars as an elementwise function of tensors of one shape."""

    b: OpBuilder
    module: ModuleOp
    block: Block

    def __call__(self, left: Values, right: Values) -> Values:
        return elementwise(self.b, self.module, self.block, [*left, *right])


def elementwise(
    b: OpBuilder,
    module: ModuleOp,
    block: Block,
    operands: Sequence[Value],
    wanted: Sequence[SSAValue] | None = None,
    captured: Mapping[SSAValue, Value] | None = None,
) -> Values:
    """Applies a region on scalars to each element of tensors of one shape; captured values are the same for all elements.

    ``wanted`` are the values of the region to return, by default its results; ``captured`` maps captured values to values at the insertion point.
    """
    extents, count, captures = shape(operands[0]), size(operands[0]), captured or {}
    walk = Batching(b, count, Functions(module, count))
    parent = block.parent
    assert parent is not None
    outer = free_values([parent])
    walk.values.update((value, Mapped(captures.get(value, value), False)) for value in outer)
    results = walk.run(block, [Mapped(b.reshape(x, [count]), True) for x in operands])
    if wanted is not None:
        results = [walk.values[value] for value in wanted]
    return [b.reshape(walk.broadcast(x), extents) for x in results]


def _with_initial(combine: Combination, initial: Sequence[SSAValue], values: Values) -> Values:
    spread = [combine.b.broadcast_in_dim(x, [], shape(y)) for x, y in zip(initial, values, strict=True)]
    return combine(spread, values) if size(values[0]) else values


def _reduced(combine: Combination, op: hlo.ReduceOp) -> Values:
    """Reduces dimensions: they are merged into a leading one, along which neighbours are combined until one element is left."""
    b, dims = combine.b, sorted(ints(op.dimensions))
    kept = [d for d in range(rank(op.inputs[0])) if d not in dims]
    extents = shape(op.results[0])
    count = 1
    for d in dims:
        count *= shape(op.inputs[0])[d]
    if count == 0:
        return [b.broadcast_in_dim(x, [], extents) for x in op.init_values]
    parts: Values = [b.reshape(b.transpose(x, [*dims, *kept]), [count, *extents]) for x in op.inputs]
    while (n := shape(parts[0])[0]) > 1:
        pairs = combine([along(b, x, 0, 0, n // 2, 2) for x in parts], [along(b, x, 0, 1, n // 2, 2) for x in parts])
        parts = pairs if n % 2 == 0 else [b.concatenate([x, along(b, y, 0, n - 1, 1)], 0) for x, y in zip(pairs, parts, strict=True)]
    return [b.reshape(x, extents) for x in parts]


def _windowed(combine: Combination, op: hlo.ReduceWindowOp) -> Values:
    """Reduces windows dimension by dimension, the last one first, so that elements stay in order."""
    b, w = combine.b, Window.of(op)
    whole = w.cumulative(shape(op.inputs[0]))
    if whole is not None and size(op.results[0]):
        return _running(combine, op.inputs, Direction(*whole))
    low, high, interior = [p for p, _ in w.padding], [p for _, p in w.padding], [d - 1 for d in w.base_dilations]
    parts: Values = [b.pad(x, initial, low, high, interior) for x, initial in zip(op.inputs, op.init_values, strict=True)]
    extents = shape(op.results[0])
    if size(op.results[0]) == 0:
        return [b.zeros(r.type) for r in op.results]  # pyright: ignore[reportArgumentType]
    for d in reversed(range(len(extents))):
        if w.extents[d] > 1:
            parts = _by_doubling(combine, parts, d, w.extents[d], w.dilations[d])
        parts = [along(b, x, d, 0, extents[d], w.strides[d]) for x in parts]
    return parts


def _running(combine: Combination, inputs: Values, direction: Direction) -> Values:
    """Reduces windows that begin, or end, where the dimension does, by a scan. In a scan from the end the operands are swapped."""
    b = combine.b

    def swapped(behind: Values, ahead: Values) -> Values:
        return combine(ahead, behind)

    scanned = associative_scan(b, swapped if direction.backward else combine, [direction.forward(b, x) for x in inputs])
    return [direction.restored(b, x) for x in scanned]


def _by_doubling(combine: Combination, parts: Values, dim: int, width: int, dilation: int) -> Values:
    """At each position, the combination of the next ``width`` elements, by the binary digits of the width."""

    def cut(x: Value, start: int, n: int) -> Value:
        return along(combine.b, x, dim, start, n)

    power, reach, total, covered = parts, 1, None, 0
    while True:
        if width & reach:
            if total is None:
                total = power
            else:
                n = min(shape(total[0])[dim], shape(power[0])[dim] - covered * dilation)
                total = combine([cut(x, 0, n) for x in total], [cut(x, covered * dilation, n) for x in power])
            covered += reach
        if covered == width:
            assert total is not None
            return total
        n = shape(power[0])[dim] - reach * dilation
        power = combine([cut(x, 0, n) for x in power], [cut(x, reach * dilation, n) for x in power])
        reach *= 2
