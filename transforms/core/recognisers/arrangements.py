"""Traces the elements of a value through reshapes and transposes, without looking at any of them.

A dimension is a list of (extent, step) pairs, from the slowest to the fastest: how the position in the source moves along it. A
transpose permutes dimensions, a reshape regroups the pairs of all of them; one may have to be split on the way, and neighbours that
make one even step are merged in the end. So equal arrangements have equal lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import shape

Dimension = list[tuple[int, int]]
Moves = list[hlo.ReshapeOp | hlo.TransposeOp]


def source_of(value: SSAValue) -> tuple[SSAValue, Moves]:
    """The value before reshapes and transposes, and these, from the first to the last."""
    moves: Moves = []
    while isinstance(value.owner, hlo.ReshapeOp | hlo.TransposeOp):
        moves.append(value.owner)
        value = value.owner.operand
    return value, moves[::-1]


def even(extents: Sequence[int]) -> list[Dimension]:
    """The dimensions of a value as it is, in row-major order."""
    return [[] if n == 1 else [(n, prod(extents[d + 1 :]))] for d, n in enumerate(extents)]


def arrangement(extents: Sequence[int], moves: Moves) -> list[Dimension] | None:
    """The dimensions of what becomes of a value; None where a reshape cuts across them, and for no elements.

    >>> arrangement((2, 6), [])
    [[(2, 6)], [(6, 1)]]
    """
    if 0 in extents:
        return None
    dims = even(extents)
    for op in moves:
        if isinstance(op, hlo.TransposeOp):
            dims = [dims[d] for d in ints(op.permutation)]
            continue
        regrouped = _regrouped(_merged([pair for dim in dims for pair in dim]), shape(op.result))
        if regrouped is None:
            return None
        dims = regrouped
    return [_merged(dim) for dim in dims]


def is_in_place(extents: Sequence[int], moves: Moves) -> bool:
    """Whether these moves take a value of this shape to itself."""
    last = shape(moves[-1].result) if moves else tuple(extents)
    return last == tuple(extents) and (not moves or arrangement(extents, moves) == even(extents))


def _regrouped(pairs: Dimension, extents: Sequence[int]) -> list[Dimension] | None:
    pending, dims = pairs[::-1], list[Dimension]()
    for n in extents:
        dim: Dimension = []
        while n > 1:
            extent, step = pending.pop()
            if n % extent == 0:
                dim.append((extent, step))
                n //= extent
            elif extent % n == 0:
                dim.append((n, step * (extent // n)))
                pending.append((extent // n, step))
                n = 1
            else:
                return None
        dims.append(dim)
    return dims


def _merged(dim: Dimension) -> Dimension:
    merged: Dimension = []
    for extent, step in dim:
        if merged and merged[-1][1] == extent * step:
            merged[-1] = (merged[-1][0] * extent, step)
        else:
            merged.append((extent, step))
    return merged
