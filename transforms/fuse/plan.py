"""The plan that fusion makes: groups of ops and of parts of ops, each of which becomes one loop nest, and the values that go through memory."""

from __future__ import annotations

from msgspec import Struct, field
from xdsl.ir import Operation, SSAValue

from wengert.dialects import core, stablehlo


class Part(Struct, frozen=True):
    """Writing one operand of a concatenate to its place in the result."""

    op: stablehlo.ConcatenateOp
    number: int

    @property
    def value(self) -> SSAValue:
        return self.op.operands[self.number]


class Update(Struct, frozen=True):
    """Writing the update of a dynamic_update_slice or a scatter into its operand."""

    op: stablehlo.DynamicUpdateSliceOp | core.ScatterOp

    @property
    def value(self) -> SSAValue:
        return self.op.update if isinstance(self.op, stablehlo.DynamicUpdateSliceOp) else self.op.updates

    @property
    def indices(self) -> tuple[SSAValue, ...]:
        return tuple(self.op.start_indices) if isinstance(self.op, stablehlo.DynamicUpdateSliceOp) else (self.op.scatter_indices,)


class Copy(Struct, frozen=True):
    """Writing a view or a large constant to memory, for an op that cannot compute it."""

    value: SSAValue


Member = Operation | Part | Update | Copy


class Group(Struct):
    """Members of one loop nest (``domain`` is the shape of its loops), or a single opaque op (``domain`` is None)."""

    domain: tuple[int, ...] | None
    members: list[Member] = field(default_factory=list[Member])


class Plan(Struct):
    """The result of fusion: groups in order, the group of every computed value, the values that go to memory, and those behind barriers.

    ``unread``: of loops, the numbers of operands whose elements nobody reads."""

    groups: list[Group]
    home: dict[SSAValue, int]
    stored: set[SSAValue]
    alias: dict[SSAValue, SSAValue]
    unread: dict[Operation, frozenset[int]]
