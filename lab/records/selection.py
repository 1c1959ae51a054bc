"""Selects records: those of a file, of a run, or of a commit.

``a.db``
    the records of a file
``3f9c``
    those of the run, or of the commit, whose name begins so, in the file that ``--records`` names
``a.db:3f9c``
    those of such a run or commit in this file
"""

from __future__ import annotations

import re
from pathlib import Path

from wengert.lab.records.database import Database, DatabaseError
from wengert.lab.records.record import Record

DEFAULT = "records.db"
"""The file where none is named."""
_NAME = re.compile(r"[0-9a-f]{4,64}")


def select(text: str, file: str) -> list[Record]:
    """The records that a text stands for; a DatabaseError where there are none. ``file`` is where runs and commits are looked for."""
    if Path(text).is_file():
        return _all(text)
    path, colon, name = text.rpartition(":")
    path = path if colon else file
    if not _NAME.fullmatch(name):
        raise DatabaseError(f"{text}: there is no such file, and a run or a commit is named by at least four hexadecimal digits")
    with Database(path) as database:
        records = database.records("substr(run, 1, ?) = ?", (len(name), name))
        if not records:
            records = [record for record in database.records() if record.environment.commit.startswith(name)]
    if not records:
        raise DatabaseError(f"{path} has no run and no commit {name}; wengert records list --records {path} shows them")
    _check_one(name, records)
    return records


def _all(path: str) -> list[Record]:
    with Database(path) as database:
        records = database.records()
    if not records:
        raise DatabaseError(f"{path} holds no record")
    return records


def _check_one(name: str, records: list[Record]) -> None:
    """Refuses the beginning of several runs or commits."""
    for kind in ({record.run for record in records}, {record.environment.commit for record in records}):
        if all(one.startswith(name) for one in kind) and len({one.removesuffix("-dirty") for one in kind}) > 1:
            raise DatabaseError(f"{name} is the beginning of several: {', '.join(sorted(one[:12] for one in kind))}")
