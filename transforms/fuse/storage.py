"""Chooses which values of a fusion plan go through memory, and which are computed again by every nest that reads them.

A value that several nests read is written once and read by each of them, or it is computed again in each from what it is made of. The second is chosen where
the arithmetic is cheap for an element; what only rows depend on (the reciprocal root of a variance) is computed once for a row and costs an element nothing. Of
values that do not fit into the first-level cache, what counts beside the arithmetic is how much moves: the sum of three arrays that four nests read
is better written once, and an array whose row is shifted and scaled is better read than the result.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

from msgspec import Struct, field
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from wengert.ir.tensor_types import dtype_of, element, size
from wengert.ir.traversal import operands_of, result_of
from wengert.transforms.fuse.roles import Role, cost
from wengert.transforms.fuse.views import repeats_rows

RECOMPUTE_COST = 6
"""A value is computed again per element of another kernel up to this cost (a transcendental function is above it)."""
HOISTED_OPS = 12
"""A value that leaves the inner loops of another kernel is computed again there up to this many ops."""
LARGE_BYTES = 64 << 10
"""From here on a value does not stay in the first-level cache until the next nest reads it."""
WRITE_COST = 2
"""What writing an element takes in reads: its line is fetched before it is written, and written back."""


class Demand(Struct):
    """Which groups use a value: at the same element, at an element of outer loops only, or at others."""

    same: set[int] = field(default_factory=set[int])
    hoisted: set[int] = field(default_factory=set[int])
    other: set[int] = field(default_factory=set[int])


class _Recomputed(Struct, frozen=True):
    """What computing an element again takes: the cost of its functions, how many ops these are (those outside of the inner loops too), and the arrays
    that are read for it."""

    cost: int = 0
    ops: int = 0
    reads: frozenset[SSAValue] = frozenset()


class Storage(Struct):
    """Decides for the values of a block. ``demand`` says which groups use one, ``home`` which group makes it, ``resolve`` which it is behind barriers."""

    roles: Mapping[Operation, Role]
    home: Mapping[SSAValue, int]
    in_memory: Container[SSAValue]
    demand: Callable[[SSAValue], Demand]
    resolve: Callable[[SSAValue], SSAValue]
    recomputed: dict[SSAValue, _Recomputed] = field(default_factory=dict[SSAValue, _Recomputed])

    def stored(self, ops: Iterable[Operation]) -> set[SSAValue]:
        """The results of scalar functions that are written to memory, of a block's ops in order."""
        stored: set[SSAValue] = set()
        for op in ops:
            kind = self.roles[op]
            if kind is Role.VIEW:
                self.recomputed[result_of(op)] = self._view(op)
            elif kind is Role.SOURCE:
                self.recomputed[result_of(op)] = _Recomputed()
            elif kind is Role.SCALAR:
                value = result_of(op)
                again = self.recomputed[value] = self._together(operands_of(op), cost(op), 1)
                if value in self.in_memory or self._must_store(value, again):
                    stored.add(value)
                    self.recomputed[value] = _Recomputed(reads=frozenset((value,)))
        return stored

    def _view(self, op: Operation) -> _Recomputed:
        again, count = self._together(operands_of(op), 0, 0), sum(map(size, operands_of(op)))
        return _Recomputed(
            0 if repeats_rows(op) else again.cost,
            again.ops,
            frozenset() if 2 * count <= size(result_of(op)) else again.reads,  # what is read many times stays in the cache
        )

    def _together(self, operands: Iterable[SSAValue], own: int, ops: int) -> _Recomputed:
        reads: frozenset[SSAValue] = frozenset()
        for operand in set(operands):
            value = self.resolve(operand)
            again = self.recomputed.get(value)
            if again is None:
                reads |= {value}
            else:
                own, ops = own + again.cost, ops + again.ops
                reads |= again.reads
        return _Recomputed(own, ops, reads)

    def _must_store(self, value: SSAValue, again: _Recomputed) -> bool:
        """Whether other groups need the value, and it takes too much to compute it again there."""
        demand = self.demand(value)
        elsewhere = (demand.same | demand.other) - {self.home[value]}
        if not elsewhere:
            return bool(demand.hoisted - {self.home[value]}) and again.ops > HOISTED_OPS
        return again.cost > RECOMPUTE_COST or (_is_large(value) and self._moves_more(again, elsewhere))

    def _moves_more(self, again: _Recomputed, elsewhere: set[int]) -> bool:
        """Whether computing it again reads more arrays, of those that these groups do not read anyway, than writing it and reading it there moves."""
        anew = sum(group not in self.demand(array).same for array in again.reads for group in elsewhere)
        return anew > WRITE_COST + len(elsewhere)


def _is_large(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and size(value) * dtype_of(element(value)).itemsize >= LARGE_BYTES
