"""Ops that read or write at computed positions: dynamic slices, gather, scatter.

Reads are clamped so that the whole slice lies inside; writes whose window does not lie inside are dropped. Updates of the
same element are combined in row-major order of the updates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.dialects import core, stablehlo
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import element_of, shape
from wengert.runtime.interpreter.numerics.combining import accumulated, kind_of, ufunc_of
from wengert.runtime.interpreter.numerics.precision import working_dtype
from wengert.runtime.interpreter.rules import Array, Binary, Function, RegionFunction, Scope, Variadic, evaluates, evaluates_in_scope, one_or_tuple, updates


def _clamped(start: Any, limit: int) -> int:
    return max(0, min(int(start), limit))


@evaluates(stablehlo.DynamicSliceOp)
def dynamic_slice(op: stablehlo.DynamicSliceOp) -> Function:
    """A slice at a computed start."""
    sizes = ints(op.slice_sizes)
    places = [(n - size, size) for n, size in zip(shape(op.operand), sizes, strict=True)]

    def run(x: Any, *starts: Any) -> Any:
        clamped = [_clamped(start, limit) for start, (limit, _) in zip(starts, places, strict=True)]
        return x[tuple([slice(start, start + size) for start, (_, size) in zip(clamped, places, strict=True)])]

    return run


@evaluates(stablehlo.DynamicUpdateSliceOp)
def dynamic_update_slice(op: stablehlo.DynamicUpdateSliceOp) -> Function:
    """The operand with a slice replaced at a computed start."""
    write = _slice_update(op)

    def run(x: Any, update: Any, *starts: Any) -> Array:
        return write(np.array(x), update, *starts)

    return run


@updates(stablehlo.DynamicUpdateSliceOp)
def update_slice(op: stablehlo.DynamicUpdateSliceOp, scope: Scope) -> Function:
    """The same, in the operand itself."""
    return _slice_update(op)


def _slice_update(op: stablehlo.DynamicUpdateSliceOp) -> Function:
    places = [(n - size, size) for n, size in zip(shape(op.operand), shape(op.update), strict=True)]

    def write(x: Any, update: Any, *starts: Any) -> Array:
        clamped = [_clamped(start, limit) for start, (limit, _) in zip(starts, places, strict=True)]
        x[tuple([slice(start, start + size) for start, (_, size) in zip(clamped, places, strict=True)])] = update
        return x

    return write


def _index_vectors(indices: Any, vector_dim: int) -> Array:
    """Start indices with the index vector last, as i64 (unsigned values beyond i64 become its maximum)."""
    indices = np.asarray(indices)
    if indices.dtype == np.uint64:
        indices = np.minimum(indices, np.uint64(np.iinfo(np.int64).max))
    indices = indices.astype(np.int64)
    return indices[..., None] if vector_dim == indices.ndim else np.moveaxis(indices, vector_dim, -1)


def _grid(axis_of: dict[int, int], ndim: int, dimension: int, extent: int) -> Array:
    """0 .. extent - 1 along the axis that stands for an operand dimension, among ndim axes."""
    return np.arange(extent).reshape([extent if a == axis_of[dimension] else 1 for a in range(ndim)])


class _Placement:
    """The placement of a gather's slices, or a scatter's windows, in the operand.

    Axes of the index arrays are the batch dimensions first, then the window dimensions in order of the operand.
    """

    def __init__(
        self,
        operand: tuple[int, ...],
        sizes: Sequence[int],
        start_map: Sequence[int],
        batching: Sequence[int],
        index_batching: Sequence[int],
        collapsed: Sequence[int],
        vector_dim: int,
    ):
        self.operand, self.sizes, self.start_map, self.vector_dim = operand, sizes, start_map, vector_dim
        self.batching = [(d, i - (i > vector_dim)) for d, i in zip(batching, index_batching, strict=True)]
        self.window = [d for d in range(len(operand)) if d not in collapsed and d not in batching]

    def starts(self, indices: Any) -> list[Array]:
        """The start of each slice along every operand dimension, of batch shape."""
        vectors = _index_vectors(indices, self.vector_dim)
        starts: list[Array] = [np.zeros(vectors.shape[:-1], np.int64)] * len(self.operand)
        for k, d in enumerate(self.start_map):
            starts[d] = vectors[..., k]
        for d, i in self.batching:
            starts[d] = np.broadcast_to(_grid({d: i}, vectors.ndim - 1, d, self.operand[d]), vectors.shape[:-1])
        return starts

    def index(self, starts: list[Array]) -> tuple[Array, ...]:
        """Index arrays for all elements of all slices: they broadcast to (batch..., window...)."""
        batch, ndim = starts[0].ndim, starts[0].ndim + len(self.window)
        axis_of = {d: batch + k for k, d in enumerate(self.window)}
        grown = [start.reshape(start.shape + (1,) * len(self.window)) for start in starts]
        return tuple(g + _grid(axis_of, ndim, d, self.sizes[d]) if d in axis_of else g for d, g in enumerate(grown))


@evaluates(stablehlo.GatherOp)
def gather(op: stablehlo.GatherOp) -> Binary:
    """Slices at computed starts; offset_dims says where the slices' dimensions stand in the result."""
    numbers = op.dimension_numbers
    assert isinstance(numbers, GatherDimensionNumbersAttr)
    operand, sizes, result = shape(op.operand), ints(op.slice_sizes), shape(op.result)
    if not operand:
        return lambda x, indices: np.broadcast_to(x, result)
    if 0 in operand:
        # nothing to read: a collapsed dimension without elements leaves a result that has some
        return lambda x, indices: np.zeros(result, x.dtype)
    batching = numbers.dims("operand_batching_dims")
    placement = _Placement(
        operand,
        sizes,
        numbers.dims("start_index_map"),
        batching,
        numbers.dims("start_indices_batching_dims"),
        numbers.dims("collapsed_slice_dims"),
        int_of(numbers.index_vector_dim),
    )
    offsets = numbers.dims("offset_dims")
    order = (*(d for d in range(len(result)) if d not in offsets), *offsets)
    placed = tuple(int(d) for d in np.argsort(order))

    def run(x: Any, indices: Any) -> Array:
        starts = placement.starts(indices)
        inside = [np.clip(start, 0, n - size) for start, n, size in zip(starts, operand, sizes, strict=True)]
        return np.asarray(x[placement.index(inside)]).transpose(placed)

    return run


