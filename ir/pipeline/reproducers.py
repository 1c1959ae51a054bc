"""Reproducers: one file that shows a defect, with the IR before the pass that broke and the command that runs it again."""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path

from wengert.ir.pipeline.translations import COMMENTS, Form
from wengert.ir.plugins import load_options

REPRODUCER_DIR = "WENGERT_REPRODUCER_DIR"
"""The environment variable that names the folder for reproducers (the system's temporary folder if unset)."""


def opt_command(pipeline: str, path: Path | str) -> str:
    """The shell command that runs a pipeline on a file, with the plug-ins that are loaded."""
    quoted = f'"{pipeline}"' if not set(pipeline) & set('"$`\\!') else shlex.quote(pipeline)
    return " ".join(["wengert-opt", *map(shlex.quote, load_options()), *(["-p", quoted] if pipeline else []), shlex.quote(str(path))])


def write_reproducer(name: str, text: str, pipeline: str, details: str, form: Form = "mlir") -> Path | None:
    """Writes the IR with the command and the details as comments above it; None if the folder cannot be written to.

    The file is new, can be read by this user alone, and has a name that nobody can foresee: temporary folders are shared, and whoever knew the name could
    put a link there that leads to another file of the user's.
    """
    try:
        folder = Path(os.environ.get(REPRODUCER_DIR) or tempfile.gettempdir())
        folder.mkdir(parents=True, exist_ok=True)
        handle, path = tempfile.mkstemp(prefix=f"wengert-{name}-", suffix=f".{form}", dir=folder)
        header = [opt_command(pipeline, path), "", *details.rstrip().splitlines()]
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join([*(f"{COMMENTS[form]} {line}".rstrip() for line in header), text.rstrip("\n"), ""]))
    except OSError:
        return None
    return Path(path)
