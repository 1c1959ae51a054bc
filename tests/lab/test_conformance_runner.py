"""The conformance runner on a corpus made here: what passes, fails, is refused, hangs or dies is told apart."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wengert.lab.cli.main import main
from wengert.lab.conformance import Task, expand_kinds, run_task
from wengert.lab.corpus import array_error, read_corpus
from wengert.lab.workers import Report, run_tasks
from wengert.runtime.errors import InputError

SQUARE = """func.func public @main(%x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.multiply %x, %x : tensor<2xf64>
  return %0 : tensor<2xf64>
}
"""
CALL = SQUARE.replace("stablehlo.multiply %x, %x : tensor<2xf64>", "stablehlo.custom_call @elsewhere(%x) : (tensor<2xf64>) -> tensor<2xf64>")
X, V, C = np.array([1.0, 2.0]), np.array([0.5, -1.0]), np.array([3.0, 4.0])
ARRAYS: dict[str, Any] = {
    "in_0": X,
    "out_0": X**2,
    "tan_0": V,
    "cot_0": C,
    "jvp_0": 2 * X * V,
    "vjp_0": 2 * X * C,
    "hvp_0": 2 * V * C,
    "jac_0_0": np.diag(2 * X),
}


def write(root: Path, name: str, text: str, **changed: Any) -> dict[str, Any]:
    folder = root / name
    folder.mkdir()
    (folder / "f64.mlir").write_text(text)
    np.savez(folder / "f64.npz", **{**ARRAYS, **changed})
    tolerance = {kind: {"f64": 1e-12} for kind in ("out", "jvp", "vjp")}
    return {"name": name, "precisions": ["f64"], "tolerance": tolerance, "hvp": True, "full_jacobian": True, "ops": {}}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus")
    entries = [
        write(root, "right", SQUARE),
        write(root, "wrong", SQUARE, vjp_0=2 * X * C + 1e-6),
        write(root, "refused", CALL),
        write(root, "broken", SQUARE[:50]),
    ]
    (root / "manifest.json").write_text(json.dumps({"programs": entries}))
    return root


def test_command(corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "c.json"
    assert main(["conformance", str(corpus), "--dtype", "f64", "--json", str(out), "--backend", "interpreter"]) == 3
    lines = capfd.readouterr().out.splitlines()
    assert lines[-5:] == [
        "primal: 2 passed, 1 failed, 1 refused",
        "jvp:    2 passed, 1 failed, 1 refused",
        "vjp:    1 passed, 2 failed, 1 refused",
        "hvp:    2 passed, 1 failed, 1 refused",
        "jac:    2 passed, 1 failed, 1 refused",
    ]
    assert any(line.startswith("wrong f64 vjp: failed: cotangent of input 0 differs by 6.25e-08, tolerance 1e-12") for line in lines)
    assert any(line.startswith("broken f64 primal: failed: ") and "f64.mlir:1:" in line for line in lines)
    assert any(line.startswith("refused f64 jvp: refused: ") and "has no derivative rule" in line and "custom_call of @" in line for line in lines)
    written = json.loads(out.read_text())
    assert len(written["outcomes"]) == 20
    assert written["backend"] == "interpreter"


def test_only_and_what(corpus: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", str(corpus), "--dtype", "f64", "--only", "right", "--what", "vjp,primal"]) == 0
    assert capfd.readouterr().out.splitlines() == ["primal: 1 passed, 0 failed, 0 refused", "vjp:    1 passed, 0 failed, 0 refused"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--only", "wright"], 1, "has no program wright"),
        (["--what", "vpj"], 1, "there is no kind 'vpj'"),
        (["--backend", "cup"], 2, "did you mean 'cpu'?"),
        (["--dtype", "f16"], 1, "no programs in 'f16'"),
    ],
)
def test_wrong_requests(corpus: Path, arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", str(corpus), *arguments]) == code
    assert message in capsys.readouterr().err


def test_nothing_to_compare_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    entry = write(tmp_path, "primal_alone", SQUARE) | {"hvp": False}
    np.savez(tmp_path / "primal_alone" / "f64.npz", **{name: array for name, array in ARRAYS.items() if name[:3] != "hvp"})
    (tmp_path / "manifest.json").write_text(json.dumps({"programs": [entry]}))
    assert main(["conformance", str(tmp_path), "--dtype", "f64", "--what", "hvp"]) == 1
    assert "nothing was compared" in capsys.readouterr().err


def test_not_a_corpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conformance", str(tmp_path)]) == 1
    assert "is not a corpus folder" in capsys.readouterr().err
    (tmp_path / "manifest.json").write_text("{}")
    assert main(["conformance", str(tmp_path)]) == 1
    assert "is not a corpus manifest" in capsys.readouterr().err


def test_any_exception_is_a_failure(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("wengert.runtime.program.Program.vjp", broken)
    (program,) = read_corpus(corpus, {"right"})
    outcomes = {o.kind: o for o in run_task(Task(program, "f64", ("primal", "vjp"), "interpreter"))}
    assert outcomes["primal"].status == "passed"
    assert outcomes["vjp"].status == "failed"
    assert outcomes["vjp"].reason.startswith("ZeroDivisionError: a defect (at ")


def test_kinds() -> None:
    assert expand_kinds(["all"]) == ("primal", "jvp", "vjp", "hvp", "jac")
    assert expand_kinds(["vjp", "primal"]) == ("primal", "vjp")
    assert expand_kinds(["text"])[0] == "text-primal"
    with pytest.raises(InputError):
        expand_kinds(["nothing"])


@pytest.mark.parametrize(
    ("actual", "reference", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.1], [1.0, 2.0], 0.05),
        ([0.5], [0.0], 0.5),
        ([1.0], [1.0, 2.0], np.inf),
        ([np.nan, 1.0], [np.nan, 1.0], 0.0),
        ([0.0, 1.0], [np.nan, 1.0], np.inf),
        ([np.inf, 1.0], [np.inf, 1.0], 0.0),
        ([-np.inf, 1.0], [np.inf, 1.0], np.inf),
        ([np.inf, 1.0], [0.0, 1.0], np.inf),
        ([1j], [1.0], 2**0.5),
    ],
)
def test_array_error(actual: list[Any], reference: list[Any], error: float) -> None:
    assert array_error(np.array(actual), np.array(reference)) == pytest.approx(error)


def test_array_error_of_integers_and_empty_arrays() -> None:
    assert array_error(np.array([1, 2]), np.array([1, 2])) == 0
    assert array_error(np.array([1, 3]), np.array([1, 2])) == 1
    assert array_error(np.empty((0, 2)), np.empty((0, 2))) == 0
    assert array_error(np.empty((2, 0)), np.empty((0, 2))) == float("inf")


def work(task: str) -> Iterator[str]:
    yield f"{task} begins"
    if task == "hang":
        time.sleep(60)
    if task == "die":
        os.abort()
    yield f"{task} ends"


def test_workers_survive_tasks_that_hang_or_die() -> None:
    tasks = ["one", "hang", "die", "two"]
    reports = list(run_tasks(work, tasks, jobs=1, timeout=20))
    assert [r for r in reports if r.index == 0] == [Report(0, "one begins"), Report(0, "one ends"), Report(0, ended=True)]
    assert [r for r in reports if r.index == 1] == [Report(1, "hang begins"), Report(1, ended=True, reason="out of time")]
    assert [r.reason for r in reports if r.index == 2 and r.ended] == ["the process died (signal 6)"]
    assert [r.value for r in reports if r.index == 3 and not r.ended] == ["two begins", "two ends"]
