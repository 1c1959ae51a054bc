"""The pass ``expand-regions``: reductions, windows and scatters by general regions, and select_and_scatter, as ops on whole tensors.

What ``to-core`` recognises in a region is an op with a kind, which is a nest. Any other region is applied to whole tensors: a reduction combines all pairs of
neighbours at once, windows are built by doubling (:mod:`wengert.transforms.ad.rewrites.reduce_regions`), and a scatter reads what it
combines with, all at once or one update after the other (:mod:`wengert.transforms.ad.rewrites.scatter_regions`). Machine code for a CPU has
loops for these regions instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo as hlo
from wengert.ir.traversal import ops_of

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

        expand_selections(op)
        expand_regions(op, every=True)
        expand_scatters(op, every=True)

    def changes(self, module: ModuleOp) -> bool:
        return bool(ops_of(module, *_WITH_REGIONS))
