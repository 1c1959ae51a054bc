"""Atomic operations. Threads that meet at a word take their turns in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from wengert.runtime.ptx.accesses import AccessPath
from wengert.runtime.ptx.instructions.context import Context, Run
from wengert.runtime.ptx.instructions.loads import occurrence, parts_of, paths_of, space_of
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.rounding import flush, from_bf16, packed, to_bf16, unpacked
from wengert.runtime.ptx.types import TYPES, Array, Scalar

_where: Any = np.where
_FAMILY = "Atomics"
_INTEGERS = "`.add .min .max .inc .dec .exch .cas .and .or .xor` of 32 and 64 bits, `.cas.b16`"
_FORMS = f"`.global .shared` and generic; {_INTEGERS}; `.add` of `.f16 .f16x2 .bf16 .bf16x2 .f32 .f64`"
Update = Callable[..., Array]


def _exchange(old: Array, new: Array) -> Array:
    return new


def _increase(old: Array, last: Array) -> Array:
    return _where(old >= last, np.uint32(0), old + np.uint32(1))


def _decrease(old: Array, last: Array) -> Array:
    return _where((old == 0) | (old > last), last, old - np.uint32(1))


def _compare_and_swap(old: Array, expected: Array, new: Array) -> Array:
    return _where(old == expected, new, old)


_UPDATES: dict[str, Update] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": _exchange,
    "inc": _increase,
    "dec": _decrease,
    "cas": _compare_and_swap,
}
_UNORDERED = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
"""Integer updates whose order does not show if nobody looks at the old values."""


@models("atom", "red", family=_FAMILY, forms=_FORMS)
def atomic(context: Context) -> Run:
    """Changes words of memory, and gives what was there before."""
    reads_old = context.instruction.opcode == "atom"
    operation = context.required(*_UPDATES)
    space = space_of(context, 1 if reads_old else 0)
    context.flag("relaxed", "acquire", "release", "acq_rel")
    context.flag("cta", "cluster", "gpu", "sys")
    context.flag("noftz")
    type = context.type()
    context.finish((1 if reads_old else 0) + (3 if operation == "cas" else 2))
    width = TYPES[f"b{type.bits}"] if type.count == 2 or type.kind in "hb" or operation in ("cas", "exch") else type
    _check(context, operation, type, space)
    first = 2 if reads_old else 1
    operands = [context.read(k, width) for k in range(first, len(context.operands))]
    write = context.write(0, width) if reads_old else None
    unread = not reads_old or context.is_unread(context.operands[0])
    address = context.address(first - 1)
    paths = paths_of(context, space, type.size, strong=True)
    updates = {name: _Update(path, operation, type, width, unread) for name, path in paths.items()}

    def run(lanes: Lanes) -> None:
        values = [lanes.spread(read(lanes)) for read in operands]
        for name, addresses, some, which in parts_of(space, address(lanes), lanes):
            old = updates[name].apply(addresses, some, [value[which] for value in values])
            if write is not None:
                write(some, old)

    return run


def _check(context: Context, operation: str, type: Scalar, space: str) -> None:
    if (
        space in ("local", "param")
        or (type.is_float and operation != "add")
        or type.bits < (16 if operation == "cas" or type.is_float else 32)
        or type.bits > 64
    ):
        context.refuse()
    if (operation in ("inc", "dec") and type.name != "u32") or (operation == "add" and type.name == "s64"):
        context.refuse()
    if type.kind == ("b" if operation in ("add", "min", "max") else "p"):
        context.refuse(f".{type.name}")


class _Update:
    """An operation on the words of one space."""

    def __init__(self, path: AccessPath, operation: str, type: Scalar, width: Scalar, unread: bool):
        self.path = path
        self.type = type
        self.data: Array = path.space.words[path.width].view(width.dtype)
        self.function = _function(operation, type, path.name)
        self.at_once = _UNORDERED[operation].at if unread and operation in _UNORDERED and not type.is_float else None
        self.sums = unread and type.is_float and type.count == 1 and type.bits >= 32
        self.flushes = type.name == "f32" and path.name == "global"

    def apply(self, addresses: Array, lanes: Lanes, operands: list[Array]) -> Array:
        """Updates the words; what each thread saw there before."""
        words = self.path.words(addresses, lanes)
        self.path.check_read(words, lanes, atomic=True)
        self.path.check_write(words, lanes)
        old = self.data[words]
        rank = occurrence(words)
        last = int(rank.max())
        if last == 0:
            self.data[words] = self.function(old, *operands)
        elif self.at_once is not None:
            self.at_once(self.data, words, operands[0])
        elif self.sums and not (self.flushes and _may_underflow(old, operands[0])):
            np.add.at(self.data, words, operands[0])
        else:
            self._in_turn(words, rank, last, old, operands)
        return old

    def _in_turn(self, words: Array, rank: Array, last: int, old: Array, operands: list[Array]) -> None:
        for turn in range(last + 1):
            now = rank == turn
            old[now] = self.data[words[now]]
            self.data[words[now]] = self.function(old[now], *[x[now] for x in operands])


def _may_underflow(*terms: Array) -> bool:
    """Whether a sum of these terms could be subnormal: not if all are multiples of the least normal number's last digit but 24."""
    return any(bool(((x != 0) & (np.abs(x) < 2.0**-102)).any()) for x in terms)


def _function(operation: str, type: Scalar, space: str) -> Update:
    if not type.is_float:
        return _UPDATES[operation]
    if type.count == 2:
        return partial(_add_pairs, type)
    if type.kind == "h":
        return _add_bf16
    if type.name == "f32" and space == "global":  # PTX ISA, 9.7.13.5: subnormal numbers are flushed there, and not in shared memory
        return _add_flushed
    return np.add


def _add_bf16(old: Array, x: Array) -> Array:
    return to_bf16(from_bf16(old) + from_bf16(x))


def _add_flushed(old: Array, x: Array) -> Array:
    return flush(flush(old) + flush(x))


def _add_pairs(type: Scalar, old: Array, x: Array) -> Array:
    halves = [a + b for a, b in zip(unpacked(old, type), unpacked(x, type))]
    return packed(*[to_bf16(h) if type.kind == "h" else h for h in halves])
