"""A database of records: one SQLite file, one transaction for each record.

A record is there as a whole or not at all, whatever ends the process, and once it is written it stays: each commit reaches the disk (``synchronous=EXTRA``).
The journal is SQLite's rollback journal and not a write-ahead log: between commits the file is all there is, so that it may be copied, sent and merged at any
time. Several processes may write; each waits for the others. Where thousands of records come, a commit may go to a log instead (``log=True``), which takes a
fifth of the time: then FILE-wal belongs to the file until it is closed, or, if the process was killed, until a process that writes opens it again.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import shlex
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import numpy as np

from wengert.lab.plain import plain
from wengert.lab.records.environment import Environment
from wengert.lab.records.record import Record, Result, work_of
from wengert.lab.records.schema import APPLICATION, CREATE, VERSION
from wengert.lab.records.work import Array, program_text
from wengert.runtime.errors import InputError
from wengert.runtime.loading import parse
from wengert.runtime.program import Program

WAIT = 60.0
"""Seconds to wait for another process that writes."""
MOST_ARRAYS = 64 * 2**20
"""Bytes of inputs that are kept with a program; larger ones are not, and such a record cannot be run again."""


class DatabaseError(InputError):
    """The file is no database of records, or cannot be read or written."""


class Database:
    """A database of records.

    Args:
        path: the file.
        create: whether to make it where it is not there; else it is read only.
        log: whether commits go to a log until the file is closed.

    Raises:
        DatabaseError: there is no such file, it is no database of records, or of a later version.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False, log: bool = False):
        self.path, self._log = os.fspath(path), log
        self._run, self._begun = "", ("", "", "", "")
        if not create and not Path(self.path).is_file():
            raise DatabaseError(f"there is no file of records {self.path}; 'wengert sweep --records {self.path}' makes one")
        with self._errors():
            mode = "rwc" if create else "ro"
            self._connection = sqlite3.connect(f"file:{quote(self.path)}?mode={mode}", uri=True, timeout=WAIT, isolation_level=None)
            try:
                self._check(create)
            except BaseException:
                self._connection.close()
                raise

    def _check(self, create: bool) -> None:
        """Makes the tables of a new file; refuses what is no database of records."""
        self._connection.execute("PRAGMA foreign_keys=ON")
        if create:
            self._keep_log(self._log)
            self._connection.execute("PRAGMA synchronous=EXTRA")
            with self._transaction():
                if self._number("SELECT count(*) FROM sqlite_master") == 0:
                    for statement in filter(str.strip, CREATE.split(";\n")):
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA application_id={APPLICATION}")
                    self._connection.execute(f"PRAGMA user_version={VERSION}")
        if self._number("PRAGMA application_id") != APPLICATION:
            raise DatabaseError(f"{self.path} is no file of records")
        version = self._number("PRAGMA user_version")
        if version > VERSION:
            raise DatabaseError(f"{self.path} has the format {version}, which a later wengert wrote; this one reads formats up to {VERSION}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _keep_log(self, keep: bool) -> None:
        """Commits go to a log, or to the file. A log that another process has open stays."""
        try:
            self._connection.execute(f"PRAGMA journal_mode={'WAL' if keep else 'DELETE'}")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise

    def close(self) -> None:
        """Closes the file."""
        try:
            if self._log:
                with suppress(sqlite3.DatabaseError):  # a full disk, on which the log stays
                    self._keep_log(False)
        finally:
            self._connection.close()

    # -- writing

    def begin_run(self, words: Sequence[str]) -> str:
        """A new run, by a command of these words: its name, 12 hexadecimal digits. It is written with its first record."""
        self._run = secrets.token_hex(6)
        self._begun = (self._run, shlex.join(words), os.getcwd(), now())
        return self._run

    def add(self, record: Record, program: Program, given: Sequence[Array] = ()) -> Record:
        """Writes a record in one transaction; the record with its id.

        Args:
            record: what came of a task.
            program: the program that it is of.
            given: the first inputs.

        Raises:
            DatabaseError: the disk is full, or the file cannot be written; what was written before is safe.
        """
        record = record.named()
        data = _npz(given) if given and sum(array.nbytes for array in given) <= MOST_ARRAYS else None
        with self._errors(), self._transaction():
            if record.run == self._run:
                self._connection.execute("INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?)", self._begun)
            text = (record.work.program, program.entry, program.name, program_text(program))
            self._connection.execute("INSERT OR IGNORE INTO programs VALUES (?, ?, ?, ?)", text)
            if data is not None:
                self._connection.execute("INSERT OR IGNORE INTO arrays VALUES (?, ?)", (record.work.given, data))
            environment = (record.environment.hash, json.dumps(record.environment.to_json(), sort_keys=True))
            self._connection.execute("INSERT OR IGNORE INTO environments VALUES (?, ?)", environment)
            self._connection.execute(f"INSERT OR IGNORE INTO records VALUES ({', '.join('?' * 15)})", _row(record))
        return record

    def merge(self, other: Database) -> int:
        """Copies all records of another database that are not here, in one transaction; how many."""
        tables = {name: list(other.rows(f"SELECT * FROM {name}")) for name in ("programs", "arrays", "environments", "runs", "records")}
        with self._errors(), self._transaction():
            before = self._number("SELECT count(*) FROM records")
            for name, rows in tables.items():
                if rows:
                    self._connection.executemany(f"INSERT OR IGNORE INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
            return self._number("SELECT count(*) FROM records") - before

    # -- reading

    def rows(self, query: str, values: Iterable[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query."""
        with self._errors():
            yield from self._connection.execute(query, tuple(values))

    def records(self, where: str = "1", values: Iterable[Any] = ()) -> list[Record]:
        """The records for which a condition in SQL holds, in the order in which they were taken."""
        query = (
            "SELECT records.id, run, taken, label, sizes, load, work, result, environments.fields FROM records"
            f" JOIN environments ON environment = environments.hash WHERE {where} ORDER BY taken, records.id"
        )
        environments: dict[str, Environment] = {}
        return [_record(row, environments) for row in self.rows(query, values)]

    def record(self, prefix: str) -> Record:
        """The record whose id begins so; a DatabaseError where there is none, or more than one."""
        records = self.records("substr(records.id, 1, ?) = ?", (len(prefix), prefix)) if prefix else []
        if len(records) != 1:
            listed = ", ".join(record.id[:12] for record in records[:5])
            raise DatabaseError(
                f"{self.path} has {f'several records {prefix}: {listed}' if records else f'no record {prefix!r}; wengert records list shows them'}"
            )
        return records[0]

    def runs(self) -> list[tuple[str, str, str, str]]:
        """The runs: id, command, folder, begun."""
        return [(run, command, folder, begun) for run, command, folder, begun in self.rows("SELECT * FROM runs ORDER BY begun, id")]

    def program(self, hash: str) -> Program:
        """The program of this hash."""
        for entry, name, text in self.rows("SELECT entry, name, text FROM programs WHERE hash = ?", (hash,)):
            return parse(text, name, entry=entry)
        raise DatabaseError(f"{self.path} has no program {hash}")

    def text(self, hash: str) -> str:
        """The text of the program of this hash."""
        return next((text for (text,) in self.rows("SELECT text FROM programs WHERE hash = ?", (hash,))), "")

    def given(self, hash: str) -> tuple[Array, ...]:
        """The first inputs, by their hash; a DatabaseError where they were too large to be kept."""
        if not hash:
            return ()
        for (data,) in self.rows("SELECT npz FROM arrays WHERE hash = ?", (hash,)):
            with np.load(io.BytesIO(data)) as archive:
                return tuple(archive[f"in_{i}"] for i in range(len(archive.files)))
        raise DatabaseError(f"the inputs of this record are not in {self.path}: they have more than {MOST_ARRAYS // 2**20} MiB")

    # -- transactions

    @contextmanager
    def _transaction(self) -> Generator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _errors(self) -> Generator[None]:
        """SQLite's errors as ours."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise DatabaseError(f"{self.path}: {error}{'; the records before this one are safe' if 'full' in str(error) else ''}") from None

    def _number(self, query: str) -> int:
        return int(self._connection.execute(query).fetchone()[0])


def now() -> str:
    """The time in UTC, to the microsecond."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _row(record: Record) -> tuple[Any, ...]:
    result = record.result
    work = json.dumps(plain(record.work), sort_keys=True)
    head = (record.id, record.task, record.run, record.work.program, record.environment.hash, record.taken, record.label, record.work.mode)
    return (*head, json.dumps(record.sizes), result.status, record.load, result.minimum, result.median, work, json.dumps(result.to_json()))


def _record(row: tuple[Any, ...], environments: dict[str, Environment]) -> Record:
    id, run, taken, label, sizes, load, work, result, fields = row
    if fields not in environments:
        environments[fields] = Environment.of_json(json.loads(fields))
    load = float("nan") if load is None else load
    return Record(work_of(json.loads(work)), label, json.loads(sizes), Result.of_json(json.loads(result)), environments[fields], load, taken, run, id)


def _npz(arrays: Sequence[Array]) -> bytes:
    buffer = io.BytesIO()
    named: dict[str, Any] = {f"in_{i}": array for i, array in enumerate(arrays)}
    np.savez_compressed(buffer, **named)
    return buffer.getvalue()
