"""Gets object files for LLVM text: from the cache on disk, or compiled and kept there."""

from __future__ import annotations

from collections.abc import Sequence

import llvmlite
from msgspec import Struct

from wengert.runtime import cache
from wengert.runtime.cpu.thread_count import default_threads
from wengert.transforms.codegen.cpu.machine_code import Tier, emit_objects
from wengert.transforms.schedule.host import Host, host

VERSION = "3"
"""Part of every cache key: raised when generated code changes its meaning without changing its text."""


class ObjectFile(Struct, frozen=True):
    """An object file, whether it came from the cache, and its name there."""

    image: bytes
    is_cached: bool
    name: str


def object_code(text: str, opt: Tier = "best") -> ObjectFile:
    """The object file for LLVM text, made by a tier of the code generator.

    Raises:
        CompileError: LLVM does not accept the text.
        InputError: the limit of the cache is not a number.
    """
    (made,) = object_files((text,), opt)
    return made


def object_files(texts: Sequence[str], opt: Tier = "best") -> list[ObjectFile]:
    """The object files for LLVM texts. Those that the cache does not have are made side by side, on as many threads as this process may use.

    Raises:
        CompileError: LLVM does not accept one of the texts: then none is kept.
        InputError: the limit of the cache is not a number.
        ValueError: ``WENGERT_NUM_THREADS`` is not a positive number, and there are several texts.
    """
    if cache.folder() is None:
        return [ObjectFile(image, False, "") for image in _emitted(texts, opt)]
    names = [entry_name(text, opt, host()) for text in texts]
    images = [cache.read(name) for name in names]
    missing = [number for number, image in enumerate(images) if image is None]
    made = dict(zip(missing, _emitted([texts[number] for number in missing], opt), strict=True))
    for number, image in made.items():
        cache.write(names[number], image)
    return [ObjectFile(made[number] if image is None else image, image is not None, names[number]) for number, image in enumerate(images)]


def _emitted(texts: Sequence[str], opt: Tier) -> list[bytes]:
    return emit_objects(texts, opt, threads=default_threads() if len(texts) > 1 else 1) if texts else []


def entry_name(text: str, opt: Tier, host: Host) -> str:
    """The cache's name for LLVM text compiled by a tier for a processor."""
    return cache.key(VERSION, text, host.cpu, host.features, llvmlite.__version__, opt)
