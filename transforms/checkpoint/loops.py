"""The choices that loops add to a plan: the reverse derivative of the same program, in which loops keep their residuals in other ways.

A straight-line plan runs ops of one derivative in another order. What a loop keeps is decided where it is differentiated, so each choice is a derivative of its
own, with the loop marked (``ad.policy``):

=================  =================================================================================================================
(none)             residuals in every iteration, as the request says
``recompute-all``  a state in every iteration
``sqrt``           a state for every block of iterations, and the residuals of one block
``binomial-S``     S states at a time (A. Griewank, A. Walther, 2000); where nobody counts the iterations, chosen as the loop runs
=================  =================================================================================================================

All loops get the same choice first; then, in programs of several loops, the choices of single loops are changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from wengert.dialects import core
from wengert.dialects.core.control import POLICY
from wengert.ir.construction import copy_module
from wengert.ir.traversal import all_ops, ops_of
from wengert.transforms.ad.replay.schedule import forward_steps
from wengert.transforms.ad.residuals.policies import Binomial, Root
from wengert.transforms.analysis.opcost import is_executed, work
from wengert.transforms.core.counting import constant_integer

SLOTS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
"""How many states are stored at a time."""
SQUARES = 40
"""Iterations up to which a single slot is a choice, which takes half of their square as steps."""
UNCOUNTED = 1000
"""The iterations that loops are taken to have of which nobody knows the number, to compare how much choices compute again."""
MOST = 24
"""How many derivatives are made, at most."""

Choice = tuple[str, ...]
"""A policy for each loop, in the order in which they stand; the empty one is that of the request."""


class Loops:
    """The loops of a program that is differentiated.

    Args:
        module: the program, at core level.
        derive: makes the reverse derivative of a copy of it, optimised.
        fn: the function that is differentiated.
    """

    def __init__(self, module: ModuleOp, derive: Callable[[ModuleOp], ModuleOp], fn: str = "main"):
        self.module = module
        self._derive = derive
        self._fn = fn
        self._loops = [op for op in ops_of(module, core.ForOp, core.WhileOp) if _function_of(op) == fn]

    def __bool__(self) -> bool:
        return bool(self._loops)

    @property
    def unchanged(self) -> Choice:
        """The choice of the request."""
        return ("",) * len(self._loops)

    def derivative(self, choice: Choice) -> ModuleOp:
        """The derivative in which each loop has its policy."""
        module = copy_module(self.module)
        places = {op: n for n, op in enumerate(all_ops(self.module))}
        copies = all_ops(module)
        for loop, name in zip(self._loops, choice, strict=True):
            if name:
                copies[places[loop]].attributes[POLICY] = StringAttr(name)
        return self._derive(module)

    def uniform(self) -> Iterator[Choice]:
        """The choices in which all loops do the same, as far as they can."""
        options = [_options(loop) for loop in self._loops]
        names = dict.fromkeys(name for listed in options for name in listed)
        for name in sorted(names, key=_rank):
            yield tuple(name if name in listed else _nearest(name, listed) for listed in options)

    def changed(self, choice: Choice) -> Iterator[Choice]:
        """The choices in which one loop does something else."""
        if len(self._loops) < 2:
            return
        for n, loop in enumerate(self._loops):
            for name in ("", *_options(loop)):
                if name != choice[n]:
                    yield (*choice[:n], name, *choice[n + 1 :])

    def assumed_work(self) -> int:
        """About the flops of the derivative where only a run tells: three times those of the program, with what is assumed of its loops and branches."""
        return 3 * max(1, self._work(self._block))

    def assumed_again(self, choice: Choice) -> int:
        """About the flops that a choice computes again, where only a run tells."""
        return self._again(self._block, dict(zip(self._loops, choice, strict=True)))

    @property
    def _block(self) -> Block:
        return next(op for op in self.module.ops if isinstance(op, FuncOp) and op.sym_name.data == self._fn).body.block

    def _work(self, block: Block) -> int:
        total = 0
        for op in block.ops:
            inside = [self._work(region.block) for region in op.regions if region.blocks]
            times = assumed_iterations(op) if isinstance(op, core.ForOp | core.WhileOp) else 1
            total += sum(map(int, work(op))) if is_executed(op) else 0
            total += max(inside, default=0) if isinstance(op, core.CaseOp) else times * sum(inside)
        return total

    def _again(self, block: Block, choices: dict[Operation, str]) -> int:
        total = 0
        for op in block.ops:
            inside = [self._again(region.block, choices) for region in op.regions if region.blocks]
            if isinstance(op, core.ForOp | core.WhileOp):
                times, name = assumed_iterations(op), choices.get(op, "")
                runs = forward_steps(times, int(name.removeprefix(_PREFIX))) if name.startswith(_PREFIX) else times if name else 0
                total += times * sum(inside) + runs * self._work(op.body.block)
            else:
                total += max(inside, default=0)
        return total


_PREFIX = "binomial-"


def described(choice: Choice) -> str:
    """The choice in the name of a plan."""
    named = [name for name in choice if name]
    if not named:
        return "as derived"
    return f"loops {named[0]}" if len(set(choice)) == 1 else "loops " + ", ".join(name or "as derived" for name in choice)


def assumed_iterations(loop: Operation) -> int:
    """The iterations of a loop, or what they are taken to be."""
    known = _iterations(loop)
    return UNCOUNTED if known is None else max(0, known)


def _iterations(loop: Any) -> int | None:
    return constant_integer(loop.trip_count) if isinstance(loop, core.ForOp) else None


def _options(loop: Any) -> list[str]:
    """The policies that may be better than that of the request for a loop."""
    iterations = _iterations(loop)
    if iterations is None:
        return [Binomial(slots).name for slots in SLOTS[1::2]]
    slots = [Binomial(slots).name for slots in SLOTS if slots < iterations and (slots > 1 or iterations <= SQUARES)]
    return ["recompute-all", *([Root().name] if Root().block(iterations) is not None else []), *slots] if iterations > 1 else []


def _rank(name: str) -> tuple[int, int]:
    """Those that differ most come first: blocks, states, then slots from the middle outward."""
    if not name.startswith(_PREFIX):
        return 0, 0
    return 1, abs(SLOTS.index(int(name.removeprefix(_PREFIX))) - len(SLOTS) // 2)


def _nearest(name: str, listed: list[str]) -> str:
    """What a loop does where others do something that it cannot do: as few slots as them, or nothing else than what is asked for."""
    if not name.startswith(_PREFIX):
        return ""
    slots = int(name.removeprefix(_PREFIX))
    return max((n for n in listed if n.startswith(_PREFIX) and int(n.removeprefix(_PREFIX)) <= slots), key=lambda n: int(n.removeprefix(_PREFIX)), default="")


def _function_of(op: Any) -> str:
    while not isinstance(op, FuncOp):
        op = op.parent_op()
        if op is None:
            return ""
    return op.sym_name.data
