"""Rules that propagate index sets through ops, from those of operands to those of results.

A rule may take a set too large, never one too small. An op without one gives every element of its results all that its operands depend on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.dialects import ad, chlo, core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.facts import facts_of
from wengert.dialects.stablehlo.convolution_windows import windows_of
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import shape
from wengert.transforms.analysis.sparsity.index_sets import IndexSets, Numbers, joined, nothing
from wengert.transforms.analysis.sparsity.known import gather_places
from wengert.transforms.analysis.sparsity.positions import OUTSIDE, Positions, Windowed, slice_positions, window_positions
from wengert.transforms.optimize.folding import MOVEMENT

Known = Sequence[Any]
"""What is known of the operands: an array, or None."""
Rule = Callable[[Any, Sequence[IndexSets], Known], Sequence[IndexSets]]
"""(op, sets of the operands, what is known of them) -> sets of the results. Results without derivatives may have any."""

RULES: dict[type[Operation], Rule] = {}


def rule(*ops: type[Operation]) -> Callable[[Rule], Rule]:
    """Registers how ops pass sets on."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, function))
        return function

    return register


def rule_of(op: Operation) -> Rule:
    """The rule of an op; the one that says least, where it has none of its own."""
    cls = type(op)
    if cls in RULES:
        return RULES[cls]
    if cls in MOVEMENT:
        return _moved
    if cls in core.LINALG:
        return _by_matrix
    return _united if facts_of(cls).elementwise and len(op.results) == 1 else everything


