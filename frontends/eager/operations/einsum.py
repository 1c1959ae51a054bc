"""Einstein's sums, decomposed into the same steps as PyTorch takes: dimensions in one order, then products of matrices.

Every operand is brought to the dimensions of the result followed by those that are summed, with extent 1 where it has none. Pairs of
operands are then combined, in the order of the least cost; what no later operand has is summed with the product.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from wengert.eager.errors import ShapeError
from wengert.eager.operations import operators, reduction
from wengert.eager.operations.contraction import BMM
from wengert.eager.operations.diagonals import diagonal
from wengert.eager.operations.memory import views
from wengert.eager.recording import dispatch

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

Label = tuple[int, str]
"""A letter, or the number of a dimension that an ellipsis stands for. Labels sort as PyTorch orders them: letters first."""
_LONGEST_OPTIMAL = 4
"""The most operands whose best order is searched for; more are taken greedily."""


def einsum(equation: Any, *operands: Any) -> Tensor:
    """``einsum("bij,bjk->bik", x, y)``: products of elements with equal letters, summed over those that the result does not name.

    Args:
        equation: letters for the dimensions of every operand, ``...`` for any others, which broadcast, and after ``->`` those of the
            result; without it, the letters that occur once, in alphabetical order.
        operands: tensors, or one list of tensors.

    Raises:
        ShapeError: the letters do not fit the operands, or their extents do not go together.
    """
    if not isinstance(equation, str):
        equation, operands = _from_numbers((equation, *operands))
    given = cast("Sequence[Tensor]", operands[0] if len(operands) == 1 and isinstance(operands[0], list | tuple) else operands)
    terms, result = _labels(equation, [x.array.ndim for x in given])
    summed = sorted({label for term in terms for label in term} - set(result))
    order = [*result, *summed]
    _check_extents(equation, terms, given)
    parts = [_aligned(x, term, order) for x, term in zip(given, terms, strict=True)]
    if len(parts) == 1:
        return reduction.sum(parts[0], list(range(len(result), len(order)))) if summed else parts[0]
    contracted = _contracted(parts, len(result))
    return views.view(contracted, contracted.array.shape[: len(result)]) if summed else contracted


# -- reading the equation


def _from_numbers(given: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The other way of calling it: operands followed by lists of numbers below 52 or ellipses, that of the result last."""

    def term(numbers: Sequence[Any]) -> str:
        return "".join("..." if n is Ellipsis else string.ascii_letters[n] for n in numbers)

    pairs = len(given) // 2 * 2
    equation = ",".join(term(numbers) for numbers in given[1:pairs:2])
    return equation + (f"->{term(given[-1])}" if len(given) > pairs else ""), given[0:pairs:2]


def _labels(equation: str, ranks: Sequence[int]) -> tuple[list[list[Label]], list[Label]]:
    """The labels of all dimensions of the operands, and those of the result."""
    inputs, arrow, result = equation.replace(" ", "").partition("->")
    texts = inputs.split(",")
    for text in (*texts, result):
        if not set(text.replace("...", "", 1)) <= set(string.ascii_letters):
            raise ShapeError(f"einsum {equation!r}: subscripts must be letters, and one ellipsis for each operand, found {text!r}")
    if len(texts) != len(ranks):
        raise ShapeError(f"einsum {equation!r} names {len(texts)} operands, but {len(ranks)} are given")
    spans = [rank - len(text.replace("...", "")) for text, rank in zip(texts, ranks, strict=True)]
    for number, (text, span) in enumerate(zip(texts, spans, strict=True)):
        if span < 0 or (span and "..." not in text):
            raise ShapeError(f"einsum {equation!r}: operand {number} has {ranks[number]} dimensions, which {text!r} does not name")
    widest = max(spans)

    def labels(text: str, span: int) -> list[Label]:
        before, dots, after = text.partition("...")
        between = [(1, chr(i)) for i in range(widest - span, widest)] if dots else []
        return [*((0, c) for c in before), *between, *((0, c) for c in after)]

    terms = [labels(text, span) for text, span in zip(texts, spans, strict=True)]
    counts = Counter(label for term in terms for label in term)
    if not arrow:
        return terms, [*((1, chr(i)) for i in range(widest)), *sorted(label for label, n in counts.items() if n == 1 and not label[0])]
    wanted = labels(result, widest)
    if len(set(wanted)) < len(wanted) or not set(wanted) <= set(counts):
        raise ShapeError(f"einsum {equation!r}: every letter of the result must occur in it once, and in an operand")
    return terms, wanted


def _check_extents(equation: str, terms: Sequence[Sequence[Label]], operands: Sequence[Tensor]) -> None:
    known: dict[Label, int] = {}
    for term, x in zip(terms, operands, strict=True):
        own: dict[Label, int] = {}
        for label, n in zip(term, x.array.shape, strict=True):
            before = known.setdefault(label, n)
            if own.setdefault(label, n) != n or (before not in (1, n) and n != 1):
                raise ShapeError(f"einsum {equation!r}: the dimension {label[1]!r} has extents {before} and {n}")
            known[label] = max(before, n) if 0 not in (before, n) else 0
        if x.array.dtype != operands[0].array.dtype:
            raise ShapeError(f"einsum: all operands must have one dtype, found {operands[0].array.dtype.name} and {x.array.dtype.name}")


