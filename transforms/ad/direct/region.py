"""Reverse sweeps over the bodies of loops and branches: emitted during the forward sweep, then moved to a body of their own.

The reverse ops of a body are first emitted into a block of their own, where they refer to values of the forward body directly. These
references are the residuals. Then the ops are copied into the reverse body, where the residuals are read from the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.residuals.plan import Plan, plan


class ReverseBody:
    """The reverse ops of a body under construction; its arguments are cotangents of the body's results and running sums."""

    def __init__(self, forward: OpBuilder, arguments: Sequence[Value]):
        self.block = Block(arg_types=[v.type for v in arguments])
        # ops that the forward body has already are shared: their results are stored, or recomputed from stored ones
        self.b = OpBuilder(self.block, parent=forward, location=forward.location, pass_name=forward.pass_name)

    def plan(self, forward: Block, results: Sequence[Value], available: Iterable[SSAValue], times: int | None = 1) -> Plan:
        """Plans which values of the forward body, which runs so many times, to store for these results, where the ``available`` values need not be stored."""
        inside: set[SSAValue] = set(self.block.args)
        used: dict[SSAValue, None] = {}
        for op in self.block.ops:
            used.update((operand, None) for operand in op.operands if operand not in inside)
            inside.update(op.results)
        used.update((value, None) for value in results if value not in inside)
        return plan(forward, list(used), available, times)

    def references(self, residual_plan: Plan, results: Sequence[Value]) -> set[SSAValue]:
        """The values that the reverse ops and the recomputed ones refer to."""
        return {operand for op in (*residual_plan.recomputed, *self.block.ops) for operand in op.operands} | set(results)

    def move(self, b: OpBuilder, recomputed: Sequence[Operation], env: dict[SSAValue, SSAValue], results: Sequence[Value]) -> list[Value]:
        """Copies the ops through ``b``, with captured values mapped by ``env``, and discards this block."""
        for op in (*recomputed, *self.block.ops):
            with b.at(op.location):
                operands = [env[operand] for operand in op.operands]
                if op.regions:
                    new_results = b.create(type(op), operands, [r.type for r in op.results], op.properties, [region.clone() for region in op.regions])
                else:
                    new_results = b.copy(op, operands)
            env.update(zip(op.results, new_results, strict=True))
        for op in self.block.ops:
            op.drop_all_references()
        return [env[value] for value in results]
