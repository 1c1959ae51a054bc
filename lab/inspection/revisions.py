"""A program's file as it was at a commit of its git repository."""

from __future__ import annotations

import os
import subprocess

from wengert.runtime.errors import InputError


def is_revision(name: str, beside: str) -> bool:
    """Whether a name is a commit of the repository that a file is in."""
    return not name.startswith("-") and _git(beside, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") is not None


def text_at(revision: str, path: str) -> str:
    """The text of a file at a commit. Raises InputError where the commit has no such file."""
    text = _git(path, "show", f"{revision}:./{os.path.basename(path)}")
    if text is None:
        raise InputError(f"{path} is not in the commit {revision}")
    return text


def _git(path: str, *words: str) -> str | None:
    """What git prints in the folder of a file; None where it fails, or is not there."""
    try:
        done = subprocess.run(["git", *words], cwd=os.path.dirname(os.path.abspath(path)), capture_output=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