# -- operands in one order of dimensions


def _aligned(x: Tensor, term: Sequence[Label], order: Sequence[Label]) -> Tensor:
    """An operand with a dimension for every label; what it names twice is its diagonal."""
    places: dict[Label, int] = {}
    for label in term:
        if label in places:
            first, last = places[label], x.array.ndim - 2
            rest = list(range(last))
            x = views.permute(diagonal(x, 0, first, len(places)), (*rest[:first], last, *rest[first:]))
        else:
            places[label] = len(places)
    for label in order:
        if label not in places:
            x = views.unsqueeze(x, len(places))
            places[label] = len(places)
    return views.permute(x, tuple(places[label] for label in order))


# -- pairs of operands


def _contracted(parts: list[Tensor], kept: int) -> Tensor:
    """All operands combined; what is summed keeps extent 1."""
    rank = parts[0].array.ndim
    uses = [sum(x.array.shape[d] != 1 for x in parts) for d in range(rank)]
    for i, j in _order(parts, kept):
        y, x = parts.pop(max(i, j)), parts.pop(min(i, j))
        both: list[int] = []
        alone: tuple[list[int], list[int]] = (list[int](), list[int]())
        for d in range(kept, rank):
            sides = x.array.shape[d] != 1, y.array.shape[d] != 1
            if all(sides):
                uses[d] -= 1
                if uses[d] == 1:
                    both.append(d)
                    uses[d] = 0
            elif uses[d] == 1 and any(sides):
                alone[int(sides[1])].append(d)
                uses[d] = 0
        x, y = (reduction.sum(v, dims, True) if dims else v for v, dims in zip((x, y), alone, strict=True))
        parts.append(_product(x, y, both))
    return parts[0]


def _order(parts: Sequence[Tensor], kept: int) -> list[tuple[int, int]]:
    """The pairs that are combined, one after the other; the product goes to the end."""
    if len(parts) == 2:
        return [(0, 1)]
    letters = string.ascii_letters
    rank = parts[0].array.ndim
    if rank > len(letters):
        return [(0, 1)] * (len(parts) - 1)
    named = [[d for d in range(rank) if x.array.shape[d] != 1] for x in parts]
    result = [d for d in range(kept) if any(d in dims for dims in named)]
    equation = ",".join("".join(letters[d] for d in dims) for dims in named) + "->" + "".join(letters[d] for d in result)
    shapes = [np.broadcast_to(0.0, [x.array.shape[d] for d in dims]) for x, dims in zip(parts, named, strict=True)]
    path = np.einsum_path(equation, *shapes, optimize="optimal" if len(parts) <= _LONGEST_OPTIMAL else "greedy")[0][1:]
    return _in_pairs(path, len(parts))


def _in_pairs(path: Sequence[tuple[int, ...]], count: int) -> list[tuple[int, int]]:
    """A path whose steps may take any number of operands, as steps of two."""
    steps: list[tuple[int, int]] = []
    for step in path:
        taken = sorted(step)
        while len(taken) > 1:
            i, j = taken[:2]
            steps.append((i, j))
            count -= 1
            taken = sorted([*(k - (k > i) - (k > j) for k in taken[2:]), count - 1]) if len(taken) > 2 else []
    return steps


def _product(x: Tensor, y: Tensor, summed: Sequence[int]) -> Tensor:
    """The product of two operands, summed over dimensions that both have, which keep extent 1."""
    if not summed:
        return operators.mul(x, y)
    left, right = x.array.shape, y.array.shape
    free = [d for d in range(len(left)) if d not in summed]
    batch = [d for d in free if left[d] != 1 and right[d] != 1]
    rows = [d for d in free if left[d] != 1 and right[d] == 1]
    columns = [d for d in free if left[d] == 1]
    if rows and columns and columns[-1] < rows[0]:
        return _product(y, x, summed)  # so that the product has the order of dimensions that is asked for

    def size(dims: Sequence[int], extents: Sequence[int]) -> int:
        return int(np.prod([extents[d] for d in dims], dtype=np.int64))

    inner = size(summed, left)
    first = views.reshape(views.permute(x, (*batch, *rows, *summed, *columns)), (size(batch, left), size(rows, left), inner))
    second = views.reshape(views.permute(y, (*batch, *summed, *columns, *rows)), (size(batch, right), inner, size(columns, right)))
    order = [*batch, *rows, *summed, *columns]
    extents = [*(left[d] for d in (*batch, *rows)), *(1 for _ in summed), *(right[d] for d in columns)]
    product = views.view(dispatch.apply(BMM, (first, second)), extents)
    return views.permute(product, tuple(order.index(d) for d in range(len(order))))
