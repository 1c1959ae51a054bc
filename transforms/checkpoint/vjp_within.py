"""The pass ``vjp-within{budget=64MB}``: the reverse derivative within a budget of bytes, of which ``vjp{budget=64MB}`` is another name.

Beside what the pass ``checkpoint`` does with a derivative, it decides what loops keep.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.construction import copy_module
from wengert.ir.location.places import error_at
from wengert.transforms.ad.derive import prepare, vjp
from wengert.transforms.ad.passes import PolicyName, StrategyName
from wengert.transforms.ad.strategies import DEFAULT
from wengert.transforms.checkpoint.checkpoint_pass import plan_within
from wengert.transforms.checkpoint.loops import Loops
from wengert.transforms.pipelines import OPTIMIZE, STACKS, parse_pipeline


@dataclass(frozen=True)
class VjpWithinPass(ModulePass):
    """Replaces a function by its VJP, optimised, with the fewest flops of the plans whose arena fits into a budget."""

    name = "vjp-within"

    budget: int | str | None = None
    """The largest arena of the compiled program, in bytes: ``65536``, ``64MB``, ``1.5GiB``."""
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: StrategyName = DEFAULT
    """As for ``vjp``; only derivatives by ``transpose`` leave open what loops keep."""
    residuals: PolicyName = "auto"
    """What is kept where no plan says anything else."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.budget is None:
            raise error_at(op, "vjp-within needs the option 'budget'", hint="vjp-within{budget=64MB}")
        prepare(op)
        loops = Loops(copy_module(op), self._derived, self.fn) if self.strategy == DEFAULT else None
        plan_within(self._derived(op), self.budget, self.fn, loops)

    def _derived(self, module: ModuleOp) -> ModuleOp:
        """The derivative of a module that is planned, in place."""
        vjp(module, self.fn, self.wrt, self.of, self.strategy, self.residuals)
        return parse_pipeline(f"{STACKS},{OPTIMIZE}").run(module)
