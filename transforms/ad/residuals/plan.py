"""Plans which residuals of a block to store, and which to recompute by cheap ops.

The linear ops of a loop's body, for example, use *residuals*, values of the primal body. Storing one costs memory in every iteration, so:

- a cheap function of constants and the iteration alone is never stored (induction variables, masks, reads of a constant at
  the iteration, and loop invariants);
- a residual that is a cheap function of other residuals is recomputed from these;
- instead of a cheap function of a smaller value, this value is stored (the operand of a broadcast, for example), and instead of a cheap
  function of several much smaller values, these (a select between constants);
- where all iterations together would store more than a cache holds, what is stored is chosen by a minimum cut
  (:mod:`wengert.transforms.ad.residuals.fewest_bytes`), so that chains of cheap ops run again rather than go through memory.
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
from wengert.transforms.ad.residuals.fewest_bytes import fewest_bytes

SIZE_RATIO = 8
"""Several values are stored in place of one only if they are this many times smaller together."""

CACHE = 4 << 20
"""Bytes of a tape that still come back from a cache, faster than they are computed again (measured on Runge-Kutta steps of 3,000 to 100,000 numbers)."""


class Plan(Struct, frozen=True):
    """The residuals to store (``stored``), and the ops that recompute the others from them, in order."""

    stored: list[SSAValue]
    recomputed: list[Operation]


def plan(block: Block, residuals: Sequence[SSAValue], available: Iterable[SSAValue], times: int | None = 1) -> Plan:
    """Plans which values of a block to store for its residuals, where the ``available`` values need not be stored.

    ``times`` is how often the block runs, and so how many copies of a value are stored; None if it is unknown.
    """
    available = set(available)
    derivable = recomputable_from(block, available)
    stored = _cheaply_stored(block, residuals, derivable)
    if times is not None and times > 1 and times * sum(map(_bytes, stored)) > CACHE:
        stored = fewest_bytes(block, residuals, derivable, _bytes)
    return Plan(stored, recomputation(block, residuals, {*stored, *available}))


def _cheaply_stored(block: Block, residuals: Sequence[SSAValue], derivable: set[SSAValue]) -> list[SSAValue]:
    """The residuals, but for those that are cheap functions of others; in place of a cheap function, smaller values."""
    stored: dict[SSAValue, None] = {}
    pending = dict.fromkeys(value for value in residuals if value not in derivable)  # in order, so that equal programs have equal plans
    order: dict[SSAValue, int] = {result: n for n, op in enumerate(block.ops) for result in op.results}
    while pending:
        value = max(pending, key=lambda v: order.get(v, -1))
        del pending[value]
        sources = _sources(value, derivable)
        new = None if sources is None else _origins(sources, derivable, pending.keys() | stored.keys())
        if new is not None and sum(map(_bytes, new)) <= (_bytes(value) if len(new) == 1 else _bytes(value) // SIZE_RATIO):
            pending.update(dict.fromkeys(new))
        else:
            stored[value] = None
    return list(stored)


def recomputable_from(block: Block, available: set[SSAValue]) -> set[SSAValue]:
    """The values that cheap ops compute from available values alone, those of ops without operands included."""
    recomputable = set(available)
    for op in block.ops:
        if facts_of(type(op)).recompute and all(operand in recomputable for operand in op.operands):
            recomputable.update(op.results)
    return recomputable


def _sources(value: SSAValue, derivable: set[SSAValue]) -> list[SSAValue] | None:
    """The operands of the cheap op that computes a value, but for available ones; None if the op is not cheap."""
    owner = value.owner
    if not isinstance(owner, Operation) or not facts_of(type(owner)).recompute:
        return None
    return list(dict.fromkeys(operand for operand in owner.operands if operand not in derivable))


def _origins(sources: Sequence[SSAValue], derivable: set[SSAValue], known: set[SSAValue]) -> list[SSAValue]:
    """The values to store in place of these: the beginnings of chains of cheap ops that do not shrink."""
    origins: dict[SSAValue, None] = {}
    for source in sources:
        value = source
        while value not in known:
            before = _sources(value, derivable)
            if before is None or len(before) != 1 or _bytes(before[0]) > _bytes(value):
                origins[value] = None
                break
            value = before[0]
    return list(origins)


def recomputation(block: Block, residuals: Sequence[SSAValue], known: set[SSAValue]) -> list[Operation]:
    """The ops of a block that compute residuals from available values, in order."""
    needed: set[Operation] = set()
    pending = [value for value in residuals if value not in known]
    while pending:
        owner = pending.pop().owner
        assert isinstance(owner, Operation)
        if owner not in needed:
            needed.add(owner)
            pending.extend(operand for operand in owner.operands if operand not in known)
    return [op for op in block.ops if op in needed]


def _bytes(value: SSAValue) -> int:
    return _bytes_of(value.type)


def _bytes_of(type: Attribute) -> int:
    if isinstance(type, core.TapeType):
        return (type.static_length or 0) * _bytes_of(type.entry_type)
    if not isinstance(type, TensorType):
        return 0
    static = cast("TensorType[Any]", type)
    return prod(shape_of_type(static)) * dtype_of(static.element_type).itemsize


def prune(block: Block, results: Sequence[SSAValue]) -> list[Operation]:
    """Returns the linear ops that results depend on, in order; the others drop their operands."""
    needed: set[SSAValue] = set(results)
    live: list[Operation] = []
    for op in reversed(ops_in(block)):
        if needed.isdisjoint(op.results):
            op.drop_all_references()
        else:
            needed.update(operands_of(op))
            live.append(op)
    return live[::-1]


def residuals_of(ops: Sequence[Operation], results: Sequence[SSAValue], linear: set[SSAValue]) -> list[SSAValue]:
    """The values that linear ops (and results) use and that are not linear themselves, in order of first use."""
    residuals = {operand: None for op in ops for operand in operands_of(op) if operand not in linear}
    residuals.update((value, None) for value in results if value not in linear)
    return list(residuals)
