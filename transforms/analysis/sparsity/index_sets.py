"""The index sets of a tensor: for each element, the elements of the arguments that it may depend on.

Neighbouring elements often share a set, and ops that move elements make no new ones. So a tensor's sets are a list of sets, the rows of a sparse matrix, and
for each element the number of its row. Row 0 is empty. (Sets of dependences, propagated from op to op: A. Griewank, A. Walther, "Evaluating Derivatives", 2nd
ed., sec. 7.1; R. Giering, T. Kaminski, "Automatic sparsity detection implemented as a source-to-source transformation", 2006.)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, cast

import numpy as np
from msgspec import Struct

from wengert.transforms.analysis.sparsity.matrices import csr_array, pattern_of_rows, stacked

Numbers = np.ndarray[Any, np.dtype[np.int64]]

FEW_ENTRIES = 1 << 14
"""Unions of no more members than this are formed by sorting."""
MOST_ENTRIES = 1 << 24
"""More members than this, of sets or of unions that are to be formed, are too many."""


class TooManyEntriesError(Exception):
    """Sets would have more members than are looked at; whoever forms them takes a coarser union instead."""


class IndexSets(Struct, frozen=True):
    """The sets of a tensor's elements.

    Attributes:
        rows: ``[number of sets, elements of the arguments]``, of booleans; row 0 is empty.
        numbers: the row of each element; of the tensor's shape.
    """

    rows: Any
    numbers: Numbers

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's extents."""
        return self.numbers.shape

    @property
    def columns(self) -> int:
        """The number of elements of all arguments."""
        return int(self.rows.shape[1])

    @property
    def is_empty(self) -> bool:
        """Whether no element depends on anything."""
        return not self.rows.nnz or not self.numbers.any()

    @property
    def has_set_for_each(self) -> bool:
        """Whether each element has a set of its own, in their order, and there are no other sets."""
        count = self.numbers.size
        return self.rows.shape[0] == count + 1 and np.array_equal(self.numbers.reshape(-1), np.arange(1, count + 1))

    def with_numbers(self, numbers: Any) -> IndexSets:
        """A tensor whose elements are given by the numbers of sets."""
        return IndexSets(self.rows, np.asarray(numbers, np.int64))

    def united(self, other: IndexSets) -> IndexSets:
        """The union, element by element, of tensors that broadcast."""
        if other.is_empty or self.is_empty:
            one, none = (self, other) if other.is_empty else (other, self)
            extents = one.shape if one.shape == none.shape else np.broadcast_shapes(one.shape, none.shape)
            return one if one.shape == extents else one.with_numbers(np.broadcast_to(one.numbers, extents))
        if self.rows is other.rows and np.array_equal(self.numbers, other.numbers):
            return self
        made = self._joined(other)
        members = made.count()
        return next((one for one in (self, other) if one.shape == made.shape and one.count() == members), made)

    def _joined(self, other: IndexSets) -> IndexSets:
        if self.shape == other.shape and self.has_set_for_each and other.has_set_for_each:
            return IndexSets(_united_rows(self.rows, other.rows), self.numbers)
        count = other.rows.shape[0]
        pairs, numbers = np.unique(self.numbers * count + other.numbers, return_inverse=True)
        rows = _united_rows(_chosen(self.rows, pairs // count), _chosen(other.rows, pairs % count))
        return _with_empty_row(rows, numbers.reshape(np.broadcast_shapes(self.shape, other.shape)))

    def grouped(self, groups: Numbers) -> IndexSets:
        """The unions of groups of sets, which the last dimension lists by their numbers."""
        extents, length = groups.shape[:-1], groups.shape[-1]
        if not length or not groups.any():
            return nothing(extents, self.columns)
        if length == 1:
            return self.with_numbers(groups[..., 0])
        if groups.size > MOST_ENTRIES:
            raise TooManyEntriesError
        flat = np.array(groups.reshape(-1, length))
        if (flat == flat[:1]).all():
            return _with_empty_row(_united(self.rows, flat[0]), np.zeros(extents, np.int64))
        few = _few_unions(self.rows, flat)
        if few is not None:
            return _with_empty_row(few, np.arange(len(flat)).reshape(extents))
        starts = np.arange(len(flat) + 1) * length
        choice = csr_array((np.ones(flat.size, np.bool_), flat.reshape(-1), starts), shape=(len(flat), self.rows.shape[0]))
        choice.sum_duplicates()
        return _with_empty_row(_matrix(choice @ self.rows), np.arange(len(flat)).reshape(extents))

    def reduced(self, dimensions: Sequence[int], *, keep: bool = False) -> IndexSets:
        """The unions along dimensions, which disappear, or become 1."""
        dimensions = sorted(d % max(self.numbers.ndim, 1) for d in dimensions)
        rest = [d for d in range(self.numbers.ndim) if d not in dimensions]
        groups = np.transpose(self.numbers, [*rest, *dimensions])
        united = self.grouped(groups.reshape(*groups.shape[: len(rest)], prod(groups.shape[len(rest) :])))
        return united.with_numbers(np.expand_dims(united.numbers, tuple(dimensions))) if keep else united

    def spread(self, dimensions: Sequence[int]) -> IndexSets:
        """Every element gets the union along dimensions."""
        united = self.reduced(dimensions, keep=True)
        return united.with_numbers(np.broadcast_to(united.numbers, self.shape))

    def everywhere(self, extents: Sequence[int]) -> IndexSets:
        """A tensor of which each element depends on all that any element here does."""
        united = self.reduced(range(self.numbers.ndim))
        return united.with_numbers(np.broadcast_to(united.numbers, tuple(extents)))

    def members(self) -> Any:
        """The sets as a matrix with one row for each element, in row-major order; indices are sorted."""
        few = _few_unions(self.rows, self.numbers.reshape(-1, 1))
        if few is not None:
            return few
        matrix = _matrix(self.rows[self.numbers.reshape(-1)])
        matrix.sort_indices()
        return matrix

    def equals(self, other: IndexSets) -> bool:
        """Whether each element has the same set there."""
        if self is other or (self.rows is other.rows and np.array_equal(self.numbers, other.numbers)):
            return True
        count = self.count()
        return other.count() == count and self.united(other).count() == count

    def count(self) -> int:
        """The number of members of the sets of all elements. A union that adds nothing leaves it as it is."""
        return int(self.rows.nnz if self.has_set_for_each else np.diff(self.rows.indptr)[self.numbers].sum())


def nothing(extents: Sequence[int], columns: int) -> IndexSets:
    """The sets of a tensor that does not depend on the arguments."""
    return IndexSets(_no_set(columns), np.zeros(tuple(extents), np.int64))


@lru_cache(maxsize=64)
def _no_set(columns: int) -> Any:
    return csr_array((1, columns), dtype=np.bool_)


def own(extents: Sequence[int], first: int, columns: int) -> IndexSets:
    """The sets of an argument: each element is its own, numbered from ``first``."""
    count = prod(extents)
    indices = np.arange(first, first + count)
    starts = np.concatenate([[0], np.arange(count + 1)])
    return IndexSets(pattern_of_rows(indices, starts, (count + 1, columns)), np.arange(1, count + 1).reshape(tuple(extents)))


def joined(tables: Sequence[IndexSets]) -> tuple[Any, list[Numbers]]:
    """One list of sets for several tensors, and the numbers in it of each."""
    kept: list[Any] = []
    starts: dict[int, int] = {}
    total = 0
    for table in tables:
        if id(table.rows) not in starts and not table.is_empty:
            starts[id(table.rows)] = total
            kept.append(table.rows)
            total += table.rows.shape[0]
    numbers = [_shifted(table.numbers, starts[id(table.rows)]) if id(table.rows) in starts else np.zeros(table.shape, np.int64) for table in tables]
    if sum(rows.nnz for rows in kept) > MOST_ENTRIES:
        raise TooManyEntriesError
    return stacked(kept) if kept else _no_set(tables[0].columns), numbers


def _shifted(numbers: Numbers, start: int) -> Numbers:
    return np.where(numbers == 0, 0, numbers + start) if start else numbers


def _united_rows(one: Any, other: Any) -> Any:
    """The unions of the rows of two lists of sets, one by one."""
    if one.nnz + other.nnz > FEW_ENTRIES:
        return _matrix(one + other)
    height, width = cast("tuple[int, int]", one.shape)  # short lists without the checks that take scipy longer
    members = [each.indices + width * np.repeat(np.arange(height), np.diff(each.indptr)) for each in (one, other)]
    return _rows_of(np.concatenate(members), height, width)


def _chosen(rows: Any, numbers: Numbers) -> Any:
    """The sets that have these numbers."""
    lengths = np.diff(rows.indptr)[numbers]
    if int(lengths.sum()) > FEW_ENTRIES:
        return rows[numbers]
    return pattern_of_rows(_members(rows, numbers, lengths), np.concatenate([[0], np.cumsum(lengths)]), (len(numbers), int(rows.shape[1])))


def _few_unions(rows: Any, groups: Numbers) -> Any | None:
    """The union of each line's sets, by sorting; None where they have more than a few members."""
    chosen, width = groups.reshape(-1), int(rows.shape[1])
    lengths = np.diff(rows.indptr)[chosen]
    if int(lengths.sum()) > FEW_ENTRIES:
        return None
    lines = np.repeat(np.arange(len(groups)), groups.shape[1])
    return _rows_of(_members(rows, chosen, lengths) + width * np.repeat(lines, lengths), len(groups), width)


def _rows_of(keys: Numbers, height: int, width: int) -> Any:
    """Sets by the numbers ``set * width + member``, which come in any order and may come several times."""
    keys = np.sort(keys)
    keys = keys[np.diff(keys, prepend=-1) != 0]  # np.unique finds them by hashing, which takes several times as long
    return pattern_of_rows(keys % max(width, 1), np.searchsorted(keys, np.arange(height + 1) * width), (height, width))


def _united(rows: Any, chosen: Numbers) -> Any:
    """The union of some sets, as the only row of a matrix."""
    is_chosen, is_member = np.zeros(rows.shape[0], np.bool_), np.zeros(rows.shape[1], np.bool_)
    is_chosen[chosen] = True
    is_member[rows.indices[np.repeat(is_chosen, np.diff(rows.indptr))]] = True
    members = np.flatnonzero(is_member)
    return pattern_of_rows(members, np.array([0, len(members)]), (1, rows.shape[1]))


def _members(rows: Any, chosen: Numbers, lengths: Numbers) -> Numbers:
    """The members of some sets, one set after the other."""
    ends = np.cumsum(lengths)
    places = np.repeat(rows.indptr[chosen] - (ends - lengths), lengths) + np.arange(int(ends[-1]) if len(ends) else 0)
    return rows.indices[places].astype(np.int64)


def _matrix(rows: Any) -> Any:
    if rows.nnz > MOST_ENTRIES:
        raise TooManyEntriesError
    return rows if isinstance(rows, csr_array) else csr_array(rows)


def _with_empty_row(rows: Any, numbers: Any) -> IndexSets:
    """Puts the empty set in front."""
    starts = np.concatenate([[0], rows.indptr])
    return IndexSets(pattern_of_rows(rows.indices, starts, (rows.shape[0] + 1, int(rows.shape[1]))), numbers + 1)
