"""The symbols that compiled code calls: functions of the runtime, and SciPy's BLAS and LAPACK (``wg.lapack.*`` and ``wg.blas.*``).

The routines take every argument by address and return nothing. Nothing is written for the occasion: these are the routines that
``scipy.linalg`` itself calls. SciPy's wheels bring them in a library with names of their own (``scipy_dgetrf_``), which is loaded without any of SciPy's
Python: importing that takes longer than compiling most programs. Other builds of SciPy are asked for what they export for Cython.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

POOL_RUN = "wg.pool.run"
POOL_JOB = "wg.pool.job"
POOL_OPEN = "wg.pool.open"
POOL_CLOSE = "wg.pool.close"
BLAS_HOLD = "wg.pool.hold_blas"
BLAS_RELEASE = "wg.pool.release_blas"
"""The functions of the thread pool: they run the chunks of a task, or do so by a description, say that a program with many begins and ends, and hold BLAS at
one thread meanwhile."""
POLL = "wg.interrupts.poll"
CALL_BACK = "wg.interrupts.call_back"
"""The functions that ask whether a signal has come, and that run an op in the interpreter: they call one of Python, and keep what that raises."""
ALLOWS = "wg.memory.allows"
"""The function of the runtime that checks whether tapes may take so many bytes."""
FREE = "wg.tapes.free"
"""The function of the program itself that frees the tapes of a call; the entry calls it before each return."""

OF_RUNTIME = (POOL_RUN, POOL_JOB, POOL_OPEN, POOL_CLOSE, BLAS_HOLD, BLAS_RELEASE, POLL, CALL_BACK, ALLOWS)
"""All of them that the runtime makes known to LLVM by itself."""

_registered: set[str] = set()


def symbol(library: str, routine: str) -> str:
    """The symbol of a routine of ``blas`` or ``lapack``."""
    return f"wg.{library}.{routine}"


@cache
def shared_library() -> ctypes.CDLL | None:
    """The shared library of SciPy's module for LAPACK, through which the names of BLAS and LAPACK are seen that it is linked to; None if there is no such
    file. SciPy is not imported."""
    spec = find_spec("scipy")
    folders = spec.submodule_search_locations if spec is not None else None
    for folder in folders or ():
        for suffix in EXTENSION_SUFFIXES:
            path = Path(folder) / "linalg" / f"cython_lapack{suffix}"
            if path.exists():
                with suppress(OSError):
                    return ctypes.CDLL(str(path))
    return None


def address(name: str) -> int:
    """The address of the routine with this symbol."""
    _, library, routine = name.split(".")
    function = getattr(shared_library(), f"scipy_{routine}_", None)
    return _exported(library, routine) if function is None else ctypes.cast(function, ctypes.c_void_p).value or 0


def _exported(library: str, routine: str) -> int:
    """The address of what SciPy exports for Cython."""
    if library == "blas":
        import scipy.linalg.cython_blas as module
    else:
        import scipy.linalg.cython_lapack as module
    capsule = vars(module)["__pyx_capi__"][routine]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer_of(capsule, name_of(capsule))


def register_symbols(names: Iterable[str]) -> None:
    """Makes the routines known to LLVM, before code that calls them is loaded."""
    for name in names:
        if name not in _registered:
            import llvmlite.binding as llvm

            llvm.add_symbol(name, address(name))  # pyright: ignore[reportUnknownMemberType]
            _registered.add(name)
