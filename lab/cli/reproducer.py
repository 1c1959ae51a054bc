"""A file that reproduces an internal error: the command, the traceback, and the program it was working on."""

from __future__ import annotations

import os
import platform
import shlex
import tempfile
import traceback
from pathlib import Path


def write_reproducer(error: BaseException, arguments: list[str]) -> str:
    """Writes the reproducer to a new file of the temporary folder, which only this user can read, and returns its path; "" if that cannot be written."""
    try:
        handle, path = tempfile.mkstemp(prefix="wengert-crash-", suffix=".mlir")
    except OSError:
        return ""
    with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(reproducer_text(error, arguments))
    return path


def reproducer_text(error: BaseException, arguments: list[str]) -> str:
    """Comments that MLIR ignores, then the text of every .mlir file that the command names."""
    from wengert import __version__

    lines = [f"wengert {__version__}, Python {platform.python_version()}, {platform.platform()}", f"command: wengert {shlex.join(arguments)}", ""]
    lines += "".join(traceback.format_exception(error)).splitlines()
    parts = ["".join(f"// {line}\n" for line in lines)]
    for argument in arguments:
        path = Path(argument)
        if path.suffix == ".mlir" and path.is_file():
            parts.append(f"\n// {path}\n{path.read_text(errors='replace')}")
    return "".join(parts)
