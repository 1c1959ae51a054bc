"""Identities of programs: names by which another process knows a program that it has not read yet.

The identity of a program that was parsed is a hash of its text, that of one that was traced is a hash of its printed module, and that of a derivative
is a hash of the identity of what was differentiated and of the request. So a derivative has a name before it exists, and what was compiled
for it can be found on disk without any of the passes (:mod:`wengert.runtime.known_programs`).

What the passes make of a text depends on the compiler too: its files, and the packages that fold constants, hold the IR and generate code, are part of
every identity. Plug-ins are not; where anything of one is registered, programs have no identity.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from wengert.ir.plugins import is_extended
from wengert.runtime import cache as disk

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

_PARTS = ("ir", "dialects", "transforms", "runtime")
"""The folders of this package that a compiled program depends on."""
_MOST_CONSTANTS = 1 << 20
"""Bytes of constants above which a module is not printed for its identity."""
_PACKAGES = ("numpy", "scipy", "ml_dtypes", "xdsl", "llvmlite")


def of_text(text: str, entry: str) -> str | None:
    """The identity of the program in a text; None where nothing is kept on disk, or a plug-in has changed the compiler."""
    return None if disk.folder() is None or is_extended() else disk.key(_compiler(), "text", entry, text)


def of_module(module: ModuleOp, how: str) -> str | None:
    """The identity of a program whose module was not parsed, by its printed text; ``how`` says what else its code depends on. None as for texts, and
    where its constants would take long to print."""
    if disk.folder() is None or is_extended() or _constant_bytes(module) > _MOST_CONSTANTS:
        return None
    from wengert.ir.printing.printer import print_module

    return disk.key(_compiler(), "module", how, print_module(module))


def of_derived(origin: str | None, what: str, request: str) -> str | None:
    """The identity of what is made of the program of an identity; ``what`` is the kind of a request, and ``request`` its options or passes."""
    return None if origin is None or is_extended() else disk.key(origin, what, request)


def _constant_bytes(module: ModuleOp) -> int:
    from xdsl.dialects.builtin import DenseIntOrFPElementsAttr

    from wengert.ir.traversal import all_ops

    values = (value for op in all_ops(module) for value in (*op.properties.values(), *op.attributes.values()))
    return sum(len(value.data.data) for value in values if isinstance(value, DenseIntOrFPElementsAttr))


@cache
def _compiler() -> str:
    """What tells this compiler from another: where its files are, when each was written, and the same of the packages below it."""
    root = Path(__file__).parent.parent
    own = [stamp for part in _PARTS for stamp in stamps(root / part)]
    below = [_written(spec.origin) for name in _PACKAGES if (spec := find_spec(name)) is not None and spec.origin is not None]
    return disk.key(str(root), sys.version, *own, *below)


def stamps(folder: Path) -> list[str]:
    """The Python files below a folder, with their sizes and the times when they were written, in order."""
    return sorted(_sources(folder))


def _sources(folder: str | Path) -> Iterator[str]:
    """The Python files below a folder, with their sizes and the times when they were written."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                status = entry.stat()
                yield f"{entry.path} {status.st_size} {status.st_mtime_ns}"
            elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                yield from _sources(entry.path)


def _written(path: str) -> str:
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"
