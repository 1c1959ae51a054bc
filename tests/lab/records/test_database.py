"""Databases of records: what was written is there, whole and once, whatever ends the process; files merge; other files are refused."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from record_programs import SINE, point, record, recorded, work

import wengert as wg
from wengert.lab.records.database import Database, DatabaseError
from wengert.lab.records.record import Record, Result
from wengert.lab.records.schema import VERSION
from wengert.lab.records.work import arrays_hash, plugin_of, program_hash

TIMED = Result("ok", counts={"flops": 6}, samples=(1e-6, 2e-6, 1.5e-6), calls=100, predicted=1e-6, factor=1.8, norms=(1.0, float("nan")), derived="ab")


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "r.db"
    at = point(3, [0.1, 0.2, 0.3])
    with Database(path, create=True) as database:
        run = database.begin_run(["wengert", "sweep", "a b"])
        written = database.add(record(at, TIMED, run=run), at.program, at.given)
    with Database(path) as database:
        read = database.record(written.id[:8])
        assert database.program(read.work.program).signature == at.program.signature
        assert [array.tolist() for array in database.given(read.work.given)] == [[0.1, 0.2, 0.3]]
        assert [run[:2] for run in database.runs()] == [(run, "wengert sweep 'a b'")]
    assert read.to_json() == written.to_json()
    assert (read.work, read.environment, read.result.samples) == (written.work, written.environment, TIMED.samples)
    assert Record.of_json(written.to_json()).to_json() == written.to_json()
    assert read.named().id == read.id  # the id follows from the fields


def test_a_record_is_written_once(tmp_path: Path) -> None:
    at = point()
    one, two = record(at, TIMED), record(at, replace(TIMED, calls=7))
    with Database(tmp_path / "r.db", create=True) as database:
        database.begin_run(["w"])
        known = [replace(r, run=database._run) for r in (one, one, two)]
        for each in known:
            database.add(each, at.program)
        assert len(database.records()) == 2


def test_the_name_of_a_task_is_that_of_what_is_computed() -> None:
    named = wg.parse("module @other {\n" + SINE.format(n=3).replace("%x", "%left").replace("%0", "%angle") + "}", "elsewhere.mlir")
    assert program_hash(named) == program_hash(point(3).program)
    other = wg.parse(SINE.format(n=3).replace("stablehlo.sine", "stablehlo.cosine"))
    assert len({program_hash(p) for p in (named, other, point(4).program)}) == 3
    at = point(3)
    tasks = [work(at), work(at, "direct"), work(at, seed=1), work(at, backend="interpreter"), work(at, wrt=()), work(at, pipeline="cse")]
    assert len({one.task for one in tasks}) == len(tasks)
    assert work(at).task == work(point(3)).task
    assert arrays_hash([np.array([1.0])]) != arrays_hash([np.array([1.0], np.float32)]) != arrays_hash([np.array([[1.0]])])


def test_versions_of_a_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wengert.ir import plugins

    path = tmp_path / "mine.py"
    monkeypatch.setattr(plugins, "LOADED", {str(path): plugins.Plugin(str(path), "m", str(path))})
    path.write_text("a = 1\n")
    before = work(point(), "mine", plugin=plugin_of("mine"))
    path.write_text("a = 2\n")
    after = work(point(), "mine", plugin=plugin_of("mine"))
    assert before.task == after.task  # two versions of it are compared
    assert before.key != after.key  # and what was recorded of one is not taken for the other
    assert plugin_of("direct") == plugin_of("reverse") == plugin_of("recompute-all") == ""
    assert plugin_of("reverse", "cse") != ""  # a pass may be the plug-in's


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from record_programs import point, record
from dataclasses import replace
from wengert.lab.records.database import Database
from wengert.lab.records.record import Result
with Database(sys.argv[1], create=True) as database:
    run, at = database.begin_run(["writer"]), point()
    for number in range(100000):
        database.add(record(at, Result("ok", counts={"ops": number}), run=run), at.program)
        print(number, flush=True)
"""


