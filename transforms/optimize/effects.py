"""The freedom of passes with an op: remove it when nothing uses it, share it with an equal one.

The two differ: an ``rng`` that nothing uses may go, but two of them must stay two. An op of an unknown class may do anything.
"""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation
from xdsl.traits import IsTerminator, Pure, RecursiveMemoryEffect

from wengert.dialects import core, stablehlo
from wengert.ir.attributes import int_of

_REMOVABLE = (
    stablehlo.RngOp,
    stablehlo.OptimizationBarrierOp,
    stablehlo.CreateTokenOp,
    stablehlo.AfterAllOp,
    core.TapeCreateOp,
    core.TapePushOp,
    core.TapeExtendOp,
    core.TapeSetOp,
    core.TapeSizeOp,
)
"""Ops that are not pure, because two of them are not one, and still do nothing that is seen when their results are not."""


@cache
def is_pure(cls: type[Operation]) -> bool:
    """Whether ops of this class depend on nothing but operands and properties, and do nothing but give results."""
    return cls.has_trait(Pure, value_if_unregistered=False) and not cls.has_trait(IsTerminator, value_if_unregistered=False)


@cache
def _is_removable_class(cls: type[Operation]) -> bool:
    return is_pure(cls) or cls.has_trait(RecursiveMemoryEffect, value_if_unregistered=False) or issubclass(cls, _REMOVABLE)


def is_removable(op: Operation) -> bool:
    """Whether the op itself (regions apart) has no effect beyond its results."""
    if _is_removable_class(type(op)):
        return True
    if isinstance(op, stablehlo.CustomCallOp):
        return op.has_side_effect is None or not int_of(op.has_side_effect)
    return False


def is_shareable(op: Operation, known: dict[Operation, bool] | None = None) -> bool:
    """Whether an equal op that ran before gives the same results: pure ops, and control flow around nothing but pure ops.

    ``known`` remembers it for ops with regions, for a walk that asks for ops inside of each other.
    """
    cls = type(op)
    if is_pure(cls) and not op.regions:
        return True
    if not (is_pure(cls) or cls.has_trait(RecursiveMemoryEffect, value_if_unregistered=False)):
        return False
    if known is not None and op in known:
        return known[op]
    shareable = all(
        is_shareable(inner, known) or inner.has_trait(IsTerminator, value_if_unregistered=False)
        for region in op.regions
        for block in region.blocks
        for inner in block.ops
    )
    if known is not None:
        known[op] = shareable
    return shareable
