"""Compiled programs on disk, by the identity of the program: machine code, and all that it needs to run.

What :func:`wengert.runtime.cpu.compile` makes of a program depends on the program, the options and the processor. The entry of the three names the
object files of its parts, which stay entries of their own: programs whose text is the same share them. A program that calls the interpreter back is not
kept, since it needs its ops; nor is one with constants of many megabytes, which its text holds already.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from wengert.runtime import cache
from wengert.runtime.cpu import shared_functions
from wengert.runtime.cpu.entry import CompiledFunction, Source, Stats
from wengert.runtime.cpu.linking import linked
from wengert.runtime.cpu.options import Options
from wengert.runtime.memory import excess
from wengert.runtime.signature import Signature
from wengert.transforms.schedule.host import host

_MOST_CONSTANTS = 16 << 20
"""Bytes of constants above which a program is not kept."""


class _Entry(Struct, frozen=True, array_like=True):
    """What is kept of a compiled program: the names of its object files, the symbols that it calls, the shared functions among them, constants, and what
    ``Stats`` says of it."""

    objects: tuple[str, ...]
    symbols: tuple[str, ...]
    shared: tuple[shared_functions.Kept, ...]
    constants: tuple[bytes, ...]
    kernels: int
    calls: int
    arena_bytes: int


_DECODER = msgspec.msgpack.Decoder(_Entry)
_ENCODER = msgspec.msgpack.Encoder()


def keep(
    identity: str,
    options: Options,
    objects: Sequence[str],
    symbols: Sequence[str],
    shared: Sequence[shared_functions.Kept],
    constants: Sequence[np.ndarray[Any, Any]],
    stats: Stats,
) -> None:
    """Keeps a compiled program that calls nothing of the interpreter."""
    if stats.constant_bytes > _MOST_CONSTANTS:
        return
    entry = _Entry(tuple(objects), tuple(symbols), tuple(shared), tuple(array.tobytes() for array in constants), stats.kernels, stats.calls, stats.arena_bytes)
    cache.write(_name(identity, options), _ENCODER.encode(entry), cache.KNOWN)


def find(identity: str, options: Options, signature: Signature, source: Source) -> CompiledFunction | None:
    """The compiled program that was kept for an identity, or None; ``source`` gives what is not kept, when it is asked for."""
    start = time.perf_counter()
    data = cache.read(_name(identity, options), cache.KNOWN)
    if data is None:
        return None
    try:
        entry = _DECODER.decode(data)
    except msgspec.MsgspecError:  # written in another way: it is written again
        return None
    images = [image for name in entry.objects if (image := cache.read(name)) is not None]
    results = sum(prod(r.shape) * r.dtype.itemsize for r in signature.results)
    constants = sum(map(len, entry.constants))
    if len(images) < len(entry.objects) or excess(results + constants + entry.arena_bytes):  # compiling it says what the memory is for
        return None
    if not shared_functions.load_kept(entry.shared):
        return None
    read = time.perf_counter()
    arrays = [_array(constant) for constant in entry.constants]
    code = linked(images, entry.symbols, debug_lines=options.debug_lines)
    times = {"cache": 1e3 * (read - start), "load": 1e3 * (time.perf_counter() - read)}
    stats = Stats(entry.kernels, entry.calls, {}, entry.arena_bytes, constants, results, True, times)
    return CompiledFunction(code, signature, arrays, entry.arena_bytes, None, stats, source)


def _array(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Bytes in memory of their own, aligned as an array's are."""
    array = np.empty(len(data), np.uint8)
    array[:] = memoryview(data)
    return array


def _name(identity: str, options: Options) -> str:
    return cache.key(identity, "cpu", str(options), _processor())


@lru_cache(maxsize=1)
def _processor() -> str:
    return str(host())
