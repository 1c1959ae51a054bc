"""The graph of a body with a vertex for every element, for small programs: the finest that there is.

A block of tensors becomes an edge for each of its elements that is not zero: a tie gives as many as it is long, a map that moves elements one for each
of them, and of every other map the block is written out. What products cost then depends on each element alone, as in the literature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import rank, shape
from wengert.transforms.ad.elimination.blocks import Block, Emission
from wengert.transforms.ad.elimination.build import Chain, Linearised
from wengert.transforms.ad.elimination.graph import graph_of
from wengert.transforms.ad.elimination.structure import Structure
from wengert.transforms.ad.elimination.weight import Factors, Map

NUMBER = Structure((), (), (), (), "value")
MASK = Structure((), (), (), (), "mask")
Entry = tuple[int, int, Block]
"""(element of the result, element of the argument, their derivative)"""


class Elements:
    """Single elements of blocks, each read once."""

    def __init__(self, b: OpBuilder):
        self.b = b
        self._read: dict[tuple[Value, int], Value] = {}

    def at(self, value: Value, place: int) -> Value:
        """An element of a tensor, by its position in row-major order, as a tensor of rank 0."""
        if rank(value) == 0:
            return value
        if (value, place) not in self._read:
            index = [int(n) for n in np.unravel_index(place, shape(value))]
            part = self.b.slice(value, index, [n + 1 for n in index])
            self._read[value, place] = self.b.reshape(part, ())
        return self._read[value, place]


def refined(linear: Linearised, b: OpBuilder) -> Linearised:
    """The graph with a vertex for each element; ``firsts`` says where those of a vertex begin."""
    elements, factors = Elements(b), Factors(Emission(b))
    firsts: dict[int, int] = {}
    count = 0
    for v in linear.graph.successors:
        firsts[v] = count
        count += prod(linear.shapes[v])
    edges: list[tuple[int, int, Chain]] = []
    for u, behind in linear.graph.successors.items():
        for v, weight in behind.items():
            with b.at(linear.places[v]):
                edges += [(firsts[u] + j, firsts[v] + i, (block,)) for i, j, block in _entries(weight, elements, factors)]
    places = {firsts[v] + k: linear.places[v] for v in firsts for k in range(prod(linear.shapes[v]))}
    local = [firsts[v] + k for v in linear.local if v in firsts for k in range(prod(linear.shapes[v]))]
    sources, sinks = ([firsts[v] + k for v in ends for k in range(prod(linear.shapes[v]))] for ends in (linear.graph.sources, linear.graph.sinks))
    own = {firsts[v] + k: () for v in firsts for k in range(prod(linear.shapes[v]))}
    return replace(linear, graph=graph_of(sources, sinks, edges), shapes=own, places=places, local=local, firsts=firsts, whole=linear.shapes)


def entries(weight: Chain) -> int:
    """How many edges between elements an edge becomes."""
    if len(weight) == 1 and isinstance(weight[0].part, Structure):
        return prod(weight[0].part.extents)
    first, last = weight[0].part, weight[-1].part
    if len(weight) == 1 and weight[0].map is not None and weight[0].map.positions() is not None:
        return prod(first.out_shape)
    return prod(first.out_shape) * prod(last.into_shape)


def _entries(weight: Chain, elements: Elements, factors: Factors[Block]) -> Iterator[Entry]:
    """The elements of an edge that are not zero."""
    if len(weight) == 1 and isinstance(weight[0].part, Map):
        assert weight[0].map is not None
        moved = weight[0].map.positions()
        if moved is not None:
            yield from _moved(weight[0], moved)
            return
    block = factors.block(weight)
    yield from _of_block(block, elements)


def _moved(block: Block, numbers: NDArray[np.int64]) -> Iterator[Entry]:
    one = Block(Structure((), (), ()), block.out_element, block.into_element)
    for place, number in enumerate(numbers.reshape(-1).tolist()):
        if number:
            yield place, number - 1, one


def _of_block(block: Block, elements: Elements) -> Iterator[Entry]:
    structure = block.block
    extents = structure.extents
    grid = np.indices(extents).reshape(len(extents), prod(extents)) if extents else np.zeros((0, 1), np.int64)
    rows, columns, places = (_numbers(grid, labels, extents) for labels in (structure.out, structure.into, structure.depends))
    constant = Block(Structure((), (), (), (), "constant", structure.scale), block.out_element, block.into_element)
    for row, column, place in zip(rows, columns, places, strict=True):
        if structure.kind == "constant":
            yield row, column, constant
        else:
            assert block.value is not None
            part = MASK if structure.kind == "mask" else NUMBER
            yield row, column, Block(part, block.out_element, block.into_element, elements.at(block.value, place))


def _numbers(grid: NDArray[np.int64], labels: Sequence[int], extents: Sequence[int]) -> list[int]:
    """The position, in row-major order, of each point of a grid in a tensor with the dimensions of these labels."""
    numbers = np.zeros(grid.shape[1], np.int64)
    for label in labels:
        numbers = numbers * extents[label] + grid[label]
    return numbers.tolist()
