"""The frontier of checkpointing: every plan that was evaluated for a derivative, and of these the ones that no other one beats in both memory and flops.

A plan for a budget is chosen from the frontier, which does not depend on the budget. So a larger budget never has more flops, and a smaller one never a
higher peak, whatever the families of candidates miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp

from wengert.ir.collector import paused
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.locations import error_at
from wengert.transforms.analysis.memory import memory_of
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.checkpoint.order import Order, added_work, arranged
from wengert.transforms.checkpoint.search import Plan, search
from wengert.transforms.finishing import runnable
from wengert.transforms.lowering import function, placed


class Frontier:
    """The plans for a derivative.

    Attributes:
        graph: the derivative.
        plans: all that were evaluated.
    """

    def __init__(self, module: ModuleOp, fn: str = "main"):
        self.graph = Graph(module, fn)
        self._known: dict[Order, Plan] = {}
        with paused():
            search(self.graph, self.evaluate)

    def evaluate(self, name: str, order: Order) -> Plan:
        """The plan of an order, lowered down to buffers unless that was done before."""
        if order not in self._known:
            taken = sum(plan.name.partition(" (")[0] == name for plan in self._known.values())
            name = f"{name} ({taken + 1})" if taken else name
            self._known[order] = Plan(name, order, arena_of(arranged(self.graph, order), self.graph.function.sym_name.data), added_work(self.graph, order))
            self.__dict__.pop("best", None)
        return self._known[order]

    @property
    def plans(self) -> Sequence[Plan]:
        """All plans that were evaluated, in the order in which that was done."""
        return tuple(self._known.values())

    @cached_property
    def best(self) -> tuple[Plan, ...]:
        """The plans that no other one beats: from the fewest flops to the smallest arena."""
        chosen: list[Plan] = []
        for plan in sorted(self.plans, key=lambda plan: (plan.work, plan.arena)):
            if not chosen or plan.arena < chosen[-1].arena:
                chosen.append(plan)
        return tuple(chosen)

    def within(self, budget: int) -> Plan:
        """The plan with the fewest flops whose arena has at most so many bytes.

        Raises:
            DiagnosticError: there is none; names the least budget that there is a plan for.
        """
        for plan in self.best:
            if plan.arena <= budget:
                return plan
        raise self.refusal(budget)

    def refusal(self, budget: int) -> DiagnosticError:
        """The error for a budget that no plan meets."""
        least = self.best[-1]
        message = f"no plan of this derivative has an arena of at most {budget} bytes: the least is {least.arena} bytes"
        return error_at(self.graph.function.location, message, hint=f"budget={least.arena} can be met ({least.name})")

    def module(self, plan: Plan) -> ModuleOp:
        """The derivative by a plan, as a new module."""
        return arranged(self.graph, plan.order)


def arena_of(module: ModuleOp, fn: str = "main") -> int:
    """The bytes of the arena that the compiled program allocates."""
    return memory_of(function(placed(runnable(module), fn), fn)).arena
