"""Maps an index of a view to an index of its operand.

A view moves elements without computing. Chains of views compose into one index, so that whole chains of broadcasts,
transposes, slices and reshapes become the strides and offsets of one load.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.ir import Operation

from wengert.dialects import stablehlo
from wengert.dialects.kernel import Guard
from wengert.dialects.kernel.positions import ZERO, Bounds, Position, divide, flatten, unflatten
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import shape

Index = tuple[Position, ...]


def _broadcast(op: stablehlo.BroadcastInDimOp, at: Index, bounds: Bounds) -> Index:
    return tuple([ZERO if n == 1 else at[d] for n, d in zip(shape(op.operand), ints(op.broadcast_dimensions), strict=True)])


def _reshape(op: stablehlo.ReshapeOp, at: Index, bounds: Bounds) -> Index:
    return reshaped(at, shape(op.result), shape(op.operand), bounds)


def reshaped(at: Index, source: Sequence[int], target: Sequence[int], bounds: Bounds) -> Index:
    """An index of a tensor of one shape as an index of the same elements under another shape.

    Where only dimensions of one element come or go, the others stay as they are: a quotient and a remainder would be the same for elements that there are, but
    not for those beside the edge, of which guards keep the loads away.
    """
    if [n for n in source if n != 1] != [n for n in target if n != 1]:
        return unflatten(flatten(at, source), target, bounds)
    kept = iter([p for p, n in zip(at, source, strict=True) if n != 1])
    return tuple([ZERO if n == 1 else next(kept) for n in target])


def _transpose(op: stablehlo.TransposeOp, at: Index, bounds: Bounds) -> Index:
    moved = list(at)
    for result_dim, operand_dim in enumerate(ints(op.permutation)):
        moved[operand_dim] = at[result_dim]
    return tuple(moved)


def _slice(op: stablehlo.SliceOp, at: Index, bounds: Bounds) -> Index:
    return tuple([p.times(step).shifted(start) for p, start, step in zip(at, ints(op.start_indices), ints(op.strides), strict=True)])


def _reverse(op: stablehlo.ReverseOp, at: Index, bounds: Bounds) -> Index:
    extents, reversed_dims = shape(op.operand), set(ints(op.dimensions))
    return tuple([p.times(-1).shifted(extents[d] - 1) if d in reversed_dims else p for d, p in enumerate(at)])


_INDEXERS: dict[type[Operation], Callable[[Any, Index, Bounds], Index]] = {
    stablehlo.BroadcastInDimOp: _broadcast,
    stablehlo.ReshapeOp: _reshape,
    stablehlo.TransposeOp: _transpose,
    stablehlo.SliceOp: _slice,
    stablehlo.ReverseOp: _reverse,
}


def operand_index(op: Operation, at: Index, bounds: Bounds) -> Index:
    """The index of the operand's element that this element of the view is (for every view but pad)."""
    return _INDEXERS[type(op)](op, at, bounds)


def pad_index(op: stablehlo.PadOp, at: Index, bounds: Bounds) -> tuple[Index, tuple[Guard, ...]]:
    """The operand's index, and the guards that hold where it lies inside the operand; elsewhere the element is the padding value."""
    inner: list[Position] = []
    guards: list[Guard] = []
    extents, lows, mids = shape(op.operand), ints(op.edge_padding_low), ints(op.interior_padding)
    for p, n, low, mid, m in zip(at, extents, lows, mids, shape(op.result), strict=True):
        p = p.shifted(-low)
        if mid:
            p, rest = divide(p, mid + 1, bounds)
            guards.append((rest, 0, 1))
        if low > 0 or mid or m - low > n:
            guards.append((p, 0, n))
        inner.append(p)
    return tuple(inner), tuple(guards)


def keeps_position(op: Operation) -> bool:
    """Whether element number i of the view is element number i of the operand (row by row), so that no data moves."""
    return isinstance(op, stablehlo.ReshapeOp)


def repeats_rows(op: Operation) -> bool:
    """Whether the view only repeats every element many times in a row, so that its operand is computed outside of the inner loops."""
    if not isinstance(op, stablehlo.BroadcastInDimOp):
        return False
    result = shape(op.result)
    kept = [d for n, d in zip(shape(op.operand), ints(op.broadcast_dimensions), strict=True) if n != 1]
    inner = kept[-1] + 1 if kept else 0
    return kept == sorted(kept) and prod(result[inner:]) >= 16