def test_a_process_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    path, support = tmp_path / "r.db", str(Path(__file__).parents[2] / "support" / "programs")
    with subprocess.Popen([sys.executable, "-c", WRITER, str(path), support], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(30)]
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout if line.endswith("\n")]
    with Database(path, create=True) as database:
        assert list(database.rows("PRAGMA integrity_check")) == [("ok",)]
        kept = [r.result.counts["ops"] for r in database.records()]
    assert kept == list(range(len(kept)))
    assert len(kept) - len(told) in (0, 1)  # one may be written and not be told any more


def test_two_processes_write_at_once(tmp_path: Path) -> None:
    path, support = tmp_path / "r.db", str(Path(__file__).parents[2] / "support" / "programs")
    code = WRITER.replace("100000", "25").replace("print(number, flush=True)", "pass")
    processes = [subprocess.Popen([sys.executable, "-c", code, str(path), support]) for _ in range(2)]
    assert [process.wait(120) for process in processes] == [0, 0]
    with Database(path) as database:
        assert sorted(r.result.counts["ops"] for r in database.records()) == sorted([*range(25), *range(25)])
        assert len(database.runs()) == 2


def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    at = point()
    with Database(tmp_path / "r.db", create=True) as database:
        run = database.begin_run(["w"])
        database.add(record(at, TIMED, run=run), at.program)
        pages = database._number("PRAGMA page_count")
        database._connection.execute(f"PRAGMA max_page_count={pages}")
        written = 1

        def fill() -> None:
            nonlocal written
            while True:
                database.add(record(at, replace(TIMED, samples=(1e-3,) * 100, calls=written), run=run), at.program)
                written += 1

        with pytest.raises(DatabaseError, match="full; the records before this one are safe"):
            fill()
        database._connection.execute("PRAGMA max_page_count=100000")
        database.add(record(at, replace(TIMED, calls=-1), run=run), at.program)
        assert [r.result.calls for r in database.records()] == [100, *range(1, written), -1]
        assert list(database.rows("PRAGMA integrity_check")) == [("ok",)]


def test_files_merge_each_record_once(tmp_path: Path) -> None:
    a = recorded(tmp_path / "a.db", [point(3, [0.1, 0.2, 0.3])], ["primal", "reverse"])
    b = recorded(tmp_path / "b.db", [point(3)], ["primal"])
    with Database(tmp_path / "all.db", create=True) as database, Database(tmp_path / "a.db") as first, Database(tmp_path / "b.db") as second:
        assert [database.merge(source) for source in (first, second, first)] == [2, 1, 0]
        assert {r.id for r in database.records()} == {r.id for r in [*a, *b]}
        assert [array.tolist() for array in database.given(a[0].work.given)] == [[0.1, 0.2, 0.3]]
        assert len(database.runs()) == 2


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="there is no file of records"):
        Database(tmp_path / "none.db")
    text = tmp_path / "text.db"
    text.write_text("not a database, but long enough to have a header " * 20)
    for create in (False, True):
        with pytest.raises(DatabaseError, match="not a database"):
            Database(text, create=create)
    foreign = tmp_path / "foreign.db"
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    for create in (False, True):
        with pytest.raises(DatabaseError, match="is no file of records"):
            Database(foreign, create=create)
    recorded(tmp_path / "r.db", [point()], ["primal"])
    with sqlite3.connect(tmp_path / "r.db") as connection:
        connection.execute(f"PRAGMA user_version={VERSION + 1}")
    connection.close()
    with pytest.raises(DatabaseError, match=f"format {VERSION + 1}, which a later wengert wrote"):
        Database(tmp_path / "r.db")


def test_a_reader_does_not_write(tmp_path: Path) -> None:
    recorded(tmp_path / "r.db", [point()], ["primal"])
    before = (tmp_path / "r.db").read_bytes()
    with Database(tmp_path / "r.db") as database, pytest.raises(DatabaseError, match="readonly"):
        database.add(record(point(), TIMED), point().program)
    assert (tmp_path / "r.db").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["r.db"]  # no journal is left beside it
