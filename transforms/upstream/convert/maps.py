"""Affine maps: their linear forms, their values, and reading a tensor at them over a whole iteration space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap, AffineSymExpr

from wengert.ir.tensor_types import rank, shape
from wengert.transforms.upstream.convert import integers
from wengert.transforms.upstream.convert.converter import Converter, Value
from wengert.transforms.upstream.convert.tensors import gather_at

Form = tuple[dict[int, int], int]
"""The coefficients of dimensions, and a constant."""

_NAMES = {
    AffineBinaryOpKind.Add: "add",
    AffineBinaryOpKind.Mul: "mul",
    AffineBinaryOpKind.FloorDiv: "floordivs",
    AffineBinaryOpKind.CeilDiv: "ceildivs",
    AffineBinaryOpKind.Mod: "mod",
}


def linear_form(expr: AffineExpr) -> Form | None:
    """The expression as a sum of multiples of dimensions, if it is one without symbols."""
    if isinstance(expr, AffineDimExpr):
        return {expr.position: 1}, 0
    if isinstance(expr, AffineConstantExpr):
        return {}, expr.value
    if not isinstance(expr, AffineBinaryOpExpr):
        return None
    left, right = linear_form(expr.lhs), linear_form(expr.rhs)
    if left is None or right is None:
        return None
    if expr.kind is AffineBinaryOpKind.Add:
        dims = {d: left[0].get(d, 0) + right[0].get(d, 0) for d in (*left[0], *right[0])}
        return dims, left[1] + right[1]
    if expr.kind is AffineBinaryOpKind.Mul and (not left[0] or not right[0]):
        (dims, constant), factor = (left, right[1]) if not right[0] else (right, left[1])
        return {d: n * factor for d, n in dims.items()}, constant * factor
    return None


def single_dim(expr: AffineExpr) -> int | None:
    """The dimension that the expression is."""
    return expr.position if isinstance(expr, AffineDimExpr) else None


def projected(map: AffineMap) -> list[int] | None:
    """The dimensions that the results of a map are, if each is one and none occurs twice."""
    dims = [single_dim(expr) for expr in map.results]
    known = [d for d in dims if d is not None]
    return known if len(known) == len(dims) == len(set(known)) else None


def iteration_space(maps: Sequence[AffineMap], shapes: Sequence[Sequence[int]]) -> list[int] | None:
    """The extent of each dimension, from the operands that are indexed by it alone; None where one is indexed by sums only."""
    extents: dict[int, int] = {}
    for map, extent in zip(maps, shapes, strict=True):
        for expr, n in zip(map.results, extent, strict=True):
            d = single_dim(expr)
            if d is not None:
                extents.setdefault(d, n)
    count = maps[0].num_dims if maps else 0
    return [extents[d] for d in range(count)] if len(extents) == count else None


def wrong_extent(maps: Sequence[AffineMap], shapes: Sequence[Sequence[int]], extents: Sequence[int]) -> str:
    """How an operand has another extent than the dimension that it is indexed by, or nothing."""
    for number, (map, extent) in enumerate(zip(maps, shapes, strict=True)):
        for place, (expr, n) in enumerate(zip(map.results, extent, strict=True)):
            d = single_dim(expr)
            if d is not None and n != extents[d]:
                return f"operand {number} has extent {n} in dimension {place}, where others have {extents[d]}"
    return ""


def value_of(c: Converter, expr: AffineExpr, dims: Sequence[Value], symbols: Sequence[Value] = ()) -> Value:
    """The value of an expression."""
    if isinstance(expr, AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, AffineSymExpr):
        return symbols[expr.position]
    if isinstance(expr, AffineConstantExpr):
        return c.index(expr.value)
    assert isinstance(expr, AffineBinaryOpExpr)
    left, right = value_of(c, expr.lhs, dims, symbols), value_of(c, expr.rhs, dims, symbols)
    if expr.kind is AffineBinaryOpKind.Mod:
        multiple = integers.binary(c, "mul", integers.binary(c, "floordivs", left, right), right)
        return integers.binary(c, "sub", left, multiple)
    return integers.binary(c, _NAMES[expr.kind], left, right)


def number_of(expr: AffineExpr, dims: Sequence[Any]) -> Any:
    """The number, or array of numbers, that an expression without symbols is."""
    if isinstance(expr, AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, AffineConstantExpr):
        return expr.value
    assert isinstance(expr, AffineBinaryOpExpr)
    left, right = number_of(expr.lhs, dims), number_of(expr.rhs, dims)
    if expr.kind is AffineBinaryOpKind.Add:
        return left + right
    if expr.kind is AffineBinaryOpKind.Mul:
        return left * right
    if expr.kind is AffineBinaryOpKind.FloorDiv:
        return left // right
    return left % right if expr.kind is AffineBinaryOpKind.Mod else -(-left // right)


def used_dims(expr: AffineExpr) -> set[int]:
    """The dimensions that an expression depends on."""
    return expr.used_dims()


def read_over(c: Converter, x: Value, map: AffineMap, extents: Sequence[int]) -> Value:
    """The elements of x at a map, for every point of an iteration space: of the space's shape."""
    dims = projected(map)
    if dims is not None and all(extents[d] == n for d, n in zip(dims, shape(x), strict=True)):
        return expanded(c, x, dims, extents)
    if rank(x) == 0:
        return c.b.broadcast_in_dim(x, (), extents)
    involved = sorted({d for expr in map.results for d in used_dims(expr)})
    part = [extents[d] for d in involved]
    grid: dict[int, Any] = {d: np.arange(extents[d]).reshape([-1 if e == d else 1 for e in involved]) for d in involved}
    points = [grid.get(d, 0) for d in range(map.num_dims)]
    at = [np.broadcast_to(number_of(expr, points), part) for expr in map.results]
    picked = gather_at(c.b, x, c.b.constant(np.stack(at, -1).astype(np.int64)), part)
    return expanded(c, picked, involved, extents)


def expanded(c: Converter, x: Value, dims: Sequence[int], extents: Sequence[int]) -> Value:
    """x, whose dimension i is the dimension ``dims[i]`` of a space, over the whole space."""
    order = sorted(range(len(dims)), key=lambda i: dims[i])
    return c.b.broadcast_in_dim(c.b.transpose(x, order), [dims[i] for i in order], extents)


def arranged(c: Converter, x: Value, from_dims: Sequence[int], to_dims: Sequence[int]) -> Value:
    """x with its dimensions, which are those of a space, in another order."""
    return c.b.transpose(x, [list(from_dims).index(d) for d in to_dims])
