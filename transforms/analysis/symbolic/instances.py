"""A program for all sizes from instances of it for a few: the anti-unification of modules that differ in numbers only.

Ops that correspond have the same name in the same place. Where their extents, attributes and integer constants differ, they are the values of a
polynomial in the sizes, which is looked for among those that are linear, single terms, and quadratic; more instances than coefficients confirm it.
What no such polynomial gives is an error with its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import prod
from typing import Any

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, SSAValue

from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.location.places import error_at
from wengert.transforms.analysis.symbolic.extents import STATIC
from wengert.transforms.analysis.symbolic.extents import size as size_of
from wengert.transforms.analysis.symbolic.integers import Extent
from wengert.transforms.analysis.symbolic.polynomial import ZERO, Polynomial

Point = Mapping[str, int]
MOST_FACTORS = 4
"""The degree of the single terms that are looked for."""


class InstanceExtents:
    """The extents of a program, as polynomials, from instances at some points. Values and ops are those of the first one.

    Raises:
        DiagnosticError: the instances differ in more than numbers.
    """

    def __init__(self, modules: Sequence[ModuleOp], points: Sequence[Point]):
        self.points = points
        self._values: dict[SSAValue, list[SSAValue]] = {}
        self._ops: dict[Operation, list[Operation]] = {}
        self._fits: dict[tuple[int, ...], Polynomial | None] = {}
        self._shapes: dict[SSAValue, list[Extent]] = {}
        for ops in _aligned(modules):
            self._ops[ops[0]] = ops
            for results in zip(*[op.results for op in ops], strict=True):
                self._values[results[0]] = list(results)
            for regions in zip(*[op.regions for op in ops], strict=True):
                for blocks in zip(*[region.blocks for region in regions], strict=True):
                    for arguments in zip(*[block.args for block in blocks], strict=True):
                        self._values[arguments[0]] = list(arguments)

    def shape(self, value: SSAValue) -> Sequence[Extent]:
        known = self._shapes.get(value)
        if known is None:
            shapes = [STATIC.shape(other) for other in self._values[value]]
            known = self._shapes[value] = [self._fit(extents, _owner(value)) for extents in zip(*shapes, strict=True)]
        return known

    def ints(self, op: Operation, name: str) -> Sequence[Extent]:
        return [self._fit(numbers, op) for numbers in zip(*[STATIC.ints(other, name) for other in self._ops[op]], strict=True)]

    def integer(self, value: SSAValue) -> Extent | None:
        numbers = [STATIC.integer(other) for other in self._values[value]]
        known = [number for number in numbers if number is not None]
        return self._fit(known, _owner(value)) if len(known) == len(numbers) else None

    def function(self, op: Operation, compute: Callable[[Operation], int]) -> Extent:
        numbers = [compute(other) for other in self._ops[op]]
        elements = [prod(STATIC.shape(other.results[0])) if isinstance(other.results[0].type, TensorType) else 1 for other in self._ops[op]]
        ratios = {Fraction(number, count) for number, count in zip(numbers, elements, strict=True) if count}
        if len(ratios) == 1:
            return size_of(self, op.results[0]) * ratios.pop()
        return self._fit(numbers, op)

    def _fit(self, numbers: Sequence[int], op: Operation | None) -> Extent:
        if len(set(numbers)) == 1:
            return numbers[0]
        key = tuple(numbers)
        if key not in self._fits:
            self._fits[key] = fitted(self.points, numbers)
        fit = self._fits[key]
        if fit is None:
            raise _error(op, f"an extent that is {_listed(numbers)} at {_listed(map(_written, self.points))} is no polynomial in the sizes that is looked for")
        return fit


def _aligned(modules: Sequence[ModuleOp]) -> Iterator[list[Operation]]:
    """The ops of all modules that correspond."""
    for ops in zip(*[list(module.walk()) for module in modules], strict=False):
        first = ops[0]
        for op in ops[1:]:
            same = op.name == first.name and len(op.results) == len(first.results) and len(op.operands) == len(first.operands)
            if not same or len(op.regions) != len(first.regions):
                raise _error(first, f"instances of the program differ here in more than numbers: '{first.name}' in one is '{op.name}' in another")
        yield list(ops)
    counts = [sum(1 for _ in module.walk()) for module in modules]
    if len(set(counts)) > 1:
        raise _error(modules[0], f"instances of the program have {_listed(sorted(set(counts)))} ops: they differ in more than numbers")


def _owner(value: SSAValue) -> Operation | None:
    owner = value.owner
    return owner.parent_op() if isinstance(owner, Block) else owner


def _error(op: Operation | None, message: str) -> DiagnosticError:
    hint = "other sizes may keep its form: give instances at sizes of your own"
    return DiagnosticError(Diagnostic(message, hint=hint)) if op is None else error_at(op, message, hint)


def _written(point: Point) -> str:
    return " ".join(f"{name}={number}" for name, number in point.items())


def _listed(items: Any) -> str:
    return ", ".join(map(str, items))


def fitted(points: Sequence[Point], numbers: Sequence[int]) -> Polynomial | None:
    """The simplest polynomial with these values at these points: linear, a single term, or quadratic; None if it is none of them."""
    names = list(points[0])
    linear = [(), *[(name,) for name in names]]
    quadratic = [*linear, *combinations_with_replacement(names, 2)]
    for basis in (linear, *[[term] for term in _terms(names)], quadratic):
        fit = _solved(basis, points, numbers) if len(basis) < len(points) else None
        if fit is not None:
            return fit
    return None


def _terms(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for degree in range(2, MOST_FACTORS + 1):
        yield from combinations_with_replacement(names, degree)


def _solved(basis: Sequence[tuple[str, ...]], points: Sequence[Point], numbers: Sequence[int]) -> Polynomial | None:
    """The combination of terms with these values at all points, if there is one and only one."""
    rows = [[Fraction(prod(point[name] for name in term)) for term in basis] + [Fraction(number)] for point, number in zip(points, numbers, strict=True)]
    width = len(basis)
    for column in range(width):
        pivot = next((row for row in range(column, len(rows)) if rows[row][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [x / rows[column][column] for x in rows[column]]
        for row in range(len(rows)):
            if row != column and rows[row][column]:
                factor = rows[row][column]
                rows[row] = [x - factor * y for x, y in zip(rows[row], rows[column], strict=True)]
    if any(row[width] for row in rows[width:]):
        return None
    return sum((_term(term) * rows[number][width] for number, term in enumerate(basis)), ZERO)


def _term(names: Sequence[str]) -> Polynomial:
    result = Polynomial.of(1)
    for name in names:
        result = result * Polynomial.symbol(name)
    return result


_SIZES = (11, 16, 21, 27, 30, 37, 38, 44, 49, 53, 58, 65, 72)
"""With all remainders of small divisors, so that what is rounded is not taken for linear."""


def sample_points(names: Sequence[str], scale: int = 1) -> list[Point]:
    """Points at which instances tell the polynomials that are looked for apart: two more than a linear one has coefficients, five at least."""
    count = max(5, len(names) + 3)
    return [{name: scale * _SIZES[(i * (k + 1) + 3 * k) % len(_SIZES)] for k, name in enumerate(names)} for i in range(count)]
