"""Cotangents of linear values: contributions are collected, and summed when the cotangent is taken.

A sum is not always a chain of additions. Contributions that are zero where the others are not are concatenated
(:mod:`~wengert.transforms.ad.linear.disjoint_sums`), and a contribution that can be added in place is (:class:`~wengert.transforms.ad.rule.InPlaceAdd`).
"""

from __future__ import annotations

from msgspec import Struct, field
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr, TensorType
from xdsl.ir import SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.locations import Role, with_role
from wengert.ir.tensor_types import size
from wengert.transforms.ad.linear.disjoint_sums import fewer_terms
from wengert.transforms.ad.rule import InPlaceAdd, Tangent


class _Contributions(Struct):
    """The contributions to one cotangent so far, and the location of the last one."""

    values: list[Value] = field(default_factory=list[Value])
    location: LocationAttr = UNKNOWN_LOC


class Cotangents:
    """The cotangents of the values of a linear program, while its ops are transposed from the last to the first."""

    def __init__(self, b: OpBuilder):
        self.b = b
        self._contributions: dict[SSAValue, _Contributions] = {}

    def add(self, value: SSAValue, x_bar: Tangent | InPlaceAdd) -> None:
        """Adds a contribution to a value's cotangent. One without elements is dropped, and no op is transposed for it (some take no empty operands)."""
        if x_bar is None or (isinstance(value.type, TensorType) and size(value) == 0):
            return
        entry = self._contributions.setdefault(value, _Contributions())
        entry.location = self.b.location
        if isinstance(x_bar, InPlaceAdd):
            entry.values = [x_bar.accumulate(self._sum(entry))]
        else:
            entry.values.append(x_bar)

    def take(self, value: SSAValue) -> Tangent:
        """Removes and returns a value's cotangent, complete once all of its users were transposed; None if it has no contribution."""
        entry = self._contributions.pop(value, None)
        return None if entry is None else self._sum(entry)

    def _sum(self, entry: _Contributions) -> Tangent:
        values = entry.values
        if len(values) == 1:
            return values[0]
        with self.b.at(with_role(entry.location, Role.ACCUMULATION)):
            total: Tangent = None
            for x_bar in fewer_terms(self.b, values):
                total = x_bar if total is None else self.b.add(total, x_bar)
        return total
