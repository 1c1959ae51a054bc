"""The benchmark command runs, compares before it times, and writes what it measured. Nothing here depends on a time."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.oracle


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks", "--quick", "--peers", "jax", "--seconds", "0.001", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_group(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = _run("--groups", "calls,loops", "--json", str(report), "--markdown")
    assert done.returncode == 0, done.stderr
    written = json.loads(report.read_text())
    assert {"cpu", "versions", "flags", "load at start", "load at end", "limits"} <= written["environment"].keys()
    assert [(row["group"], row["name"]) for row in written["rows"]] == [("calls", "five arrays"), ("loops", "van der Pol, 100 of RK4")]
    for row in written["rows"]:
        assert row["ours"]["error"] <= 1e-9
        assert row["ratios"]["jax"] > 0
    assert "| loops | van der Pol, 100 of RK4 |" in done.stdout


def test_models_at_several_numbers_of_threads(tmp_path: Path) -> None:
    report, chart = tmp_path / "models.json", tmp_path / "models.svg"
    done = _run("--groups", "models", "--only", "GPT,LSTM", "--threads", "1", "--json", str(report), "--chart", str(chart))
    assert done.returncode == 0, done.stderr
    document = json.loads(report.read_text())["threads"]["1"]
    assert [row["name"] for row in document["rows"]] == ["GPT B2 T8 D64 L2", "LSTM B3 T5 D8 L2"]
    for row in document["rows"]:
        assert row["ours"]["error"] < 2e-4
        assert min(row["floats"], row["moved"], row["ours"]["memory"], row["peers"]["jax"]["memory"], document["flops"]) > 0
    assert "| training step | 1 thread, ms | / jax |" in done.stdout
    assert "| training step | GFLOP | GFLOP/s, 1 thread | MB of kernels | GB/s, 1 thread | MB held | / jax | compiled in s | / jax |" in done.stdout
    assert "| training step | our error | jax's |" in done.stdout
    assert chart.exists()


def test_peers_that_are_not_installed_are_named(tmp_path: Path) -> None:
    if importlib.util.find_spec("iree") is not None:
        pytest.skip("IREE is installed")
    done = _run("--groups", "models", "--only", "neural", "--threads", "1", "--peers", "iree")
    assert done.returncode == 0, done.stderr
    assert "neural ODE B3 D4 H8, 3 of RK4, without iree: it is not installed (pip install 'wengert[iree]')" in done.stdout


def test_numbers_of_threads_that_are_none() -> None:
    for threads in ("0", "two", "100000"):
        done = _run("--groups", "models", "--threads", threads)
        assert done.returncode == 2
        assert f"--threads {threads}: numbers from 1 to" in done.stderr
    assert "the group models is measured alone" in _run("--groups", "models,calls").stderr


def test_unknown_names() -> None:
    done = _run("--groups", "sorcery")
    assert done.returncode == 2
    assert "no group sorcery; there are elementwise" in done.stderr


def test_a_wrong_result_is_not_timed() -> None:
    script = """
import sys
from dataclasses import replace
import jax
jax.config.update("jax_enable_x64", True)
from benchmarks.harness import measure, peers
from benchmarks.problems.workloads import GROUPS
workload, right, limits = GROUPS["calls"](True)[0], peers.theirs, measure.Machine({1: 1.0}, {"float64": 1.0})
for wrong in (lambda x: x + 1, lambda x: x + float("nan")):
    peers.PEERS["jax"] = lambda w: replace(right(w), results=[wrong(x) for x in right(w).results])
    row = measure.measure("calls", workload, limits, 0.001, ["jax"])
    assert "jax is off by" in row.wrong["jax"] and not row.peers and row.ours.time.least > 0
own = measure.ours
measure.ours = lambda w: replace(own(w), results=[x + 1 for x in own(w).results])
try:
    measure.measure("calls", workload, limits, 0.001, [])
except AssertionError as error:
    sys.exit(0 if "wengert is off by" in str(error) else str(error))
sys.exit("nothing was noticed")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_the_adapter_reads_in_a_request() -> None:
    """Shapes among the words, and the inputs whose columns a Jacobian of such a shape has."""
    script = """
import numpy as np, wengert as wg
from benchmarks.gradbench_adapter import asked_shapes, jacobian_inputs
words = "Jacobian values: (p, 2,15) of e with respect to (camera, point), (p,) of w, (p,3) of z"
assert asked_shapes(words, {"p": 7, "n": 4}) == [(7, 2, 15), (7,), (7, 3)]
p = wg.jit(lambda a, b, c, n: (a + b[:, :1], a[:, 0] * c)).program(np.ones((4, 2)), np.ones((4, 3)), np.ones(4), 1)
inputs = [np.ones((4, 2)), np.ones((4, 3)), np.ones(4), np.int64(1)]
assert jacobian_inputs(p, 0, (4, 2, 5), inputs) == (0, 1)
assert jacobian_inputs(p, 0, (4, 2, 3), inputs) == (1,)
assert jacobian_inputs(p, 1, (4,), inputs) == (2,)
assert jacobian_inputs(p, 1, (4, 3), inputs) == (0, 2)
for result, shape in ((0, (4, 2, 4)), (0, (4, 3, 5)), (1, (4, 7))):
    try:
        jacobian_inputs(p, result, shape, inputs)
    except NotImplementedError:
        continue
    raise SystemExit(f"{result} {shape}")
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_rows_of_the_ad_kit() -> None:
    """What its report says of a workload, and of one that failed, which counts as ten times JAX's time."""
    from benchmarks.gradbench import _row

    entry = {"eval": "lse", "size": "n2500", "t_jax": 2e-6, "t_ours": 1e-6, "compile_jax": 0.2, "compile_ours": 0.1, "max_rel_err": 1e-15, "error": None}
    row = _row(entry)
    assert (row.name, row.ratio("jax"), row.missing, row.wrong) == ("lse n2500", 0.5, {}, {})
    failed = _row({**entry, "t_ours": None, "compile_ours": None, "max_rel_err": None, "error": "it was wrong"})
    assert failed.ratio("jax") == 10
    assert "it was wrong" in failed.missing["wengert"]
