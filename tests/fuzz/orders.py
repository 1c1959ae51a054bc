"""Whether the comparators of sorts are strict weak orders: what a sort by any other one gives is left open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from fuzz.case import Case, lowered
from fuzz.generator import Program
from wengert.dialects import stablehlo
from wengert.ir.attributes import int_of
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine

MOST = 48
"""How many elements of a line are compared with one another, NaNs among them, and how many lines are looked at."""


def sorts_by_orders(module: ModuleOp, inputs: Sequence[Any]) -> bool:
    """Whether the comparators of all sorts are strict weak orders of the elements that they meet."""
    machine = _OrderMachine(module)
    with np.errstate(all="ignore"):
        machine.function("main", counting=False)(*[np.asarray(x)[()] for x in inputs])
    return machine.ordered


def has_orders(program: Program) -> bool:
    """Whether the program sorts by strict weak orders only; one that cannot be run says nothing."""
    if "sort" not in program.text:
        return True
    try:
        return sorts_by_orders(lowered(Case(program).program), program.inputs)
    except Exception:  # the program may be one that no backend runs, and its finding that
        return True


def is_strict_weak_order(before: Any) -> bool:
    """Whether ``before: bool[n, n]``, of all pairs, is asymmetric, transitive, and so is being in no order."""
    before = np.asarray(before, bool)
    unordered = ~(before | before.T)
    return not (before & before.T).any() and _is_transitive(before) and _is_transitive(unordered)


def _is_transitive(related: Any) -> bool:
    return not ((related.astype(int) @ related.astype(int) > 0) & ~related).any()


class _OrderMachine(Machine):
    ordered = True

    def frame(self, counter: Counter | None) -> Frame:
        return _OrderFrame(self, counter)


class _OrderFrame(Frame):
    machine: _OrderMachine

    def function(self, op: Operation) -> Callable[..., Any]:
        exact = super().function(op)
        if not isinstance(op, stablehlo.SortOp):
            return exact
        dim, compare = int_of(op.dimension) if op.dimension is not None else -1, self.scalar_region(op.comparator)

        def watched(*operands: Any) -> Any:
            lines = [np.moveaxis(x, dim, -1).reshape(-1, x.shape[dim])[:MOST] for x in operands if np.size(x)]
            for row in range(len(lines[0]) if lines else 0):
                odd = np.any([line[row] != line[row] for line in lines], axis=0)  # NaNs, which may be few
                elements = [line[row][np.argsort(~odd, kind="stable")[:MOST]] for line in lines]
                pairs = [pair for x in elements for pair in np.broadcast_arrays(x[:, None], x)]
                self.machine.ordered &= is_strict_weak_order(np.broadcast_to(compare(*pairs)[0], pairs[0].shape))
            return exact(*operands)

        return watched
