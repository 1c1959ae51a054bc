"""Finds the user's code: the innermost frame that is not ours gives every op its file, line and column."""

from __future__ import annotations

import inspect
import linecache
import sys
from functools import lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from wengert.ir.diagnostics import Diagnostic
from wengert.ir.location.locations import at

_ROOT = Path(__file__).resolve().parents[2]
_OURS = tuple(str(_ROOT / folder) + "/" for folder in ("frontends", "runtime", "transforms", "dialects", "ir"))
_PASSED = ("functools.py", "contextlib.py")
"""Modules of the standard library that stand between us and the user."""


@lru_cache(maxsize=4096)
def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS) or filename.endswith(_PASSED) or "/optree/" in filename or str(Path(filename).resolve()).startswith(_OURS)


def user_frame() -> FrameType | None:
    """The innermost frame of code that is not part of wengert."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@lru_cache(maxsize=16384)
def _place(code: CodeType, instruction: int) -> tuple[int, int, int]:
    """Line, column (from 1) and length of what an instruction was compiled from."""
    line, last_line, column, end = next(islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
    line = code.co_firstlineno if line is None else line
    if column is None or end is None:
        return line, 1, 1
    return line, column + 1, max(1, end - column) if last_line == line else 1


@lru_cache(maxsize=16384)
def _location(code: CodeType, instruction: int) -> LocationAttr:
    line, column, _ = _place(code, instruction)
    return at(code.co_filename, line, column)


def location_here() -> LocationAttr:
    """The location of the user's expression that is being evaluated."""
    frame = user_frame()
    return UNKNOWN_LOC if frame is None else _location(frame.f_code, frame.f_lasti)


def location_of(function: Any) -> LocationAttr:
    """The place where a Python function is defined; the expression being evaluated, where it has no code."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return location_here() if code is None else at(code.co_filename, code.co_firstlineno, 1)


def line_here() -> str:
    """``file:line`` of the user's code that is being run."""
    frame = user_frame()
    return "<unknown>" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def diagnostic_here(message: str, hint: str = "") -> Diagnostic:
    """A finding at the user's expression, with its source line."""
    frame = user_frame()
    if frame is None:
        return Diagnostic(message, hint=hint)
    line, column, length = _place(frame.f_code, frame.f_lasti)
    filename = frame.f_code.co_filename
    return Diagnostic(message, filename, line, column, source_line=linecache.getline(filename, line).rstrip("\n"), length=length, hint=hint)
