"""Compiled objects on disk, by the hash of what they were compiled from.

The folder is ``$WENGERT_CACHE``, or ``wengert`` in the user's cache folder; ``WENGERT_CACHE=off`` turns the cache off.
Files are written under another name and renamed, so that a reader sees a whole file or none, whatever other processes do.
When the folder outgrows its limit (``$WENGERT_CACHE_MB``, 512), the files not used for longest go. A damaged or unwritable
cache is never an error: it only costs compile time.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import tempfile
from pathlib import Path

_MAGIC = b"wengert1"
_SWEEP_EVERY = 64
_writes = itertools.count()


def folder() -> Path | None:
    """Where objects are kept, or None if the cache is off."""
    setting = os.environ.get("WENGERT_CACHE", "")
    if setting.lower() == "off":
        return None
    if setting:
        return Path(setting)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "wengert"


def key(*parts: str) -> str:
    """The name of an entry: a hash of everything that its content depends on."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def read(name: str) -> bytes | None:
    """The entry of this name, or None if there is none that is whole."""
    home = folder()
    if home is None:
        return None
    path = home / f"{name}.o"
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if data[:8] != _MAGIC or hashlib.blake2b(data[40:], digest_size=32).digest() != data[8:40]:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return data[40:]


def write(name: str, data: bytes) -> None:
    """Keeps an entry, if the folder can be written."""
    home = folder()
    if home is None:
        return
    try:
        home.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=home, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.blake2b(data, digest_size=32).digest() + data)
        os.replace(temporary, home / f"{name}.o")
        if next(_writes) % _SWEEP_EVERY == 0:
            sweep(home)
    except OSError:
        return


def limit() -> int:
    """The bytes that the folder may hold."""
    return int(os.environ.get("WENGERT_CACHE_MB", "512")) << 20


def entries(home: Path) -> list[tuple[float, int, Path]]:
    """The objects in a folder with the times of their last use and their sizes in bytes, the one not used for longest first."""
    found: list[tuple[float, int, Path]] = []
    for path in home.glob("*.o"):
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime, status.st_size, path))
    return sorted(found)


def sweep(home: Path, most: int | None = None) -> int:
    """Removes the entries not used for longest until the folder holds at most so many bytes (its limit); returns how many went."""
    most = limit() if most is None else most
    held = entries(home)
    total = sum(size for _, size, _ in held)
    removed = 0
    for _, size, path in held:
        if total <= most:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            removed += 1
        total -= size
    return removed
