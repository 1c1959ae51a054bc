"""Chooses the arguments to differentiate by, and the results to differentiate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from wengert.runtime.errors import InputError
from wengert.runtime.signature import Parameter

Positions = int | Iterable[int] | None
"""One position, several, or all that can be differentiated."""


def choose(option: Literal["wrt", "of"], chosen: Positions, parameters: tuple[Parameter, ...]) -> tuple[int, ...]:
    """Positions of differentiable arguments or results: those asked for, or all; raises InputError."""
    kind = "argument" if option == "wrt" else "result"
    if chosen is None:
        differentiable = tuple(p.position for p in parameters if p.differentiable)
        if not differentiable:
            raise InputError(f"nothing to differentiate: no {kind} is of a float or complex type")
        return differentiable
    positions: tuple[Any, ...] = tuple(chosen) if isinstance(chosen, Iterable) and not isinstance(chosen, str) else (chosen,)
    if not positions:
        raise InputError(f"{option} is empty: name at least one {kind}, or leave it out for all")
    return tuple(_position(option, kind, value, i, positions, parameters) for i, value in enumerate(positions))


def _position(option: str, kind: str, given: Any, index: int, positions: tuple[Any, ...], parameters: tuple[Parameter, ...]) -> int:
    if isinstance(given, bool | np.bool_) or not hasattr(given, "__index__"):
        raise InputError(f"{option} takes positions of {kind}s, found {given!r}")
    value = int(given)
    if not 0 <= value < len(parameters):
        available = f"0 to {len(parameters) - 1}" if len(parameters) > 1 else f"{kind} 0 alone" if parameters else "none"
        raise InputError(f"{option}: there is no {kind} {value}; the program has {available}")
    if value in positions[:index]:
        raise InputError(f"{option} names {kind} {value} twice")
    if not parameters[value].differentiable:
        raise InputError(f"{option}: {parameters[value]} has no derivative; only float and complex {kind}s have")
    return value
