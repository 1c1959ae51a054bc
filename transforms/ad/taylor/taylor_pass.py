"""The pass ``taylor{order=4 wrt=0}``."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.transforms.ad.derive import derive
from wengert.transforms.ad.taylor.taylor import taylor_function


@dataclass(frozen=True)
class TaylorPass(ModulePass):
    """Replaces a function by its Taylor coefficients along a path: (inputs, directions) -> (outputs, coefficients 1 to ``order`` of each result).

    The coefficients of a result are one tensor, with the order in front.
    """

    name = "taylor"

    fn: str = "main"
    order: int = 2
    """The highest order, at least 1."""
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    series: bool = False
    """Each argument in ``wrt`` is given a path, the coefficients 1 to ``order`` as one tensor, in place of a direction."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        derive(op, lambda request, name: taylor_function(request, name, self.order, series=self.series), self.fn, self.wrt, self.of)
