"""Replacing scatters whose windows may overlap write one window after the other.

A loop nest goes through the updates in the order of their dimensions. Where a dimension of the windows comes before one of the scattered positions,
elements of several windows alternate, and of two windows that overlap neither wins as a whole. StableHLO leaves the order to the implementation; the
interpreter and XLA write whole windows in the order of their positions. So here::

    core.scatter set %x, %i, %u  dims = {update_window_dims = [0], ...}    // %u: 3x2, windows of 3 elements at 2 positions

becomes a transpose of the updates, which fusion takes into the nest, and a scatter with ``update_window_dims = [1]``.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import rank, shape
from wengert.transforms.fuse.rewriting import has_matches, replace_ops


@dataclass(frozen=True)
class OrderUpdatesPass(ModulePass):
    """Puts the dimensions of the windows last in the updates of replacing scatters whose windows may overlap in part."""

    name = "order-updates"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (core.ScatterOp,), _order, _ordered)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (core.ScatterOp,), _order)


def _order(op: core.ScatterOp) -> tuple[int, ...] | None:
    """The order of the updates' dimensions in which whole windows are written; None if the one that is there does as well.

    Where windows move along none of their own dimensions, two that share an element have it at the same place in both.
    """
    if op.kind.data is not Kind.set or int_of(op.unique_indices):
        return None
    numbers, extents = op.scatter_dimension_numbers, shape(op.updates)
    windows = numbers.dims("update_window_dims")
    positions = [d for d in range(len(extents)) if d not in windows]
    fixed = (*numbers.dims("inserted_window_dims"), *numbers.dims("input_batching_dims"))
    moved = zip(windows, [d for d in range(rank(op.operand)) if d not in fixed], strict=True)
    along = [at for at, d in moved if extents[at] > 1 and d in numbers.dims("scatter_dims_to_operand_dims")]
    alternate = any(at < position and extents[position] > 1 for at in along for position in positions)
    return (*positions, *windows) if alternate else None


def _ordered(b: OpBuilder, op: core.ScatterOp, order: tuple[int, ...]) -> Value:
    numbers = op.scatter_dimension_numbers
    first = len(order) - len(numbers.dims("update_window_dims"))
    last = ScatterDimensionNumbersAttr(
        dimensions(range(first, len(order))),
        numbers.inserted_window_dims,
        numbers.input_batching_dims,
        numbers.scatter_indices_batching_dims,
        numbers.scatter_dims_to_operand_dims,
        numbers.index_vector_dim,
    )
    properties = {**op.properties, "scatter_dimension_numbers": last}
    (result,) = b.create(core.ScatterOp, [op.operand, op.scatter_indices, b.transpose(op.updates, order)], [op.result.type], properties)
    return result
