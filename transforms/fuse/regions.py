"""The pass ``expand-regions``: reductions, windows and scatters by general regions, and select_and_scatter, as ops on whole tensors.

What ``to-core`` recognises in a region is an op with a kind, which is a nest. Any other region is applied to whole tensors: a reduction combines all pairs of
neighbours at once, windows are built by doubling (:mod:`wengert.transforms.ad.rewrites.reduce_regions`), and a scatter reads what it
combines with, all at once or one update after the other (:mod:`wengert.transforms.ad.rewrites.scatter_regions`). Machine code for a CPU has
loops for these regions instead.

``select_and_scatter``, the gradient of pooling, adds up windows that have selected the same element. Where windows are small, an element goes through
those that it lies in, the other way round: for each place within a window, sources and selected positions are read from tensors that are padded and
dilated, and a source counts if its window has selected this element. So there is nothing that two threads would write to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import ints
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import element, f32, f64, is_float, rank, shape, size, tensor
from wengert.ir.traversal import ops_of
from wengert.transforms.rewriter import Rewriter

MOST_PLACES = 32
"""Windows of up to so many elements are gone through by the elements that lie in them."""
_WITH_REGIONS = (hlo.ReduceOp, hlo.ReduceWindowOp, hlo.SelectAndScatterOp, hlo.ScatterOp)


@dataclass(frozen=True)
class ExpandRegionsPass(ModulePass):
    """Writes reductions, windows and scatters by general regions, and select_and_scatter, as ops on whole tensors."""

    name = "expand-regions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not ops_of(op, *_WITH_REGIONS):
            return
        from wengert.transforms.ad.rewrites.reduce_regions import expand_regions  # with all of batching, which most programs do without
        from wengert.transforms.ad.rewrites.scatter_regions import expand_scatters
        from wengert.transforms.ad.rewrites.select_and_scatter import expand_selections

        _sum_selections(op)
        expand_selections(op)
        expand_regions(op, every=True)
        expand_scatters(op, every=True)

    def changes(self, module: ModuleOp) -> bool:
        return bool(ops_of(module, *_WITH_REGIONS))


def _sum_selections(module: ModuleOp) -> None:
    """Replaces the selections by small windows that are added up."""
    from wengert.transforms.ad.rewrites.select_and_scatter import adds

    b = Rewriter("expand-regions")
    for op in ops_of(module, hlo.SelectAndScatterOp):
        if adds(op) and prod(_window(op)[0]) <= MOST_PLACES and size(op.operand) and size(op.source):
            b.move_to(op)
            b.replace(op, [_summed(b, op)])


def _window(op: hlo.SelectAndScatterOp) -> tuple[Sequence[int], Sequence[int], Sequence[int]]:
    """Extents and strides of the windows, and the padding in front."""
    ones = [1] * rank(op.operand)
    extents, strides = (ones if given is None else ints(given) for given in (op.window_dimensions, op.window_strides))
    return extents, strides, [0 for _ in ones] if op.padding is None else [int(low) for low, _ in to_numpy(op.padding)]


def _summed(b: OpBuilder, op: hlo.SelectAndScatterOp) -> Value:
    """Adds up, for each element of the operand, the sources of windows that have selected it, in the order of the windows."""
    from wengert.transforms.ad.rewrites.select_and_scatter import selected_positions

    type, extents = element(op.operand), shape(op.operand)
    wide = f32 if is_float(type) and type not in (f32, f64) else type
    places, source = selected_positions(b, op), b.convert(op.source, wide)
    here = b.reshape(b.iota(0, tensor([size(op.operand)], element(places))), extents)
    nowhere, nothing = b.scalar(-1, element(places)), b.scalar(0, wide)
    total = b.broadcast_in_dim(b.convert(op.init_value, wide), [], extents)
    window, strides, padding = _window(op)
    for offset in reversed(list(product(*map(range, window)))):
        low = [at - before for at, before in zip(offset, padding, strict=True)]
        reach = [(n - 1) * stride + 1 for n, stride in zip(shape(source), strides, strict=True)]
        high = [n - before - width for n, before, width in zip(extents, low, reach, strict=True)]
        between = [stride - 1 for stride in strides]
        chosen = b.compare("EQ", b.pad(places, nowhere, low, high, between), here)
        total = b.select(chosen, b.add(total, b.pad(source, nothing, low, high, between)), total)
    return b.convert(total, type)
