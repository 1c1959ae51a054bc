"""The pass ``offload{to=disk}``: a reverse derivative whose kept values are outside of the arena between the forward and the reverse part.

It goes behind the derivative and its optimisation, ``vjp{wrt=0},tapes-to-stacks,simplify,cse,dce,offload{to=disk}``, of which ``vjp{wrt=0
residuals=offload-disk}`` is short. Nothing is computed again; what is paid are the bytes that are moved. Stacks of loops are values like others.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.byte_counts import byte_count
from wengert.ir.location.places import error_at
from wengert.transforms.core.offloads import Place
from wengert.transforms.offload.plan import best_plan, rewritten


@dataclass(frozen=True)
class OffloadPass(ModulePass):
    """Takes kept values of a reverse derivative away between their uses: those with which the arena is the smallest, of the sets that were tried."""

    name = "offload"

    to: Place = "disk"
    """Where: ``disk``, memory-mapped files in the folder ``WENGERT_OFFLOAD`` or that for temporary files, or ``host``, memory beside the arena."""
    budget: int | str | None = None
    """The largest arena that is wanted, in bytes (``64MB``): as few bytes are moved as it takes."""
    fn: str = "main"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        budget = None
        if self.budget is not None:
            try:
                budget = byte_count(self.budget)
            except ValueError as error:
                raise error_at(op, f"offload: {error}") from None
        plan = best_plan(op, self.fn, self.to, budget)
        rewritten(op, plan.values, self.fn, self.to)
