"""The pass ``checkpoint{budget=64MB}``: a reverse derivative within a budget of bytes, by computing values again.

It goes behind the derivative and its optimisation, ``vjp{wrt=0},tapes-to-stacks,simplify,cse,dce,checkpoint{budget=64MB}``, of which ``vjp{wrt=0
budget=64MB}`` is short.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.byte_counts import byte_count
from wengert.ir.locations import error_at
from wengert.transforms.checkpoint.frontier import Frontier
from wengert.transforms.core.symbol_dce import references


@dataclass(frozen=True)
class CheckpointPass(ModulePass):
    """Reorders a reverse derivative so that its arena fits into a budget, with the fewest flops computed again of the plans that were tried.

    What is computed again stands behind optimization barriers, so that no later pass undoes it.
    """

    name = "checkpoint"

    budget: int | str | None = None
    """The largest arena of the compiled program, in bytes: ``65536``, ``64MB``, ``1.5GiB``. The arena is all memory beside inputs, results and constants."""
    fn: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.budget is None:
            raise error_at(op.location, "checkpoint needs the option 'budget'", hint="checkpoint{budget=64MB}")
        try:
            budget = byte_count(self.budget)
        except ValueError as error:
            raise error_at(op.location, f"checkpoint: {error}") from None
        called = sorted({name for each in op.ops for name in references(each)})
        if called:
            raise error_at(op.location, f"checkpoint needs functions without calls, and @{called[0]} is called", hint="inline them: inline,symbol-dce")
        frontier = Frontier(op, self.fn)
        planned = frontier.module(frontier.within(budget))
        for old in list(op.body.block.ops):
            op.body.block.erase_op(old, safe_erase=False)
        for new in list(planned.body.block.ops):
            new.detach()
            op.body.block.add_op(new)
