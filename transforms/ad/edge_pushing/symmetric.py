"""Operations on symmetric edges beside products and sums: transposes, halves, and whether a block is its own transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from msgspec.structs import replace

from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.elimination.blocks import Block, Emission
from wengert.transforms.ad.elimination.maps import LinearMap, Numbers
from wengert.transforms.ad.elimination.structure import Structure, identity, labelled
from wengert.transforms.ad.elimination.weight import Algebra, Counting, Factors, Map, Part, out_shape

B = TypeVar("B")


class Transposing(Algebra[B], Protocol[B]):
    """Blocks that have transposes."""

    def transpose(self, factor: B) -> B:
        """The transpose of a factor, which may be a map."""
        ...

    def scaled_identity(self, shape: tuple[int, ...], like: B, scale: float) -> B:
        """The identity times a number, of the type that a factor gives."""
        ...


class SymmetricFactors(Factors[B], Generic[B]):
    """Products, sums and transposes of edges."""

    def __init__(self, algebra: Transposing[B]):
        super().__init__(algebra)
        self._transposing = algebra

    def transpose(self, weight: tuple[B, ...]) -> tuple[B, ...]:
        """The transpose of an edge."""
        return tuple(self._transposing.transpose(factor) for factor in reversed(weight))

    def half(self, weight: tuple[B, ...]) -> tuple[B, ...]:
        """Half of an edge."""
        shape = out_shape(self.algebra.structure(weight[0]))
        return self.product((self._transposing.scaled_identity(shape, weight[0], 0.5),), weight)

    def symmetric(self, weight: tuple[B, ...]) -> tuple[B, ...] | None:
        """Half of an edge and its transpose; itself where it is a diagonal."""
        if self.is_diagonal(weight):
            return weight
        return self.plus(self.half(weight), self.half(self.transpose(weight)))

    def plus(self, first: tuple[B, ...] | None, second: tuple[B, ...] | None) -> tuple[B, ...] | None:
        """The sum; None for zero."""
        if first is None or second is None:
            return first if second is None else second
        return self.total(first, second)

    def is_diagonal(self, weight: tuple[B, ...]) -> bool:
        """Whether an edge is its own transpose because all of its dimensions are tied in order."""
        part = self.algebra.structure(weight[0])
        return len(weight) == 1 and isinstance(part, Structure) and part.out == part.into


class Values(Emission):
    """Blocks with values, and their transposes."""

    def transpose(self, factor: Block) -> Block:
        if factor.map is not None:
            map = factor.map.map if isinstance(factor.map, TransposedMap) else TransposedMap(factor.map)
            return Block(transposed_part(factor.part), factor.into_element, factor.out_element, None, map)
        old = factor.block
        value = factor.value
        if value is not None:
            places = _places(old)
            value = self.b.transpose(value, sorted(range(len(old.depends)), key=lambda n: places[old.depends[n]]))
            if old.kind == "value":
                value = self.b.convert(value, factor.into_element)
        return Block(transposed_part(old), factor.into_element, factor.out_element, value)

    def scaled_identity(self, shape: tuple[int, ...], like: Block, scale: float) -> Block:
        return Block(identity(shape, scale), like.out_element, like.out_element)


class Counts(Counting):
    """Structures alone, which count, and their transposes."""

    def transpose(self, factor: Part) -> Part:
        return transposed_part(factor)

    def scaled_identity(self, shape: tuple[int, ...], like: Part, scale: float) -> Part:
        return identity(shape, scale)


class TransposedMap:
    """The transpose of a map."""

    def __init__(self, map: LinearMap):
        self.map = map
        self.into_shape, self.out_shape = map.out_shape, map.into_shape
        self.into_element, self.out_element = map.out_element, map.into_element

    def forward(self, b: OpBuilder, x: Value, count: int | None) -> Value:
        return self.map.backward(b, x, count)

    def backward(self, b: OpBuilder, y: Value, count: int | None) -> Value:
        return self.map.forward(b, y, count)

    def positions(self) -> Numbers | None:
        return None

    def close(self) -> None:
        self.map.close()


def transposed_part(part: Part) -> Part:
    """The structure, or the map, of the transpose."""
    if isinstance(part, Map):
        return replace(part, number=-1 - part.number, out_shape=part.into_shape, into_shape=part.out_shape)
    return labelled(part.into, part.out, dict(enumerate(part.extents)), part.depends, part.kind, part.scale)


def _places(structure: Structure) -> dict[int, int]:
    """The label that each label has in the transpose."""
    labels: Sequence[int] = list(dict.fromkeys((*structure.into, *structure.out)))
    return {label: place for place, label in enumerate(labels)}
