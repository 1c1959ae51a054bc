"""Chooses which values of a fusion plan go through memory, and which are computed again by every nest that reads them.

A value that several nests read is written once and read by each of them, or it is computed again in each from what it is made of. The second is chosen where
the arithmetic is cheap for an element; what only rows depend on (the reciprocal root of a variance) is computed once for a row and costs an element nothing. Of
values that do not fit into the first-level cache, what counts beside the arithmetic is how much moves: the sum of three arrays that four nests read
is better written once, and an array whose row is shifted and scaled is better read than the result.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import cast

from msgspec import Struct, field
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import dtype_of, element, size
from wengert.ir.traversal import operands_of, result_of
from wengert.transforms.fuse.roles import Role, cost
from wengert.transforms.fuse.views import repeats_rows

RECOMPUTE_COST = 6
"""A value is computed again per element of another kernel up to this cost (a transcendental function is above it)."""
DILATED_COST = 3
"""What reading an element between whose neighbours others stand takes: neighbours are read one by one, each behind a test of its position."""
HOISTED_OPS = 12
"""A value that leaves the inner loops of another kernel is computed again there up to this many ops."""
LARGE_BYTES = 64 << 10
"""From here on a value does not stay in the first-level cache until the next nest reads it."""
FUNCTION_COST, READ_COST, WRITE_COST = 2, 3, 8
"""What a cheap function of an element, reading one of a large array and writing one take, relative to one another: a line that is written
is fetched before, and written back."""


class Demand(Struct):
    """The groups that use a value: at the same element, at an element of outer loops only, or at others."""

    same: set[int] = field(default_factory=set[int])
    hoisted: set[int] = field(default_factory=set[int])
    other: set[int] = field(default_factory=set[int])


class Storage(Struct):
    """Decides for the values of a block. ``demand`` says which groups use one, ``home`` which group makes it, ``resolve`` which it is behind barriers."""

    roles: Mapping[Operation, Role]
    home: Mapping[SSAValue, int]
    in_memory: Container[SSAValue]
    demand: Callable[[SSAValue], Demand]
    resolve: Callable[[SSAValue], SSAValue]
    costs: dict[SSAValue, tuple[int, int]] = field(default_factory=dict[SSAValue, tuple[int, int]])
    """What computing an element again takes: the cost of its functions, and how many ops these are, those outside of the inner loops too."""
    stored: set[SSAValue] = field(default_factory=set[SSAValue])

    def choose(self, ops: Iterable[Operation]) -> set[SSAValue]:
        """The results of scalar functions that are written to memory, of a block's ops in order."""
        for op in ops:
            kind = self.roles[op]
            if kind is Role.VIEW:
                own, count = self._together(operands_of(op), DILATED_COST if is_dilated(op) else 0, 0)
                self.costs[result_of(op)] = (0 if own and repeats_rows(op) else own, count)
            elif kind is Role.SCALAR:
                value = result_of(op)
                costs = self.costs[value] = self._together(operands_of(op), cost(op), 1)
                if value in self.in_memory or self._must_store(value, costs):
                    self.stored.add(value)
                    self.costs[value] = (0, 0)
        return self.stored

    def _together(self, operands: Iterable[SSAValue], own: int, ops: int) -> tuple[int, int]:
        for operand in set(operands):
            more = self.costs.get(self.resolve(operand), (0, 0))
            own, ops = own + more[0], ops + more[1]
        return own, ops

    def _must_store(self, value: SSAValue, costs: tuple[int, int]) -> bool:
        """Whether other groups need the value, and it takes too much to compute it again there."""
        demand, home = self.demand(value), self.home[value]
        elsewhere = (demand.same | demand.other) - {home}
        if not elsewhere:
            return costs[1] > HOISTED_OPS and bool(demand.hoisted - {home})
        return costs[0] > RECOMPUTE_COST or (_is_large(value) and self._takes_longer(value, costs[0], elsewhere))

    def _takes_longer(self, value: SSAValue, own: int, elsewhere: set[int]) -> bool:
        """Whether computing it in each of these groups, from arrays that it may not read anyway, takes longer than writing it and reading it there."""
        reads = sum(group not in self.demand(array).same for array in self._reads(value) for group in elsewhere)
        return FUNCTION_COST * own * len(elsewhere) + READ_COST * reads > WRITE_COST + READ_COST * len(elsewhere)

    def _reads(self, value: SSAValue) -> list[SSAValue]:
        """The large arrays that a value is computed from."""
        arrays: list[SSAValue] = []
        left, seen = [value], {value}
        while left:
            made = left.pop()
            for operand in operands_of(cast("Operation", made.owner)):
                operand = self.resolve(operand)
                if operand in seen or 2 * size(operand) <= size(made):  # what is read many times stays in the cache
                    continue
                seen.add(operand)
                if operand in self.costs and operand not in self.stored:
                    left.append(operand)
                elif self.roles.get(cast("Operation", operand.owner)) is not Role.SOURCE:
                    arrays.append(operand)
        return arrays


def _is_large(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and size(value) * dtype_of(element(value)).itemsize >= LARGE_BYTES


def is_dilated(op: Operation) -> bool:
    """Whether an op puts padding between elements."""
    return isinstance(op, stablehlo.PadOp) and any(ints(op.interior_padding))
