"""Cotangents of linear values: contributions are collected, and summed when the cotangent is taken.

A sum is not always a chain of additions. Contributions that are zero where the others are not are concatenated
(:mod:`~wengert.transforms.ad.linear.disjoint_sums`), and a contribution that can be added in place is (:class:`~wengert.transforms.ad.rule.InPlaceAdd`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import cast

from xdsl.dialects.builtin import LocationAttr, TensorType, UnknownLoc
from xdsl.ir import BlockArgument, Operation, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.location.locations import Role, derived, provenance, with_role
from wengert.ir.tensor_types import size
from wengert.transforms.ad.linear.disjoint_sums import fewer_terms
from wengert.transforms.ad.rule import InPlaceAdd, Tangent

NO_PLACES: Mapping[SSAValue, LocationAttr] = MappingProxyType({})


class Cotangents:
    """The cotangents of the values of a linear program, while its ops are transposed from the last to the first.

    A sum is located at the op that makes the value, whose location says that its tangent is computed there; where values are ``primal``, at what is
    derived from their op. Arguments of a block are at their own locations (or those given as ``places``), if they have any, else at what is being built.

    Where the linear program is ``owned`` by the walk, a transpose may take what is in an op's regions for its own: bodies in bodies are then not copied
    again at every level.
    """

    def __init__(self, b: OpBuilder, *, primal: bool = False, owned: bool = False, places: Mapping[SSAValue, LocationAttr] = NO_PLACES):
        self.b = b
        self.owned = owned
        self._primal = primal
        self._places = places
        self._contributions: dict[SSAValue, list[Value]] = {}

    def add(self, value: SSAValue, x_bar: Tangent | InPlaceAdd) -> None:
        """Adds a contribution to a value's cotangent. One without elements is dropped, and no op is transposed for it (some take no empty operands)."""
        if x_bar is None or (isinstance(value.type, TensorType) and size(value) == 0):
            return
        values = self._contributions.setdefault(value, [])
        if isinstance(x_bar, InPlaceAdd):
            self._contributions[value] = [x_bar.accumulate(self._sum(value, values))]
        else:
            values.append(x_bar)

    def take(self, value: SSAValue) -> Tangent:
        """Removes and returns a value's cotangent, complete once all of its users were transposed; None if it has no contribution."""
        values = self._contributions.pop(value, None)
        return None if values is None else self._sum(value, values)

    def _sum(self, value: SSAValue, values: Sequence[Value]) -> Tangent:
        if len(values) == 1:
            return values[0]
        with self.b.at(self._location(value)):
            total: Tangent = None
            for x_bar in fewer_terms(self.b, values):
                total = x_bar if total is None else self.b.add(total, x_bar)
        return total

    def _location(self, value: SSAValue) -> LocationAttr:
        """The location of the sum of a value's cotangents."""
        if isinstance(value, BlockArgument):
            place = self._places.get(value, value.location)
            return with_role(self.b.location if isinstance(place, UnknownLoc) else place, Role.ACCUMULATION)
        op = cast(Operation, value.owner)
        if not self._primal and provenance(op.location) is not None:
            return with_role(op.location, Role.ACCUMULATION)
        return derived(op, Role.ACCUMULATION, self.b.pass_name)
