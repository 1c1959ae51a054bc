"""The elements of a pattern, read from a function's derivatives along coloured directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import element, f32, f64, shape_of_type, size, tensor
from wengert.transforms.ad.building_blocks.scatter_numbers import scatter_numbers
from wengert.transforms.ad.colouring.columns import NONE, Colours
from wengert.transforms.ad.jacobians.batched import Mode, Type, size_of, starts_of
from wengert.transforms.ad.jacobians.compression import Compression
from wengert.transforms.ad.jacobians.computed_columns import Cut
from wengert.transforms.ad.jacobians.directional import Along, derivative_along
from wengert.transforms.ad.jacobians.places import READ, read, side_by_side
from wengert.transforms.ad.requests.request import Request


class Block(Struct, frozen=True):
    """A block of a Jacobian: of one result and one argument.

    Attributes:
        result, argument: their types.
        elements: the numbers of its elements among those of the whole pattern, which go row by row.
        rows, columns: where they are in the block.
    """

    result: Type
    argument: Type
    elements: Colours
    rows: Colours
    columns: Colours


Emit = Callable[["Recovered"], Sequence[Value]]
"""What a function returns, made of the elements of its Jacobian."""


def sparse_derivative(module: ModuleOp, pass_name: str, request: Request, plan: Compression, strategy: str, emit: Emit, cut: Cut | None = None) -> None:
    """Replaces the function of a request by one that returns what ``emit`` makes of the elements of the pattern, in place.

    With a cut, the derivatives are those of the function that is cut, and the pattern is its. Raises DiagnosticError as :func:`derivative_along`.
    """
    derivative_along(module, pass_name, request, plan, strategy, lambda along: emit(Recovered(along, plan)), cut)


class Recovered:
    """The elements of a pattern, read from derivatives along the directions of a plan."""

    def __init__(self, along: Along, plan: Compression):
        self.b, self.plan, self.derivatives, self.numbers = along.b, plan, along.derivatives, along.numbers
        self.arguments, self.results = along.arguments, along.results
        self.tops, self.lefts = starts_of(along.results), starts_of(along.arguments)
        self.common = widest([type.get_element_type() for type in (*along.results, *along.arguments)])
        self.parts: list[Value] = []
        self.starts: dict[Mode, list[int]] = {}
        for mode, values in along.of.items():
            self.starts[mode] = []
            for value in values:
                self.starts[mode].append(sum(size(part) for part in self.parts))
                self.parts.append(self.b.convert(self.b.reshape(value, [size(value)]), self.common))

    # -- blocks

    def blocks(self) -> list[tuple[Block, Value]]:
        """The blocks, results first, with the elements of each, of its result's type."""
        blocks = [self._block(j, i) for j in range(len(self.tops)) for i in range(len(self.lefts))]
        return [(block, self.b.convert(self._values(block.elements), block.result.get_element_type())) for block in blocks]

    def _block(self, j: int, i: int) -> Block:
        y, x = self.results[j], self.arguments[i]
        pattern, top, left = self.plan.pattern, self.tops[j], self.lefts[i]
        first, last = int(pattern.indptr[top]), int(pattern.indptr[top + size_of(y)])
        columns = pattern.indices[first:last].astype(np.int64)
        rows = np.repeat(np.arange(size_of(y)), np.diff(pattern.indptr[top : top + size_of(y) + 1]))
        mine = (columns >= left) & (columns < left + size_of(x))
        return Block(y, x, first + np.flatnonzero(mine), rows[mine], columns[mine] - left)

    # -- the whole matrix

    def matrix(self) -> list[Value]:
        """All elements, row by row, in one vector; with a cut, also the column of each."""
        b, pattern = self.b, self.plan.pattern
        if not pattern.nnz:
            return [b.zeros(tensor([0], self.common)), *([] if self.numbers is None else [b.zeros(tensor([0], element(self.numbers[0])))])]
        if not self.plan.recovery.is_direct:
            return [self._values(np.arange(int(pattern.nnz)))]
        places = self._places(np.ones(int(pattern.nnz), np.bool_))
        data = self._row_by_row(self.parts, lambda elements: places[elements])
        return [data] if self.numbers is None else [data, self._row_by_row(self.numbers, lambda elements: pattern.indices[elements].astype(np.int64))]

    def triples(self) -> list[Value]:
        """With a cut of a symmetric matrix: all elements, row by row, and the numbers of their rows and of their columns."""
        pattern, numbers = self.plan.pattern, self.numbers
        assert numbers is not None, "of a function that is cut"
        if not pattern.nnz:
            return [self.b.zeros(tensor([0], self.common)), *[self.b.zeros(tensor([0], element(numbers[0])))] * 2]
        data = self._values(np.arange(int(pattern.nnz)))
        rows = np.repeat(np.arange(len(pattern.indptr) - 1), np.diff(pattern.indptr))
        return [data, _read_from(self.b, numbers, rows), _read_from(self.b, numbers, pattern.indices.astype(np.int64))]

    def _row_by_row(self, parts: Sequence[Value], places: Callable[[Colours], Colours]) -> Value:
        """What stands for each element of the pattern at a place of vectors that follow one another.

        Where each row of a result has as many elements of each argument as any other, blocks are read on their own and put side by side.
        """
        b, pattern, vectors = self.b, self.plan.pattern, list[Value]()
        for j, y in enumerate(self.results):
            rows = np.diff(pattern.indptr[self.tops[j] : self.tops[j] + size_of(y) + 1])
            first, height = int(pattern.indptr[self.tops[j]]), size_of(y)
            if not rows.sum():
                continue
            blocks = [elements for i in range(len(self.lefts)) if len(elements := self._block(j, i).elements)]
            if all(_is_even(pattern, elements, self.tops[j], height) for elements in blocks):
                vectors.append(side_by_side(b, [_read_from(b, parts, places(elements)) for elements in blocks], height))
            else:
                vectors.append(_read_from(b, parts, places(np.arange(first, first + int(rows.sum())))))
        return vectors[0] if len(vectors) == 1 else b.concatenate(vectors, 0)

    # -- columns of arguments

    def by_number(self, numbers: Colours, count: int) -> list[Value]:
        """For each result its elements by a number of their columns below ``count``, of which each row has no two: of the shape of the result followed by
        ``count``."""
        return [self._by_number(j, numbers, count) for j in range(len(self.tops))]

    def _by_number(self, j: int, numbers: Colours, count: int) -> Value:
        b, pattern, y = self.b, self.plan.pattern, self.results[j]
        top, height = self.tops[j], size_of(y)
        first, last = int(pattern.indptr[top]), int(pattern.indptr[top + height])
        mine = numbers[pattern.indices[first:last]]
        rows = np.repeat(np.arange(height), np.diff(pattern.indptr[top : top + height + 1]))
        extents, present = [*shape_of_type(y), count], np.bincount(mine, minlength=count)
        if not len(mine) or not np.isin(present, (0, height)).all():
            values = self._values(np.arange(first, last))
            return b.convert(b.reshape(placed(b, height * count, rows * count + mine, values), extents), y.get_element_type())
        table = np.full((height, count), NONE, np.int64)
        table[rows, mine] = np.arange(first, last)
        places = self._places(np.ones(int(pattern.nnz), np.bool_))
        parts: list[Value] = []
        for run in np.split(np.arange(count), np.flatnonzero(np.diff(present != 0)) + 1):
            here = table[:, run].reshape(-1)
            parts.append(b.zeros(tensor([len(here)], self.common)) if here[0] == NONE else _read_from(b, self.parts, places[here]))
        return b.convert(b.reshape(side_by_side(b, parts, height), extents), y.get_element_type())

    # -- elements

    def _values(self, elements: Colours) -> Value:
        """Some elements of the pattern: read from the derivatives, and summed where an element has several summands."""
        b, recovery, amount = self.b, self.plan.recovery, len(elements)
        if not amount:
            return b.zeros(tensor([0], self.common))
        number = np.full(self.plan.pattern.nnz, NONE, np.int64)
        number[elements] = np.arange(amount)
        mine = number[recovery.elements] != NONE
        values = _read_from(b, self.parts, self._places(mine))
        if recovery.is_direct:
            return values
        signed = b.multiply(values, b.convert(b.constant(recovery.signs[mine].astype(np.int64)), element(values)))
        zeros = b.zeros(tensor([amount], element(values)))
        return b.scatter(core.Kind.add, zeros, b.constant(number[recovery.elements[mine]][:, None]), signed, scatter_numbers(READ))

    def _places(self, mine: Any) -> Colours:
        """Where summands are in the derivatives, which stand one after the other."""
        recovery = self.plan.recovery
        colours, at, forward = recovery.colours[mine], recovery.at[mine], recovery.forward[mine]
        places = np.zeros(len(at), np.int64)
        for mode, derivative in self.derivatives.items():
            for type, first, start in zip(derivative.seen, starts_of(derivative.seen), self.starts[mode], strict=True):
                here = (forward == (mode == "forward")) & (at >= first) & (at < first + size_of(type))
                places[here] = start + colours[here] * size_of(type) + at[here] - first
        return places


