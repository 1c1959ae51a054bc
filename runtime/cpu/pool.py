"""The thread pool of compiled programs: machine code of its own, made once per process.

A *job* is a function ``task(frame, chunk, scratch)`` and a number of chunks, of which every thread has a range (:mod:`wengert.runtime.cpu.pool_claims`). A
thread claims chunks by exchanging the count of its range, and goes on to the ranges of others. (Where neighbouring chunks take less together, it claims
half of what is left of a range at once, as in C. Polychronopoulos and D. Kuck, "Guided self-scheduling", IEEE Transactions on Computers 36, 1987, or all
of it if the job is short; a caller without workers all of them.) The caller publishes the job, claims chunks like the workers, and at the end waits for
the chunks that workers have claimed; it never waits for a worker that has not started. Workers look at the word for some microseconds before they sleep on
a futex, and are woken only for jobs that are worth it, or once for a program with many jobs (:mod:`wengert.runtime.cpu.pool_workers`); where sharing has
cost more than it saved, some jobs are not shared. (Workers pay for the coordination, not the caller: the "work-first principle" of Frigo, Leiserson and
Randall, "The implementation of the Cilk-5 multithreaded language", PLDI 1998, for a single loop.)

One caller has the pool at a time; others, and all callers if there is one thread, run their chunks one after another. Which thread
runs a chunk has no influence on the result: chunks are cut by the shapes of a program, never by the number of threads.

``WENGERT_NUM_THREADS`` says how many threads there are, the caller included; otherwise as many as the process has cores.
A forked child starts workers of its own. Workers are never joined: they sleep when the process ends.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

from wengert.ir.pipeline.stages import locked
from wengert.runtime.cpu.blas_threads import blas_text, find_blas
from wengert.runtime.cpu.engine import Library
from wengert.runtime.cpu.objects import object_code
from wengert.runtime.cpu.pool_code import available, pool_text
from wengert.runtime.cpu.thread_count import default_threads
from wengert.transforms.codegen.cpu.symbols import BLAS_HOLD, BLAS_RELEASE, POOL_CLOSE, POOL_JOB, POOL_OPEN, POOL_RUN


def set_threads(count: int) -> None:
    """Sets the number of threads that run a compiled program, the caller included.

    Raises:
        ValueError: the number is not positive.
    """
    if count < 1:
        raise ValueError(f"the number of threads must be positive, not {count}")
    _pool().configure(count)


def threads() -> int:
    """The number of threads that run a compiled program."""
    return _pool().threads


def helped() -> int:
    """The number of chunks that workers have run so far."""
    return _pool().helped()


def jobs() -> tuple[int, int]:
    """How many jobs were shared so far, and for how many of them sleeping workers were woken."""
    return _pool().jobs(), _pool().wakes()


def register(*, blas: bool = False) -> None:
    """Makes the pool known to LLVM, before code that uses it is loaded; ``blas`` if that code calls BLAS."""
    shared = _pool()
    if blas:
        find_blas(shared.library)


class _Pool:
    """The machine code, and its functions that Python calls."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        self.library = Library(object_code(pool_text() + blas_text()).image)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.library))  # workers may look at the code until the process has ended
        for name in (POOL_RUN, POOL_JOB, POOL_OPEN, POOL_CLOSE, BLAS_HOLD, BLAS_RELEASE):
            llvm.add_symbol(name, self.library.address(name))  # pyright: ignore[reportUnknownMemberType]
        self._set = ctypes.CFUNCTYPE(None, ctypes.c_int32)(self.library.address("wengert_pool_set"))
        self.helped = ctypes.CFUNCTYPE(ctypes.c_int64)(self.library.address("wengert_pool_helped"))
        self.jobs, self.wakes = (ctypes.CFUNCTYPE(ctypes.c_int64)(self.library.address(f"wengert_pool_{name}")) for name in ("jobs", "calls"))
        self.threads = 1
        self.configure(default_threads())
        if hasattr(os, "register_at_fork"):
            for name in ("wengert_pool_forked", "wengert_blas_forked"):
                os.register_at_fork(after_in_child=ctypes.CFUNCTYPE(None)(self.library.address(name)))

    def configure(self, count: int) -> None:
        """Sets the number of threads."""
        self.threads = count if available() else 1
        self._set(self.threads - 1)


@cache
def _shared_pool() -> _Pool:
    return _Pool()


@locked
def _pool() -> _Pool:
    return _shared_pool()
