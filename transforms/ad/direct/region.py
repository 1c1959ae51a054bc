"""Reverse sweeps over the bodies of loops and branches: first side by side with the forward sweep, then apart from it.

The reverse ops of a body are emitted into a block of their own, where they use values of the forward body as they are. What
they use is what has to be kept. Then they are copied to where they belong, with reads of what was kept in place of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.residuals.plan import Plan, plan


class ReverseBody:
    """The reverse ops of a body in the making; its arguments are cotangents of the body's results and running sums."""

    def __init__(self, forward: OpBuilder, arguments: Sequence[Value]):
        self.block = Block(arg_types=[v.type for v in arguments])
        # ops that the forward body has already are not made again: their results are kept, or computed from what is
        self.b = OpBuilder(self.block, parent=forward, location=forward.location, pass_name=forward.pass_name)

    def plan(self, forward: Block, results: Sequence[Value], given: Iterable[SSAValue]) -> Plan:
        """What of the forward body has to be kept for these results, where the given values are at hand."""
        inside: set[SSAValue] = set(self.block.args)
        used: dict[SSAValue, None] = {}
        for op in self.block.ops:
            used.update((operand, None) for operand in op.operands if operand not in inside)
            inside.update(op.results)
        used.update((value, None) for value in results if value not in inside)
        return plan(forward, list(used), given)

    def uses(self, kept: Plan, results: Sequence[Value]) -> set[SSAValue]:
        """Everything that the reverse ops and the recomputed ones refer to."""
        return {operand for op in (*kept.recomputed, *self.block.ops) for operand in op.operands} | set(results)

    def move(self, b: OpBuilder, recomputed: Sequence[Operation], env: dict[SSAValue, SSAValue], results: Sequence[Value]) -> list[Value]:
        """Copies the ops through ``b``, with ``env`` for everything from outside, and gives up this block."""
        for op in (*recomputed, *self.block.ops):
            with b.at(op.location):
                operands = [env[operand] for operand in op.operands]
                if op.regions:
                    made = b.create(type(op), operands, [r.type for r in op.results], op.properties, [region.clone() for region in op.regions])
                else:
                    made = b.copy(op, operands)
            env.update(zip(op.results, made, strict=True))
        for op in self.block.ops:
            op.drop_all_references()
        return [env[value] for value in results]
