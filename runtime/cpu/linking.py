"""Loads the object files of a program together with what their code calls: the thread pool, BLAS and LAPACK, functions of the runtime."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from wengert.runtime.cpu.engine import Library
from wengert.transforms.codegen.cpu.symbols import ALLOWS, BLAS_HOLD, BLAS_RELEASE, CALL_BACK, OF_RUNTIME, POLL, POOL_JOB, POOL_RUN, register_symbols


def linked(images: Sequence[bytes], symbols: Collection[str], *, debug_lines: bool = False) -> Library:
    """The machine code of object files in memory; ``symbols`` are those from outside that they refer to. With ``debug_lines`` profilers are told of it."""
    if not {POOL_RUN, POOL_JOB, BLAS_HOLD, BLAS_RELEASE}.isdisjoint(symbols):
        from wengert.runtime.cpu import pool  # here, as the others: small programs do without

        pool.register(blas=BLAS_HOLD in symbols)
    if not {POLL, CALL_BACK}.isdisjoint(symbols):
        from wengert.runtime.cpu import interrupts

        interrupts.register()
    if ALLOWS in symbols:
        from wengert.runtime.cpu import tape_memory

        tape_memory.register()
    register_symbols(symbol for symbol in symbols if symbol not in OF_RUNTIME)
    return Library(*images, profiled=debug_lines)
