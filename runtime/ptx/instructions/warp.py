"""Exchange of values within a warp: shuffles, votes, matches and reductions.

All of them wait until every thread that the mask names has come to the instruction, or has ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.runtime.ptx.instructions.context import Context, Control
from wengert.runtime.ptx.instructions.controls import Rendezvous
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.machine import ThreadFault
from wengert.runtime.ptx.program import Pair
from wengert.runtime.ptx.special import WARP
from wengert.runtime.ptx.types import TYPES, Array

_where: Any = np.where
_FAMILY = "Warp"
_U32, _S32, _B32, _PRED = (TYPES[name] for name in ("u32", "s32", "b32", "pred"))


def ballot(context: Context, lanes: Lanes, condition: Array) -> Array:
    """For each thread, the threads of its warp among ``lanes`` for which the condition holds, as bits: u32."""
    return bits_of(context.machine.lanes, lanes.numbers[lanes.spread(condition)])[lanes.numbers // WARP]


def bits_of(total: int, numbers: Array) -> Array:
    """Sets of threads as bits, by warp: u32."""
    inside = np.zeros(total, np.bool_)
    inside[numbers] = True
    return np.packbits(inside.reshape(-1, WARP), axis=1, bitorder="little").view(np.uint32)[:, 0]


@models("shfl", family=_FAMILY, forms="`.sync` with `.up .down .bfly .idx`, `.b32`, `d|p`")
def shuffle(context: Context) -> Control:
    """The value of another thread."""
    context.required("sync")
    mode = context.required("up", "down", "bfly", "idx")
    context.type("b32")
    context.finish(5)
    result = context.operands[0]
    targets = (result.first, result.second) if isinstance(result, Pair) else (result, None)
    write = context.writer(targets[0], _B32)
    write_valid = None if targets[1] is None else context.writer(targets[1], _PRED)
    value, by, clamp, mask = (context.read(k, _U32) for k in range(1, 5))
    machine = context.machine

    def run(lanes: Lanes) -> None:
        lane = lanes.numbers % WARP
        source, valid = _source(mode, lane, by(lanes).astype(np.int64), clamp(lanes).astype(np.int64))
        source = lanes.numbers - lane + _where(valid, source, lane)
        everyone = np.zeros(machine.lanes, np.uint32)
        here = np.zeros(machine.lanes, np.bool_)
        everyone[lanes.index] = value(lanes)
        here[lanes.index] = True
        absent = ~here[source]
        if absent.any():
            at = int(np.argmax(absent))
            raise ThreadFault("invalid operand", f"a shuffle from lane {int(source[at]) % WARP}, which does not take part", int(lanes.numbers[at]))
        write(lanes, everyone[source])
        if write_valid is not None:
            write_valid(lanes, valid)

    return Rendezvous(context, run, mask)


def _source(mode: str, lane: Array, by: Array, clamp: Array) -> tuple[Array, Array]:
    """The lane from which a shuffle takes, and whether it lies in the segment (PTX ISA, 9.7.9.6)."""
    by, limit, segment = by & 31, clamp & 31, (clamp >> 8) & 31
    last = (lane & segment) | (limit & ~segment)
    first = lane & segment
    if mode == "up":
        return lane - by, lane - by >= last
    source = {"down": lane + by, "bfly": lane ^ by, "idx": first | (by & ~segment)}[mode]
    return source, source <= last


@models("vote", family=_FAMILY, forms="`.sync` with `.all .any .uni` of `.pred`, `.ballot.b32`")
def vote(context: Context) -> Control:
    """What holds for the threads of the mask."""
    context.required("sync")
    mode = context.required("all", "any", "uni", "ballot")
    type = context.type("b32" if mode == "ballot" else "pred")
    context.finish(3)
    write = context.write(0, type)
    condition, mask = context.read(1, _PRED), context.read(2, _U32)
    answers: dict[str, Callable[[Array, Array], Array]] = {
        "all": lambda yes, mask: (yes & mask) == mask,
        "any": lambda yes, mask: (yes & mask) != 0,
        "uni": lambda yes, mask: ((yes & mask) == 0) | ((yes & mask) == mask),
        "ballot": lambda yes, mask: yes & mask,
    }

    def run(lanes: Lanes) -> None:
        here = mask(lanes) & bits_of(context.machine.lanes, lanes.numbers)[lanes.numbers // WARP]
        write(lanes, answers[mode](ballot(context, lanes, condition(lanes)), here))

    return Rendezvous(context, run, mask)


@models("match", family=_FAMILY, forms="`.sync` with `.any .all`, `.b32 .b64`, `d|p`")
def match(context: Context) -> Control:
    """The threads of the mask that have the same value."""
    context.required("sync")
    mode = context.required("any", "all")
    type = context.type("b32", "b64")
    context.finish(3)
    result = context.operands[0]
    write = context.writer(result.first if isinstance(result, Pair) else result, _B32)
    write_all = context.writer(result.second, _PRED) if isinstance(result, Pair) else None
    value, mask = context.read(1, type), context.read(2, _U32)

    def run(lanes: Lanes) -> None:
        x, members = lanes.spread(value(lanes)), lanes.spread(mask(lanes))
        everyone = np.zeros(context.machine.lanes, type.dtype)
        everyone[lanes.index] = x
        warps = lanes.numbers - lanes.numbers % WARP
        same = np.zeros(lanes.count, np.uint32)
        for lane in range(WARP):
            same |= (everyone[warps + lane] == x).astype(np.uint32) << np.uint32(lane)
        same &= members & bits_of(context.machine.lanes, lanes.numbers)[lanes.numbers // WARP]
        here = members & bits_of(context.machine.lanes, lanes.numbers)[lanes.numbers // WARP]
        write(lanes, same if mode == "any" else _where(same == here, here, np.uint32(0)))
        if write_all is not None:
            write_all(lanes, same == here)

    return Rendezvous(context, run, mask)


_REDUCTIONS: dict[str, Any] = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@models("redux", family=_FAMILY, forms="`.sync` with `.add .min .max` of `.u32 .s32`, `.and .or .xor` of `.b32`")
def reduction(context: Context) -> Control:
    """A reduction over the threads of the mask."""
    context.required("sync")
    operation = context.required(*_REDUCTIONS)
    combine = _REDUCTIONS[operation]
    type = context.type(*(("b32",) if operation in ("and", "or", "xor") else ("u32", "s32")))
    context.finish(3)
    write = context.write(0, type)
    value, mask = context.read(1, type), context.read(2, _U32)

    def run(lanes: Lanes) -> None:
        groups = (lanes.numbers // WARP).astype(np.uint64) << np.uint64(32) | lanes.spread(mask(lanes)).astype(np.uint64)
        _, which = np.unique(groups, return_inverse=True)
        order = np.argsort(which, kind="stable")
        starts = np.flatnonzero(np.concatenate(([True], np.diff(which[order]) != 0)))
        totals = combine.reduceat(lanes.spread(value(lanes))[order], starts, dtype=type.dtype)
        write(lanes, totals[which])

    return Rendezvous(context, run, mask)


@models("activemask", family=_FAMILY, forms="`.b32`: the threads that are here in this model")
def active_mask(context: Context) -> Callable[[Lanes], None]:
    """The threads of the warp that execute the instruction together."""
    context.type("b32")
    context.finish(1)
    write = context.write(0, _B32)
    return lambda lanes: write(lanes, bits_of(context.machine.lanes, lanes.numbers)[lanes.numbers // WARP])
