"""The ``device`` that the standard's creation functions take: there is one, and where a program runs is decided when it is compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from wengert.frontends.tracing.errors import value_error

P = ParamSpec("P")
R = TypeVar("R")


def on_device(function: Callable[P, R]) -> Callable[P, R]:
    """A function that refuses any ``device`` but ``"cpu"`` and None, as NumPy's do."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs and kwargs.get("device") not in (None, "cpu"):
            raise value_error(f"there is no device {kwargs['device']!r}, only 'cpu'", "where a program runs is decided when it is compiled: p.compile(backend)")
        return function(*args, **kwargs)

    return call
