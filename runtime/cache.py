"""Keeps compiled objects on disk, by the hash of what they were compiled from, and what is known of programs, by their identities.

The folder is ``$WENGERT_CACHE``, or ``wengert`` in the user's cache folder; ``WENGERT_CACHE=off`` turns the cache off.
Files are written under another name and renamed, so that a reader sees a whole file or none, whatever other processes do.
When the folder outgrows its limit (``$WENGERT_CACHE_MB``, 512), the files not used for longest go. A damaged, foreign or unwritable
cache is never an error: it only costs compile time.

An entry is machine code that will run with the rights of the user who loads it. So folders and files are used only if they belong to this user and
no other user can write to them; then only this user can have made them, and a secret key in the checksum would protect nothing more, since
who can write the user's files can read the key. The checksum detects damage, and an entry under the name of another: it
covers the name. Only regular files are opened: a pipe of that name would keep the reader waiting, a link lead elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import stat
import time
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

_MAGIC = b"wengert2"
_DIGEST = 32
_NAME = 40
_HEADER = len(_MAGIC) + _DIGEST + _NAME
_SWEEP_EVERY = 64
Suffix = Literal[".o", ".known"]
OBJECT, KNOWN = ".o", ".known"
"""The kinds of entries: machine code, and what is known of a program that was compiled (its signature, or what its machine code needs to run)."""
_PART = ".part"
_ABANDONED_AFTER = 600
"""Seconds after which an unfinished file is taken to be abandoned."""
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_LIMIT = "WENGERT_CACHE_MB"
_writes = itertools.count()
_parts = itertools.count()


def folder() -> Path | None:
    """The folder of the cache, or None if the cache is off."""
    setting = os.environ.get("WENGERT_CACHE", "")
    if setting.lower() == "off":
        return None
    return Path(setting) if setting else _default()


def _default() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "wengert"


def key(*parts: str) -> str:
    """The name of an entry: a hash of everything that its content depends on."""
    digest = hashlib.blake2b(digest_size=_NAME // 2)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def distrusted(home: Path) -> str | None:
    """Why a folder is not used, or None if it is, or is not there yet."""
    try:
        return _objection(os.stat(home), "folder")
    except OSError:
        return None


def _objection(status: os.stat_result, what: Literal["folder", "file"]) -> str | None:
    if not (stat.S_ISDIR if what == "folder" else stat.S_ISREG)(status.st_mode):
        return f"it is no {what}"
    if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        return "it belongs to another user"
    return "others can write to it" if os.name == "posix" and status.st_mode & _OTHERS_WRITE else None


@contextlib.contextmanager
def _opened(home: Path) -> Generator[int]:
    """The folder, which only this user can write to, as a file descriptor; OSError otherwise."""
    descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if reason := _objection(os.fstat(descriptor), "folder"):
            raise PermissionError(f"{home}: {reason}")
        yield descriptor
    finally:
        os.close(descriptor)


def read(name: str, suffix: Suffix = OBJECT) -> bytes | None:
    """The entry of this name and kind, or None if there is none that is whole and was made by this user.

    Raises:
        InputError: ``WENGERT_CACHE_MB`` is not a number.
    """
    home = folder()
    if home is None:
        return None
    most = limit()
    try:
        with _opened(home) as descriptor:
            data = _content(descriptor, name + suffix, most)
    except OSError:
        return None
    return data[_HEADER:] if data[: len(_MAGIC)] == _MAGIC and data[:_HEADER] == _header(name, data[_HEADER:]) else None


def _content(folder: int, file_name: str, most: int) -> bytes:
    """The content of a file in a folder; OSError if it cannot be trusted."""
    descriptor = os.open(file_name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if reason := _objection(status, "file"):
            raise PermissionError(f"{file_name}: {reason}")
        if status.st_size > max(most, _HEADER):
            raise OSError(f"{file_name}: it is larger than the whole cache may be")
        data = file.read()
        with contextlib.suppress(OSError):
            os.utime(descriptor)
    return data


def _header(name: str, data: bytes) -> bytes:
    """The header of an entry: the format, a checksum of the rest, and the entry's name."""
    entry = name.encode().ljust(_NAME)
    digest = hashlib.blake2b(entry, digest_size=_DIGEST)
    digest.update(data)
    return _MAGIC + digest.digest() + entry


def write(name: str, data: bytes, suffix: Suffix = OBJECT) -> None:
    """Keeps an entry, if the folder can be written and is this user's alone."""
    home = folder()
    if home is None:
        return
    try:
        with _opened_or_made(home) as descriptor:
            _write_file(descriptor, name + suffix, _header(name, data) + data)
        if suffix == OBJECT and next(_writes) % _SWEEP_EVERY == 0:
            sweep(home)
    except OSError:
        return


def _opened_or_made(home: Path) -> AbstractContextManager[int]:
    """The folder, made if it is not there, as a file descriptor; OSError if it is not this user's alone."""
    try:
        is_right = _objection(os.stat(home), "folder") is None
    except FileNotFoundError:
        is_right = False
    if not is_right:
        _make_folder(home)
    return _opened(home)


def _make_folder(home: Path) -> None:
    """Makes the folder, for this user alone. The rights of the default folder are corrected if an earlier version made it writable for others."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home == _default() and distrusted(home) == "others can write to it":
        home.chmod(stat.S_IMODE(home.stat().st_mode) & ~_OTHERS_WRITE)


def _write_file(folder: int, file_name: str, data: bytes) -> None:
    part = f"{os.getpid()}-{next(_parts)}-{time.monotonic_ns():x}{_PART}"
    written = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    try:
        with open(written, "wb") as file:
            file.write(data)
        os.replace(part, file_name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


def limit() -> int:
    """The bytes that the folder may hold.

    Raises:
        InputError: ``WENGERT_CACHE_MB`` is not a number.
    """
    setting = os.environ.get(_LIMIT, "").strip() or "512"
    if not (setting.isascii() and setting.isdecimal() and len(setting) < 10):
        from wengert.runtime.errors import InputError

        raise InputError(f"{_LIMIT} must be a whole number of megabytes (0 keeps nothing, WENGERT_CACHE=off turns the cache off), found {setting!r}")
    return int(setting) << 20


def entries(home: Path) -> list[tuple[float, int, Path]]:
    """The entries in a folder with the times of their last use and their sizes in bytes, the one not used for longest first."""
    return sorted(_files(home, f"*{OBJECT}") + _files(home, f"*{KNOWN}"))


def _files(home: Path, pattern: str) -> list[tuple[float, int, Path]]:
    files: list[tuple[float, int, Path]] = []
    for path in home.glob(pattern):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                files.append((status.st_mtime, status.st_size, path))
    return sorted(files)


def sweep(home: Path, most: int | None = None) -> int:
    """Removes the entries not used for longest until the folder holds at most so many bytes (its limit); returns how many went.

    Unfinished files of processes that ended while they wrote are removed too.
    """
    most = limit() if most is None else most
    for written, _, path in _files(home, f"*{_PART}"):
        if most == 0 or time.time() - written > _ABANDONED_AFTER:
            with contextlib.suppress(OSError):
                path.unlink()
    kept = entries(home)
    total = sum(size for _, size, _ in kept)
    removed = 0
    for _, size, path in kept:
        if total <= most:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            removed += 1
        total -= size
    return removed
