"""Which intermediate values a block keeps for its linear part where cheap ones are computed again.

The linear ops of a loop's body, for example, use *residuals*, values of the primal body. Keeping one costs memory in every iteration, so:

- what follows from constants and the iteration alone is never kept (induction variables, masks, reads of a constant at
  the iteration, and what does not change at all);
- a residual that follows from others by a cheap op is computed again from those;
- one that is a cheap function of a smaller value gives way to that value (the source of a broadcast, for example), and one that
  is a cheap function of several much smaller ones to those (a choice by a mask between constants).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects.facts import facts_of
from wengert.ir.tensor_types import dtype_of, shape_of_type
from wengert.ir.traversal import operands_of, ops_in

MUCH = 8
"""How many times smaller several values are than one that they are kept in place of."""


class Plan(Struct, frozen=True):
    """Residuals to keep, and the ops that compute the others from them, in order."""

    kept: list[SSAValue]
    recomputed: list[Operation]


def plan(block: Block, residuals: Sequence[SSAValue], given: Iterable[SSAValue]) -> Plan:
    """What to keep of a block so that its residuals can be had later, where the ``given`` values are at hand anyway."""
    available = following_from(block, set(given))
    kept: dict[SSAValue, None] = {}
    pending = dict.fromkeys(value for value in residuals if value not in available)  # in order, so that equal programs have equal plans
    order: dict[SSAValue, int] = {result: n for n, op in enumerate(block.ops) for result in op.results}
    while pending:
        value = max(pending, key=lambda v: order.get(v, -1))
        del pending[value]
        sources = _sources(value, available)
        new = None if sources is None else _origins(sources, available, pending.keys() | kept.keys())
        if new is not None and sum(map(_bytes, new)) <= (_bytes(value) if len(new) == 1 else _bytes(value) // MUCH):
            pending.update(dict.fromkeys(new))
        else:
            kept[value] = None
    return Plan(list(kept), recomputation(block, residuals, set(kept) | set(given)))


def following_from(block: Block, given: set[SSAValue]) -> set[SSAValue]:
    """What can be computed from given values by cheap ops alone, ops without operands included."""
    found = set(given)
    for op in block.ops:
        if facts_of(type(op)).recompute and all(operand in found for operand in op.operands):
            found.update(op.results)
    return found


def _sources(value: SSAValue, available: set[SSAValue]) -> list[SSAValue] | None:
    """What a value is computed from by a cheap op, or None if it is not."""
    owner = value.owner
    if not isinstance(owner, Operation) or not facts_of(type(owner)).recompute:
        return None
    return list(dict.fromkeys(operand for operand in owner.operands if operand not in available))


def _origins(sources: Sequence[SSAValue], available: set[SSAValue], at_hand: set[SSAValue]) -> list[SSAValue]:
    """What would have to be kept for these values: what they follow from by chains of cheap ops that grow."""
    found: dict[SSAValue, None] = {}
    for source in sources:
        value = source
        while value not in at_hand:
            before = _sources(value, available)
            if before is None or len(before) != 1 or _bytes(before[0]) > _bytes(value):
                found[value] = None
                break
            value = before[0]
    return list(found)


def recomputation(block: Block, residuals: Sequence[SSAValue], at_hand: set[SSAValue]) -> list[Operation]:
    """The ops of a block that compute residuals from values that are at hand, in order."""
    needed: set[Operation] = set()
    pending = [value for value in residuals if value not in at_hand]
    while pending:
        owner = pending.pop().owner
        assert isinstance(owner, Operation)
        if owner not in needed:
            needed.add(owner)
            pending.extend(operand for operand in owner.operands if operand not in at_hand)
    return [op for op in block.ops if op in needed]


def _bytes(value: SSAValue) -> int:
    return _bytes_of(value.type)


def _bytes_of(type: Attribute) -> int:
    if isinstance(type, core.TapeType):
        return (type.places or 0) * _bytes_of(type.entry_type)
    if not isinstance(type, TensorType):
        return 0
    static = cast("TensorType[Any]", type)
    return prod(shape_of_type(static)) * dtype_of(static.element_type).itemsize


def prune(block: Block, results: Sequence[SSAValue]) -> list[Operation]:
    """The linear ops that results depend on, in order; the others give up their operands."""
    needed: set[SSAValue] = set(results)
    found: list[Operation] = []
    for op in reversed(ops_in(block)):
        if needed.isdisjoint(op.results):
            op.drop_all_references()
        else:
            needed.update(operands_of(op))
            found.append(op)
    return found[::-1]


def residuals_of(ops: Sequence[Operation], results: Sequence[SSAValue], linear: set[SSAValue]) -> list[SSAValue]:
    """The values that linear ops (and results) use and that are not linear themselves, in order of first use."""
    found = {operand: None for op in ops for operand in operands_of(op) if operand not in linear}
    found.update((value, None) for value in results if value not in linear)
    return list(found)
