"""The elements of a pattern, read from a function's derivatives along coloured directions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute
from xdsl.ir import Block as IRBlock

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import copy_op
from wengert.ir.location.locations import error_at
from wengert.ir.tensor_types import element, f32, f64, i64, is_complex, shape_of_type, size, tensor
from wengert.transforms.ad.building_blocks.scatter_numbers import scatter_numbers
from wengert.transforms.ad.colouring.columns import NONE, Colours, count
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.jacobians.batched import BatchedDerivative, Mode, Type, batched_derivative, size_of, starts_of
from wengert.transforms.ad.jacobians.compression import Compression
from wengert.transforms.ad.jacobians.computed_columns import Cut
from wengert.transforms.ad.jacobians.places import READ, read, side_by_side
from wengert.transforms.ad.requests.expand import expand_ad
from wengert.transforms.ad.requests.request import Request, fresh_name, make_request


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

    With a cut, the derivatives are those of the function that is cut, and the pattern is its.
    """
    fn, primal = request.function.sym_name.data, request.function
    if any(is_complex(element(x)) for x in (*(request.block.args[i] for i in request.wrt), *(request.results[j] for j in request.of))):
        raise error_at(primal.location, f"{pass_name}: @{fn} has complex arguments or results, which have no one derivative each")
    differentiated = request if cut is None else cut.request
    derivatives: dict[Mode, BatchedDerivative] = {}
    for mode in ("forward", "reverse"):
        if (plan.forward if mode == "forward" else plan.reverse) or (mode == "forward" and not plan.reverse):
            name = fresh_name(module, f"{fn}_{mode}")
            copy = copy_op(differentiated.function, {})
            copy.properties["sym_name"] = StringAttr(name)
            module.body.block.insert_op_before(copy, primal)
            derivatives[mode] = batched_derivative(module, mode, make_request(copy, differentiated.wrt, differentiated.of), strategy)
    block = IRBlock(arg_types=[x.type for x in request.block.args])
    for old, new in zip(request.block.args, block.args, strict=True):
        new.name_hint = old.name_hint
    b = begin_function(block, primal, pass_name)
    gathered, numbers = ([], None) if cut is None else cut.read(b, block)
    recovered = Recovered(b, plan, derivatives, [*block.args, *gathered], numbers)
    function = finish_function(block, emit(recovered), fn, primal)
    function.arg_attrs = primal.arg_attrs
    module.body.block.insert_op_before(function, primal)
    for done in (primal,) if cut is None or cut.request.module is not module else (primal, cut.request.function):
        done.detach()
        done.erase()
    for derivative in derivatives.values():
        derivative.function.properties["sym_visibility"] = StringAttr("private")
    expand_ad(module)


class Recovered:
    """The derivatives along the directions of a plan, and the elements that are read from them.

    Args:
        b: a builder for the function's body.
        plan: the directions.
        derivatives: the derivatives in each mode that it has directions of.
        inputs: what they are called with.
        numbers: for each argument that is differentiated, the numbers of its columns in the whole Jacobian, as a vector; None where they are its own.
    """

    def __init__(
        self, b: OpBuilder, plan: Compression, derivatives: dict[Mode, BatchedDerivative], inputs: Sequence[Value], numbers: Sequence[Value] | None = None
    ):
        self.b, self.plan, self.derivatives, self.numbers = b, plan, derivatives, numbers
        self.known = next(iter(derivatives.values()))
        self.tops, self.lefts = starts_of(self.known.results), starts_of(self.known.arguments)
        self.common = widest([type.get_element_type() for type in (*self.known.results, *self.known.arguments)])
        self.parts: list[Value] = []
        self.starts: dict[Mode, list[int]] = {}
        for mode, derivative in derivatives.items():
            self.starts[mode] = []
            for value in self._along(derivative, inputs):
                self.starts[mode].append(sum(size(part) for part in self.parts))
                self.parts.append(b.convert(b.reshape(value, [size(value)]), self.common))

    def _along(self, derivative: BatchedDerivative, inputs: Sequence[Value]) -> Sequence[Value]:
        colours = self.plan.columns if derivative.mode == "forward" else self.plan.rows
        directions = count(colours)
        seeds = [
            _seed(self.b, type, colours[start : start + size_of(type)], directions)
            for start, type in zip(starts_of(derivative.moved), derivative.moved, strict=True)
        ]
        return derivative.along(self.b, derivative.function.sym_name.data, inputs, seeds, directions)

    # -- blocks

    def blocks(self) -> list[tuple[Block, Value]]:
        """The blocks, results first, with the elements of each, of its result's type."""
        blocks = [self._block(j, i) for j in range(len(self.tops)) for i in range(len(self.lefts))]
        return [(block, self.b.convert(self._values(block.elements), block.result.get_element_type())) for block in blocks]

    def _block(self, j: int, i: int) -> Block:
        y, x = self.known.results[j], self.known.arguments[i]
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

    def _row_by_row(self, parts: Sequence[Value], places: Callable[[Colours], Colours]) -> Value:
        """What stands for each element of the pattern at a place of vectors that follow one another.

        Where each row of a result has as many elements of each argument as any other, blocks are read on their own and put side by side.
        """
        b, pattern, vectors = self.b, self.plan.pattern, list[Value]()
        for j, y in enumerate(self.known.results):
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


def _seed(b: OpBuilder, type: Type, colours: Colours, directions: int) -> Value:
    """For each direction, ones in the elements that have its colour."""
    square = tensor([directions, size_of(type)], i64)
    mine = b.broadcast_in_dim(b.constant(colours), [1], [directions, size_of(type)])
    return b.reshape(b.convert(b.compare("EQ", b.iota(0, square), mine), type.get_element_type()), [directions, *shape_of_type(type)])
