"""The Python functions that programs of this process call (:mod:`wengert.dialects.host_calls`)."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import Any

from msgspec import Struct

PROCESS = secrets.token_hex(8)
"""What this process is called in the text of programs, so that the same number of another process is another function."""


class HostFunction(Struct, frozen=True):
    """A function of arrays, which returns a sequence of arrays, with its name for people."""

    call: Callable[..., Any]
    name: str


_functions: dict[int, HostFunction] = {}
_lock = threading.Lock()


def register(function: HostFunction) -> int:
    """Keeps a function for as long as the process lives, since programs are text; its number."""
    with _lock:
        number = len(_functions)
        _functions[number] = function
    return number


def host_function(process: str, number: int) -> HostFunction | None:
    """The function of a number, if it is one of this process."""
    return _functions.get(number) if process == PROCESS else None
