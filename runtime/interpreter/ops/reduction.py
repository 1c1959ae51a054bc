"""Ops that fold dimensions away: reduce and map, and the core dialect's reduce, argreduce and cumulative."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from wengert.dialects import core, stablehlo
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime.interpreter.numerics.combining import accumulated, kind_of, neutral, ufunc_of
from wengert.runtime.interpreter.numerics.precision import working_dtype
from wengert.runtime.interpreter.rules import Array, Binary, Function, Scope, Unary, Variadic, evaluates, evaluates_in_scope, one_or_tuple


@evaluates_in_scope(stablehlo.ReduceOp)
def reduce(op: stablehlo.ReduceOp, scope: Scope) -> Binary:
    """Folds from the initial values, element by element in row-major order of the folded dimensions."""
    dims, kind = ints(op.dimensions), kind_of(op.body)
    if kind is not None and kind is not Kind.set:
        element_type = element(op.results[0])
        combine, wide, dtype = ufunc_of(kind, element_type), working_dtype(element_type), dtype_of(element_type)
        return lambda x, init: combine(init.astype(wide), _reduced(combine, x.astype(wide, copy=False), dims, neutral(kind, wide))).astype(dtype, copy=False)
    body, count, result = scope.scalar_region(op.body), len(op.inputs), shape(op.results[0])
    folded = prod(shape(op.inputs[0])[d] for d in dims)
    kept = tuple(d for d in range(len(shape(op.inputs[0]))) if d not in dims)

    def fold(*operands: Any) -> Any:
        inputs, inits = accumulated(op, operands[:count]), accumulated(op, operands[count:])
        rows = [x.transpose((*sorted(dims), *kept)).reshape((folded, *result)) for x in inputs]
        totals: Sequence[Any] = [np.broadcast_to(init, result) for init in inits]
        for i in range(folded):
            totals = body(*totals, *[row[i] for row in rows])
        return one_or_tuple(op, tuple(totals))

    return fold


def _reduced(combine: np.ufunc, x: Any, dims: tuple[int, ...], empty: Any) -> Any:
    """All elements along the dimensions combined; the neutral element where there are none."""
    if 0 in [x.shape[d] for d in dims]:
        return np.full([n for d, n in enumerate(x.shape) if d not in dims], empty, x.dtype)[()]
    return combine.reduce(x, axis=dims) if dims else x


@evaluates_in_scope(stablehlo.MapOp)
def map_(op: stablehlo.MapOp, scope: Scope) -> Variadic:
    """The region applied to each element."""
    body = scope.scalar_region(op.computation)
    result = shape(op.result)
    return lambda *xs: np.broadcast_to(body(*xs)[0], result)


@evaluates(core.ReduceOp)
def core_reduce(op: core.ReduceOp) -> Unary:
    """All elements along the dimensions combined."""
    element_type, kind, dims = element(op.operand), op.kind.data, ints(op.dimensions)
    combine, wide, dtype = ufunc_of(kind, element_type), working_dtype(element_type), dtype_of(element_type)
    return lambda x: _reduced(combine, x.astype(wide, copy=False), dims, neutral(kind, wide)).astype(dtype, copy=False)


@evaluates(core.CumulativeOp)
def cumulative(op: core.CumulativeOp) -> Function:
    """The running combination, from either end."""
    element_type, axis = element(op.operand), int_of(op.dimension)
    combine, wide, dtype = ufunc_of(op.kind.data, element_type), working_dtype(element_type), dtype_of(element_type)
    backward = bool(int_of(op.reverse))

    def run(x: Any) -> Array:
        x = x.astype(wide, copy=False)
        x = combine.accumulate(np.flip(x, axis) if backward else x, axis=axis)
        return (np.flip(x, axis) if backward else x).astype(dtype, copy=False)

    return run


@evaluates(core.ArgReduceOp)
def argreduce(op: core.ArgReduceOp) -> Function:
    """The extreme element and the lowest position that holds it; NaN is more extreme than any number."""
    axis, index_dtype = int_of(op.dimension), dtype_of(element(op.index))
    wide = working_dtype(element(op.operand))
    find = np.argmax if op.extreme.data == core.Extreme.max else np.argmin  # both give the first NaN where there is one

    def run(x: Any) -> tuple[Any, Any]:
        position = find(x.astype(wide, copy=False), axis=axis)
        value = np.take_along_axis(x, np.expand_dims(position, axis), axis).squeeze(axis)
        return value, position.astype(index_dtype)

    return run
