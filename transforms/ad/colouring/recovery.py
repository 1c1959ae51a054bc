"""Recovers the elements of a sparse matrix from derivatives along coloured directions.

``forward[c, i]`` is the sum of row i over the columns of colour c, ``reverse[c, j]`` the sum of column j over the rows of colour c. An element is read where
it is the only one in such a sum. In a symmetric matrix that was coloured without cycles it is a sum from which others are taken away, which were read before:
a chain of readings with signs.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import numpy as np
from msgspec import Struct

from wengert.transforms.ad.colouring.columns import NONE, Colours
from wengert.transforms.analysis.sparsity.matrices import Pattern

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class Recovery(Struct, frozen=True):
    """How the elements of a pattern, in row-major order, follow from derivatives: element ``elements[k]`` has the summand ``signs[k] * derivative``, which is
    in row ``at[k]`` (forward) or column ``at[k]`` (reverse) of the derivative along ``colours[k]``.

    Each element has one summand, but for substitution.
    """

    elements: Numbers
    forward: np.ndarray[Any, np.dtype[np.bool_]]
    colours: Numbers
    at: Numbers
    signs: np.ndarray[Any, np.dtype[np.int8]]

    @property
    def is_direct(self) -> bool:
        """Whether each element is read, and nothing summed."""
        return int(np.bincount(self.elements).max(initial=0)) <= 1


class NotRecoverableError(ValueError):
    """The colours do not determine every element, or only by sums that are longer than is sensible."""


MOST_COUNTERS = 8
"""Colours of lines, for each element, beyond which they are numbered before they are counted."""
LONGEST = 16
"""Summands for each element, on average, beyond which substitution is not worth it."""


def read_directly(pattern: Pattern, columns: Colours, rows: Colours) -> Recovery:
    """The readings by colours of columns, rows or both (one-sided colours and those of both sides)."""
    at_row, at_column = _places(pattern)
    by_column = _alone(at_row, columns[at_column])
    by_row = _alone(at_column, rows[at_row])
    if not (by_column | by_row).all():
        raise NotRecoverableError
    count = len(at_row)
    colours, at = np.where(by_column, columns[at_column], rows[at_row]), np.where(by_column, at_row, at_column)
    return Recovery(np.arange(count), by_column, colours, at, np.ones(count, np.int8))


def read_symmetric(pattern: Pattern, columns: Colours) -> Recovery:
    """The readings of a symmetric matrix by colours of its columns: in its own place, or that of its mirror image (star colourings)."""
    at_row, at_column = _places(pattern)
    # what is in a sum: the elements of the pattern and their mirror images
    own, mirrored = _alone_in(pattern, columns, at_row, at_column), _alone_in(pattern, columns, at_column, at_row)
    if not (own | mirrored).all():
        raise NotRecoverableError
    count = len(at_row)
    colours, at = np.where(own, columns[at_column], columns[at_row]), np.where(own, at_row, at_column)
    return Recovery(np.arange(count), np.ones(count, np.bool_), colours, at, np.ones(count, np.int8))


def substituted(pattern: Pattern, columns: Colours) -> Recovery:
    """The readings of a symmetric matrix by an acyclic colouring: from the leaves of each tree of two colours on, an edge is what the leaf's sum has beside
    the edges that are known."""
    at_row, at_column = _places(pattern)
    number = {(i, j): k for k, (i, j) in enumerate(zip(at_row.tolist(), at_column.tolist(), strict=True))}
    edges: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    colour = columns.tolist()
    for i, j in {(min(edge), max(edge)) for edge in number if edge[0] != edge[1]}:
        edges[min(colour[i], colour[j]), max(colour[i], colour[j])].append((i, j))
    chains: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for tree in edges.values():
        _strip(tree, colour, chains)
        if sum(map(len, chains.values())) > LONGEST * len(number):
            raise NotRecoverableError
    summands = [(k, c, at, sign) for (i, j), k in number.items() for c, at, sign in ([(colour[i], i, 1)] if i == j else chains[min(i, j), max(i, j)])]
    elements, colours, at, signs = (np.asarray(part, np.int64) for part in zip(*summands, strict=True)) if summands else [np.zeros(0, np.int64)] * 4
    return Recovery(elements, np.ones(len(elements), np.bool_), colours, at, signs.astype(np.int8))


def _strip(tree: list[tuple[int, int]], colour: list[int], chains: dict[tuple[int, int], list[tuple[int, int, int]]]) -> None:
    """Takes the leaves of trees away one after the other. At a leaf v with its last edge to w: H[v, w] = (sum of row v over w's colour) - the known H[v, u]."""
    near: dict[int, set[int]] = defaultdict(set)
    for i, j in tree:
        near[i].add(j)
        near[j].add(i)
    done: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    leaves = deque(v for v in near if len(near[v]) == 1)
    while leaves:
        v = leaves.popleft()
        if len(near[v]) != 1:
            continue
        w = near[v].pop()
        near[w].discard(v)
        chain = [(colour[w], v, 1), *((c, at, -sign) for c, at, sign in done[v])]
        chains[min(v, w), max(v, w)] = chain
        done[w] += chain
        if len(near[w]) == 1:
            leaves.append(w)
    if any(near.values()):
        raise NotRecoverableError


def _places(pattern: Pattern) -> tuple[Numbers, Numbers]:
    coordinates = pattern.tocoo()
    return coordinates.row.astype(np.int64), coordinates.col.astype(np.int64)


def _alone(line: Numbers, colours: Numbers) -> Any:
    """For each element, whether it is the only one of its colour in its line; not where it has none."""
    keys = line * (colours.max(initial=0) + 2) + colours + 1
    if keys.max(initial=0) > MOST_COUNTERS * len(keys):
        _, keys = np.unique(keys, return_inverse=True)
    return (np.bincount(keys)[keys] == 1) & (colours != NONE)


def _alone_in(pattern: Pattern, columns: Colours, at_row: Numbers, at_column: Numbers) -> Any:
    """Whether each element is the only one of its column's colour in its row, of the whole symmetric matrix."""
    rows, others = _places(pattern)
    width = int(columns.max(initial=0)) + 1
    both = np.unique(np.concatenate([rows * pattern.shape[1] + others, others * pattern.shape[1] + rows]))
    counts = np.bincount((both // pattern.shape[1]) * width + columns[both % pattern.shape[1]], minlength=pattern.shape[0] * width)
    return counts[at_row * width + columns[at_column]] == 1
