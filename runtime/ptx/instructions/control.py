"""Opcodes of control: branches, returns, barriers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wengert.runtime.ptx.instructions.context import Context, Control
from wengert.runtime.ptx.instructions.controls import Barrier, Branch, Exit, IndexedBranch, Rendezvous, Trap
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.program import Integer, Target, Targets
from wengert.runtime.ptx.special import WARP
from wengert.runtime.ptx.types import TYPES

_FAMILY = "Control"
_U32, _PRED = TYPES["u32"], TYPES["pred"]


@models("bra", family=_FAMILY, forms="`.uni`")
def branch(context: Context) -> Control:
    """Goes to a label."""
    context.flag("uni")
    context.finish(1)
    target = context.operands[0]
    if not isinstance(target, Target):
        context.fail("a branch goes to a label")
    return Branch(context, target.position)


@models("brx", family=_FAMILY, forms="`.idx`, `.uni`")
def indexed_branch(context: Context) -> Control:
    """Goes to a label of a table."""
    context.required("idx")
    context.flag("uni")
    context.finish(2)
    targets = context.operands[1]
    if not isinstance(targets, Targets):
        context.fail("the second operand is a table of branches")
    return IndexedBranch(context, context.read(0, _U32), targets.positions)


@models("call", family=_FAMILY, forms="of functions of the module by name, `.uni`; not recursive")
def call(context: Context) -> Control:
    """Never there: calls are replaced when the kernel is linked."""
    raise AssertionError("a call that was not replaced")


@models("ret", "exit", family=_FAMILY, forms="`.uni`")
def leave(context: Context) -> Control:
    """Ends the threads."""
    context.flag("uni")
    context.finish(0)
    return Exit(context)


@models("trap", family=_FAMILY, forms="a fault")
def trap(context: Context) -> Control:
    """Ends the launch."""
    context.finish(0)
    return Trap(context)


@models(
    "bar",
    "barrier",
    family=_FAMILY,
    forms="`.sync .arrive`, `.red` with `.popc .and .or`, `.cta`, `.aligned`, with and without a number of threads; `bar.warp.sync`",
)
def barrier(context: Context) -> Control:
    """Waits for the threads of the block, or of the warp."""
    if context.flag("warp"):
        return _warp_barrier(context)
    context.flag("cta")
    context.flag("aligned")
    kind = context.required("sync", "arrive", "red")
    if kind == "red":
        return _reducing_barrier(context)
    context.flag("all")
    context.finish()
    if len(context.operands) > 2 or (kind == "arrive" and len(context.operands) != 2):
        context.fail(f"'{context.instruction.name}' takes a barrier and a number of threads")
    number = context.reader(context.operands[0] if context.operands else Integer(0), _U32)
    return Barrier(context, number, context.read(1, _U32) if len(context.operands) == 2 else None, kind == "sync", None)


def _warp_barrier(context: Context) -> Control:
    context.required("sync")
    context.finish(1)
    machine = context.machine
    mask = context.read(0, _U32)

    def run(lanes: Lanes) -> None:
        whole = lanes.spread(mask(lanes)) == 0xFFFFFFFF  # a meeting of some lanes orders nothing, as clocks are those of warps
        warps = np.unique(lanes.numbers[whole] // WARP)
        per_block = machine.block_lanes // WARP
        machine.clocks.join_threads(warps // per_block, warps % per_block)

    return Rendezvous(context, run, mask)


_ANSWERS: dict[str, Callable[[int, int], int]] = {"popc": lambda yes, _: yes, "and": lambda yes, of: int(yes == of), "or": lambda yes, of: int(yes > 0)}


def _reducing_barrier(context: Context) -> Control:
    mode = context.required(*_ANSWERS)
    type = context.type()
    context.finish()
    if len(context.operands) not in (3, 4) or type.name not in ("u32", "pred"):
        context.refuse()
    write, condition = context.write(0, type), context.read(len(context.operands) - 1, _PRED)
    expected = context.read(2, _U32) if len(context.operands) == 4 else None

    def finish(lanes: Lanes) -> None:
        yes = int(np.count_nonzero(lanes.spread(condition(lanes))))
        write(lanes, np.array([_ANSWERS[mode](yes, lanes.count)], type.dtype))

    return Barrier(context, context.read(1, _U32), expected, True, finish)
