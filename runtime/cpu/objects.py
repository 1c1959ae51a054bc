"""Object files for LLVM text: from the cache on disk, or compiled and kept there."""

from __future__ import annotations

import llvmlite

from wengert.runtime.cpu import cache
from wengert.runtime.cpu.engine import Tier, emit_object, host

VERSION = "3"
"""Part of every cache key: raised when generated code changes its meaning without changing its text."""


def object_code(text: str, opt: Tier = "best") -> tuple[bytes, bool]:
    """The object file for LLVM text, made by a tier of the code generator, and whether it came from the cache.

    Raises:
        CompileError: LLVM does not accept the text.
    """
    found = host()
    name = cache.key(VERSION, text, found.cpu, found.features, llvmlite.__version__, opt)
    image = cache.read(name)
    if image is not None:
        return image, True
    image = emit_object(text, opt)
    cache.write(name, image)
    return image, False
