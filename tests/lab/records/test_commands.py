"""``wengert records`` and ``wengert replay``, as a user gives them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from record_programs import point, record, recorded, work

import wengert as wg
from wengert.lab.cli.main import main
from wengert.lab.records.database import Database
from wengert.lab.records.environment import Machine, environment
from wengert.lab.records.execution import Effort
from wengert.lab.records.record import Record, Result
from wengert.lab.records.work import Point

TIMED = Result("ok", counts={"flops": 1000, "peak": 4096}, samples=tuple(1e-3 * (1 + 0.01 * i) for i in range(12)), calls=1)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two programs in three modes, in the file that commands look for."""
    monkeypatch.chdir(tmp_path)
    recorded(tmp_path / "records.db", [point(3), point(100, [0.1] * 100)], ["primal", "reverse", "hvp"])
    return tmp_path / "records.db"


def written(path: Path, results: dict[str, Result], points: dict[str, Point] | None = None, **fields: Any) -> str:
    """A file with a record for each mode; the name of its run."""
    with Database(path, create=True) as database:
        run = database.begin_run(["test"])
        for mode, result in results.items():
            at = (points or {}).get(mode, point())
            database.add(record(at, result, mode, run=run, **fields), at.program)
    return run


def printed(words: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> str:
    assert main(words.split()) == code, capsys.readouterr().err
    out, err = capsys.readouterr()
    return out if code in (0, 3, 4) else err


def test_list(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = printed("records list", capsys).splitlines()
    assert [line.split("  ")[-1] for line in out[1:7]] == [f"sine n={n} {mode}" for n in (3, 100) for mode in ("primal", "reverse", "hvp")]
    assert out[-1] == "6 records in records.db"
    rows = json.loads(printed("records list --json", capsys))
    run = rows[0]["run"]
    assert json.loads(printed(f"records list --run {run[:5]} --task {rows[1]['task'][:9]} --json", capsys)) == [rows[1]]
    assert "wengert sweep 'p q'" in printed("records list --runs", capsys)
    assert "has no record that is chosen so" in printed("records list --status wrong", capsys, 1)


def test_show(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = json.loads(printed("records list --json", capsys))[1]
    out = printed(f"records show {first['id'][:10]}", capsys)
    assert f"task {first['task']}: sine n=3 reverse" in out
    assert "d results 0 / d arguments 0, backend cpu; seed 0" in out
    assert f"numpy {np.__version__}" in out
    assert json.loads(printed(f"records show {first['id'][:10]} --json", capsys)) == first
    shown = printed(f"records show {first['id'][:10]} --program", capsys)
    assert wg.parse(shown).signature == point(3).program.signature
    assert "has no record 'zz'; wengert records list shows them" in printed("records show zz", capsys, 1)


def test_json_holds_everything(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    printed("records export --json all.json", capsys)
    seen = json.loads((tmp_path / "all.json").read_text())
    with Database(file) as database:
        records = database.records()
    assert [Record.of_json(fields).to_json() for fields in seen["records"]] == [r.to_json() for r in records]
    assert set(seen["programs"]) == {r.work.program for r in records}
    assert json.loads(printed("records export --json -", capsys)) == seen
    assert "say in which format" in printed("records export", capsys, 1)


def test_parquet(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    printed("records export --parquet all.parquet", capsys)
    rows = parquet.read_table(tmp_path / "all.parquet").to_pylist()
    with Database(file) as database:
        records = database.records()
    assert [row["id"] for row in rows] == [r.id for r in records]
    for row, r in zip(rows, records, strict=True):
        assert (row["size_n"], row["mode"], row["count_flops"]) == (r.sizes["n"], r.work.mode, r.result.counts["flops"])
        assert row["samples_seconds"] == list(r.result.samples)
        assert row["processor"] == r.environment.machine.processor


def test_pyperf_reads_the_samples(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pyperf = pytest.importorskip("pyperf")
    recorded(file, [point(3)], ["primal"])  # a second run of one task
    printed("records export --pyperf all.json", capsys)
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "all.json"))
    with Database(file) as database:
        records = database.records()
    names = list(dict.fromkeys(f"{r.name} {r.task[:8]}" for r in records))
    assert suite.get_benchmark_names() == names
    for name in names:
        benchmark = suite.get_benchmark(name)
        mine = [r for r in records if f"{r.name} {r.task[:8]}" == name]
        assert benchmark.get_values() == tuple(s for r in mine for s in r.result.samples)
        assert benchmark.get_nrun() == len(mine)
        assert benchmark.get_unit() == "second"
        assert [run.get_loops() * run.get_inner_loops() for run in benchmark.get_runs()] == [r.result.calls for r in mine]
    here = environment()
    away = replace(here, machine=replace(here.machine, name="far", processor="Abacus"))
    for environment_of in (here, away):
        written(tmp_path / "two.db", {"primal": TIMED}, environment=environment_of)
    printed("records export --records two.db --pyperf two.json", capsys)
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "two.json"))
    assert [name.partition(" on ")[2] for name in suite.get_benchmark_names()] == ["machine 1", "machine 2"]
    assert [b.get_metadata()["cpu_model_name"] for b in suite.get_benchmarks()] == [here.machine.processor, "Abacus"]
    written(tmp_path / "counted.db", {"primal": replace(TIMED, samples=())})
    assert "nothing was timed" in printed("records export --records counted.db --pyperf -", capsys, 1)


def test_merge(file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recorded(tmp_path / "b.db", [point(3)], ["primal"])
    out = printed("records merge records.db b.db --into all.db", capsys).splitlines()
    assert out == ["records.db: 6 of 6 records are new in all.db", "b.db: 1 of 1 records are new in all.db"]
    assert printed("records merge b.db --into all.db", capsys) == "b.db: 0 of 1 records are new in all.db\n"
    assert "cannot be merged into itself" in printed("records merge all.db --into ./all.db", capsys, 1)
    assert "there is no file of records c.db" in printed("records merge b.db c.db --into new.db", capsys, 1)
    assert not (tmp_path / "new.db").exists()


def test_compare_sees_what_is_worse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    slow = replace(TIMED, samples=tuple(1.3 * s for s in TIMED.samples))
    written(tmp_path / "a.db", dict.fromkeys(("primal", "forward", "reverse", "hvp", "direct"), TIMED))
    written(
        tmp_path / "b.db",
        {
            "primal": replace(TIMED, samples=tuple(1.001 * s for s in TIMED.samples)),
            "forward": slow,
            "reverse": replace(TIMED, counts={"flops": 1200, "peak": 4000}),
            "hvp": Result("refused", "no rule"),
            "jacrev": TIMED,
        },
    )
    seen = json.loads(printed("records compare a.db b.db --json", capsys, 4))
    pairs = {pair["name"].split()[-1]: pair for pair in seen["pairs"]}
    assert pairs["primal"]["time"]["kind"] == "no difference seen"
    assert pairs["forward"]["time"]["kind"] == "slower"
    assert pairs["forward"]["time"]["ratio"] == pytest.approx(1.3)
    assert pairs["reverse"]["counts"] == {"flops": [1000, 1200], "peak": [4096, 4000]}
    assert {name for name, pair in pairs.items() if pair["regressions"]} == {"forward", "reverse", "hvp"}
    assert (seen["only_a"], seen["only_b"]) == (["sine n=3 direct"], ["sine n=3 jacrev"])
    out = printed("records compare a.db b.db", capsys, 4)
    assert "regressions: 3 of 4 tasks" in out
    assert "sine n=3 reverse: flops 1000 -> 1200 (1.2 times)" in out
    assert "sine n=3 hvp: refused: no rule" in out
    assert "faster" in printed("records compare b.db a.db", capsys)
    assert printed("records compare a.db b.db --effect 50%", capsys, 4).count("slower:") == 0
    assert printed("records compare a.db a.db", capsys).endswith("regressions: 0 of 5 tasks\n")


def test_compare_runs_and_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    here = environment()
    other = replace(here, machine=replace(here.machine, processor="Another", name="elsewhere"), commit="beef" * 10, versions={**here.versions, "numpy": "1.0"})
    file = tmp_path / "records.db"
    runs = [written(file, {"primal": TIMED}, environment=e, load=load) for e, load in ((replace(here, commit="cafe" * 10), 0.1), (other, 5.0))]
    out = printed(f"records compare {runs[0][:8]} records.db:beef", capsys)
    assert f"processor: {here.machine.processor} ({here.machine.target}) (A), Another ({here.machine.target}) (B)" in out
    assert "commit: cafecafecafe (A), beefbeefbeef (B)" in out
    assert f"numpy: {np.__version__} (A), 1.0 (B)" in out
    assert "load: 0.1 (A), 5 (B)" in out
    assert "no run and no commit 0000" in printed("records compare 0000 cafe", capsys, 1)
    assert "there is no such file" in printed("records compare nothing.db cafe", capsys, 1)
    written(tmp_path / "other.db", {"forward": TIMED})
    assert "have no task in common" in printed("records compare records.db other.db", capsys, 1)


def test_replay_says_that_nothing_differs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for fields in json.loads(printed("records list --json", capsys)):
        assert main(["replay", fields["id"], "--json", "--rounds", "3"]) in (0, 4)  # a busy machine may be slower
        seen = json.loads(capsys.readouterr().out)
        assert seen["differs"] == {}
        assert seen["results"]["difference"] == 0
        assert seen["replayed"]["task"] == fields["task"]
        assert seen["replayed"]["result"]["counts"] == fields["result"]["counts"]
        assert len(seen["replayed"]["result"]["samples"]) == 3


def test_replay_says_what_differs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    here, at = environment(), point()
    [real] = recorded(tmp_path / "real.db", [at], ["reverse"], Effort(rounds=3, budget=0.01))
    result = replace(real.result, counts={**real.result.counts, "flops": 1}, derived="0" * 32, samples=(1e-9,) * 30)
    away = replace(here, machine=Machine("far", "Abacus", "abacus", 1, 0, "none"), versions={**here.versions, "LLVM": "3.0"})
    written(tmp_path / "records.db", {"reverse": result}, environment=away, load=99.0)
    [fields] = json.loads(printed("records list --json", capsys))
    out = printed(f"replay {fields['id'][:6]} --keep", capsys, 4)
    flops = real.result.counts["flops"]
    for line in (
        "processor: Abacus (abacus) (then)",
        "LLVM: 3.0 (then)",
        f"flops: 1 then, {flops} now",
        "IR that is run: 000000000000 then",
        "now is slower: ",
    ):
        assert line in out
    assert "results: the same norms" in out
    kept = json.loads(printed("records list --json", capsys))
    assert len(kept) == 2
    assert kept[1]["task"] == fields["task"]
    assert kept[1]["environment"]["machine"]["processor"] == here.machine.processor


def test_replay_of_other_results_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    [real] = recorded(tmp_path / "real.db", [point()], ["reverse"])
    written(tmp_path / "records.db", {"reverse": replace(real.result, norms=(real.result.norms[0], 7.0))})
    [fields] = json.loads(printed("records list --json", capsys))
    assert "results: WRONG, their norms differ by" in printed(f"replay {fields['id']}", capsys, 3)


def test_replay_of_a_plugin_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    away = replace(environment(), plugins={"/far/mine.py": "abc"})
    at = point()
    with Database(tmp_path / "records.db", create=True) as database:
        run = database.begin_run(["test"])
        one = database.add(record(at, TIMED, run=run, work=work(at, "mine", plugin="abc"), environment=away), at.program)
    assert "the record is of 'mine', which came from a plug-in: replay it with --load /far/mine.py" in printed(f"replay {one.id}", capsys, 1)


def test_bfloat_inputs_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    import ml_dtypes

    monkeypatch.chdir(tmp_path)
    text = "func.func public @main(%x: tensor<3xbf16>) -> tensor<3xbf16> {\n  %0 = stablehlo.add %x, %x : tensor<3xbf16>\n  return %0 : tensor<3xbf16>\n}\n"
    at = Point("half", wg.parse(text), {}, (np.array([1.0, 2.0, 4.0], ml_dtypes.bfloat16),))
    [one] = recorded(tmp_path / "records.db", [at], ["primal"])
    assert one.result.norms == pytest.approx((84**0.5,), rel=1e-2)
    assert main(["replay", one.id, "--json"]) in (0, 4)
    assert json.loads(capsys.readouterr().out)["results"]["difference"] == 0
