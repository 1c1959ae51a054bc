"""Registers routines that compiled code calls, by symbols: BLAS and LAPACK as SciPy exports them for Cython (``wg.lapack.*`` and ``wg.blas.*``).

The routines of BLAS and LAPACK take every argument by address and return nothing. Nothing is written for the occasion: these are the routines that
``scipy.linalg`` itself calls.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

ALLOWS = "wg.memory.allows"
"""The function of the runtime that checks whether tapes may take so many bytes."""
FREE = "wg.tapes.free"
"""The function of the program itself that frees the tapes of a call; the entry calls it before each return."""

_registered: set[str] = set()


def symbol(library: str, routine: str) -> str:
    """The symbol of a routine of ``blas`` or ``lapack``."""
    return f"wg.{library}.{routine}"


def address(name: str) -> int:
    """The address of the routine with this symbol."""
    _, library, routine = name.split(".")
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
    import llvmlite.binding as llvm

    for name in names:
        if name not in _registered:
            llvm.add_symbol(name, address(name))  # pyright: ignore[reportUnknownMemberType]
            _registered.add(name)
