"""Loads an object file together with what its code calls: the thread pool, BLAS and LAPACK, functions of the runtime."""

from __future__ import annotations

from collections.abc import Collection

from wengert.runtime.cpu.engine import Library
from wengert.transforms.codegen.cpu.symbols import ALLOWS, BLAS_HOLD, BLAS_RELEASE, CALL_BACK, OF_RUNTIME, POLL, POOL_RUN, register_symbols


def linked(image: bytes, symbols: Collection[str]) -> Library:
    """The machine code of an object file in memory; ``symbols`` are those that it refers to."""
    if not {POOL_RUN, BLAS_HOLD, BLAS_RELEASE}.isdisjoint(symbols):
        from wengert.runtime.cpu import pool  # here, as the others: small programs do without

        pool.register(blas=BLAS_HOLD in symbols)
    if not {POLL, CALL_BACK}.isdisjoint(symbols):
        from wengert.runtime.cpu import interrupts

        interrupts.register()
    if ALLOWS in symbols:
        from wengert.runtime.cpu import tape_memory

        tape_memory.register()
    register_symbols(symbol for symbol in symbols if symbol not in OF_RUNTIME)
    return Library(image)
