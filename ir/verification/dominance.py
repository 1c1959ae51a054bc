"""Dominance: which values an op may use.

A value may be used after its definition in the same block, in blocks that this block dominates, and in the regions of the
ops there, as long as no op in between is isolated from above (as functions are).

One walk in program order keeps the set of values that are visible. A region adds what it defines and takes it away again
at its end; so a use is checked by one look-up.
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, BlockArgument, ErasedSSAValue, Operation, OpResult, Region, SSAValue
from xdsl.irdl.dominance import DominanceInfo

from wengert.ir.symbols import symbol_name
from wengert.ir.unregistered import written_name


class Scope:
    """The values that are visible at a point of the walk, by identity."""

    def __init__(self) -> None:
        self.visible: set[int] = set()
        self._trail: list[int] = []

    def enter(self) -> int:
        """Opens a scope of values and returns its start, which :meth:`leave` takes."""
        return len(self._trail)

    def define(self, values: Iterable[SSAValue]) -> None:
        """Makes values visible."""
        for value in values:
            self._trail.append(id(value))
            self.visible.add(id(value))

    def leave(self, mark: int) -> None:
        """Takes away what was defined since the mark."""
        self.visible.difference_update(self._trail[mark:])
        del self._trail[mark:]


def dominating_values(region: Region) -> dict[Block, list[SSAValue]]:
    """For each block of a region with several: what the blocks that strictly dominate it define."""
    info = DominanceInfo(region)
    defined = {block: [*block.args, *(r for op in block.ops for r in op.results)] for block in region.blocks}
    return {b: [v for a in region.blocks if info.strictly_dominates(a, b) for v in defined[a]] for b in region.blocks}


def name_of(value: SSAValue) -> str:
    """A value in messages: its name in the text if it has one, else where it comes from."""
    if value.name_hint:
        return f"'%{value.name_hint}'"
    if isinstance(value, BlockArgument):
        return f"argument {value.index}"
    return f"result {value.index} of {written_name(value.op)}" if isinstance(value, OpResult) else "a value"


def function_name(op: Operation) -> str:
    """The function around an op, or the op itself if it is one."""
    walk: Operation | None = op
    while walk is not None and walk.name != "func.func":
        walk = walk.parent_op()
    return f"@{symbol_name(walk)}" if walk is not None else "no function"


def explain(op: Operation, value: SSAValue) -> tuple[str, Operation | None]:
    """The reason why the op may not use the value, and the op that defines it (for an argument, the op around its block)."""
    if isinstance(value, ErasedSSAValue):
        return "which was erased", None
    owner = value.owner
    definer = owner.parent_op() if isinstance(owner, Block) else owner
    if definer is None or (isinstance(owner, Operation) and owner.parent is None):
        return "which is defined outside of the module", definer
    around: list[Operation] = []
    walk: Operation | None = op
    while walk is not None:
        around.append(walk)
        walk = walk.parent_op()
    if owner in around:
        return "which is its own result" if owner is op else "which is a result of the op around it", definer
    if function_name(definer) != function_name(op):
        return f"which belongs to the function {function_name(definer)}; functions do not see each other's values", definer
    block = owner if isinstance(owner, Block) else owner.parent
    if any(a.parent is block for a in around):
        return "which is defined later", definer
    if block is not None and any(a.parent is not None and a.parent.parent is block.parent for a in around):
        return "which is defined in a block that does not dominate this one", definer
    return "which is defined in a region that does not enclose this op", definer
