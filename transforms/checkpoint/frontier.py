"""The frontier of checkpointing: every plan that was evaluated for a derivative, and of these the ones that no other one beats in both memory and flops.

A plan for a budget is chosen from the frontier, which does not depend on the budget. So a larger budget never has more flops, and a smaller one never a
higher peak, whatever the families of candidates miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial

from xdsl.dialects.builtin import ModuleOp

from wengert.ir.collector import paused
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.traversal import all_ops
from wengert.transforms.bufferize.footprint import footprint
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.checkpoint.loops import MOST, Choice, Loops, described
from wengert.transforms.checkpoint.order import Order, added_work, arranged, pruned
from wengert.transforms.checkpoint.search import LOWERED, Plan, search
from wengert.transforms.finishing import runnable
from wengert.transforms.lowering import function, placed

FEW = 12
"""How many orders are tried of a derivative with other choices for loops."""


class Frontier:
    """The plans for a derivative.

    Args:
        module: the derivative.
        fn: its function.
        loops: the loops of what it was made of, of which each may keep its residuals in another way.

    Attributes:
        graph: the derivative.
        plans: all that were evaluated.
    """

    def __init__(self, module: ModuleOp, fn: str = "main", loops: Loops | None = None):
        self.graph = Graph(module, fn)
        self._fn = fn
        self._graphs = [self.graph]
        self._choices: list[Choice] = [()]
        self._again = [0]
        self._loops = loops
        self._known: dict[tuple[int, Order], Plan] = {}
        with paused():
            search(self.graph, self.evaluate)
            if loops:
                self._choose(loops)

    def _choose(self, loops: Loops) -> None:
        """Evaluates derivatives with other choices for loops, and other orders of those that join the frontier."""
        self._choices = [loops.unchanged]
        texts = {str(self.graph.module)}
        most = max(6, min(MOST, LOWERED // (3 * len(all_ops(self.graph.module)))))
        for choice in loops.uniform():
            self._evaluate_choice(loops, choice, texts, most)
        for variant in list(dict.fromkeys(plan.variant for plan in self.best)):
            for choice in loops.changed(self._choices[variant]):
                self._evaluate_choice(loops, choice, texts, most)
        for variant in sorted({plan.variant for plan in self.best} - {0}):
            search(self._graphs[variant], partial(self.evaluate, variant=variant), FEW)

    def _evaluate_choice(self, loops: Loops, choice: Choice, texts: set[str], most: int) -> None:
        if choice in self._choices or len(self._choices) > most:
            return
        module = loops.derivative(choice)
        if (text := str(module)) in texts:
            return
        texts.add(text)
        graph = Graph(module, self._fn)
        self._graphs.append(graph)
        self._choices.append(choice)
        self._again.append(loops.assumed_again(choice) if self.is_assumed else _total(graph) - _total(self.graph))
        self.evaluate("as derived", pruned(graph, range(len(graph.ops))), variant=len(self._graphs) - 1)

    def evaluate(self, name: str, order: Order, variant: int = 0) -> Plan:
        """The plan of an order, lowered down to buffers unless that was done before."""
        if (variant, order) not in self._known:
            graph = self._graphs[variant]
            if variant:
                choice = described(self._choices[variant])
                name = choice if name == "as derived" else f"{choice}; {name}"
            taken = sum(plan.name.partition(" (")[0] == name for plan in self._known.values())
            name = f"{name} ({taken + 1})" if taken else name
            arena = arena_of(arranged(graph, order), self._fn)
            self._known[variant, order] = Plan(name, order, arena, added_work(graph, order) + self._again[variant], variant, graph.grows)
            self.__dict__.pop("best", None)
        return self._known[variant, order]

    @property
    def plans(self) -> Sequence[Plan]:
        """All plans that were evaluated, in the order in which that was done."""
        return tuple(self._known.values())

    @cached_property
    def is_assumed(self) -> bool:
        """Whether the flops of choices for loops rest on assumed iterations of loops that nobody counts."""
        return bool(self._loops) and None in self.graph.work

    @cached_property
    def total(self) -> int:
        """The flops of the derivative as it is, and transcendental functions; with what is assumed of loops that nobody counts."""
        return self._loops.assumed_work() if self.is_assumed and self._loops is not None else _total(self.graph)

    @property
    def bounded(self) -> bool:
        """Whether some plan records on no tape that grows; then no budget is met by one that does."""
        return not all(plan.grows for plan in self.plans)

    @cached_property
    def best(self) -> tuple[Plan, ...]:
        """The plans that no other one beats: from the fewest flops to the smallest arena. One with tapes that grow takes more memory than any other."""
        chosen: list[Plan] = []
        bounded = self.bounded

        def memory(plan: Plan) -> tuple[bool, int]:
            return plan.grows and bounded, plan.arena

        for plan in sorted(self.plans, key=lambda plan: (plan.work, *memory(plan))):
            if not chosen or (memory(plan) < memory(chosen[-1]) and not memory(plan)[0]):
                chosen.append(plan)
        return tuple(chosen)

    def within(self, budget: int) -> Plan:
        """The plan with the fewest flops whose arena has at most so many bytes.

        Raises:
            DiagnosticError: there is none; names the least budget that there is a plan for.
        """
        for plan in self.best:
            if plan.arena <= budget and not (plan.grows and self.bounded):
                return plan
        raise self.refusal(budget)

    def refusal(self, budget: int) -> DiagnosticError:
        """The error for a budget that no plan meets."""
        least = self.best[-1]
        message = f"no plan of this derivative has an arena of at most {budget} bytes: the least is {least.arena} bytes"
        return error_at(self.graph.function, message, hint=f"{least.arena} bytes can be met ({least.name})")

    def module(self, plan: Plan) -> ModuleOp:
        """The derivative by a plan, as a new module."""
        return arranged(self._graphs[plan.variant], plan.order)

    def derivative(self, plan: Plan) -> ModuleOp:
        """The derivative that a plan orders, as it was derived."""
        return self._graphs[plan.variant].module


def _total(graph: Graph) -> int:
    return sum(work or 0 for work in graph.work)


def arena_of(module: ModuleOp, fn: str = "main") -> int:
    """The bytes of the arena that the compiled program allocates."""
    return footprint(function(placed(runnable(module), fn), fn)).arena
