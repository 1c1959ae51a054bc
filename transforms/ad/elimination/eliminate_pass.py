"""The pass ``eliminate``."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from wengert.ir.location.places import error_at
from wengert.transforms.ad.elimination.jacobian import Granularity, Loops, eliminated_jacobian
from wengert.transforms.ad.elimination.orders import Order
from wengert.transforms.ad.elimination.plan import STEPS, Method, Wanted


@dataclass(frozen=True)
class EliminatePass(ModulePass):
    """Replaces a function by its Jacobian, by elimination on its linearised graph."""

    name = "eliminate"

    order: Order = "best"
    """In which order: ``best`` (of those by rule), ``forward``, ``reverse``, ``markowitz``, ``reverse-markowitz``, ``relative-markowitz``,
    ``widest`` or ``search``."""
    method: Method = "vertices"
    """What is eliminated: ``vertices``, ``edges`` or ``faces``."""
    granularity: Granularity = "auto"
    """What a vertex is: an element (``scalars``), a value (``tensors``), or an element where these are few and save multiplications (``auto``)."""
    steps: int = STEPS
    """How many eliminations a search tries."""
    seconds: float | None = None
    """When a search ends, at the latest; without it the result depends on ``steps`` and ``seed`` alone."""
    seed: int = 0
    loops: Loops = "auto"
    """What is done within the bodies of counted loops: elimination where it saves multiplications (``auto``), or nothing (``keep``)."""
    fn: str = "main"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.steps < 1:
            raise error_at(op, f"eliminate: steps must be at least 1, not {self.steps}")
        if self.seconds is not None and not self.seconds > 0:
            raise error_at(op, f"eliminate: seconds must be above 0, not {self.seconds}")
        wanted = Wanted(self.method, self.order, self.steps, self.seconds, self.seed)
        eliminated_jacobian(op, wanted, self.fn, self.wrt, self.of, self.granularity, self.loops)
