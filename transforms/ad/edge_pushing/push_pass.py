"""The pass ``edge-pushing``."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.transforms.ad.edge_pushing.hessian import pushed_hessian
from wengert.transforms.ad.edge_pushing.names import NAME
from wengert.transforms.ad.elimination.jacobian import Granularity


@dataclass(frozen=True)
class EdgePushingPass(ModulePass):
    """Replaces a function of one number by its Hessian, by edge pushing on its linearised graph."""

    name = NAME

    granularity: Granularity = "auto"
    """What a variable is: an element (``scalars``), a value (``tensors``), or an element where these are few and save multiplications (``auto``)."""
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pushed_hessian(op, self.fn, self.wrt, self.of, self.granularity)
