"""The pass ``batch``: vectorizes a function over a batch of inputs, as JAX's ``vmap`` does.

``(inputs) -> (outputs)`` becomes the same with one more dimension: dimension ``in_axes[i]`` of argument i is the batch, and dimension
``out_axes[j]`` of result j; None means that the argument or result is not batched. See :mod:`.rule` for how.

Before and after ``batch{size=8}``::

    func @main(%x: tensor<3xf64>) -> tensor<3xf64>         func @main(%x: tensor<8x3xf64>) -> tensor<8x3xf64>
      %0 = stablehlo.sine %x : tensor<3xf64>                 %0 = stablehlo.sine %x : tensor<8x3xf64>
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.location.places import error_at
from wengert.transforms.ad.batching.function import Axes, batch_function, from_signed
from wengert.transforms.ad.derive import prepare
from wengert.transforms.ad.requests.request import function_named


@dataclass(frozen=True)
class BatchPass(ModulePass):
    """Replaces a function by its batched version."""

    name = "batch"

    size: int | None = None
    """The batch size; it has no default."""
    fn: str = "main"
    in_axes: tuple[int, ...] | None = None
    """The batch dimension of each argument, -1 for an argument that is not batched; by default dimension 0 of every argument."""
    out_axes: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.size is None:
            raise error_at(op, "batch needs the number of batch elements: batch{size=8}")
        batch(op, self.size, self.fn, from_signed(self.in_axes), from_signed(self.out_axes))


def batch(module: ModuleOp, size: int, fn: str = "main", in_axes: Axes | None = None, out_axes: Axes | None = None) -> None:
    """Replaces ``fn`` by its batched version, in place. The module is brought to core level first.

    Raises DiagnosticError for axes that do not fit, for a result that is declared unbatched but depends on a batched argument, and
    for ops that cannot be batched, by name and place.
    """
    prepare(module)
    function = function_named(module, fn)
    batched = batch_function(function, in_axes, out_axes, size, fn)
    block = module.body.block
    block.insert_op_before(batched, function)
    batched.arg_attrs, batched.res_attrs = function.arg_attrs, function.res_attrs
    block.erase_op(function, safe_erase=False)
