"""Colours for columns and rows together: an element is computed in forward mode or in reverse mode.

A matrix with a full row and a full column needs as many directions as it has columns, or rows, in either mode alone, and three in both. The elements are
divided first: rows and columns are taken away one after the other, a row to forward mode or a column to reverse mode, whichever raises the bound on the number
of directions less (T. F. Coleman, A. Verma, "The efficient computation of sparse Jacobian matrices using automatic differentiation", 1998). Then columns are
coloured so that no row has an element of forward mode in one of them and any element in another of the same colour; rows likewise (the direct method there;
star bicolouring in A. H. Gebremedhin, F. Manne, A. Pothen, 2005, sec. 4).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from msgspec import Struct

from wengert.transforms.ad.colouring.columns import NONE, Colours, count
from wengert.transforms.analysis.sparsity.matrices import Pattern, csc_array, csr_array


class BothSides(Struct, frozen=True):
    """Colours of columns (directions of forward mode) and of rows (of reverse mode); NONE for what moves in no direction."""

    columns: Colours
    rows: Colours

    @property
    def directions(self) -> int:
        """The directions of both modes."""
        return count(self.columns) + count(self.rows)


def coloured_on_both_sides(pattern: Pattern) -> BothSides:
    """Few directions, by which each element of the pattern is computed alone."""
    forward = divided(pattern)
    return BothSides(_coloured(pattern, forward), _coloured_rows(pattern, forward))


def coloured_with_fewer(pattern: Pattern, limit: float) -> BothSides | None:
    """The same, if it may take fewer directions than this: None where any colouring of this pattern, or of these divided elements, takes as many."""
    if fewest_directions(pattern) >= limit:
        return None
    forward = divided(pattern)
    of_columns, taken = (np.bincount(each.indices, minlength=pattern.shape[1]) for each in (pattern, forward))
    of_rows: Colours = np.diff(forward.indptr)
    least = int(of_rows.max(initial=0)), int((of_columns - taken).max(initial=0))
    if sum(least) >= limit:
        return None
    columns = _coloured(pattern, forward)
    return None if count(columns) + least[1] >= limit else BothSides(columns, _coloured_rows(pattern, forward))


def _coloured_rows(pattern: Pattern, forward: Pattern) -> Colours:
    reverse = csr_array(pattern.astype(np.int8) - forward.astype(np.int8)).astype(np.bool_)
    reverse.eliminate_zeros()
    return _coloured(csr_array(pattern.T), csr_array(reverse.T))


def fewest_directions(pattern: Pattern) -> int:
    """A number of directions below which no colouring of both sides can be.

    An element is read at a place of its own: its row in one of c directions of forward mode, or its column in one of r of reverse mode. A row has no more such
    places than elements, so the t-th forward direction is of use to the rows with t elements or more, and likewise for columns: those of most use come first.
    """
    each: list[Colours] = [np.diff(pattern.indptr), np.bincount(pattern.indices, minlength=pattern.shape[1])]
    useful = np.concatenate([np.bincount(lengths)[::-1].cumsum()[::-1][1:] for lengths in each])
    read: Colours = np.sort(useful)[::-1].cumsum()
    total = int(pattern.nnz)
    return int(np.searchsorted(read, total)) + 1 if total else 0


def divided(pattern: Pattern) -> Pattern:
    """The elements that forward mode is to compute; reverse mode computes the others."""
    lines = (_lists(pattern), _lists(csr_array(pattern.T)))
    left = ([True] * len(lines[0]), [True] * len(lines[1]))
    lengths = ([len(line) for line in lines[0]], [len(line) for line in lines[1]])
    heaps = ([(n, k) for k, n in enumerate(lengths[0])], [(n, k) for k, n in enumerate(lengths[1])])
    for heap in heaps:
        heapify(heap)
    longest, last, taken = [0, 0], 0, list[tuple[int, int]]()
    while (row := _shortest(heaps[0], lengths[0], left[0])) is not None and (column := _shortest(heaps[1], lengths[1], left[1])) is not None:
        raised = [max(0, length - longest[side]) for side, (length, _) in enumerate((row, column))]
        side = last if raised[0] == raised[1] else int(raised[1] < raised[0])
        length, line = (row, column)[side]
        longest[side], last = max(longest[side], length), side
        left[side][line] = False
        other = 1 - side
        for k in lines[side][line]:
            if left[other][k]:
                lengths[other][k] -= 1
                heappush(heaps[other], (lengths[other][k], k))
                if side == 0:
                    taken.append((line, k))
    if not taken:
        return csr_array(pattern.shape, dtype=np.bool_)
    rows, columns = np.asarray(taken).T
    return csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=pattern.shape)


def _shortest(heap: list[tuple[int, int]], lengths: list[int], left: list[bool]) -> tuple[int, int] | None:
    """The line with the fewest elements of those that are left, with their number; a line is in the heap once for each length that it had."""
    while heap and (not left[heap[0][1]] or heap[0][0] != lengths[heap[0][1]]):
        heappop(heap)
    return heap[0] if heap else None


def _lists(pattern: Pattern) -> list[list[int]]:
    starts, ends = pattern.indptr.tolist(), pattern.indices.tolist()
    return [ends[starts[k] : starts[k + 1]] for k in range(pattern.shape[0])]


def _coloured(pattern: Pattern, mine: Pattern) -> Colours:
    """Colours for the columns with elements of ``mine``: of two of one colour, neither has such an element in a row where the other has any."""
    wanted, present = csc_array(mine), csc_array(pattern)
    colours = np.full(pattern.shape[1], NONE, np.int64)
    needs, has = np.zeros((8, pattern.shape[0]), np.bool_), np.zeros((8, pattern.shape[0]), np.bool_)
    used = 0
    for column in np.argsort(-np.diff(wanted.indptr), kind="stable").tolist():
        own = wanted.indices[wanted.indptr[column] : wanted.indptr[column + 1]]
        if not len(own):
            continue
        whole = present.indices[present.indptr[column] : present.indptr[column + 1]]
        free = np.flatnonzero(~(has[:used, own].any(axis=1) | needs[:used, whole].any(axis=1)))
        colour = int(free[0]) if len(free) else used
        used = max(used, colour + 1)
        if used > len(needs):
            needs, has = np.concatenate([needs, np.zeros_like(needs)]), np.concatenate([has, np.zeros_like(has)])
        needs[colour, own] = True
        has[colour, whole] = True
        colours[column] = colour
    return colours
