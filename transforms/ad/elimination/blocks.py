"""Blocks with values: products and sums of edges as IR.

What is emitted follows from structures (:mod:`~wengert.transforms.ad.elimination.structure`): a product of blocks is a contraction where both depend on
what is summed, an elementwise product where they do not, and nothing at all where one of them is the identity. A mask selects, it does not multiply:
what is not finite where a mask is false does not come through.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i64, shape, tensor
from wengert.transforms.ad.elimination.maps import LinearMap
from wengert.transforms.ad.elimination.structure import Contraction, Kind, Structure, contraction, identity, total, untied
from wengert.transforms.ad.elimination.weight import (
    Map,
    Part,
    applied_structure,
    dense_structure,
    transposed_structure,
)


class Block(Struct, frozen=True):
    """A factor of an edge.

    Attributes:
        part: its structure, or the map that it is.
        out_element, into_element: the element types of what it gives and takes.
        value: the elements, one dimension for each label that they depend on; booleans of a mask, None of a constant.
        map: the map.
    """

    part: Part
    out_element: Attribute
    into_element: Attribute
    value: Value | None = None
    map: LinearMap | None = None

    @property
    def block(self) -> Structure:
        """The structure of what is no map."""
        assert isinstance(self.part, Structure)
        return self.part


class _Term(Struct, frozen=True):
    """A factor of a contraction: its elements and the labels of their dimensions, among those of both factors."""

    value: Value | None
    labels: tuple[int, ...]
    kind: Kind
    scale: float


class Emission:
    """The algebra of blocks with values, which appends IR to a block."""

    def __init__(self, b: OpBuilder):
        self.b = b

    def structure(self, factor: Block) -> Part:
        return factor.part

    def one(self, shape: tuple[int, ...], like: Block, *, out: bool) -> Block:
        element = like.out_element if out else like.into_element
        return Block(identity(shape), element, element)

    # -- products

    def product(self, outer: Block, inner: Block) -> Block:
        plan = contraction(outer.block, inner.block)
        element = outer.out_element
        value = None if plan.result.kind == "constant" else self._contracted(plan, outer, inner, element)
        return Block(plan.result, element, inner.into_element, value)

    def _contracted(self, plan: Contraction, outer: Block, inner: Block, element: Attribute) -> Value:
        a = self._term(outer, plan.outer, plan.outer_alone, plan.extents, element)
        c = self._term(inner, plan.inner, plan.inner_alone, plan.extents, element)
        if "constant" in (a.kind, c.kind):
            constant, other = (a, c) if a.kind == "constant" else (c, a)
            made = self._scaled(other, constant.scale * plan.free, element, keep=plan.result.kind == "mask")
        else:
            made = self._multiplied(plan, a, c, element)
            if plan.free > 1:
                made = self._scaled(made, plan.free, element, keep=False)
        assert made.value is not None
        wanted = [plan.result_labels[label] for label in plan.result.depends]
        return self.b.transpose(made.value, [made.labels.index(label) for label in wanted])

    def _term(self, block: Block, names: Sequence[int], alone: Sequence[int], extents: Sequence[int], element: Attribute) -> _Term:
        """A factor, summed over the contracted labels that it alone depends on."""
        structure = block.block
        labels = [names[label] for label in structure.depends]
        term = _Term(block.value, tuple(labels), structure.kind, structure.scale)
        if term.kind == "value":
            assert term.value is not None
            term = _Term(self.b.convert(term.value, element), term.labels, "value", 1.0)
        if not alone:
            return term
        summed = self._numbers(term, element)
        assert summed.value is not None
        dims = [labels.index(label) for label in alone]
        return _Term(self.b.reduce_sum(summed.value, dims), tuple(label for label in labels if label not in alone), "value", 1.0)

    def _scaled(self, term: _Term, scale: float, element: Attribute, *, keep: bool) -> _Term:
        """A term times a number; a mask stays one if ``keep``."""
        if keep:
            return term
        if term.kind == "mask":
            return self._numbers(term, element, scale)
        assert term.value is not None
        if scale == 1.0:
            return term
        made = self.b.negate(term.value) if scale == -1.0 else self.b.multiply(term.value, self.b.full_like(term.value, scale))
        return _Term(made, term.labels, "value", 1.0)

    def _numbers(self, term: _Term, element: Attribute, scale: float = 1.0) -> _Term:
        """A mask as numbers."""
        if term.kind != "mask":
            return term
        assert term.value is not None
        type = tensor(shape(term.value), element)
        return _Term(self.b.select(term.value, self.b.full(scale, type), self.b.zeros(type)), term.labels, "value", 1.0)

    def _multiplied(self, plan: Contraction, a: _Term, c: _Term, element: Attribute) -> _Term:
        alone = all(plan.extents[label] == 1 for label in plan.summed)  # nothing to add: a product, which is fused with what is around it
        if a.kind == "value" and c.kind == "value" and not alone:
            return self._dot(plan, a, c)
        labels = (*a.labels, *(label for label in c.labels if label not in a.labels))
        left, right = (self._spread(term, labels, plan.extents) for term in (a, c))
        if a.kind == "mask" and c.kind == "mask":
            both = _Term(self.b.and_(left, right), labels, "mask", 1.0)
            made = self._numbers(both, element) if plan.summed else both
        elif "mask" in (a.kind, c.kind):
            where, what = (left, right) if a.kind == "mask" else (right, left)
            made = _Term(self.b.select(where, what, self.b.full_like(what, 0)), labels, "value", 1.0)
        else:
            made = _Term(self.b.multiply(left, right), labels, "value", 1.0)
        if not plan.summed:
            return made
        assert made.value is not None
        rest = tuple(label for label in labels if label not in plan.summed)
        if alone:
            return _Term(self.b.reshape(made.value, [plan.extents[label] for label in rest]), rest, "value", 1.0)
        return _Term(self.b.reduce_sum(made.value, [labels.index(label) for label in plan.summed]), rest, "value", 1.0)

    def _dot(self, plan: Contraction, a: _Term, c: _Term) -> _Term:
        assert a.value is not None
        assert c.value is not None
        shared = [label for label in a.labels if label in c.labels and label not in plan.summed]
        dims = [([t.labels.index(x) for x in plan.summed], [t.labels.index(x) for x in shared]) for t in (a, c)]
        made = self.b.dot_general(a.value, c.value, (dims[0][0], dims[1][0]), (dims[0][1], dims[1][1]))
        rest = [label for t in (a, c) for label in t.labels if label not in plan.summed and label not in shared]
        return _Term(made, (*shared, *rest), "value", 1.0)

    def _spread(self, term: _Term, labels: Sequence[int], extents: Sequence[int]) -> Value:
        """A term's elements along all of these labels."""
        assert term.value is not None
        return self.b.broadcast_in_dim(term.value, [labels.index(label) for label in term.labels], [extents[label] for label in labels])

    # -- sums

    def total(self, first: Block, second: Block) -> Block | None:
        result = total(first.block, second.block)
        if result is None:
            return None
        element = first.out_element
        if result.kind == "constant":
            return Block(result, element, first.into_element)
        a, c = (self._depending(self._untied(x, result.ties), result.depends) for x in (first, second))
        return Block(result, element, first.into_element, self.b.add(a, self.b.convert(c, element)))

    def dense(self, block: Block, *, out: bool) -> Block:
        result = dense_structure(block.block, out=out)
        value = self._depending(self._untied(block, ()), result.depends) if result.depends else block.value
        return Block(result, block.out_element, block.into_element, value)

    def full(self, block: Block) -> Value:
        """All elements of a block: the dimensions of its result, then those of its argument."""
        written = self._untied(block, ())
        return self._depending(written, range(len(written.block.extents)))

    def _untied(self, block: Block, kept: Sequence[tuple[int, int]]) -> Block:
        """The block with its value written out along all ties but those kept."""
        old = block.block
        lost = [tie for tie in old.ties if tie not in kept]
        if not lost:
            return block
        new = untied(old, kept)
        names = {label: new.out[old.out.index(label)] if label in old.out else new.into[old.into.index(label)] for label in range(len(old.extents))}
        value = self._numbers_of(block)
        extents = [new.extents[label] for label in new.depends]
        value = self.b.broadcast_in_dim(value, [new.depends.index(names[label]) for label in old.depends], extents)
        for i, j in lost:
            row, column = new.depends.index(new.out[i]), new.depends.index(new.into[j])
            index = tensor(extents, i64)
            value = self.b.select(self.b.compare("EQ", self.b.iota(row, index), self.b.iota(column, index)), value, self.b.full_like(value, 0))
        return Block(new, block.out_element, block.into_element, value)

    def _depending(self, block: Block, labels: Sequence[int]) -> Value:
        """The elements of a block along these labels, which are ascending."""
        structure = block.block
        extents = [structure.extents[label] for label in labels]
        return self.b.broadcast_in_dim(self._numbers_of(block), [list(labels).index(label) for label in structure.depends], extents)

    def _numbers_of(self, block: Block) -> Value:
        """The elements as numbers, also of a mask or a constant."""
        structure, element = block.block, block.out_element
        if structure.kind == "constant":
            return self.b.full(structure.scale, tensor((), element))
        term = self._numbers(_Term(block.value, structure.depends, structure.kind, 1.0), element)
        assert term.value is not None
        return self.b.convert(term.value, element)

    # -- maps

    def applied(self, map: Block, inner: Block) -> Block:
        structure = inner.block
        kept = [label for label in structure.into if label in structure.depends]
        value = self._depending(inner, structure.depends)
        front = self.b.transpose(value, [structure.depends.index(label) for label in (*kept, *structure.out)])
        made = self._run(map, front, [structure.extents[label] for label in kept], forward=True)
        rank = len(shape(made)) - len(kept)
        back = self.b.transpose(made, [*range(len(kept), len(kept) + rank), *range(len(kept))])
        return Block(applied_structure(cast(Map, map.part), structure), map.out_element, inner.into_element, back)

    def transposed(self, outer: Block, map: Block) -> Block:
        structure = outer.block
        kept = [label for label in structure.out if label in structure.depends]
        value = self._depending(outer, structure.depends)
        made = self._run(map, value, [structure.extents[label] for label in kept], forward=False)
        return Block(transposed_structure(structure, cast(Map, map.part)), outer.out_element, map.into_element, self.b.convert(made, outer.out_element))

    def _run(self, map: Block, value: Value, front: Sequence[int], *, forward: bool) -> Value:
        """A map applied to all directions in the first dimensions of a value."""
        assert map.map is not None
        count = 1
        for extent in front:
            count *= extent
        given, made = (map.map.into_shape, map.map.out_shape) if forward else (map.map.out_shape, map.map.into_shape)
        wanted = map.map.into_element if forward else map.map.out_element
        if not count:  # a Jacobian without elements, of which the map would make some
            return self.b.zeros(tensor([*front, *made], map.out_element if forward else map.into_element))
        x = self.b.convert(self.b.reshape(value, [*([count] if front else []), *given]), wanted)
        apply = map.map.forward if forward else map.map.backward
        return self.b.reshape(apply(self.b, x, count if front else None), [*front, *made])