def _is_even(pattern: Any, elements: Colours, top: int, height: int) -> bool:
    """Whether each of the rows from ``top`` on has equally many of these elements."""
    rows = np.searchsorted(pattern.indptr, elements, side="right") - 1 - top
    return len(elements) % height == 0 and np.array_equal(rows, np.repeat(np.arange(height), len(elements) // height))


def _read_from(b: OpBuilder, parts: Sequence[Value], places: Colours) -> Value:
    """The elements at some places of vectors that follow one another, from those that have them alone."""
    ends: Colours = np.cumsum([size(part) for part in parts])
    first, last = (int(place) for place in np.searchsorted(ends, [int(places.min()), int(places.max())], side="right"))
    source = parts[first] if first == last else b.concatenate(parts[first : last + 1], 0)
    return read(b, source, places - (int(ends[first - 1]) if first else 0))


def widest(types: Sequence[Attribute]) -> Attribute:
    """The type that holds the elements of all of some types of real numbers."""
    return types[0] if len(set(types)) == 1 else f64 if f64 in types else f32


def placed(b: OpBuilder, length: int, places: Colours, values: Value) -> Value:
    """A vector of zeros but for some values, each at a place of its own."""
    zeros = b.zeros(tensor([length], element(values)))
    if not size(values):
        return zeros
    return b.scatter(core.Kind.add, zeros, b.constant(places[:, None]), values, scatter_numbers(READ), sorted=bool((np.diff(places) > 0).all()), unique=True)
