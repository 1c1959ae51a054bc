"""The structure of a block of a Jacobian: which of its dimensions are tied to each other, and on which of them its elements depend.

The block d y / d x of y of rank m and x of rank n has m + n dimensions, and is seldom full. Every dimension carries a *label*. A dimension of y and one of
x with the same label are tied: elements off the diagonal are zero (Kronecker's delta). The value that is kept has one dimension for each label that the
elements depend on; along all others they are the same. So, for ``x: [a, b]``,

==================================  ===============  =================================================
op                                  labels of y, x   value
==================================  ===============  =================================================
negation                            (0 1), (0 1)     none: the constant -1
``c * x``                           (0 1), (0 1)     c: [0, 1]
``c x``, a product of matrices      (0 1), (2 1)     c: [0, 2]
sum over b                          (0), (0 1)       none: the constant 1
broadcast to ``[a, b, k]``          (0 1 2), (0 1)   none: the constant 1
transposition                       (0 1), (1 0)     none: the constant 1
==================================  ===============  =================================================

and the product of two blocks is one contraction over labels, of which only those that either value depends on cost anything. (The same idea, for JAX, is in
J. Lohoff, E. Neftci, "Optimizing Automatic Differentiation with Deep Reinforcement Learning", NeurIPS 2024, appendix on sparse tensors.)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Literal

from msgspec import Struct

Kind = Literal["constant", "value", "mask"]
"""What the elements are: all the same number, those of a tensor, or 1 where a tensor of booleans holds and 0 elsewhere."""


class Structure(Struct, frozen=True):
    """The structure of a block.

    Attributes:
        out: the labels of the dimensions of what is differentiated, 0 to m - 1.
        into: those of what it is differentiated by; a label of ``out`` is a tie, all others follow in order.
        extents: the extent of each label.
        depends: the labels that the value has a dimension for, in ascending order.
        kind: what the elements are.
        scale: the number that they all are, of a constant.
    """

    out: tuple[int, ...]
    into: tuple[int, ...]
    extents: tuple[int, ...]
    depends: tuple[int, ...] = ()
    kind: Kind = "constant"
    scale: float = 1.0

    @property
    def is_unit(self) -> bool:
        """Whether multiplying by it is free: 1, -1, or a mask."""
        return self.kind == "mask" or (self.kind == "constant" and abs(self.scale) == 1.0)

    @property
    def ties(self) -> tuple[tuple[int, int], ...]:
        """The positions of dimensions with the same label."""
        return tuple((self.out.index(label), j) for j, label in enumerate(self.into) if label in self.out)

    @property
    def is_tied(self) -> bool:
        """Whether there are ties."""
        return any(label in self.out for label in self.into)

    @property
    def elements(self) -> int:
        """The number of elements of the value."""
        return prod(self.extents[label] for label in self.depends)

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The shape of what is differentiated."""
        return tuple(self.extents[label] for label in self.out)

    @property
    def into_shape(self) -> tuple[int, ...]:
        """The shape of what it is differentiated by."""
        return tuple(self.extents[label] for label in self.into)


def identity(shape: Sequence[int], scale: float = 1.0) -> Structure:
    """The identity of a shape, times a number."""
    labels = tuple(range(len(shape)))
    return Structure(labels, labels, tuple(shape), (), "constant", scale)


def labelled(out: Sequence[int], into: Sequence[int], extents: dict[int, int], depends: Sequence[int], kind: Kind, scale: float = 1.0) -> Structure:
    """A structure from labels of any numbers: renumbered, so that equal structures are equal. The order of ``depends`` is not kept."""
    numbers: dict[int, int] = {}
    for label in (*out, *into):
        numbers.setdefault(label, len(numbers))
    ordered = sorted(numbers, key=lambda label: numbers[label])
    place = numbers.__getitem__
    return Structure(
        tuple(map(place, out)), tuple(map(place, into)), tuple(extents[label] for label in ordered), tuple(sorted(map(place, depends))), kind, scale
    )


def untied(structure: Structure, kept: Sequence[tuple[int, int]] = ()) -> Structure:
    """The structure with the value written out along all ties but those ``kept``, so that it holds zeros; itself if there are none."""
    lost = [(i, j) for i, j in structure.ties if (i, j) not in kept]
    if not lost:
        return structure
    extents = dict(enumerate(structure.extents))
    into, depends, fresh = list(structure.into), set(structure.depends), len(extents)
    for i, j in lost:
        extents[fresh] = extents[structure.out[i]]
        into[j] = fresh
        depends |= {structure.out[i], fresh}
        fresh += 1
    return labelled(structure.out, into, extents, sorted(depends), "value")


