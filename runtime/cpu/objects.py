"""Object files for LLVM text: from the cache on disk, or compiled and kept there."""

from __future__ import annotations

import llvmlite

from wengert.runtime.cpu import cache
from wengert.runtime.cpu.engine import emit_object, host

VERSION = "2"
"""Part of every cache key: raised when generated code changes its meaning without changing its text."""


def object_code(text: str, level: int = 2) -> tuple[bytes, bool]:
    """The object file for LLVM text, and whether it came from the cache.

    Raises:
        CompileError: LLVM does not accept the text.
    """
    found = host()
    name = cache.key(VERSION, text, found.cpu, found.features, llvmlite.__version__, str(level))
    image = cache.read(name)
    if image is not None:
        return image, True
    image = emit_object(text, level)
    cache.write(name, image)
    return image, False
