"""Loads an object file together with what its code calls: the thread pool, BLAS and LAPACK, functions of the runtime."""

from __future__ import annotations

from collections.abc import Collection

from wengert.runtime.cpu import interrupts, pool, tape_memory
from wengert.runtime.cpu.engine import Library
from wengert.transforms.codegen.cpu.native import register_symbols
from wengert.transforms.codegen.cpu.native.symbols import ALLOWS
from wengert.transforms.codegen.cpu.polls import CALL_BACK, POLL
from wengert.transforms.codegen.cpu.tasks import BLAS_HOLD, DECLARATIONS


def linked(image: bytes, symbols: Collection[str], *, debug_lines: bool = False) -> Library:
    """The machine code of an object file in memory; ``symbols`` are those that it refers to. With ``debug_lines`` profilers are told of it."""
    if any(symbol in DECLARATIONS for symbol in symbols):
        pool.register(blas=BLAS_HOLD in symbols)
    if POLL in symbols or CALL_BACK in symbols:
        interrupts.register()
    if ALLOWS in symbols:
        tape_memory.register()
    register_symbols([symbol for symbol in symbols if symbol not in DECLARATIONS and symbol not in (ALLOWS, CALL_BACK, POLL)])
    return Library(image, profiled=debug_lines)
