"""``stablehlo.map`` as its region on whole tensors: every element is one of a batch, and what the region captures is the same for all.

Before and after::

    %0 = "stablehlo.map"(%x, %y) ({                    %0 = stablehlo.multiply %x, %y : tensor<3xf64>
    ^bb0(%a: tensor<f64>, %b: tensor<f64>):            %1 = stablehlo.sine %0 : tensor<3xf64>
      %c = stablehlo.multiply %a, %b
      %d = stablehlo.sine %c
      stablehlo.return %d
    })
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from wengert.dialects import stablehlo as hlo
from wengert.ir.tensor_types import size, type_of
from wengert.ir.traversal import ops_of
from wengert.transforms.rewriter import Rewriter


def expand_maps(module: ModuleOp) -> None:
    """Writes out every map of a module whose control flow is closed, in place, from the inside out."""
    for op in reversed(ops_of(module, hlo.MapOp)):
        from wengert.transforms.ad.rewrites.reduce_regions import elementwise  # with all of batching, which most programs do without

        rewriter = Rewriter("to-core")  # a new one each time: going backward, nothing made before stands before
        rewriter.move_to(op)
        empty = size(op.result) == 0
        rewriter.replace(op, [rewriter.zeros(type_of(op.result))] if empty else elementwise(rewriter, module, op.computation.block, op.inputs))
