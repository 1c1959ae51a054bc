"""Folders of dumps, as ``--dump-dir`` leaves them: their stages, and what the header of each file says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from wengert.ir.pipeline.translations import COMMENTS, Form
from wengert.runtime.errors import InputError

_FILE = re.compile(r"(\d\d+)-([\w.-]+)\.(\w+)")
_HEADER = re.compile(r"(?://|;|#) (stage|pipeline so far: |go on with: |the last stage)(.*)")


@dataclass(frozen=True)
class DumpHeader:
    """The first lines of a dump.

    Attributes:
        stage: the name of the file that was written, such as ``09-fuse.mlir``.
        pipeline: the passes that led here; empty for the input.
        following: the command by which one goes on from it; empty at the last stage.
    """

    stage: str
    pipeline: str = ""
    following: str = ""


@dataclass(frozen=True)
class DumpStage:
    """One file of a folder of dumps.

    Attributes:
        number: the position of its pass in the pipeline.
        name: the name of the pass, or ``input``.
        form: MLIR or the kind of text.
        path: the file.
    """

    number: int
    name: str
    form: Form
    path: Path


def header_of(text: str) -> DumpHeader | None:
    """The header of a dump's text; None for a text that is no dump."""
    said: dict[str, str] = {}
    for line in text.split("\n", 3)[:3]:
        match = _HEADER.fullmatch(line)
        if match is None:
            break
        said[match[1].strip(" :")] = match[2].strip()
    if "stage" not in said:
        return None
    pipeline = said.get("pipeline so far", "")
    return DumpHeader(said["stage"], "" if pipeline == "(none)" else pipeline, said.get("go on with", ""))


def stages_of(folder: Path) -> tuple[DumpStage, ...]:
    """The stages in a folder of dumps, in their order. Raises InputError for a folder that holds none."""
    stages: list[DumpStage] = []
    for path in sorted(folder.iterdir()):
        match = _FILE.fullmatch(path.name)
        if match is not None and match[3] in COMMENTS:
            stages.append(DumpStage(int(match[1]), match[2], cast(Form, match[3]), path))
    if not stages:
        raise InputError(f"{folder} is a folder without dumps; --dump-dir writes one, with files such as 00-input.mlir")
    return tuple(sorted(stages, key=lambda stage: stage.number))
