"""Cotangents of linear values: contributions are collected, and summed when the sum is asked for.

A sum is not always a chain of additions. Contributions that are zero where the others are not are put beside each other
(:mod:`~wengert.transforms.ad.linear.disjoint_sums`), and one that can be added in place is (:class:`~wengert.transforms.ad.rule.Into`).
"""

from __future__ import annotations

from msgspec import Struct, field
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, TensorType
from xdsl.ir import SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.locations import Role, with_role
from wengert.ir.tensor_types import size
from wengert.transforms.ad.linear.disjoint_sums import fewer_terms
from wengert.transforms.ad.rule import Into, Tangent


class _Contributions(Struct):
    """What was added so far, and where the last of it comes from."""

    values: list[Value] = field(default_factory=list[Value])
    location: LocationAttr = UNKNOWN_LOC


class Cotangents:
    """The cotangents of the values of a linear program, while its ops are transposed from the last to the first."""

    def __init__(self, b: OpBuilder):
        self.b = b
        self._held: dict[SSAValue, _Contributions] = {}

    def add(self, value: SSAValue, x_bar: Tangent | Into) -> None:
        """Adds a contribution to a value's cotangent. One without elements adds nothing: no op is transposed for it (some take no empty operands)."""
        if x_bar is None or (isinstance(value.type, TensorType) and size(value) == 0):
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
        if len(values) == 1:
            return values[0]
        with self.b.at(with_role(held.location, Role.ACCUMULATION)):
            total: Tangent = None
            for x_bar in fewer_terms(self.b, values):
                total = x_bar if total is None else self.b.add(total, x_bar)
        return total
