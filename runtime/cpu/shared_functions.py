"""Loads the functions that programs share, each once for a process, and makes them known to LLVM by their symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wengert.ir.pipeline.stages import locked
from wengert.runtime import cache
from wengert.runtime.cpu.engine import Library
from wengert.runtime.cpu.objects import ObjectFile
from wengert.transforms.codegen.cpu.shared_functions import SharedFunction
from wengert.transforms.schedule.host import llvm_binding

Kept = tuple[str, str]
"""The symbol of a shared function, and the name of its object file in the cache."""

_loaded: dict[str, tuple[Library, str]] = {}
"""The machine code by its symbol; the name of its object file."""
_kept: list[Library] = []
"""All machine code that LLVM was told the address of, for as long as the process lives: LLVM forgets no symbol, and programs may have been linked to it."""


@locked
def missing(functions: Sequence[SharedFunction]) -> list[SharedFunction]:
    """Those of the functions that this process has not loaded."""
    return [function for function in functions if function.symbol not in _loaded]


@locked
def load(functions: Sequence[SharedFunction], made: Mapping[str, ObjectFile]) -> list[Kept]:
    """Loads functions, of which each stands behind those that it calls; what is kept of them with a program.

    Args:
        functions: all that a program declares.
        made: the object files of those that were missing, by their symbols.
    """
    for function in functions:
        if function.symbol not in _loaded:
            _link(function.symbol, made[function.symbol].image, made[function.symbol].name)
    return [(function.symbol, _loaded[function.symbol][1]) for function in functions]


@locked
def load_kept(functions: Sequence[Kept]) -> bool:
    """Loads functions that were kept with a program; whether all of their object files are still there."""
    for symbol, name in functions:
        if symbol not in _loaded:
            image = cache.read(name) if name else None
            if image is None:
                return False
            _link(symbol, image, name)
    return True


def _link(symbol: str, image: bytes, name: str) -> None:
    library = Library(image)
    _kept.append(library)
    llvm_binding().add_symbol(symbol, library.address(symbol))
    _loaded[symbol] = (library, name)
