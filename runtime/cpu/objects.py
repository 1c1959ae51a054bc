"""Gets object files for LLVM text: from the cache on disk, or compiled and kept there."""

from __future__ import annotations

import llvmlite
from msgspec import Struct

from wengert.runtime import cache
from wengert.transforms.codegen.cpu.machine_code import Tier, emit_object
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
    if cache.folder() is None:
        return ObjectFile(emit_object(text, opt), False, "")
    name = entry_name(text, opt, host())
    image = cache.read(name)
    if image is not None:
        return ObjectFile(image, True, name)
    image = emit_object(text, opt)
    cache.write(name, image)
    return ObjectFile(image, False, name)


def entry_name(text: str, opt: Tier, host: Host) -> str:
    """The cache's name for LLVM text compiled by a tier for a processor."""
    return cache.key(VERSION, text, host.cpu, host.features, llvmlite.__version__, opt)
