"""Marks the bytes of the interpreter's memory that have been written: a mark for each byte of what :func:`allocate` makes.

A part of memory finds its marks by the array that owns it, so that views need not carry anything. Memory that somebody else made, such as the arrays of the
caller, counts as written. Kernels of devices are checked against the marks; ops of the host keep them up to date.
"""

from __future__ import annotations

from typing import Any
from weakref import finalize

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
POISON = 0xFE
"""What memory holds that nobody has written: a large negative number, or NaN as a float."""

_MARKS: dict[int, Array] = {}
"""The marks of each allocation, by the identity of the array that owns it."""


def address(array: Array) -> int:
    """The address of an array's memory."""
    return array.__array_interface__["data"][0]


def allocate(count: int) -> Array:
    """So many bytes that nobody has written."""
    memory = np.full(count, POISON, np.uint8)
    _MARKS[id(memory)] = np.zeros(count, np.bool_)
    finalize(memory, _MARKS.pop, id(memory)).atexit = False
    return memory


def owner(array: Array) -> Array:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def marks_of(array: Array) -> Array | None:
    """A mark for each byte of a contiguous array, which says whether it has been written; None: all have."""
    memory = owner(array)
    marks = _MARKS.get(id(memory))
    if marks is None:
        return None
    start = address(array) - address(memory)
    return marks[start : start + array.nbytes]


def mark(array: Array, *, written: bool = True) -> None:
    """Marks all bytes of an array."""
    marks = marks_of(array)
    if marks is not None:
        marks[...] = written


def copy_marks(source: Array, target: Array) -> None:
    """Marks the bytes of one array as those of another of the same size are."""
    given, marks = marks_of(source), marks_of(target)
    if marks is not None:
        marks[...] = True if given is None else given.copy()
