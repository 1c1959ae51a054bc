"""Colours for columns and rows together: an element is computed in forward mode or in reverse mode.

A matrix with a full row and a full column needs as many directions as it has columns, or rows, in either mode alone, and three in both. The elements are divided
first: rows and columns are taken away one after the other, a row to forward mode or a column to reverse mode, whichever raises the bound on the number of
directions less (T. F. Coleman, A. Verma, "The efficient computation of sparse Jacobian matrices using automatic differentiation", 1998). Then columns are coloured so
that no row has an element of forward mode in one of them and any element in another of the same colour; rows likewise (the direct method there; star
bicolouring in A. H. Gebremedhin, F. Manne, A. Pothen, 2005, sec. 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from scipy import sparse

from wengert.transforms.ad.colouring.columns import NONE, Colours, count
from wengert.transforms.ad.colouring.orders import Pattern


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
    reverse = sparse.csr_array(pattern.astype(np.int8) - forward.astype(np.int8)).astype(np.bool_)
    reverse.eliminate_zeros()
    return BothSides(_coloured(pattern, forward), _coloured(sparse.csr_array(pattern.T), sparse.csr_array(reverse.T)))


def divided(pattern: Pattern) -> Pattern:
    """The elements that forward mode is to compute; reverse mode computes the others."""
    by_row, by_column = _lists(pattern), _lists(sparse.csr_array(pattern.T))
    in_row, in_column = np.diff(pattern.indptr).astype(np.int64), np.bincount(pattern.indices, minlength=pattern.shape[1]).astype(np.int64)
    rows_left, columns_left = np.ones(len(by_row), np.bool_), np.ones(len(by_column), np.bool_)
    widest = tallest = 0
    taken: list[tuple[int, int]] = []
    far = np.iinfo(np.int64).max
    while rows_left.any() and columns_left.any():
        row, column = int(np.where(rows_left, in_row, far).argmin()), int(np.where(columns_left, in_column, far).argmin())
        wide, tall = max(widest, int(in_row[row])), max(tallest, int(in_column[column]))
        if wide + tallest <= widest + tall:
            widest, rows_left[row] = wide, False
            mine = by_row[row][columns_left[by_row[row]]]
            in_column[mine] -= 1
            taken += [(row, int(j)) for j in mine]
        else:
            tallest, columns_left[column] = tall, False
            in_row[by_column[column][rows_left[by_column[column]]]] -= 1
    if not taken:
        return sparse.csr_array(pattern.shape, dtype=np.bool_)
    rows, columns = np.asarray(taken).T
    return sparse.csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=pattern.shape)


def _lists(pattern: Pattern) -> list[Any]:
    return np.split(pattern.indices, pattern.indptr[1:-1]) if pattern.shape[0] else []


def _coloured(pattern: Pattern, mine: Pattern) -> Colours:
    """Colours for the columns with elements of ``mine``: of two of one colour, neither has such an element in a row where the other has any."""
    wanted, present = sparse.csc_array(mine), sparse.csc_array(pattern)
    colours = np.full(pattern.shape[1], NONE, np.int64)
    needs, has = np.zeros((8, pattern.shape[0]), np.bool_), np.zeros((8, pattern.shape[0]), np.bool_)
    used = 0
    for column in np.argsort(-np.diff(wanted.indptr), kind="stable").tolist():
        own = wanted.indices[wanted.indptr[column] : wanted.indptr[column + 1]]
        if not len(own):
            continue
        whole = present.indices[present.indptr[column] : present.indptr[column + 1]]
        free = np.flatnonzero(~(has[:used, own].any(axis=1) | needs[:used, whole].any(axis=1))) if used else ()
        colour = int(free[0]) if len(free) else used
        used = max(used, colour + 1)
        if used > len(needs):
            needs, has = np.concatenate([needs, np.zeros_like(needs)]), np.concatenate([has, np.zeros_like(has)])
        needs[colour, own] = True
        has[colour, whole] = True
        colours[column] = colour
    return colours
