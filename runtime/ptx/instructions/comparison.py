"""Comparisons and selections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wengert.runtime.ptx.instructions.context import Context, Read, Run
from wengert.runtime.ptx.instructions.table import models
from wengert.runtime.ptx.lanes import Lanes
from wengert.runtime.ptx.program import Pair
from wengert.runtime.ptx.rounding import flush, from_bf16, unpacked
from wengert.runtime.ptx.types import TYPES, Array, Scalar

_where: Any = np.where  # its stubs cannot type elements that are Any
_FAMILY = "Comparison and selection"
_PRED = TYPES["pred"]
Compare = Callable[[Array, Array], Array]

_ORDERED: dict[str, Compare] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
_UNSIGNED = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_FLOAT_ONLY = ("equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
COMPARISONS = (*_ORDERED, *_UNSIGNED, *_FLOAT_ONLY)
_COMPARED = (*(f"{kind}{bits}" for kind in "bus" for bits in (16, 32, 64)), "f16", "bf16", "f32", "f64")
_SELECTED = (*(f"{kind}{bits}" for kind in "bus" for bits in (16, 32, 64)), "f32", "f64")
_COMBINE: dict[str, Compare] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(name: str, type: Scalar) -> Compare:
    """The relation of this name: ``ne`` and the other ordered ones are false where an operand is NaN, those with ``u`` true."""
    if not type.is_float:
        return _ORDERED[_UNSIGNED.get(name, name)]
    if name in _OPPOSITE:
        return _not(_OPPOSITE[name])
    return {"ne": _apart, "nan": _unordered}.get(name) or _ORDERED[name]


def _apart(x: Array, y: Array) -> Array:
    return (x < y) | (x > y)


def _unordered(x: Array, y: Array) -> Array:
    return np.isnan(x) | np.isnan(y)


_OPPOSITE: dict[str, Compare] = {
    "equ": _apart,
    "neu": np.equal,
    "ltu": np.greater_equal,
    "leu": np.greater,
    "gtu": np.less_equal,
    "geu": np.less,
    "num": _unordered,
}


def _not(compare: Compare) -> Compare:
    def run(x: Array, y: Array) -> Array:
        return ~compare(x, y)

    return run


def _compare(context: Context) -> tuple[str, Callable[[Array, Array], Array] | None, bool]:
    name = context.required(*COMPARISONS)
    combine = context.choice(*_COMBINE)
    return name, _COMBINE.get(combine or ""), context.flag("ftz")


def _checked(context: Context, name: str, type: Scalar) -> Compare:
    if (name in _FLOAT_ONLY) > type.is_float or (name in _UNSIGNED) > (type.kind in "ub") or (type.kind == "b" and name not in ("eq", "ne")):
        context.refuse(f".{name} of .{type.name}")
    return comparison(name, type)


def _numbers(type: Scalar) -> Callable[[Array], Array]:
    """bf16 as f32; other types as they are."""
    return from_bf16 if type.kind == "h" else lambda x: x


@models("setp", family=_FAMILY, forms="all comparisons, of all integer types and `.f16 .bf16 .f32 .f64 .f16x2 .bf16x2`; `.and .or .xor`; `p|q`; `.ftz`")
def setp(context: Context) -> Run:
    """Predicates of a comparison, combined with another predicate; the second one is of the opposite comparison, or of the upper half."""
    name, combine, ftz = _compare(context)
    type = context.type(*_COMPARED, "f16x2", "bf16x2")
    context.finish(4 if combine else 3)
    compare = _checked(context, name, type)
    results = context.operands[0]
    writes = [context.writer(r, _PRED) for r in ((results.first, results.second) if isinstance(results, Pair) else (results,))]
    bits = TYPES["b32"] if type.count == 2 else type
    x, y = context.read(1, bits), context.read(2, bits)
    other: Read | None = context.read(3, _PRED) if combine else None
    prepare = flush if ftz else _numbers(type)

    def answers(lanes: Lanes) -> list[Array]:
        if type.count == 2:
            low, high = zip(unpacked(x(lanes), type), unpacked(y(lanes), type))
            return [compare(*low), compare(*high)]
        answer = compare(prepare(x(lanes)), prepare(y(lanes)))
        return [answer, ~answer]

    def run(lanes: Lanes) -> None:
        predicates = answers(lanes)
        if combine and other:
            condition = other(lanes)
            predicates = [combine(answer, condition) for answer in predicates]
        for write, answer in zip(writes, predicates):
            write(lanes, answer)

    return run


@models("set", family=_FAMILY, forms="to `.u32 .s32` (all ones) and `.f32` (1.0), of the types of `setp` but packed ones; `.and .or .xor .ftz`")
def set_value(context: Context) -> Run:
    """A comparison as a number."""
    name, combine, ftz = _compare(context)
    source = context.type(*_COMPARED)
    result = context.type("u32", "s32", "f32")
    context.finish(4 if combine else 3)
    compare = _checked(context, name, source)
    x, y = context.read(1, source), context.read(2, source)
    other: Read | None = context.read(3, _PRED) if combine else None
    write = context.write(0, result)
    prepare = flush if ftz else _numbers(source)
    yes = np.array([1.0], np.float32) if result.kind == "f" else np.array([0xFFFFFFFF], np.uint32).view(result.dtype)
    no = np.zeros(1, result.dtype)

    def run(lanes: Lanes) -> None:
        answer = compare(prepare(x(lanes)), prepare(y(lanes)))
        if combine and other:
            answer = combine(answer, other(lanes))
        write(lanes, np.where(answer, yes, no))

    return run


@models("selp", family=_FAMILY, forms="16, 32 and 64 bits")
def selp(context: Context) -> Run:
    """One of two values by a predicate."""
    type = context.type(*_SELECTED)

    def run(x: Array, y: Array, p: Array) -> Array:
        return _where(p, x, y)

    return context.elementwise(run, type, type, type, _PRED)


@models("slct", family=_FAMILY, forms="16, 32 and 64 bits by `.s32 .f32`, `.ftz`")
def slct(context: Context) -> Run:
    """One of two values by the sign of a number; NaN takes the second one."""
    ftz = context.flag("ftz")
    by = context.type("s32", "f32")
    type = context.type(*_SELECTED)

    def run(x: Array, y: Array, c: Array) -> Array:
        return _where((flush(c) if ftz else c) >= 0, x, y)

    return context.elementwise(run, type, type, type, by)
