"""Arrays in files, ``.npz`` and ``.npy``, read one by one: what is not asked for is not read, and nothing is read that does not fit.

NumPy's own reader takes a file at its word: it allocates what a header claims, and decompresses whatever an archive holds.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from math import prod
from typing import Any, BinaryIO

import numpy as np
from msgspec import Struct
from numpy.lib import format as npy

from wengert.ir.parsing.sources import check_kind

Array = np.ndarray[Any, np.dtype[Any]]


class ArchiveError(Exception):
    """A file is not what its kind says, or an array in it is not."""


class Header(Struct, frozen=True):
    """The header of a file: shape and dtype of its array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran_order: bool

    @property
    def size(self) -> int:
        """The bytes that the elements take."""
        return prod(self.shape) * self.dtype.itemsize

    def empty(self) -> Array:
        """An array of this shape and dtype that takes no memory."""
        return np.broadcast_to(np.zeros((), self.dtype), self.shape)


class Archive:
    """The arrays of a file by their names; a file of one array has it under ``in_0``."""

    def __init__(self, file: BinaryIO):
        self._file = file
        self._zip = None if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX else _zip_file(file)
        self._members = {"in_0": ""} if self._zip is None else {name.removesuffix(".npy"): name for name in self._zip.namelist()}

    @property
    def keys(self) -> list[str]:
        """The names."""
        return list(self._members)

    def header(self, key: str) -> Header:
        """Shape and dtype of an array, without reading it."""
        with self._stream(key) as (stream, _):
            return _header(stream, key)

    def array(self, key: str) -> Array:
        """An array."""
        with self._stream(key) as (stream, size):
            header = _header(stream, key)
            rest = size - stream.tell()
            if header.size != rest:
                raise ArchiveError(f"'{key}' says that it holds {header.size} bytes of elements, and holds {max(rest, 0)}")
            data = _guarded(key, lambda: stream.read(header.size))
            if len(data) != header.size:
                raise ArchiveError(f"'{key}' is cut short")
        return np.frombuffer(data, header.dtype).reshape(header.shape, order="F" if header.fortran_order else "C")

    @contextmanager
    def _stream(self, key: str) -> Generator[tuple[BinaryIO, int]]:
        """The bytes of an array, and how many there are."""
        if self._zip is None:
            self._file.seek(0)
            yield self._file, os.fstat(self._file.fileno()).st_size
            return
        member = self._zip.getinfo(self._members[key])
        if member.flag_bits & 1:
            raise ArchiveError(f"'{key}' is encrypted")
        archive = self._zip
        with _guarded(key, lambda: archive.open(member)) as stream:
            yield stream, member.file_size  # pyright: ignore[reportReturnType]


@contextmanager
def opened(path: str) -> Generator[Archive]:
    """The archive in a regular file.

    Raises:
        OSError: the file is not there or may not be read.
        ArchiveError: it is not a file of arrays.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        check_kind(handle, path)
        if not file.seekable():
            raise ArchiveError("it is a pipe; arrays are read from files")
        yield Archive(file)


def _zip_file(file: BinaryIO) -> zipfile.ZipFile:
    file.seek(0)
    if not file.read(1):
        raise ArchiveError("it is empty")
    try:
        return zipfile.ZipFile(file)
    except Exception as error:  # zipfile raises what its pieces raise
        raise ArchiveError(f"it is neither an .npz nor an .npy file ({error})") from None


def _guarded(key: str, read: Any) -> Any:
    try:
        return read()
    except MemoryError:
        raise ArchiveError(f"there is not enough memory for '{key}'") from None
    except Exception as error:  # a decompressor's error, a wrong checksum, an unknown method
        raise ArchiveError(f"'{key}' is damaged ({error})") from None


def _header(stream: BinaryIO, key: str) -> Header:
    def read() -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
        version = npy.read_magic(stream)
        return npy.read_array_header_1_0(stream) if version == (1, 0) else npy.read_array_header_2_0(stream)

    try:
        shape, fortran_order, dtype = read()
    except (Exception, RecursionError) as error:  # it evaluates a Python literal
        raise ArchiveError(f"'{key}' is not an array ({str(error).splitlines()[0][:80] if str(error) else type(error).__name__})") from None
    if dtype.hasobject:
        raise ArchiveError(f"'{key}' holds Python objects, which are not read")
    if dtype.shape:
        raise ArchiveError(f"'{key}' says that its elements are arrays of shape {dtype.shape}")
    if any(type(extent) is not int or extent < 0 for extent in shape) or prod(shape) * max(dtype.itemsize, 1) > 1 << 62:
        raise ArchiveError(f"'{key}' says that its shape is {shape}")
    return Header(shape, dtype, bool(fortran_order))