def _scatter_placement(numbers: ScatterDimensionNumbersAttr, operand: tuple[int, ...], updates: tuple[int, ...]) -> tuple[_Placement, tuple[int, ...]]:
    """The placement of the windows, and the order of the updates' dimensions that puts those of the windows last."""
    inserted, batching, window_dims = numbers.dims("inserted_window_dims"), numbers.dims("input_batching_dims"), numbers.dims("update_window_dims")
    sizes, extents = [1] * len(operand), iter(window_dims)
    for d in range(len(operand)):
        if d not in inserted and d not in batching:
            sizes[d] = updates[next(extents)]
    placement = _Placement(
        operand,
        sizes,
        numbers.dims("scatter_dims_to_operand_dims"),
        batching,
        numbers.dims("scatter_indices_batching_dims"),
        inserted,
        int_of(numbers.index_vector_dim),
    )
    return placement, (*(d for d in range(len(updates)) if d not in window_dims), *window_dims)


def _scatter_function(
    numbers: ScatterDimensionNumbersAttr, operand: tuple[int, ...], update_shape: tuple[int, ...], kind: Kind | None, body: RegionFunction | None
) -> Callable[[Sequence[Array], Any, Sequence[Any]], None]:
    """A function that changes inputs, which are flat, by indices and updates."""
    placement, order = _scatter_placement(numbers, operand, update_shape)

    def run(results: Sequence[Array], indices: Any, updates: Sequence[Any]) -> None:
        moved = [np.asarray(u).transpose(order) for u in updates]
        if results[0].size == 0 or moved[0].size == 0:
            return
        if operand:
            starts = placement.starts(indices)
            inside = np.logical_and.reduce([(s >= 0) & (s <= n - size) for s, n, size in zip(starts, operand, placement.sizes, strict=True)])
            inside = np.broadcast_to(inside.reshape(inside.shape + (1,) * len(placement.window)), moved[0].shape)
            clipped = [np.clip(s, 0, max(0, n - size)) for s, n, size in zip(starts, operand, placement.sizes, strict=True)]
            flat = np.broadcast_to(np.ravel_multi_index(np.broadcast_arrays(*placement.index(clipped)), operand), moved[0].shape)
            combine_at(results, flat[inside], [u[inside] for u in moved], kind, body)
        else:
            combine_at(results, np.zeros(moved[0].size, np.int64), [u.ravel() for u in moved], kind, body)

    return run


