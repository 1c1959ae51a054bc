"""``@wengert.offload`` and ``@wengert.fetch``: values that are outside of the program's memory for a while.

A value goes to a file of its own without a name, which the system removes with the process, mapped into memory while it is written and read; or to an array
(``host``). Tickets are numbers; several threads may run programs at once.
"""

from __future__ import annotations

import itertools
import mmap
import os
import tempfile
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr

from wengert.dialects import stablehlo
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime.errors import ExecutionError

Array = np.ndarray[Any, np.dtype[Any]]
FOLDER = "WENGERT_OFFLOAD"
"""The environment variable that names the folder of the files."""


class _Store:
    """The values that are offloaded now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tickets = itertools.count(1)
        self._kept: dict[int, Callable[[], Array]] = {}

    def put(self, value: Array, place: str) -> int:
        """Keeps a value; returns its ticket."""
        read = _in_file(value) if place == "disk" else _in_memory(value)
        with self._lock:
            ticket = next(self._tickets)
            self._kept[ticket] = read
        return ticket

    def take(self, ticket: int) -> Array | None:
        """Returns a value and forgets it; None if there is none."""
        with self._lock:
            read = self._kept.pop(ticket, None)
        return None if read is None else read()

    def __len__(self) -> int:
        return len(self._kept)


STORE = _Store()


def _in_memory(value: Array) -> Callable[[], Array]:
    copy = np.array(value)
    return lambda: copy


class _Files:
    """Files without names, mapped into memory, and used again by values of about the same size when what was read of them is not needed any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: dict[tuple[str, int], list[mmap.mmap]] = {}

    def borrow(self, folder: str, size: int) -> mmap.mmap:
        """A mapped file of at least so many bytes."""
        with self._lock:
            free = self._free.get((folder, size))
            if free:
                return free.pop()
        with tempfile.TemporaryFile(dir=folder or None, prefix="wengert-offload-") as file:  # the mapping keeps it
            os.posix_fallocate(file.fileno(), 0, size)  # a full disk is an error here, and no signal at the first write to a page
            return mmap.mmap(file.fileno(), size)

    def give_back(self, folder: str, mapped: mmap.mmap) -> None:
        """Takes a file that nobody reads any more."""
        with self._lock:
            self._free.setdefault((folder, len(mapped)), []).append(mapped)


FILES = _Files()


def _in_file(value: Array) -> Callable[[], Array]:
    """Writes a value to a mapped file, of which no page stays in the memory of the process."""
    dtype, extents = value.dtype, value.shape
    if not value.nbytes:
        return lambda: np.empty(extents, dtype)
    folder = os.environ.get(FOLDER, "")
    mapped = FILES.borrow(folder, max(mmap.PAGESIZE, 1 << (value.nbytes - 1).bit_length()))
    np.ndarray(extents, dtype, buffer=mapped)[...] = value
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)

    def read() -> Array:
        view = np.ndarray(extents, dtype, buffer=mapped)
        weakref.finalize(view, FILES.give_back, folder, mapped)  # what is computed of the view refers to it
        return view

    return read


def offload(op: stablehlo.CustomCallOp) -> Callable[[Array], Array]:
    """Takes a value away."""
    config = op.properties.get("backend_config")
    place = config.data if isinstance(config, StringAttr) else "disk"
    if place not in ("disk", "host"):
        raise ExecutionError(op, f"offloads to {place!r}; there are disk and host")

    def run(value: Array) -> Array:
        try:
            return np.asarray(STORE.put(np.asarray(value), place), np.int64)
        except OSError as error:
            raise ExecutionError(op, f"cannot keep {np.asarray(value).nbytes} bytes on disk: {error}; {FOLDER} names another folder") from None

    return run


def fetch(op: stablehlo.CustomCallOp) -> Callable[[Array], Array]:
    """Brings a value back."""
    wanted = shape(op.results[0]), dtype_of(element(op.results[0]))

    def run(ticket: Array) -> Array:
        value = STORE.take(int(ticket))
        if value is None:
            raise ExecutionError(op, f"fetches ticket {int(ticket)}, which is no value's: each is good for one fetch")
        if (value.shape, value.dtype) != wanted:
            raise ExecutionError(op, f"fetches a value of shape {value.shape} and type {value.dtype}")
        return value

    return run
