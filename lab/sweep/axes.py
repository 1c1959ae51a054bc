"""Axes of a sweep: ``n=2..4096``, ``n=2..64:+2``, ``n=3..3000:*10``, ``n=4,8,32``, ``mode=forward,reverse``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from wengert.lab.records.work import check_mode
from wengert.runtime.errors import InputError

MODE = "mode"
DEFAULT_MODES = ("primal", "forward", "reverse")
MOST_VALUES = 10_000
_RANGE = re.compile(r"(\d+)\.\.(\d+)(?::([+*])(\d+))?")
_NAME = re.compile(r"[A-Za-z_]\w*")

Sizes = dict[str, int | str]


@dataclass(frozen=True)
class Axis:
    """A name and the values that it takes, in order."""

    name: str
    values: tuple[int | str, ...]

    @property
    def is_size(self) -> bool:
        """Whether the values are numbers."""
        return all(isinstance(value, int) for value in self.values)


def read_axis(text: str) -> Axis:
    """The axis that a text says; an InputError for what is none.

    ``2..4096`` are powers of two times the first value, ``:+2`` steps by two, ``:*4`` multiplies by four; the end belongs to it where a step meets it.
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    if not equals or not _NAME.fullmatch(name) or not values:
        raise InputError(f"expected name=values, as in n=2..4096, n=4,8,32 or mode=forward,reverse, found {text!r}")
    return axis(name, values)


def axis(name: str, values: Any) -> Axis:
    """The axis of values: a text such as ``2..4096`` or ``4,8,32``, or a list."""
    if isinstance(values, int):
        values = [values]
    if isinstance(values, str):
        match = _RANGE.fullmatch(values.replace(" ", ""))
        given = _steps(values, match) if match else [int(part) if part.isdecimal() else part for part in map(str.strip, values.split(",")) if part]
    elif isinstance(values, list) and all(isinstance(v, int | str) and not isinstance(v, bool) for v in cast("list[Any]", values)):
        given = cast("list[int | str]", values)
    else:
        raise InputError(f"{name}: expected a range such as '2..4096', or a list of numbers or words, found {values!r}")
    if not given:
        raise InputError(f"{name} has no value")
    if name == MODE:
        given = [check_mode(str(value)) for value in given]
    return Axis(name, tuple(dict.fromkeys(given)))


def _steps(text: str, match: re.Match[str]) -> list[int | str]:
    first, last, kind, by = int(match[1]), int(match[2]), match[3] or "*", int(match[4] or 2)
    if first > last or (kind == "*" and (first == 0 or by < 2)) or by == 0:
        raise InputError(f"{text!r} is no range: it goes up, from one at least where it multiplies")
    values: list[int | str] = []
    value = first
    while value <= last:
        values.append(value)
        value = value + by if kind == "+" else value * by
        if len(values) > MOST_VALUES:
            raise InputError(f"{text!r} has more than {MOST_VALUES} values")
    return values


def read_axes(given: Sequence[Axis]) -> tuple[tuple[Axis, ...], tuple[str, ...]]:
    """The axes without the modes, and the modes; an InputError where a name comes twice."""
    names = [one.name for one in given]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"--over names {name} twice: give all its values in one")
    modes = next((tuple(map(str, one.values)) for one in given if one.name == MODE), DEFAULT_MODES)
    return tuple(one for one in given if one.name != MODE), modes


def points(axes: Sequence[Axis]) -> Iterator[Sizes]:
    """Every choice of a value for each axis; that which the exponents are fitted over goes slowest, so that small sizes come first."""
    along = main_axis(axes)
    ordered = sorted(axes, key=lambda one: one is not along)
    for values in product(*[one.values for one in ordered]):
        chosen = dict(zip([one.name for one in ordered], values, strict=True))
        yield {one.name: chosen[one.name] for one in axes}


def main_axis(axes: Sequence[Axis]) -> Axis | None:
    """The axis that growth is measured along: the first one of several numbers."""
    return next((one for one in axes if one.is_size and len(one.values) > 1), None)
