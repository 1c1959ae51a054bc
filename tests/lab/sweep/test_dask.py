"""Sweeps by Dask: results and records are those of a sweep without it; workers, a scheduler and the sweep itself are killed, a disk is full, and no record is
lost or written twice."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from record_programs import OPEN

from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.main import main
from wengert.lab.records.database import Database
from wengert.lab.sweep.cluster.cores import split, take_core, usable_cores
from wengert.runtime.errors import InputError

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'wengert[dask]'")

MODEL = '''
import os
import pathlib
import time
import wengert as wg
import wengert.numpy as wnp


def sine(n):
    return wg.jit(wnp.sin).program(wg.ArraySpec((n,), "float64"))


def slow(n):
    """Leaves a mark for each time that it is called, in the process that calls it."""
    with open("calls", "a") as file:
        file.write(f"{n} {os.getppid()}\\n")
    time.sleep(0.15)
    return sine(n)


def dying(n):
    if n == 4:
        os._exit(7)
    if n == 8:
        time.sleep(60)
    return sine(n)
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "sine.mlir").write_text(OPEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    return tmp_path


def sweep(words: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    assert main(["sweep", *words.split(), "--json"]) == code
    return json.loads(capsys.readouterr().out)


@contextmanager
def process(*words: str, **options: Any) -> Generator[subprocess.Popen[str]]:
    """A process in a group of its own, which is killed at the end."""
    with subprocess.Popen([sys.executable, "-m", *words], start_new_session=True, text=True, **options) as started:
        try:
            yield started
        finally:
            kill(started)


def kill(started: subprocess.Popen[str]) -> None:
    try:
        os.killpg(started.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def tasks(path: Path) -> list[str]:
    try:
        with Database(path) as database:
            return [record.name for record in database.records()]
    except InputError:  # it is being made
        return []


def wait_for_records(path: Path, number: int, started: subprocess.Popen[str]) -> None:
    until = time.monotonic() + 120
    while len(tasks(path)) < number:
        assert started.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)


NAMES = [f"slow n={n} primal" for n in range(2, 26)]
WORDS = ("wengert", "sweep", "model.py:slow", "--over", "n=2..25:+1", "--over", "mode=primal", "--records", "r.db", "--resume", "--json")


# -- without accidents


def test_results_are_those_of_a_sweep_without_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "sine.mlir --over n=4,8 --over mode=primal,reverse"
    alone, together = sweep(f"{words} --records a.db", capsys), sweep(f"{words} --records b.db --dask", capsys)
    counts = [[cell["result"]["counts"] for cell in seen["cells"]] for seen in (alone, together)]
    assert counts[0] == counts[1]
    assert len(counts[0]) == 4
    with Database(folder / "a.db") as a, Database(folder / "b.db") as b:
        assert {record.task for record in a.records()} == {record.task for record in b.records()}
    assert all(cell["again"] for cell in sweep(f"{words} --records b.db --dask --resume", capsys)["cells"])


def test_what_is_timed_has_a_core_of_its_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = usable_cores()
    sweep("sine.mlir --over n=4,8 --over mode=primal --records r.db --dask --measure --rounds 3", capsys)
    assert usable_cores() == before
    with Database(folder / "r.db") as database:
        records = database.records()
    assert [len(record.result.samples) for record in records] == [3, 3]
    for record in records:
        assert record.environment.threads == 1
        assert record.result.interference["core"] in split(before)[1]
        assert record.result.interference["seconds"] > 0
        assert record.result.interference["preempted"] >= 0
    assert all(cell["again"] for cell in sweep("sine.mlir --over n=4,8 --over mode=primal --records r.db --dask --measure --resume", capsys)["cells"])
    assert main(["records", "show", records[0].id, "--records", "r.db"]) == 0
    assert " alone" in capsys.readouterr().out


def test_programs_and_pipelines_of_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "both.toml").write_text(
        'program = ["model.py:sine", "sine.mlir"]\npipeline = ["cse", "simplify,cse"]\nrecords = "r.db"\ndask = true\n[over]\nn = [3, 5]\nmode = "primal"\n'
    )
    reports = sweep("both.toml", capsys)
    assert [(report["program"], report["pipeline"]) for report in reports] == [
        (program, pipeline) for program in ("model.py:sine", "sine.mlir") for pipeline in ("cse", "simplify,cse")
    ]
    assert [len(report["cells"]) for report in reports] == [2, 2, 2, 2]
    with Database(folder / "r.db") as database:
        works = [record.work for record in database.records()]
    assert len({work.task for work in works}) == len(works) == 8
    assert len({work.program for work in works}) == 4  # two programs at two sizes
    assert {work.pipeline for work in works} == {"cse", "simplify,cse"}


def test_what_crashes_or_hangs_costs_its_own_row(capsys: pytest.CaptureFixture[str]) -> None:
    cells = sweep("model.py:dying --over n=2..32 --over mode=primal --dask --jobs 1 --timeout 6", capsys)["cells"]
    reasons = {cell["sizes"]["n"]: cell["result"]["reason"] for cell in cells}
    assert reasons == {2: "", 4: "the process died (exit code 7)", 8: "out of time", 16: "", 32: ""}


def test_refusals_are_recorded_and_not_tried_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "sine.mlir --over n=20000 --over mode=hessian --records r.db --resume --dask"
    assert [sweep(words, capsys, 1)["cells"][0]["again"] for _ in range(2)] == [False, True]
    with Database(folder / "r.db") as database:
        assert [record.result.status for record in database.records()] == ["refused"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("sine.mlir --over n=4 --dask 127.0.0.1", Exit.DIAGNOSTIC, "takes the address of a scheduler"),
        ("sine.mlir --over n=4 --dask tcp://127.0.0.1:1", Exit.DIAGNOSTIC, "there is no scheduler at tcp://127.0.0.1:1"),
        ("sine.mlir --over n=4 --pipeline cs", Exit.USAGE, "did you mean 'cse'"),
    ],
)
def test_what_is_asked_wrongly(words: str, code: Exit, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sweep", *words.split()]) == code
    assert told in capsys.readouterr().err


# -- accidents


def test_a_worker_that_is_killed_costs_no_record(folder: Path) -> None:
    with process(*WORDS, "--dask", "--jobs", "2", stdout=subprocess.PIPE) as started:
        wait_for_records(folder / "r.db", 4, started)
        worker = int((folder / "calls").read_text().split()[-1])  # the parent of a child that runs a task
        os.kill(worker, signal.SIGKILL)
        out, _ = started.communicate(timeout=180)
    assert started.returncode == 0
    assert [cell["result"]["status"] for cell in json.loads(out)["cells"]] == ["ok"] * 24
    assert sorted(tasks(folder / "r.db")) == sorted(NAMES)


def test_a_sweep_that_is_killed_goes_on(folder: Path) -> None:
    with process(*WORDS, "--dask", "--jobs", "2", stdout=subprocess.DEVNULL) as started:
        wait_for_records(folder / "r.db", 4, started)
    before = set(tasks(folder / "r.db"))
    done = subprocess.run([sys.executable, "-m", *WORDS, "--dask"], capture_output=True, text=True, check=True, timeout=180)
    again = {f"slow n={cell['sizes']['n']} primal" for cell in json.loads(done.stdout)["cells"] if cell["again"]}
    assert again == before
    assert sorted(tasks(folder / "r.db")) == sorted(NAMES)


def test_a_scheduler_that_is_killed_costs_no_record(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard")
    with process(*scheduler, **quiet) as first, process(*worker, **quiet), process(*WORDS, "--dask", address, stdout=subprocess.PIPE) as started:
        wait_for_records(folder / "r.db", 4, started)
        kill(first)
        with process(*scheduler, **quiet), process(*worker, **quiet):
            out, _ = started.communicate(timeout=240)
    assert started.returncode == 0
    assert [cell["result"]["status"] for cell in json.loads(out)["cells"]] == ["ok"] * 24
    assert sorted(tasks(folder / "r.db")) == sorted(NAMES)


def test_a_full_disk_costs_no_record(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = "model.py:slow --over n=2..25:+1 --over mode=primal --records r.db --resume --dask"
    add, full = Database.add, [8]

    def added(self: Database, *arguments: Any) -> Any:
        full[0] -= 1
        if full[0] == 0:
            pages = self._number("PRAGMA page_count")
            self._connection.execute(f"PRAGMA max_page_count={pages}")
        return add(self, *arguments)

    monkeypatch.setattr(Database, "add", added)
    assert main(["sweep", *words.split()]) == 1
    error = capsys.readouterr().err
    assert "full; the records before this one are safe" in error
    assert "--resume goes on from what is recorded in r.db" in error
    before = tasks(folder / "r.db")
    assert 7 <= len(before) < 24
    cells = sweep(words, capsys)["cells"]
    assert sorted(f"slow n={cell['sizes']['n']} primal" for cell in cells if cell["again"]) == sorted(before)
    assert sorted(tasks(folder / "r.db")) == sorted(NAMES)


# -- pieces


def test_a_core_belongs_to_one(tmp_path: Path) -> None:
    taken = [take_core([0, 1], str(tmp_path)) for _ in range(2)]
    assert [core.number for core in taken] == [0, 1]
    taken[1].close()
    with take_core([0, 1], str(tmp_path)) as free:
        assert free.number == 1
    taken[0].close()
    assert split([3, 5, 7]) == ((3,), (5, 7))
    assert split([3]) == ((3,), (3,))


def test_a_child_ends_with_its_worker(tmp_path: Path) -> None:
    code = f"""
import pickle, time, os
from wengert.lab.sweep.cluster.child import Child, Setup
child = Child(pickle.dumps(Setup(pickle.dumps(print), {str(tmp_path)!r})), None)
print(child._process.pid, flush=True)
time.sleep(60)
"""
    with process("timeit", "-n1", "-r1", code, stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        child = int(started.stdout.readline())
        started.kill()
        until = time.monotonic() + 30
        while os.path.exists(f"/proc/{child}") and _state(child) != "Z":
            assert time.monotonic() < until
            time.sleep(0.05)


def _state(number: int) -> str:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"
