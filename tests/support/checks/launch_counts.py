"""How many kernels a program launches, counted in its text."""

from __future__ import annotations

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from wengert.dialects.gpu import LaunchFuncOp
from wengert.dialects.kernel.buffers import CaseOp, ForOp, StripLoopOp, WhileOp
from wengert.ir.attributes import int_of
from wengert.ir.traversal import ops_in
from wengert.transforms.lowering import function


class Launches(Struct, frozen=True):
    """The launches of one call: so many, and so many more in each iteration of the loops whose number of iterations is not known."""

    known: int = 0
    each_iteration: int = 0

    def __add__(self, other: Launches) -> Launches:
        return Launches(self.known + other.known, self.each_iteration + other.each_iteration)

    @property
    def all(self) -> int:
        """Both; not what one call launches, but what may not grow."""
        return self.known + self.each_iteration


def launches_of(module: ModuleOp, entry: str = "main") -> Launches:
    """Counts the launches of the host's function; of branches that with most."""
    return _in_block(function(module, entry).body.block)


def _in_block(block: Block) -> Launches:
    return sum([_of(op) for op in ops_in(block)], Launches())


def _of(op: Operation) -> Launches:
    if isinstance(op, LaunchFuncOp):
        return Launches(1)
    if isinstance(op, CaseOp):
        return max([_in_block(region.block) for region in op.branches], key=lambda launches: launches.all)
    if isinstance(op, ForOp | StripLoopOp):
        count, inside = op.iterations if isinstance(op, ForOp) else int_of(op.iterations), _in_block(op.body.block)
        return Launches(0, inside.all) if count is None else Launches(count * inside.known, count * inside.each_iteration)
    if isinstance(op, WhileOp):
        return Launches(0, (_in_block(op.condition.block) + _in_block(op.body.block)).all)
    return Launches()
