"""The builder of linear programs, which emits ops that do not depend on tangents through the primal builder.

A rule's linear stage is written as plain IR. Ops with a tangent operand are linear ops and go to the linear program; ops
without one (a zero to pad with, a coefficient that is emitted late) do not belong to it, and are passed to the
primal builder. So a linear program contains linear ops only, by construction.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.builder import Properties
from wengert.ir.location.locations import Role, with_role

_NONE: dict[str, Attribute] = {}


class LinearBuilder(OpBuilder):
    """Appends linear ops to a block, which may be the primal block itself (forward mode) or another (linearization)."""

    def __init__(self, block: Block, primal: OpBuilder, tangents: Iterable[Value]):
        super().__init__(block, location=primal.location, pass_name=primal.pass_name)
        self.primal = primal
        self.linear: set[SSAValue] = set(tangents)

    def create(
        self, cls: type[Operation], operands: Sequence[SSAValue], results: Sequence[Attribute], properties: Properties = _NONE, regions: Sequence[Region] = ()
    ) -> Sequence[SSAValue]:
        if self.linear.isdisjoint(operands):
            with self.primal.at(with_role(self.location, Role.COEFFICIENT)):
                return self.primal.create(cls, operands, results, properties, regions)
        outputs = super().create(cls, operands, results, properties, regions)
        self.linear.update(outputs)
        return outputs

    def copy(self, op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
        if self.linear.isdisjoint(operands):
            return self.primal.copy(op, operands)
        results = super().copy(op, operands)
        self.linear.update(results)
        return results
