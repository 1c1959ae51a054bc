"""The folders that the IR of every stage is written to."""

from __future__ import annotations

import os
from pathlib import Path

DUMP_DIR = "WENGERT_DUMP_DIR"
"""The environment variable that names a folder for all dumps."""
PathLike = str | os.PathLike[str]


def dump_folder(given: PathLike | None, what: str) -> Path | None:
    """The folder for dumps: the one given, or a new one such as ``03-vjp`` in that of WENGERT_DUMP_DIR, or none."""
    if given is not None:
        return Path(given)
    root = os.environ.get(DUMP_DIR)
    if not root:
        return None
    taken = len(list(Path(root).glob("[0-9][0-9]*-*"))) if Path(root).is_dir() else 0
    return Path(root) / f"{taken:02d}-{what}"
