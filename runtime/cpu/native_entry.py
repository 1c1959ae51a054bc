"""Calls compiled programs without Python in between: machine code checks the arguments and allocates the results.

One function, written as LLVM text (``native_entry_code``) and made once per process, serves all programs. It is wrapped as a built-in function
(``METH_FASTCALL``) whose ``self`` is a tuple that describes one program: a table of words (:func:`_words`), the results kept
for reuse, and what they refer to. It takes arrays that are exactly what the program expects; anything else, and any number
of arguments that is not right, goes to the Python path (*slow*), which converts or complains.

A result that only this function still refers to, and whose type and shape are unchanged, is written again instead of
allocating another: fresh memory costs more to touch than most programs cost to run. Two generations are kept, so that
``x = f(x)`` reuses as well.

The code reads the objects of CPython and NumPy at fixed offsets. It is used only with versions whose layout is known, and
only after it has passed a test on this very interpreter (:func:`_passes_test`). ``WENGERT_NATIVE_ENTRY=off`` turns it off.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct

from wengert.runtime.cpu.engine import Library
from wengert.runtime.cpu.native_entry_code import HEADER, TEXT
from wengert.runtime.cpu.objects import object_code

Array = np.ndarray[Any, np.dtype[Any]]
Call = Callable[..., tuple[Array, ...]]

_ALIGNMENT = 64
_METH_FASTCALL = 0x80
_PYTHONS = ((3, 10), (3, 15))
"""The first CPython whose objects lie as the code has them, and the first that is not known."""
_NUMPYS = ((1, 24), (3, 0))

_RELEASE_ABOVE = 1 << 16
"""Programs that touch more bytes than this, or call back, let other Python threads run meanwhile."""


class Callee(Struct, frozen=True):
    """A compiled program: the address of its entry, what the table of pointers ends with, and its types."""

    address: int
    tail: Sequence[int]
    arguments: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]
    results: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]
    arena_bytes: int
    calls_back: bool


def native_call(callee: Callee, slow: Call, fail: Callable[[int], Any], keep: Any) -> Call | None:
    """The program as a built-in function, or None where that is not known to work.

    Args:
        callee: the program.
        slow: takes all calls whose arguments are not exactly the expected arrays.
        fail: raises the exception of a call that failed, by the address of its table of pointers.
        keep: what must live as long as the function.
    """
    wrap = _wrapper()
    return None if wrap is None else _function(wrap, callee, slow, fail, keep)


# -- the description of one program


def _function(wrap: Callable[[Any], Call], callee: Callee, slow: Call, fail: Callable[[int], Any], keep: Any) -> Call:
    slots: list[Any] = [None] * (2 * len(callee.results))
    memory = np.empty(callee.arena_bytes + _ALIGNMENT, np.uint8)
    shapes = [np.array(shape, np.intp) for _, shape in (*callee.arguments, *callee.results)]
    words = _words(callee, id(slow), id(fail), memory, shapes)
    return wrap((words, slots, slow, fail, memory, shapes, (keep, wrap)))  # what it keeps lives as long as the function: the code that serves all, too


def _words(callee: Callee, slow: int, fail: int, memory: Array, shapes: Sequence[Array]) -> Array:
    """What the machine code reads: a header, a record for each argument and result, and the tail of the table."""
    records: list[int] = []
    for (dtype, shape), extents in zip((*callee.arguments, *callee.results), shapes, strict=True):
        records += [id(dtype), len(shape), extents.ctypes.data, 0]
    arena = (memory.ctypes.data + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
    count = len(callee.arguments), len(callee.results), len(callee.tail)
    touched = memory.nbytes + sum(dtype.itemsize * prod(shape) for dtype, shape in (*callee.arguments, *callee.results))
    release = callee.calls_back or touched > _RELEASE_ABOVE
    header = [callee.address, slow, fail, *count, arena, max(memory.nbytes, _ALIGNMENT), int(release), id(np.ndarray), 0, 0]
    assert len(header) == HEADER
    return np.array([*header, *records, *callee.tail], np.uintp)


# -- the function that serves all


class _MethodDef(ctypes.Structure):
    """``PyMethodDef``."""

    _fields_ = (("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


@lru_cache(maxsize=1)
def _wrapper() -> Callable[[Any], Call] | None:
    """What makes a built-in function of a description, or None if the code does not fit this interpreter."""
    if os.environ.get("WENGERT_NATIVE_ENTRY", "").lower() == "off" or not _is_known():
        return None
    try:
        library = _library()
    except (RuntimeError, AttributeError, OSError):  # a build of CPython or NumPy that is not as others are
        return None
    method = _MethodDef(b"compiled", library.address("wengert_call"), _METH_FASTCALL, b"A compiled program: arrays in, a tuple of arrays out.")
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(("PyCFunction_NewEx", ctypes.pythonapi))

    def wrap(description: Any, _kept: tuple[Any, ...] = (library, method)) -> Call:
        return new(ctypes.addressof(method), description, None)

    return wrap if _passes_test(wrap, library.address("wengert_probe")) else None


def _is_known() -> bool:
    """Whether the objects of this interpreter and this NumPy lie as the code has them."""
    if sys.implementation.name != "cpython" or hasattr(sys, "getobjects") or getattr(sys, "_is_gil_enabled", lambda: True)() is False:
        return False
    release = tuple(int(part) for part in np.__version__.split(".")[:2])
    versions = _PYTHONS[0] <= sys.version_info[:2] < _PYTHONS[1] and _NUMPYS[0] <= release < _NUMPYS[1]
    return versions and ctypes.sizeof(ctypes.c_void_p) == 8 and sys.byteorder == "little" and platform.system() in ("Linux", "Darwin")


def _library() -> Library:
    import llvmlite.binding as llvm

    core: Any = getattr(np, "_core", None) or getattr(np, "core")  # noqa: B009
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(pointer(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    if table[2] != id(np.ndarray):
        raise RuntimeError("NumPy's C interface is not where it should be")
    llvm.add_symbol("wengert_PyArray_NewFromDescr", table[94])  # pyright: ignore[reportUnknownMemberType]
    for name in ("PyTuple_GetItem", "PyTuple_New", "PyTuple_SetItem", "PyList_GetItem", "PyList_SetItem", "Py_IncRef", "Py_DecRef"):
        _export(name)
    for name in ("PyEval_SaveThread", "PyEval_RestoreThread", "PyObject_Vectorcall", "PyLong_FromVoidPtr", "PyErr_NoMemory"):
        _export(name)
    return Library(object_code(TEXT).image)


def _export(name: str) -> None:
    """Tells LLVM where a function of the interpreter is."""
    import llvmlite.binding as llvm

    address = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert address is not None
    llvm.add_symbol(name, address)  # pyright: ignore[reportUnknownMemberType]


class _Subclass(np.ndarray[Any, np.dtype[Any]]):
    """For the test: not exactly an array."""


def _passes_test(wrap: Callable[[Any], Call], probe: int) -> bool:
    """Calls a small program in all ways that matter, and checks the results and reference counts."""
    dtype = np.dtype(np.float64)
    seen: list[tuple[Any, ...]] = []

    def slow(*arguments: Any) -> Any:
        seen.append(arguments)
        return ()

    def fail(address: int) -> Any:
        raise ZeroDivisionError(hex(address))

    callee = Callee(probe, [0], [(dtype, (1, 1))], [(dtype, (1, 1))], 64, False)
    call = _function(wrap, callee, slow, fail, None)
    x = np.full((1, 1), 2.5)
    before = _references(x, dtype)
    results = [call(x) for _ in range(4)]
    if not all(type(r) is tuple and len(r) == 1 and r[0].shape == (1, 1) and r[0].dtype is dtype and r[0][0, 0] == 2.5 for r in results):
        return False
    if len({r[0].ctypes.data for r in results}) != 4 or any(r[0].base is not None for r in results):
        return False
    del results
    again = call(x)[0].ctypes.data == call(x)[0].ctypes.data  # a result without other references is written again
    for arguments in ((), (x, x), (x[0],), (x.astype(np.float32),), (2.5,), (np.broadcast_to(x, (2, 1)),), (x.astype(">f8"),), (x.view(_Subclass),)):
        seen.clear()
        if call(*arguments) != () or len(seen) != 1 or len(seen[0]) != len(arguments):
            return False
        arguments = ()
    seen.clear()
    try:
        call(np.zeros((1, 1)))
        return False
    except ZeroDivisionError:
        pass
    after = _references(x, dtype)
    return again and after[0] == before[0] and abs(after[1] - before[1]) <= 4


def _references(*objects: Any) -> list[int]:
    """The reference counts of objects, always asked for in the same way: from Python 3.14 on, some ways count one less."""
    return [sys.getrefcount(x) for x in objects]
