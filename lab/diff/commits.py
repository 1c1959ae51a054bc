"""Files as they were in a commit: ``HEAD~1:p.mlir``, as git writes it; paths are those from the current folder, or from the top of the repository."""

from __future__ import annotations

import os
import re
import subprocess

from wengert.runtime.errors import InputError

_DUMPS = (".mlir", ".ll", ".s", ".isa")
_WRITTEN = re.compile(r"(?P<revision>[^:\s]+):(?P<path>[^:\s]*[./][^:]*)")


def is_of_commit(given: str) -> bool:
    """Whether a text names a file in a commit, and no file that is there."""
    match = _WRITTEN.fullmatch(given)
    if match is None or os.path.exists(given):
        return False
    return os.path.splitext(match["path"])[1] in _DUMPS or _is_commit(match["revision"])


def text_in_commit(given: str) -> str:
    """The text of the file. Raises InputError where there is no such commit, or none with a file of this path."""
    match = _WRITTEN.fullmatch(given)
    assert match is not None
    revision, path = match["revision"], match["path"]
    if not _is_commit(revision):
        where = "this folder is in no repository of git" if _git("rev-parse", "--git-dir") is None else f"there is no commit {revision}"
        raise InputError(f"{given}: {where}")
    for name in (f"./{path}", path):
        text = _git("show", f"{revision}:{name}")
        if text is not None:
            return text
    raise InputError(f"{given}: the commit {revision} has no file {path}, neither from this folder nor from the top of the repository")


def _is_commit(revision: str) -> bool:
    return not revision.startswith("-") and _git("rev-parse", "-q", "--verify", f"{revision}^{{commit}}") is not None


def _git(*arguments: str) -> str | None:
    """What git prints; None where it fails or is not there."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    except OSError:
        return None
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None
