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
from wengert.ir.location.places import error_at
from wengert.transforms.checkpoint.frontier import Frontier
from wengert.transforms.checkpoint.loops import Loops
from wengert.transforms.core.symbol_dce import references


@dataclass(frozen=True)
class CheckpointPass(ModulePass):
    """Reorders a reverse derivative so that its arena fits into a budget, with the fewest flops computed again of the plans that were tried.

    What is computed again stands behind optimization barriers, so that no later pass undoes it. What loops keep is decided where they are differentiated, by
    ``vjp{budget=64MB}`` (``vjp-within``), and not here.
    """

    name = "checkpoint"

    budget: int | str | None = None
    """The largest arena of the compiled program, in bytes: ``65536``, ``64MB``, ``1.5GiB``. The arena is all memory beside inputs, results and constants."""
    fn: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.budget is None:
            raise error_at(op, "checkpoint needs the option 'budget'", hint="checkpoint{budget=64MB}")
        plan_within(op, self.budget, self.fn)


def plan_within(module: ModuleOp, budget: int | str, fn: str, loops: Loops | None = None) -> None:
    """Replaces a reverse derivative by one within a budget of bytes, in place; with ``loops``, those of what it was made of, also by what loops keep.

    Raises:
        DiagnosticError: that is no number of bytes, the module has calls, or no plan takes so little.
    """
    try:
        most = byte_count(budget)
    except ValueError as error:
        raise error_at(module, f"checkpoint: {error}") from None
    called = sorted({name for each in module.ops for name in references(each)})
    if called:
        raise error_at(module, f"checkpoint needs functions without calls, and @{called[0]} is called", hint="inline them: inline,symbol-dce")
    frontier = Frontier(module, fn, loops)
    planned = frontier.module(frontier.within(most))
    for old in list(module.body.block.ops):
        module.body.block.erase_op(old, safe_erase=False)
    for new in list(planned.body.block.ops):
        new.detach()
        module.body.block.add_op(new)
