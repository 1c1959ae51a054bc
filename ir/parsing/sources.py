"""Reading the text of a program from a file or a stream, whatever is there: only files and pipes, only so much, only UTF-8."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from typing import BinaryIO, TextIO

from wengert.ir.diagnostics import Diagnostic, DiagnosticError

MOST_BYTES = 1 << 31
"""Longer texts are refused: their IR would take hundreds of times as much memory."""


def read_bytes(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """The bytes of a regular file or a pipe.

    Raises:
        OSError: the file is not there, may not be read, or is a folder, a device or a socket; or it is too large.
    """
    # Without waiting: a pipe that nobody writes to is empty, and whoever made one for us writes already.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        check_kind(handle, path)
        if hasattr(os, "set_blocking"):
            os.set_blocking(handle, True)
        with os.fdopen(handle, "rb", closefd=False) as file:
            return _bounded(file, os.fspath(path), most)
    finally:
        os.close(handle)


def read_standard_input() -> bytes:
    """Reads standard input, under the same conditions."""
    stream: TextIO = sys.stdin
    binary = getattr(stream, "buffer", None)
    if binary is None:
        return stream.read().encode("utf-8", "surrogatepass")
    if not stream.isatty():
        with suppress(AttributeError, ValueError):  # a stream without a file
            check_kind(stream.fileno(), "standard input")
    return _bounded(binary, "standard input", MOST_BYTES)


def check_kind(handle: int, path: str | os.PathLike[str]) -> None:
    """Raises OSError for what is neither a regular file nor a pipe: a device may never end."""
    mode = os.fstat(handle).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "Is a directory", os.fspath(path))
    if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        raise OSError(22, "not a file but a device", os.fspath(path))


def _bounded(file: BinaryIO, path: str, most: int) -> bytes:
    try:
        size = os.fstat(file.fileno()).st_size
    except (AttributeError, OSError, ValueError):  # a stream without a file
        size = 0
    data = file.read(most + 1) if size <= most else b""
    if size > most or len(data) > most:
        raise OSError(27, f"larger than {most / 2**30:.0f} GiB, the most that is read as a program", path)
    return data


def decoded(data: bytes, filename: str) -> str:
    """Bytes as the text that they are, or a DiagnosticError at the first that is not UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - (before.rfind(b"\n") + 1) + 1
        message = f"the text is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        raise DiagnosticError(Diagnostic(message, filename, line, column)) from None
