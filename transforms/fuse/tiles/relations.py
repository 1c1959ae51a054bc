"""Relates the dimensions of an op's operands to those of its results.

Every op has *axes* of its own, numbered from 0: two dimensions that have the same axis run together, so that a part of the one is computed from the same part
of the other. An axis that is *summed* is in the operands and not in the result. ``dot_general`` of ``[b, m, k]`` and ``[b, n, k]`` has the axes
``b, k, m, n``: operands ``(0, 2, 1)`` and ``(0, 3, 1)``, result ``(0, 2, 3)``, of which 1 is summed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects import core, stablehlo
from wengert.dialects.facts import facts_of
from wengert.ir.attributes import int_of, ints
from wengert.ir.elements import is_splat
from wengert.ir.tensor_types import rank, shape
from wengert.ir.traversal import operands_of, result_of

Axes = tuple[int, ...]


class Relation(Struct, frozen=True):
    """The axes of the dimensions of each operand and of the result; ``summed`` are added up, ``folded`` are combined otherwise, and ``whole`` are axes of which
    no part can be computed by itself."""

    operands: tuple[Axes, ...]
    result: Axes
    summed: frozenset[int] = frozenset()
    folded: frozenset[int] = frozenset()
    whole: frozenset[int] = frozenset()


def relate(op: Operation) -> Relation | None:
    """The relation of an op with one result; None if nothing is known of it."""
    if len(op.results) != 1:
        return None
    if isinstance(op, stablehlo.DotGeneralOp):
        return _dot(op)
    if isinstance(op, core.ReduceOp):
        return _reduce(op)
    if isinstance(op, stablehlo.BroadcastInDimOp):
        return _broadcast(op)
    if isinstance(op, stablehlo.TransposeOp):
        order = ints(op.permutation)
        return Relation((tuple(range(len(order))),), order)
    if isinstance(op, stablehlo.ReshapeOp):
        return _reshape(op)
    if isinstance(op, stablehlo.GatherOp):
        return _gather(op)
    if isinstance(op, stablehlo.IotaOp) or (isinstance(op, stablehlo.ConstantOp) and is_splat(op.value)):
        return Relation((), tuple(range(rank(result_of(op)))))
    if facts_of(type(op)).elementwise and facts_of(type(op)).has_function:
        n = rank(result_of(op))
        return Relation(tuple(tuple(range(n)) if rank(operand) == n else () for operand in operands_of(op)), tuple(range(n)))
    return None


def _dot(op: stablehlo.DotGeneralOp) -> Relation:
    numbers, fresh = op.dot_dimension_numbers, count()
    sides = [[-1] * rank(op.lhs), [-1] * rank(op.rhs)]
    result: list[int] = []
    summed: list[int] = []
    for kind, into in (("batching", result), ("contracting", summed)):
        pairs = zip(numbers.dims(f"lhs_{kind}_dimensions"), numbers.dims(f"rhs_{kind}_dimensions"), strict=True)
        for left, right in pairs:
            sides[0][left] = sides[1][right] = next(fresh)
            into.append(sides[0][left])
    for side in sides:
        for d, axis in enumerate(side):
            if axis < 0:
                side[d] = next(fresh)
                result.append(side[d])
    return Relation((tuple(sides[0]), tuple(sides[1])), tuple(result), frozenset(summed))


def _reduce(op: core.ReduceOp) -> Relation:
    dropped = frozenset(ints(op.dimensions))
    axes = tuple(range(rank(op.operand)))
    adds = op.kind.data is core.Kind.add
    return Relation((axes,), tuple(d for d in axes if d not in dropped), dropped if adds else frozenset(), frozenset() if adds else dropped)


def _broadcast(op: stablehlo.BroadcastInDimOp) -> Relation:
    fresh = count(rank(op.result))
    extents, wide = shape(op.operand), shape(op.result)
    dims = ints(op.broadcast_dimensions)
    return Relation((tuple(d if n == wide[d] else next(fresh) for n, d in zip(extents, dims, strict=True)),), tuple(range(len(wide))))


def _gather(op: stablehlo.GatherOp) -> Relation | None:
    """A gather of single elements: the dimensions of its batch run together, and in the others it may read anywhere."""
    numbers = op.dimension_numbers
    if numbers.dims("offset_dims") or any(n != 1 for n in ints(op.slice_sizes)):
        return None
    fresh, vector = count(rank(op.result)), int_of(numbers.index_vector_dim)
    positions = [d for d in range(rank(op.start_indices)) if d != vector]
    starts = [next(fresh) if d == vector else positions.index(d) for d in range(rank(op.start_indices))]
    batch = dict(zip(numbers.dims("operand_batching_dims"), numbers.dims("start_indices_batching_dims"), strict=True))
    operand = [starts[batch[d]] if d in batch else next(fresh) for d in range(rank(op.operand))]
    whole = frozenset(axis for d, axis in enumerate(operand) if d not in batch)
    return Relation((tuple(operand), tuple(starts)), tuple(range(rank(op.result))), whole=whole)


def _reshape(op: stablehlo.ReshapeOp) -> Relation:
    """Dimensions that are as they were keep their axis; those that are merged or split have axes of which no part can be computed by itself."""
    before, after = shape(op.operand), shape(op.result)
    fresh, whole = count(), list[int]()
    old, new = [-1] * len(before), [-1] * len(after)
    for extents, axes in ((before, old), (after, new)):
        for d, n in enumerate(extents):
            if n == 1:
                axes[d] = next(fresh)
    left, right = ([d for d, n in enumerate(extents) if n != 1] for extents in (before, after))
    while left and right:
        parts = [left.pop(0)], [right.pop(0)]
        sizes = [before[parts[0][0]], after[parts[1][0]]]
        while sizes[0] != sizes[1]:
            side = sizes[0] > sizes[1]
            parts[side].append((left, right)[side].pop(0))
            sizes[side] *= (before, after)[side][parts[side][-1]]
        if len(parts[0]) == len(parts[1]) == 1:
            old[parts[0][0]] = new[parts[1][0]] = next(fresh)
            continue
        for group, axes in zip(parts, (old, new), strict=True):
            for d in group:
                axes[d] = next(fresh)
                whole.append(axes[d])
    return Relation((tuple(old),), tuple(new), whole=frozenset(whole))


Label = int
"""What runs over tiles: axis ``n`` of the batch, or :data:`ROW`. Other dimensions have :data:`WHOLE`."""
ROW: Label = -1
WHOLE: Label = -2
Labels = tuple[Label, ...]


def labels_of_axes(relation: Relation, known: Sequence[tuple[Axes, Labels]]) -> dict[int, Label] | None:
    """The labels of an op's axes, from those of some of its values; None if they contradict each other, or name what cannot be computed in parts."""
    labels: dict[int, Label] = {}
    for axes, given in known:
        for axis, label in zip(axes, given, strict=True):
            if labels.setdefault(axis, label) != label:
                return None
    tiled = {axis for axis, label in labels.items() if label != WHOLE}
    if tiled & (relation.whole | relation.folded) or any(labels[axis] != ROW for axis in tiled & relation.summed):
        return None
    named = [labels[axis] for axis in tiled]
    return labels if len(set(named)) == len(named) else None


def labels_of(axes: Axes, labels: dict[int, Label]) -> Labels:
    """The labels of the dimensions that have these axes."""
    return tuple(labels.get(axis, WHOLE) for axis in axes)
