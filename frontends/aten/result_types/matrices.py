"""Rules for the types of results of systems of equations, factors, attention and normalisation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wengert.frontends.aten.axes import axes
from wengert.frontends.aten.result_types.promotion import tensors
from wengert.frontends.aten.result_types.rules import Types
from wengert.frontends.aten.result_types.shapes import bins
from wengert.ir.tensor_types import element, f32, f64, i32, i64, real_element, shape, tensor, type_of

Given = Mapping[str, Any]


def _first(given: Given) -> Any:
    return tensors(given.values())[0]


def _batch(*values: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*(shape(x)[:-2] for x in values))


def determinant(given: Given) -> Types:
    """The determinant, the factors, and pivots."""
    a = _first(given)
    return tensor(shape(a)[:-2], element(a)), type_of(a), tensor(shape(a)[:-1], i32)


def log_determinant(given: Given) -> Types:
    """The sign, the logarithm of the absolute value, the factors, and pivots."""
    a = _first(given)
    sign, factors, pivots = determinant(given)
    return sign, tensor(shape(a)[:-2], real_element(element(a))), factors, pivots


def pseudo_inverse(given: Given) -> Types:
    """Matrices with rows and columns exchanged."""
    a = _first(given)
    *batch, m, n = shape(a)
    return (tensor((*batch, n, m), element(a)),)


def singular(given: Given) -> Types:
    """Singular vectors, values, and vectors."""
    a = _first(given)
    *batch, m, n = shape(a)
    k = min(m, n)
    full, wanted = given["full_matrices"], given["compute_uv"]
    left, right = (*batch, m, m if full else k), (*batch, n if full else k, n)
    return tensor(left if wanted else (0,), element(a)), tensor((*batch, k), real_element(element(a))), tensor(right if wanted else (0,), element(a))


def same_matrix(given: Given) -> Types:
    """The type of the first tensor."""
    return (type_of(_first(given)),)


def solution(given: Given) -> Types:
    """The solution of a system, the factors, pivots, and what failed."""
    a, y = given["A"], given["B"]
    if len(shape(y)) == 1 or shape(y) == shape(a)[:-1]:
        extents = (*np.broadcast_shapes(shape(a)[:-2], shape(y)[:-1]), shape(a)[-1])
    else:
        extents = (*_batch(a, y), *shape(y)[-2:])
    return tensor(extents, element(y)), type_of(a), tensor(shape(a)[:-1], i32), tensor(shape(a)[:-2], i32)


def by_triangle(given: Given) -> Types:
    """The solution of a system of matrices."""
    known = tensors(given.values())
    y = given["B"] if "B" in given else given["self"]
    return (tensor((*_batch(*(x for x in known if len(shape(x)) > 1 and x is not given.get("pivots"))), *shape(y)[-2:]), element(y)),)


def by_triangle_and_matrix(given: Given) -> Types:
    """The same, and the matrix."""
    y, a = given["self"], given["A"]
    batch = _batch(a, y)
    return tensor((*batch, *shape(y)[-2:]), element(y)), tensor((*batch, *shape(a)[-2:]), element(a))


def _triangles(a: Any) -> tuple[Any, Any, Any]:
    *batch, m, n = shape(a)
    k = min(m, n)
    return tensor((*batch, m, m), element(a)), tensor((*batch, m, k), element(a)), tensor((*batch, k, n), element(a))


def factors(given: Given) -> Types:
    """A permutation, and a lower and an upper triangle."""
    return _triangles(_first(given))


def packed_factors(given: Given) -> Types:
    """Both triangles in one matrix, pivots, and what failed."""
    a = _first(given)
    *batch, m, n = shape(a)
    return type_of(a), tensor((*batch, min(m, n)), i32), tensor(tuple(batch), i32)


def unpacked_factors(given: Given) -> Types:
    """The permutation and the triangles, those that are asked for."""
    p, lower, upper = _triangles(given["LU_data"])
    empty = tensor((0,), element(given["LU_data"]))
    return p if given["unpack_pivots"] else empty, *((lower, upper) if given["unpack_data"] else (empty, empty))


def distances(given: Given) -> Types:
    """A number for each pair of rows."""
    x, y = given["x1"], given["x2"]
    return (tensor((*_batch(x, y), shape(x)[-2], shape(y)[-2]), element(x)),)


def pairs_of_rows(given: Given) -> Types:
    """A number for each pair of two rows."""
    x = given["self"]
    n = shape(x)[0]
    return (tensor((n * (n - 1) // 2,), element(x)),)


def trilinear(given: Given) -> Types:
    """Three tensors with new dimensions, multiplied and summed over some."""
    rank = len(shape(given["i1"])) + len(given["expand1"])
    wide: list[list[int]] = []
    for number in "123":
        extents, new = iter(shape(given[f"i{number}"])), axes(given[f"expand{number}"], rank)
        wide.append([1 if d in new else next(extents) for d in range(rank)])
    gone = axes(given["sumdim"], rank)
    return (tensor(tuple(n for d, n in enumerate(np.broadcast_shapes(*wide)) if d not in gone), element(given["i1"])),)


def grouped(given: Given) -> Types:
    """A row for each row, with the columns of the matrices."""
    x, y = given["self"], given["mat2"]
    return (tensor((shape(x)[-2], shape(y)[-1]), element(x)),)


# -- attention


def _mixed(given: Given) -> Any:
    q, v = given["query"], given["value"]
    return tensor((*shape(q)[:-1], shape(v)[-1]), element(q))


def attended_with_weights(given: Given) -> Types:
    """The result, and the weights."""
    q, k = given["query"], given["key"]
    return _mixed(given), tensor((*shape(q)[:-1], shape(k)[-2]), element(q))


def attended_and_divisors(given: Given) -> Types:
    """The result, and the logarithms of divisors, which are of f32 or more."""
    q = given["query"]
    return _mixed(given), tensor(shape(q)[:-1], f64 if element(q) == f64 else f32)


# -- normalisation over batches


def _statistic(given: Given) -> Any:
    x = given["input"]
    return tensor((shape(x)[1],), element(x))


def batch_normalised(given: Given) -> Types:
    """x, and the mean and inverse deviation of each channel."""
    return type_of(given["input"]), _statistic(given), _statistic(given)


def evaluated(given: Given) -> Types:
    """x, and two empty tensors."""
    empty = tensor((0,), element(given["input"]))
    return type_of(given["input"]), empty, empty


def batch_normalised_and_moved(given: Given) -> Types:
    """The same, and the running statistics."""
    first = batch_normalised(given) if given["training"] else evaluated(given)
    return *first, type_of(given["running_mean"]), type_of(given["running_var"])


# -- pooling


def put_back(n: int) -> Any:
    """The elements of windows where they came from: the extents that are asked for."""

    def rule(given: Given) -> Types:
        x = given["self"]
        return (tensor((*shape(x)[: len(shape(x)) - n], *given["output_size"]), element(x)),)

    return rule


def bins_and_positions(n: int) -> Any:
    """An element and its position for each bin."""

    def rule(given: Given) -> Types:
        (made,) = bins(n)(given)
        return made, tensor(made.get_shape(), i64)

    return rule
