"""Products that sum over dimensions: matmul, tensordot, vecdot, einsum, and dot, outer, cross, trace."""

from __future__ import annotations

from typing import Any

import numpy as np

from wengert.dialects.builder import Value
from wengert.frontends.tracing.errors import value_error
from wengert.frontends.tracing.operands import axis_of, broadcast, builder, is_traced, listed, promoted, shape_of, traced
from wengert.frontends.tracing.tracer import TracedArray
from wengert.ir.tensor_types import rank, shape
from wengert.numpy.dispatch import Array, ArrayLike, concrete_by
from wengert.numpy.elementwise import conj, multiply
from wengert.numpy.manipulation import moveaxis, reshape
from wengert.numpy.reductions import sum


@concrete_by(np.matmul)
def matmul(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """The product of matrices in the last two dimensions, the others broadcast; an operand of one dimension is a row or a column."""
    left, right = shape_of(x1), shape_of(x2)
    if not left or not right:
        raise value_error(f"matmul needs arrays of one dimension or more, found shapes {left} and {right}", "use x * y for numbers")
    inner = right[0] if len(right) == 1 else right[-2]
    if left[-1] != inner:
        raise value_error(f"matmul: the shapes {left} and {right} do not fit: {left[-1]} columns against {inner} rows")
    (x, y), _ = promoted(x1, x2)
    b = builder()
    if len(right) <= 2:  # no batch on the right: one contraction whose free dimensions are in order
        return traced(b.dot_general(x, y, ([len(left) - 1], [0])))
    if len(left) == 1:
        return traced(b.dot_general(y, x, ([len(right) - 2], [0])))
    if len(left) == 2:
        product = b.dot_general(x, y, ([1], [len(right) - 2]))  # the rows of x come first
        return traced(b.transpose(product, [*range(1, len(right) - 1), 0, len(right) - 1]))
    try:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise value_error(f"matmul: the batch dimensions of the shapes {left} and {right} do not fit") from None
    x, y = broadcast(x, (*batch, *left[-2:])), broadcast(y, (*batch, *right[-2:]))
    dims = list(range(len(batch)))
    return traced(b.dot_general(x, y, ([rank(x) - 1], [rank(y) - 2]), (dims, dims)))


@concrete_by(np.dot)
def dot(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """NumPy's dot: a sum over the last dimension of one and the last but one of the other. Not in the standard."""
    left, right = shape_of(x1), shape_of(x2)
    if not left or not right:
        return multiply(x1, x2)
    return tensordot(x1, x2, axes=([len(left) - 1], [max(len(right) - 2, 0)]))


@concrete_by(np.tensordot)
def tensordot(x1: ArrayLike, x2: ArrayLike, /, *, axes: Any = 2) -> Array:
    """The sum over pairs of dimensions: the last n of one and the first n of the other, or those named."""
    left, right = shape_of(x1), shape_of(x2)
    if isinstance(axes, int):
        pairs = list(range(len(left) - axes, len(left))), list(range(axes))
    else:
        first, second = (listed(a) for a in axes)
        pairs = [axis_of(a, len(left)) for a in first], [axis_of(a, len(right)) for a in second]
    if [left[a] for a in pairs[0]] != [right[a] for a in pairs[1]]:
        raise value_error(f"tensordot: the shapes {left} and {right} do not agree along axes {pairs[0]} and {pairs[1]}")
    (x, y), _ = promoted(x1, x2)
    return traced(builder().dot_general(x, y, pairs))


@concrete_by(np.vecdot)
def vecdot(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The inner product along a dimension, the first operand conjugated, the others broadcast."""
    left, right = shape_of(x1), shape_of(x2)
    if left[axis_of(axis, len(left))] != right[axis_of(axis, len(right))]:
        raise value_error(f"vecdot: the shapes {left} and {right} do not agree along axis {axis}")
    products = multiply(moveaxis(conj(x1), axis, -1), moveaxis(x2, axis, -1))
    return sum(products, -1, dtype=products.dtype)  # small integers stay small, as in the other products


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """All products of an element of one row and one of another."""
    if not is_traced(x1, x2):
        return np.outer(x1, x2)
    return multiply(reshape(x1, (-1, 1)), reshape(x2, (1, -1)))


@concrete_by(np.linalg.cross)
def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three elements along a dimension."""
    from wengert.numpy.manipulation import stack

    for x in (x1, x2):
        extent = shape_of(x)[axis_of(axis, len(shape_of(x)))]
        if extent != 3:
            raise value_error(f"cross: vectors have three elements, found {extent} along dimension {axis}")
    a = [moveaxis(x1, axis, 0)[i] for i in range(3)]
    c = [moveaxis(x2, axis, 0)[i] for i in range(3)]
    parts = [a[1] * c[2] - a[2] * c[1], a[2] * c[0] - a[0] * c[2], a[0] * c[1] - a[1] * c[0]]
    return moveaxis(stack(parts), 0, axis)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """The diagonal of matrices, ``offset`` above the main one."""
    if not is_traced(x):
        return np.linalg.diagonal(x, offset=offset)
    rows, columns = shape_of(x)[-2:]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    places = np.arange(count)
    elements = x[..., places + max(-offset, 0), places + max(offset, 0)]
    return elements.viewing(x) if isinstance(x, TracedArray) else elements


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of the diagonal of matrices."""
    if not is_traced(x):
        return np.linalg.trace(x, offset=offset, dtype=dtype)
    return sum(diagonal(x, offset=offset), -1, dtype=dtype)


def einsum(subscripts: str, /, *operands: ArrayLike) -> Array:
    """Einstein's sums: ``einsum("bij,bjk->bik", x, y)``. Not in the standard.

    Two operands at a time, in the order that NumPy's ``einsum_path`` proposes.
    """
    if not is_traced(*operands):
        return np.einsum(subscripts, *operands, optimize=len(operands) > 2)
    terms, result = _einsum_terms(subscripts, [len(shape_of(x)) for x in operands])
    values = promoted(*operands)[0]
    extents: dict[str, int] = {}
    for term, value in zip(terms, values, strict=True):
        for letter, n in zip(term, shape(value), strict=True):
            if extents.setdefault(letter, n) not in (n, 1) and n != 1:
                raise value_error(f"einsum {subscripts!r}: the dimension {letter!r} has extents {extents[letter]} and {n}")
            extents[letter] = max(extents[letter], n)
    pending = [_diagonals(value, term) for value, term in zip(values, terms, strict=True)]
    pending = [_stretched(value, term, extents) for value, term in pending]
    for pair in _einsum_order(terms, result, extents):
        chosen = [pending.pop(i) for i in sorted(pair, reverse=True)][::-1]
        kept = set(result).union(*(term for _, term in pending)) if pending else set(result)
        (x, a), (y, c) = chosen if len(chosen) == 2 else (chosen[0], (None, ""))
        pending.append(_summed(x, a, kept) if y is None else _pair(x, a, y, c, kept))
    value, term = _summed(*pending[0], set(result))
    product = traced(builder().transpose(value, [term.index(letter) for letter in result]))
    return product.viewing(operands[0]) if len(operands) == 1 else product  # NumPy's may be a view then


_ELLIPSIS = "ΑΒΓΔΕΖΗΘΙΚΛΜ"
"""Letters for the dimensions that an ellipsis stands for."""


def _einsum_terms(subscripts: str, ranks: list[int]) -> tuple[list[str], str]:
    inputs, _, result = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ranks):
        raise value_error(f"einsum {subscripts!r} names {len(terms)} operands, but {len(ranks)} are given")
    spans = [n - len(t.replace("...", "")) for t, n in zip(terms, ranks, strict=True)]
    if any(n < 0 or (n and "..." not in t) for t, n in zip(terms, spans, strict=True)):
        raise value_error(f"einsum {subscripts!r} does not fit operands of {', '.join(map(str, ranks))} dimensions")
    widest = max(spans)
    letters = _ELLIPSIS[:widest]
    terms = [t.replace("...", letters[widest - n :]) for t, n in zip(terms, spans, strict=True)]
    if "->" not in subscripts:
        joined = "".join(terms)
        result = letters + "".join(sorted(c for c in set(joined) - set(letters) if joined.count(c) == 1))
    return terms, result.replace("...", letters)


def _einsum_order(terms: list[str], result: str, extents: dict[str, int]) -> list[tuple[int, ...]]:
    if len(terms) < 3:
        return [tuple(range(len(terms)))]
    plain = {letter: chr(ord("a") + i) for i, letter in enumerate(sorted(set("".join(terms))))}
    text = ",".join("".join(plain[c] for c in t) for t in terms) + "->" + "".join(plain[c] for c in result)
    shapes = [np.broadcast_to(0.0, [extents[c] for c in t]) for t in terms]
    return [tuple(sorted(p)) for p in np.einsum_path(text, *shapes, optimize="greedy")[0][1:]] if len(plain) < 26 else [(0, 1)] * (len(terms) - 1)


def _diagonals(value: Value, term: str) -> tuple[Value, str]:
    """An operand in which no letter occurs twice."""
    for letter in dict.fromkeys(term):
        while term.count(letter) > 1:
            i, j = (d for d, c in enumerate(term) if c == letter) if term.count(letter) == 2 else [d for d, c in enumerate(term) if c == letter][:2]
            x = moveaxis(traced(value), (i, j), (-2, -1))
            on_diagonal = diagonal(x)
            value = on_diagonal.value
            term = "".join(c for d, c in enumerate(term) if d not in (i, j)) + letter
    return value, term


def _stretched(value: Value, term: str, extents: dict[str, int]) -> tuple[Value, str]:
    return broadcast(value, [extents[c] for c in term]), term


def _summed(value: Value, term: str, kept: set[str]) -> tuple[Value, str]:
    gone = [d for d, c in enumerate(term) if c not in kept]
    return builder().reduce_sum(value, gone), "".join(c for c in term if c in kept)


def _pair(x: Value, a: str, y: Value, c: str, kept: set[str]) -> tuple[Value, str]:
    x, a = _summed(x, a, kept | set(c))
    y, c = _summed(y, c, kept | set(a))
    batch = [letter for letter in a if letter in c and letter in kept]
    inner = [letter for letter in a if letter in c and letter not in kept]
    product = builder().dot_general(
        x, y, ([a.index(i) for i in inner], [c.index(i) for i in inner]), ([a.index(i) for i in batch], [c.index(i) for i in batch])
    )
    free = [letter for letter in a if letter not in c] + [letter for letter in c if letter not in a]
    return product, "".join(batch + free)
