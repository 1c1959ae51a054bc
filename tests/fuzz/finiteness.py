"""Whether anything that a program computes is not finite: then zeros meet infinities, and derivatives by different ways need not agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from wengert.lab.agreement.noise.kinds import is_inexact
from wengert.runtime.interpreter.counter import Counter
from wengert.runtime.interpreter.machine import Frame, Machine

Array = np.ndarray[Any, np.dtype[Any]]


def is_finite(module: ModuleOp, inputs: Sequence[Array]) -> bool:
    """Whether all floats that go into @main, and that it computes, are finite."""
    machine = WatchingMachine(module)
    with np.errstate(all="ignore"):
        machine.function("main", counting=False)(*[machine.watched(np.asarray(x)[()]) for x in inputs])
    return machine.finite


class WatchingMachine(Machine):
    """A machine that sees whether anything is not finite."""

    finite = True

    def frame(self, counter: Counter | None) -> Frame:
        return WatchingFrame(self, counter)

    def watched(self, x: Any) -> Any:
        """x."""
        if (isinstance(x, np.ndarray | np.generic)) and x.dtype.kind in "fcV" and not np.isfinite(x).all():
            self.finite = False
        return x


class WatchingFrame(Frame):
    """A frame whose ops are watched, but for constants: infinities are neutral elements."""

    machine: WatchingMachine

    def function(self, op: Operation) -> Callable[..., Any]:
        exact = super().function(op)
        if op.name.endswith(".constant") or not any(is_inexact(v) for v in op.results):
            return exact

        def watched(*operands: Any) -> Any:
            results = exact(*operands)
            for result in results if isinstance(results, tuple) else (results,):
                self.machine.watched(result)
            return results

        return watched
