"""Checks the limit of memory for tapes, called by compiled code before it takes some.

The function is machine code, not Python: a signal's handler runs between two instructions of Python, and what it raises within a callback is lost.
"""

from __future__ import annotations

import ctypes
from functools import cache

from wengert.ir.pipeline.stages import locked
from wengert.runtime.cpu.engine import Library
from wengert.runtime.cpu.objects import object_code
from wengert.runtime.tape_memory import tape_limit
from wengert.transforms.codegen.cpu.symbols import ALLOWS

_TEXT = f"""
@limit = internal global i64 0, align 8

define i32 @{ALLOWS}(i64 %total) {{
  %most = load i64, ptr @limit
  %within = icmp ule i64 %total, %most
  %answer = zext i1 %within to i32
  ret i32 %answer
}}

define void @wengert_tape_limit_set(i64 %bytes) {{
  store i64 %bytes, ptr @limit
  ret void
}}
"""


class _TapeLimit:
    """The machine code, and how Python sets the limit in it."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        self._library = library = Library(object_code(_TEXT).image)
        llvm.add_symbol(ALLOWS, library.address(ALLOWS))  # pyright: ignore[reportUnknownMemberType]
        self.set = ctypes.CFUNCTYPE(None, ctypes.c_int64)(library.address("wengert_tape_limit_set"))


@cache
def _shared_limit() -> _TapeLimit:
    return _TapeLimit()


@locked
def register() -> None:
    """Makes the function known to LLVM, before code that calls it is loaded, with the limit as it is now."""
    _shared_limit().set(tape_limit())