def everything(op: Operation, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """Every element of the results depends on all that the operands depend on."""
    united = operands[0].everywhere(())
    for operand in operands[1:]:
        united = united.united(operand.everywhere(()))
    return [united.everywhere(shape(result)) for result in op.results]


# -- element by element


def _united(op: Operation, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """Scalars among the operands are those of every element."""
    extents, united = shape(op.results[0]), operands[0]
    for operand in operands[1:]:
        united = united.united(operand)
    return [united if united.shape == extents else united.with_numbers(np.broadcast_to(united.numbers, extents))]


@rule(hlo.MultiplyOp)
def _product(op: hlo.MultiplyOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """A factor that is known to be zero takes the other's dependence away: d(0 x) = 0."""
    return _united(op, [_where(x, other) for x, other in zip(operands, reversed(known), strict=True)], known)


def _where(sets: IndexSets, condition: Any) -> IndexSets:
    """The sets where a condition, if it is known, is not zero."""
    return sets if condition is None or np.all(condition) else sets.with_numbers(np.where(condition != 0, sets.numbers, 0))


@rule(hlo.SelectOp)
def _selected(op: hlo.SelectOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    condition, (_, on_true, on_false) = known[0], operands
    if condition is not None:
        on_true, on_false = _where(on_true, condition), _where(on_false, ~condition.astype(bool))
    return [on_true.united(on_false)]


@rule(hlo.OptimizationBarrierOp, ad.GuardOp)
def _passed(op: Operation, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    return operands[: len(op.results)]


# -- moving elements


def _moved(op: Any, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """The function that folds constants, on the numbers of sets."""
    rows, numbers = joined(operands)
    moved = MOVEMENT[type(op)](op, numbers)
    return everything(op, operands, known) if moved is None else [IndexSets(rows, moved)]


@rule(hlo.BroadcastInDimOp)
def _broadcast(op: hlo.BroadcastInDimOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    dims, extents, numbers = ints(op.broadcast_dimensions), shape(op.result), operands[0].numbers
    aligned = [1] * len(extents)
    for d in dims:
        aligned[d] = numbers.shape[dims.index(d)]
    turned = np.transpose(numbers, sorted(range(len(dims)), key=lambda d: dims[d])).reshape(aligned)
    return [operands[0].with_numbers(np.broadcast_to(turned, extents))]


# -- reductions


@rule(core.ReduceOp)
def _reduced(op: core.ReduceOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    return [operands[0].reduced(ints(op.dimensions))]


@rule(core.ArgReduceOp)
def _extreme(op: core.ArgReduceOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    united = operands[0].reduced([int_of(op.dimension)])
    return [united, united]


@rule(core.CumulativeOp)
def _cumulative(op: core.CumulativeOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """An element depends on itself and on those before it."""
    numbers = np.moveaxis(operands[0].numbers, int_of(op.dimension), -1)
    extent = numbers.shape[-1]
    before = np.tril(np.ones((extent, extent), bool))
    before = before.T if int_of(op.reverse) else before
    united = operands[0].grouped(np.where(before, numbers[..., None, :], 0))
    return [united.with_numbers(np.moveaxis(united.numbers, -1, int_of(op.dimension)))]


@rule(core.WindowReduceOp)
def _windows(op: core.WindowReduceOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    edges = ints(op.padding)
    window, strides, base, dilations = (ints(a) for a in (op.window_dimensions, op.window_strides, op.base_dilations, op.window_dilations))
    positions = window_positions(operands[0].shape, window, strides, base, dilations, edges[::2], edges[1::2])
    return [operands[0].grouped(read(operands[0], positions))]


def read(sets: IndexSets, positions: Positions) -> Numbers:
    """The numbers of the sets of elements at row-major positions; the empty one's for OUTSIDE."""
    numbers = sets.numbers.reshape(-1)
    if not numbers.size:
        return np.zeros(positions.shape, np.int64)
    return np.where(positions == OUTSIDE, 0, numbers[np.where(positions == OUTSIDE, 0, positions)])


@rule(hlo.SortOp)
def _sorted(op: hlo.SortOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """An element may come from anywhere along the dimension; which one is decided by the keys, whose derivative does not matter."""
    return [operand.spread([-1 if op.dimension is None else int_of(op.dimension)]) if operand.shape else operand for operand in operands]


@rule(chlo.TopKOp)
def _top(op: chlo.TopKOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    united = operands[0].reduced([operands[0].numbers.ndim - 1], keep=True)
    taken = united.with_numbers(np.broadcast_to(united.numbers, shape(op.results[0])))
    return [taken, taken]


@rule(hlo.FftOp)
def _transformed(op: hlo.FftOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    rank, extents = operands[0].numbers.ndim, shape(op.results[0])
    united = operands[0].reduced(range(rank - len(ints(op.fft_length)), rank), keep=True)
    return [united.with_numbers(np.broadcast_to(united.numbers, extents))]


# -- products


@rule(hlo.DotGeneralOp)
def _contracted(op: hlo.DotGeneralOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """Batch dimensions, free ones of the left operand, free ones of the right operand."""
    numbers = op.dot_dimension_numbers
    sides: list[IndexSets] = []
    for side, table, other in zip(("lhs", "rhs"), operands, ("rhs", "lhs"), strict=True):
        batch, contracted = numbers.dims(f"{side}_batching_dimensions"), numbers.dims(f"{side}_contracting_dimensions")
        free = [d for d in range(table.numbers.ndim) if d not in (*batch, *contracted)]
        ordered = table.with_numbers(np.transpose(table.numbers, [*batch, *free, *contracted]))
        extents = ordered.shape
        flat = ordered.with_numbers(
            ordered.numbers.reshape(*extents[: len(batch)], prod(extents[len(batch) : len(batch) + len(free)]), prod(extents[len(batch) + len(free) :]))
        )
        factor = known[0 if other == "lhs" else 1]
        sides.append(_summed(flat, None if factor is None else _factor(factor, numbers, other)))
    left, right = sides
    right = right.with_numbers(np.swapaxes(right.numbers, -1, -2))
    united = left.united(right)
    return [united.with_numbers(np.broadcast_to(united.numbers, _matrix_shape(operands, numbers)).reshape(shape(op.results[0])))]


def _factor(factor: Any, numbers: Any, side: str) -> Any:
    """A known operand of a product as ``[*batch, free, contracted]``."""
    batch, contracted = numbers.dims(f"{side}_batching_dimensions"), numbers.dims(f"{side}_contracting_dimensions")
    free = [d for d in range(factor.ndim) if d not in (*batch, *contracted)]
    extents = [factor.shape[d] for d in batch]
    return np.transpose(factor, [*batch, *free, *contracted]).reshape(*extents, prod(factor.shape[d] for d in free), prod(factor.shape[d] for d in contracted))


def _summed(flat: IndexSets, factor: Any) -> IndexSets:
    """``[*batch, free, 1 or the other's free]``: the union over what is summed, without what a known factor multiplies by zero."""
    if factor is None or flat.is_empty or np.all(factor):
        return flat.reduced([flat.numbers.ndim - 1], keep=True)
    return flat.grouped(np.where(factor[..., None, :, :] != 0, flat.numbers[..., :, None, :], 0))


def _matrix_shape(operands: Sequence[IndexSets], numbers: Any) -> tuple[int, ...]:
    """Batch dimensions, and one of all free elements for each operand."""
    left, right = operands
    batch: list[int] = [left.shape[d] for d in numbers.dims("lhs_batching_dimensions")]
    rows, columns = (
        prod(
            table.shape[d]
            for d in range(table.numbers.ndim)
            if d not in (*numbers.dims(f"{side}_batching_dimensions"), *numbers.dims(f"{side}_contracting_dimensions"))
        )
        for table, side in ((left, "lhs"), (right, "rhs"))
    )
    return (*batch, rows, columns)


@rule(hlo.ConvolutionOp)
def _convolved(op: hlo.ConvolutionOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    w = windows_of(op)
    image = operands[0].with_numbers(np.transpose(operands[0].numbers, w.lhs))
    kernel = operands[1].with_numbers(np.transpose(operands[1].numbers, w.rhs))
    extents, window, out = image.shape[2:], kernel.shape[2:], shape(op.results[0])
    batches, features = out[w.out[0]], out[w.out[1]]
    positions = window_positions(extents, window, w.strides, w.base, w.dilations, w.low, w.high)
    places = positions.shape[:-1]
    # [batch groups, batch, feature groups, features of a group, elements]
    parts = image.numbers.reshape(w.batch_groups, batches, w.groups, image.shape[1] // w.groups, prod(extents))
    taken = np.where(positions == OUTSIDE, 0, parts[..., np.where(positions == OUTSIDE, 0, positions)])
    summed = np.moveaxis(taken, 3, -2)
    reached = image.grouped(summed.reshape(*summed.shape[:-2], prod(summed.shape[-2:])))
    if w.batch_groups > 1:  # each group of features sees its own part of the batch
        spread = np.broadcast_to(reached.numbers[:, None, :, 0], (w.batch_groups, features // w.batch_groups, batches, *places))
        numbers = np.swapaxes(spread.reshape(features, batches, *places), 0, 1)
    else:
        spread = np.broadcast_to(reached.numbers[0][:, :, None], (batches, w.groups, features // w.groups, *places))
        numbers = spread.reshape(batches, features, *places)
    weights = kernel.reduced([0, *range(2, kernel.numbers.ndim)])
    united = reached.with_numbers(numbers).united(weights.with_numbers(weights.numbers.reshape(1, features, *[1] * len(window))))
    return [united.with_numbers(np.transpose(united.numbers, np.argsort(w.out)))]


@rule(hlo.CholeskyOp, hlo.TriangularSolveOp)
def _by_matrix(op: Operation, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """Factorisations and solutions: matrices of a batch do not mix."""
    batch = operands[0].shape[:-2]
    if any(x.shape[: len(batch)] != batch for x in operands) or any(shape(y)[: len(batch)] != batch for y in op.results):
        return everything(op, operands, known)
    united = nothing(batch, operands[0].columns)
    for operand in operands:
        united = united.united(operand.reduced(range(len(batch), operand.numbers.ndim)))
    return [united.with_numbers(np.broadcast_to(united.numbers.reshape((*batch, *[1] * (len(shape(y)) - len(batch)))), shape(y))) for y in op.results]


# -- computed positions


@rule(hlo.DynamicSliceOp)
def _slice(op: hlo.DynamicSliceOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """Where the start is not known, an element may be any along the dimensions of which the slice is a part."""
    sets, sizes = operands[0], ints(op.slice_sizes)
    starts = known[1:]
    unknown = [d for d, size in enumerate(sizes) if size < sets.shape[d] and starts[d] is None]
    sets = sets.spread(unknown) if unknown else sets
    first = [0 if start is None else int(start) for start in starts]
    return [sets.with_numbers(read(sets, slice_positions(sets.shape, first, sizes)))]


@rule(hlo.DynamicUpdateSliceOp)
def _update(op: hlo.DynamicUpdateSliceOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """Where the start is not known, an element may stay, or become any of the update along those dimensions."""
    sets, update = operands[0], operands[1]
    starts, sizes = known[2:], update.shape
    unknown = [d for d, size in enumerate(sizes) if size < sets.shape[d] and starts[d] is None]
    first = [0 if start is None else int(start) for start in starts]
    if not unknown:
        rows, (old, new) = joined([sets, update])
        numbers = old.copy().reshape(-1)
        numbers[slice_positions(sets.shape, first, sizes)] = new
        return [IndexSets(rows, numbers.reshape(sets.shape))]
    united = update.reduced(unknown, keep=True)
    reach = [sets.shape[d] if d in unknown else size for d, size in enumerate(sizes)]
    there = np.zeros(sets.shape, np.int64).reshape(-1)
    there[slice_positions(sets.shape, first, reach)] = np.broadcast_to(united.numbers, reach)
    return [sets.united(united.with_numbers(there.reshape(sets.shape)))]


@rule(hlo.GatherOp)
def _gathered(op: hlo.GatherOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    sets, result, where = operands[0], shape(op.results[0]), gather_places(op)
    indices = known[1]
    if indices is None:
        sets, indices = sets.spread(where.moving()), np.zeros(shape(op.operands[1]), np.int64)
    if not prod(sets.shape):
        return [nothing(result, sets.columns)]
    return [sets.with_numbers(read(sets, where.positions(indices, clamped=True)))]


@rule(core.ScatterOp)
def _scattered(op: core.ScatterOp, operands: Sequence[IndexSets], known: Known) -> Sequence[IndexSets]:
    """An element is what it was, with all updates that come to it. Where the places are not known, any may along the dimensions that they choose in."""
    numbers, (sets, _, updates) = op.scatter_dimension_numbers, operands
    offsets = numbers.dims("update_window_dims")
    missing = (*numbers.dims("inserted_window_dims"), *numbers.dims("input_batching_dims"))
    window_dims = [d for d in range(sets.numbers.ndim) if d not in missing]
    sizes = [1] * sets.numbers.ndim
    for d, offset in zip(window_dims, offsets, strict=True):
        sizes[d] = updates.shape[offset]
    where = Windowed(
        sets.shape,
        sizes,
        offsets,
        numbers.dims("inserted_window_dims"),
        numbers.dims("input_batching_dims"),
        numbers.dims("scatter_indices_batching_dims"),
        numbers.dims("scatter_dims_to_operand_dims"),
        int_of(numbers.index_vector_dim),
        updates.shape,
    )
    indices, moving = known[1], where.moving()
    exact = indices is not None
    positions = where.positions(indices if exact else np.zeros(shape(op.operands[1]), np.int64), clamped=not exact)
    arrived = _collected(updates, positions, prod(sets.shape))
    arrived = arrived.with_numbers(arrived.numbers.reshape(sets.shape))
    kept = sets
    if exact and op.kind.data is core.Kind.set:
        kept = sets.with_numbers(np.where(np.isin(np.arange(prod(sets.shape)), positions).reshape(sets.shape), 0, sets.numbers))
    return [kept.united(arrived if exact or not moving else arrived.spread(moving))]


def _collected(updates: IndexSets, positions: Positions, count: int) -> IndexSets:
    """For each of so many positions, the union of the updates that come to it."""
    inside = positions.reshape(-1) != OUTSIDE
    places, numbers = positions.reshape(-1)[inside], updates.numbers.reshape(-1)[inside]
    order = np.argsort(places, kind="stable")
    places, numbers = places[order], numbers[order]
    if not len(places):
        return nothing((count,), updates.columns)
    first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    lengths = np.diff(np.concatenate([first, [len(places)]]))
    groups = np.zeros((len(first), int(lengths.max())), np.int64)
    groups[np.repeat(np.arange(len(first)), lengths), np.arange(len(places)) - np.repeat(first, lengths)] = numbers
    united = updates.grouped(groups)
    there = np.zeros(count, np.int64)
    there[places[first]] = united.numbers
    return united.with_numbers(there)
