"""The weight of an edge of the linearised graph: a block, or a product that is kept as its factors.

Many linear ops have no block worth writing down: a slice, a gather, a convolution, a loop. Such an op is a *map*, which is applied to a dense block from
either side, in a batch. As long as no dense block is there, the product stays a *chain* of maps and blocks::

    [dense d z / d y] . map . [c, tied]     the map is transposed, and applied to all rows of d z / d y; then c scales the columns of what comes of it

This module says how a product comes about, and what it takes, from structures alone; :mod:`~wengert.transforms.ad.elimination.blocks` does the same
with values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from wengert.transforms.ad.elimination.structure import Structure, contraction, identity, labelled, total, untied


class Map(Struct, frozen=True):
    """A linear map that has no block of its own.

    Attributes:
        number: its number in the graph.
        out_shape, into_shape: the shapes of what it gives and takes.
        work: the multiplications for one direction.
        fixed: those that are made once for all directions.
    """

    number: int
    out_shape: tuple[int, ...]
    into_shape: tuple[int, ...]
    work: int = 0
    fixed: int = 0


Part = Structure | Map
Weight = tuple[Part, ...]
"""The factors of an edge, that of the result first. A single block, or a chain with at least one map and no two blocks side by side."""

B = TypeVar("B")


class Algebra(Protocol[B]):
    """Blocks: structures alone, or with values. ``structure`` of a factor that is a map is the map."""

    def structure(self, factor: B) -> Part:
        """What is known of a factor before any value is."""
        ...

    def product(self, outer: B, inner: B) -> B:
        """The product of two blocks."""
        ...

    def total(self, first: B, second: B) -> B | None:
        """The sum of two blocks, None for zero."""
        ...

    def dense(self, block: B, *, out: bool) -> B:
        """The same block, with its value written out along the dimensions of its result (or of its argument), which are not tied any more."""
        ...

    def applied(self, map: B, inner: B) -> B:
        """A map applied to a block that is dense in the dimensions of its result."""
        ...

    def transposed(self, outer: B, map: B) -> B:
        """The transpose of a map applied to a block that is dense in the dimensions of its argument."""
        ...

    def one(self, shape: tuple[int, ...], like: B, *, out: bool) -> B:
        """The identity of a shape, of the type that a factor gives (or takes)."""
        ...


class Factors(Generic[B]):
    """Products and sums of edges, by an algebra of blocks."""

    def __init__(self, algebra: Algebra[B]):
        self.algebra = algebra

    def product(self, outer: tuple[B, ...], inner: tuple[B, ...]) -> tuple[B, ...]:
        """The product of two edges; maps are applied where a block is dense on the side of a map."""
        parts: list[B] = []
        for factor in (*outer, *inner):
            parts.append(factor)
            while len(parts) > 1 and (joined := self._joined(parts[-2], parts[-1])) is not None:
                parts[-2:] = [joined]
        return tuple(parts)

    def total(self, first: tuple[B, ...], second: tuple[B, ...]) -> tuple[B, ...] | None:
        """The sum of two edges; None where it is zero whatever the values are."""
        block = self.algebra.total(self.block(first), self.block(second))
        return None if block is None else (block,)

    def written(self, weight: tuple[B, ...]) -> tuple[B, ...]:
        """An edge with its block written out."""
        return (self.block(weight),)

    def block(self, weight: tuple[B, ...]) -> B:
        """The block of an edge: maps of a chain are applied to the identity, on the side that has fewer elements."""
        if len(weight) == 1 and isinstance(self.algebra.structure(weight[0]), Structure):
            return weight[0]
        into, out = into_shape(self.algebra.structure(weight[-1])), out_shape(self.algebra.structure(weight[0]))
        if prod(out) <= prod(into):
            one = self.algebra.dense(self.algebra.one(out, weight[0], out=True), out=False)
            return self.product((one,), weight)[0]
        one = self.algebra.dense(self.algebra.one(into, weight[-1], out=False), out=True)
        parts = [*weight, one]
        while len(parts) > 1:
            joined = self._joined(parts[-2], parts[-1])
            assert joined is not None, "a block that is dense in its result takes any factor"
            parts[-2:] = [joined]
        return parts[0]

    def _joined(self, outer: B, inner: B) -> B | None:
        """The product of two neighbours; None where one is a map and the other one neither dense nor worth being made dense."""
        a, b = self.algebra.structure(outer), self.algebra.structure(inner)
        if isinstance(a, Structure) and isinstance(b, Structure):
            return self.algebra.product(outer, inner)
        if isinstance(a, Structure) and isinstance(b, Map) and not a.is_tied:
            return self.algebra.transposed(self.algebra.dense(outer, out=False), inner)
        if isinstance(a, Map) and isinstance(b, Structure) and not b.is_tied:
            return self.algebra.applied(outer, self.algebra.dense(inner, out=True))
        return None


def out_shape(part: Part) -> tuple[int, ...]:
    """The shape of what a factor gives."""
    return part.out_shape


def into_shape(part: Part) -> tuple[int, ...]:
    """The shape of what a factor takes."""
    return part.into_shape


def dense_structure(block: Structure, *, out: bool) -> Structure:
    """See :meth:`Algebra.dense`."""
    block = untied(block)
    depends = sorted({*block.depends, *(block.out if out else block.into)})
    return labelled(block.out, block.into, dict(enumerate(block.extents)), depends, "value" if depends else block.kind, block.scale if not depends else 1.0)


def applied_structure(map: Map, inner: Structure) -> Structure:
    """See :meth:`Algebra.applied`."""
    kept = [label for label in inner.into if label in inner.depends]
    return _beside(map.out_shape, inner.into, kept, inner.extents, out=True)


def transposed_structure(outer: Structure, map: Map) -> Structure:
    """See :meth:`Algebra.transposed`."""
    kept = [label for label in outer.out if label in outer.depends]
    return _beside(map.into_shape, outer.out, kept, outer.extents, out=False)


def _beside(shape: Sequence[int], labels: Sequence[int], kept: Sequence[int], extents: Sequence[int], *, out: bool) -> Structure:
    """Labels that stay, beside new dimensions on which the value depends."""
    first = len(extents)
    new = range(first, first + len(shape))
    known = {**dict(enumerate(extents)), **dict(zip(new, shape, strict=True))}
    sides = (new, labels) if out else (labels, new)
    return labelled(*sides, known, [*kept, *new], "value")


def directions(block: Structure, *, out: bool) -> int:
    """For how many directions a map is applied to a block: one for each element on its other side."""
    labels = block.into if out else block.out
    return prod(block.extents[label] for label in labels if label in block.depends)


class Counting:
    """The algebra of structures, which counts multiplications.

    ``trivial`` says whether products by 1 and -1 count, as they do in the literature; those by what only moves elements are free there too.
    """

    def __init__(self, *, trivial: bool = False):
        self.multiplications = 0
        self._trivial = trivial

    def structure(self, factor: Part) -> Part:
        return factor

    def product(self, outer: Part, inner: Part) -> Part:
        assert isinstance(outer, Structure)
        assert isinstance(inner, Structure)
        plan = contraction(outer, inner)
        moved = outer.kind == "constant" or inner.kind == "constant"
        every = 0 if moved else plan.result.elements * prod(plan.extents[label] for label in plan.summed)
        self.multiplications += every if self._trivial else plan.multiplications
        return plan.result

    def total(self, first: Part, second: Part) -> Part | None:
        assert isinstance(first, Structure)
        assert isinstance(second, Structure)
        return total(first, second)

    def dense(self, block: Part, *, out: bool) -> Part:
        assert isinstance(block, Structure)
        return dense_structure(block, out=out)

    def applied(self, map: Part, inner: Part) -> Part:
        assert isinstance(map, Map)
        assert isinstance(inner, Structure)
        self.multiplications += map.fixed + map.work * directions(inner, out=True)
        return applied_structure(map, inner)

    def transposed(self, outer: Part, map: Part) -> Part:
        assert isinstance(outer, Structure)
        assert isinstance(map, Map)
        self.multiplications += map.fixed + map.work * directions(outer, out=False)
        return transposed_structure(outer, map)

    def one(self, shape: tuple[int, ...], like: Part, *, out: bool) -> Part:
        return identity(shape)


class Costs:
    """Products and sums of edges by number, each worked out once: what a search asks for thousands of times."""

    def __init__(self, *, trivial: bool = False):
        self._counting = Counting(trivial=trivial)
        self._factors: Factors[Part] = Factors(self._counting)
        self._weights: list[Weight] = []
        self._numbers: dict[Weight, int] = {}
        self._products: dict[tuple[int, int], tuple[int, int]] = {}
        self._totals: dict[tuple[int, int], tuple[int, int]] = {}
        self._blocks: dict[int, tuple[int, int]] = {}

    def number(self, weight: Weight) -> int:
        """The number of an edge's factors."""
        if weight not in self._numbers:
            self._numbers[weight] = len(self._weights)
            self._weights.append(weight)
        return self._numbers[weight]

    def weight(self, number: int) -> Weight:
        """The factors of a number."""
        return self._weights[number]

    def product(self, outer: int, inner: int) -> tuple[int, int]:
        """The number of a product, and its multiplications."""
        known = self._products.get((outer, inner))
        if known is None:
            known = self._counted(lambda: self._factors.product(self._weights[outer], self._weights[inner]))
            self._products[outer, inner] = known
        return known

    def total(self, first: int, second: int) -> tuple[int, int]:
        """The number of a sum, -1 for zero, and the multiplications for writing out chains."""
        known = self._totals.get((first, second))
        if known is None:
            known = self._counted(lambda: self._factors.total(self._weights[first], self._weights[second]))
            self._totals[first, second] = known
        return known

    def block(self, number: int) -> tuple[int, int]:
        """The number of the block of an edge, and the multiplications for writing it out."""
        if number not in self._blocks:
            self._blocks[number] = self._counted(lambda: (self._factors.block(self._weights[number]),))
        return self._blocks[number]

    def writing(self, number: int) -> int:
        """The multiplications for writing out the block of an edge."""
        return self.block(number)[1]

    def _counted(self, make: Callable[[], Weight | None]) -> tuple[int, int]:
        before = self._counting.multiplications
        made = make()
        return -1 if made is None else self.number(made), self._counting.multiplications - before
