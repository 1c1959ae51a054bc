"""A check of programs, and how a file of checks declares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.case import Case

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Check:
    """A property of programs; ``one_in`` says of which share it is tested."""

    name: str
    run: Callable[[Case], None]
    one_in: int = 1
    needs: str = "any"
    """Of which programs: any, differentiable ones, or smooth ones."""
    oracle: bool = False
    """Whether JAX is asked."""
    executes: bool = False
    """Whether something else than the interpreter runs: then each op is looked at on its own before a difference is reported, else wide arithmetic."""

    def concerns(self, case: Case) -> bool:
        return self.needs == "any" or (case.is_differentiable and (self.needs != "smooth" or case.smooth))


Registered = Callable[[Callable[[Case], None]], Callable[[Case], None]]


class Family(list[Check]):
    """The checks of a file, in its order; called, it is the decorator that adds one."""

    def __call__(self, name: str, one_in: int = 1, needs: str = "any", *, oracle: bool = False, executes: bool = False) -> Registered:
        def register(run: Callable[[Case], None]) -> Callable[[Case], None]:
            self.append(Check(name, run, one_in, needs, oracle, executes))
            return run

        return register
