"""The pass ``double-windows``: wide windows that are reduced by a general region, such as a running log-sum-exp, as ops on whole tensors.

Machine code has a loop for such a window that applies the region once for each of its elements, so that a running reduction of n elements takes n^2 / 2
applications. The region is associative by the specification, in any tree: windows that begin where the dimension does are a scan, others are built by doubling
(:mod:`wengert.transforms.ad.rewrites.reduce_regions`), by 2 n or n log2(w) applications that are elementwise ops on whole tensors. What an op has a kind for
(sums, products, extremes) has running and sliding code of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo as hlo
from wengert.ir.tensor_types import size
from wengert.ir.traversal import ops_of
from wengert.transforms.core.recognisers.windows import Window

LEAST_WIDTH = 16
"""Windows of fewer elements take about as many passes over whole tensors as they have elements."""
LEAST_APPLICATIONS = 1 << 13
"""Fewer take less than compiling some more kernels is worth."""


@dataclass(frozen=True)
class DoubleWindowsPass(ModulePass):
    """Reduces wide windows by a general region with few ops on whole tensors, if it may be reassociated."""

    name = "double-windows"

    reassociate: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if wide := self._wide(op):
            from wengert.transforms.ad.rewrites.reduce_regions import expand  # with all of batching, which most programs do without

            expand(op, wide)

    def changes(self, module: ModuleOp) -> bool:
        return bool(self._wide(module))

    def _wide(self, module: ModuleOp) -> list[hlo.ReduceWindowOp]:
        return [op for op in ops_of(module, hlo.ReduceWindowOp) if _is_wide(op)] if self.reassociate else []


def _is_wide(op: hlo.ReduceWindowOp) -> bool:
    width = prod(Window.of(op).extents)
    return width >= LEAST_WIDTH and width * size(op.results[0]) >= LEAST_APPLICATIONS