class Contraction(Struct, frozen=True):
    """The labels by which two blocks meet in their product ``outer inner``.

    Attributes:
        outer, inner: for each label of a factor, its label among those of both.
        extents: of these labels.
        result: the structure of the product; its labels are those of ``result_labels``.
        result_labels: for each label of the product, its label among those of both.
        summed: labels that are contracted and that both values depend on.
        outer_alone, inner_alone: contracted labels that one value alone depends on.
        free: the number that contracted labels multiply by on which neither value depends.
        multiplications: what the product takes.
    """

    outer: tuple[int, ...]
    inner: tuple[int, ...]
    extents: tuple[int, ...]
    result: Structure
    result_labels: tuple[int, ...]
    summed: tuple[int, ...]
    outer_alone: tuple[int, ...]
    inner_alone: tuple[int, ...]
    free: int
    multiplications: int


def contraction(outer: Structure, inner: Structure) -> Contraction:
    """How to multiply two blocks, d z / d y and d y / d x."""
    names, extents = _united(outer, inner)
    of_outer, of_inner = names[: len(outer.extents)], names[len(outer.extents) :]
    out, into = [of_outer[label] for label in outer.out], [of_inner[label] for label in inner.into]
    in_outer, in_inner = {of_outer[label] for label in outer.depends}, {of_inner[label] for label in inner.depends}
    contracted = [label for label in extents if label not in out and label not in into]
    summed = tuple(label for label in contracted if label in in_outer and label in in_inner)
    outer_alone = tuple(label for label in contracted if label in in_outer and label not in in_inner)
    inner_alone = tuple(label for label in contracted if label in in_inner and label not in in_outer)
    free = prod(extents[label] for label in contracted if label not in in_outer and label not in in_inner)
    depends = (in_outer | in_inner) - set(contracted)
    kind, scale = _kind(outer, inner, contracted), 1.0
    if kind == "constant":
        scale = outer.scale * inner.scale * free
    result = labelled(out, into, extents, sorted(depends), kind, scale)
    order = list(dict.fromkeys((*out, *into)))
    work = _work(outer, inner, prod(extents[label] for label in depends), prod(extents[label] for label in summed), free)
    ordered = tuple(extents[label] for label in range(len(extents)))
    return Contraction(tuple(of_outer), tuple(of_inner), ordered, result, tuple(order), summed, outer_alone, inner_alone, free, work)


def _united(outer: Structure, inner: Structure) -> tuple[list[int], dict[int, int]]:
    """New names for the labels of both, the dimensions between them having one name; and the extents by name."""
    count = len(outer.extents)
    parent = list(range(count + len(inner.extents)))

    def root(label: int) -> int:
        while parent[label] != label:
            label = parent[label]
        return label

    for a, b in zip(outer.into, inner.out, strict=True):
        parent[root(count + b)] = root(a)
    roots = list(dict.fromkeys(root(label) for label in range(len(parent))))
    extents = {roots.index(root(n)): extent for n, extent in enumerate((*outer.extents, *inner.extents))}
    return [roots.index(root(label)) for label in range(len(parent))], dict(sorted(extents.items()))


def _kind(outer: Structure, inner: Structure, contracted: Sequence[int]) -> Kind:
    kinds = {outer.kind, inner.kind}
    if kinds == {"constant"}:
        return "constant"
    if "value" in kinds or contracted:
        return "value"
    constants = [x for x in (outer, inner) if x.kind == "constant"]
    return "mask" if all(x.scale == 1.0 for x in constants) else "value"


def _work(outer: Structure, inner: Structure, elements: int, summed: int, free: int) -> int:
    """The multiplications of numbers that are not known beforehand: none by 1, -1 or a mask."""
    if outer.kind == "constant" and inner.kind == "constant":
        return 0
    product = 0 if outer.is_unit or inner.is_unit else elements * summed
    return product + (elements if free > 1 else 0)


def total(first: Structure, second: Structure) -> Structure | None:
    """The structure of the sum of two blocks of the same dimensions; None where it is zero whatever the values are."""
    kept = [tie for tie in first.ties if tie in second.ties]
    if first.kind == "constant" and second.kind == "constant" and first.ties == second.ties:
        scale = first.scale + second.scale
        return None if scale == 0 else labelled(first.out, first.into, dict(enumerate(first.extents)), (), "constant", scale)
    a, b = untied(first, kept), untied(second, kept)
    return labelled(a.out, a.into, dict(enumerate(a.extents)), sorted({*a.depends, *b.depends}), "value")
