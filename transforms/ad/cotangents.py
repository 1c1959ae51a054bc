"""Cotangents of linear values: contributions are collected, and summed when the sum is asked for.

A sum is not always a chain of additions. Contributions that are zero where the others are not are put beside each other (slices of
one tensor, real and imaginary parts), and one that can be added in place is (:class:`~wengert.transforms.ad.rule.Into`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.locations import Role, with_role
from wengert.ir.tensor_types import element, shape
from wengert.transforms.ad.rule import Into, Tangent

_PAIRWISE = 16
"""Up to how many contributions every pair is tried for putting beside each other."""


@dataclass
class _Contributions:
    """What was added so far, and where the last of it comes from."""

    values: list[Value] = field(default_factory=list[Value])
    location: LocationAttr = UNKNOWN_LOC


class Cotangents:
    """The cotangents of the values of a linear program, while its ops are transposed from the last to the first."""

    def __init__(self, b: OpBuilder):
        self.b = b
        self._held: dict[SSAValue, _Contributions] = {}

    def add(self, value: SSAValue, x_bar: Tangent | Into) -> None:
        """Adds a contribution to a value's cotangent."""
        if x_bar is None:
            return
        held = self._held.setdefault(value, _Contributions())
        held.location = self.b.location
        if isinstance(x_bar, Into):
            held.values = [x_bar.accumulate(self._sum(held))]
        else:
            held.values.append(x_bar)

    def take(self, value: SSAValue) -> Tangent:
        """A value's cotangent, complete once all of its users were transposed; None if nothing was added."""
        held = self._held.pop(value, None)
        return None if held is None else self._sum(held)

    def _sum(self, held: _Contributions) -> Tangent:
        values = held.values
        with self.b.at(with_role(held.location, Role.ACCUMULATION)):
            while 1 < len(values) <= _PAIRWISE and (fewer := _put_together(self.b, values)) is not None:
                values = fewer
            total: Tangent = None
            for x_bar in values:
                total = x_bar if total is None else self.b.add(total, x_bar)
        return total


def _put_together(b: OpBuilder, values: list[Value]) -> list[Value] | None:
    """The contributions with a pair replaced by its sum, where there is a pair that needs no addition."""
    for i, x in enumerate(values):
        for j in range(i + 1, len(values)):
            together = joined(b, x, values[j]) or completed(b, x, values[j])
            if together is not None:
                return [*values[:i], together, *values[i + 1 : j], *values[j + 1 :]]
    return None


def joined(b: OpBuilder, x: Value, y: Value) -> Value | None:
    """The sum of two slices' cotangents, each one zero where the other is not: one after the other, with no addition.

    Slices of one tensor along one dimension (a split into heads, gates or halves) transpose to zero paddings; where they are
    neighbours their sum is a concatenation, padded if something is left at the ends.
    """
    first, second = (_padding(v) for v in (x, y))
    if first is None or second is None or first[1] != second[1]:
        return None
    (inner, dim, low, high), (other, _, other_low, other_high) = first, second
    extent = shape(x)[dim]
    if extent - high == other_low:
        parts, edges = [inner, other], (low, other_high)
    elif extent - other_high == low:
        parts, edges = [other, inner], (other_low, high)
    else:
        return None
    whole = b.concatenate([piece for part in parts for piece in _pieces(part, dim)], dim)
    if edges == (0, 0):
        return whole
    padding = [[0] * len(shape(x)), [0] * len(shape(x))]
    padding[0][dim], padding[1][dim] = edges
    return b.pad(whole, b.scalar(0, element(x)), *padding)


def completed(b: OpBuilder, x: Value, y: Value) -> Value | None:
    """The sum of a real and an imaginary part's cotangents: one complex number, with no addition."""
    for first, second in ((x.owner, y.owner), (y.owner, x.owner)):
        if isinstance(first, hlo.ComplexOp) and isinstance(second, hlo.ComplexOp) and _is_zero(first.rhs) and _is_zero(second.lhs):
            return b.complex(first.lhs, second.rhs)
    return None


def _is_zero(value: Value) -> bool:
    return isinstance(value.owner, hlo.ConstantOp) and not elements.to_numpy(value.owner.value).any()


def _padding(value: Value) -> tuple[Value, int, int, int] | None:
    """What a zero padding along one dimension pads, which dimension, and by how much on either side."""
    op = value.owner
    if not isinstance(op, hlo.PadOp) or any(ints(op.interior_padding)) or min((*ints(op.edge_padding_low), *ints(op.edge_padding_high)), default=0) < 0:
        return None
    padded = [d for d, edges in enumerate(zip(ints(op.edge_padding_low), ints(op.edge_padding_high), strict=True)) if any(edges)]
    if len(padded) != 1 or not _is_zero(op.padding_value):
        return None
    (dim,) = padded
    return op.operand, dim, ints(op.edge_padding_low)[dim], ints(op.edge_padding_high)[dim]


def _pieces(value: Value, dim: int) -> list[Value]:
    """The parts of a concatenation along a dimension, or the value itself."""
    op = value.owner
    return list(op.inputs) if isinstance(op, hlo.ConcatenateOp) and int_of(op.dimension) == dim else [value]
