"""The CPU backend: core-level IR to machine code for this processor. Names are imported when first used: what is loaded from the cache needs no compiler."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wengert.runtime.cpu.compilation import CompileError, compile, compile_with_dumps
    from wengert.runtime.cpu.entry import CompiledFunction, Stats
    from wengert.runtime.cpu.options import Options, options_of

__all__ = ["CompileError", "CompiledFunction", "Options", "Stats", "compile", "compile_with_dumps", "options_of"]

_HOMES = {
    "CompileError": "compilation",
    "CompiledFunction": "entry",
    "Options": "options",
    "Stats": "entry",
    "compile": "compilation",
    "compile_with_dumps": "compilation",
    "options_of": "options",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'wengert.runtime.cpu' has no attribute {name!r}")
    return getattr(import_module(f"wengert.runtime.cpu.{_HOMES[name]}"), name)