def combine_at(results: Sequence[Array], positions: Array, updates: Sequence[Array], kind: Kind | None, body: RegionFunction | None) -> None:
    """Combines updates into flat results at flat positions, in order, in place: by kind, else by the region."""
    if kind is Kind.set:
        results[0][positions] = updates[0]  # of equal positions NumPy keeps the last
        return
    element_type = element_of(results[0].dtype)
    if kind is not None:  # combined in the working type, and rounded once
        wide = results[0].astype(working_dtype(element_type), copy=False)
        ufunc_of(kind, element_type).at(wide, positions, updates[0].astype(wide.dtype, copy=False))
        if wide is not results[0]:
            results[0][...] = wide.astype(results[0].dtype)
        return
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    first = np.searchsorted(ordered, ordered, "left")
    turns = np.empty(len(positions), np.int64)
    turns[order] = np.arange(len(positions)) - first  # how many updates of the same element come before
    assert body is not None
    for turn in range(int(turns.max(initial=-1)) + 1):
        now = turns == turn
        at = positions[now]
        for result, new in zip(results, body(*[r[at] for r in results], *[u[now] for u in updates]), strict=True):
            result[at] = new


def combination(combine: np.ufunc) -> RegionFunction:
    """The ufunc as the function of a region."""
    return lambda *pair: (combine(*pair),)


@evaluates_in_scope(stablehlo.ScatterOp, core.ScatterOp)
def scatter(op: stablehlo.ScatterOp | core.ScatterOp, scope: Scope) -> Variadic:
    """The inputs with updates combined into them, by the region or by kind."""
    run, count = _scatter_of(op, scope), len(op.results)

    def copying(*operands: Any) -> Any:
        results = [np.array(x, order="C") for x in accumulated(op, operands[:count])]
        run([r.reshape(-1) for r in results], operands[count], accumulated(op, operands[count + 1 :]))
        return one_or_tuple(op, tuple([r if r.ndim else r[()] for r in results]))

    return copying


@updates(stablehlo.ScatterOp, core.ScatterOp)
def update_scattered(op: stablehlo.ScatterOp | core.ScatterOp, scope: Scope) -> Function | None:
    """The same in the operand itself, where there is one."""
    if len(op.results) != 1 or op.results[0].type != op.operands[0].type:
        return None
    run = _scatter_of(op, scope)

    def write(x: Any, indices: Any, updates: Any) -> Array:
        x = np.ascontiguousarray(x)
        run([x.reshape(-1)], indices, accumulated(op, [updates]))
        return x

    return write


def _scatter_of(op: stablehlo.ScatterOp | core.ScatterOp, scope: Scope) -> Callable[[Sequence[Array], Any, Sequence[Any]], None]:
    numbers = op.scatter_dimension_numbers
    assert isinstance(numbers, ScatterDimensionNumbersAttr)
    if isinstance(op, core.ScatterOp):
        return _scatter_function(numbers, shape(op.operand), shape(op.updates), op.kind.data, None)
    kind = kind_of(op.update_computation) if len(op.inputs) == 1 else None
    body = scope.scalar_region(op.update_computation)
    return _scatter_function(numbers, shape(op.inputs[0]), shape(op.updates[0]), kind, body)
