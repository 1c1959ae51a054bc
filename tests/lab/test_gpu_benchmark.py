"""The script that measures on a GPU, run where none is: it checks, times, names what is missing, and stops in time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.gpu import report, rows
from benchmarks.gpu.__main__ import main
from benchmarks.gpu.sides import numbers, program
from benchmarks.gpu.workloads import workloads
from device_backends import BACKENDS


@pytest.mark.parametrize("backend", BACKENDS[:1])
def test_a_run(backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "gpu.json"
    assert main(["--backend", backend, "--small", "--seconds", "0.001", "--minutes", "0.2", "--json", str(file)]) == 0
    printed, document = capsys.readouterr().out, json.loads(file.read_text())
    assert "no column of jax" in printed
    assert "no column of torch.compile" in printed
    assert document["machine"]["copy_bytes_per_second"] > 0
    assert "say nothing" in document["note"]
    names = [row["name"] for row in document["rows"]]
    assert names == [workload.name for workload in workloads()][: len(names)]
    assert names
    assert all(row["seconds"].keys() == {"wengert"} and not row["wrong"] for row in document["rows"])


def test_without_a_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--backend", "cuda", "--small"]) in (0, 2)
    printed = capsys.readouterr()
    assert "error: " in printed.err or "copy" in printed.out


@pytest.mark.parametrize("workload", workloads(), ids=lambda workload: workload.name)
def test_workloads_are_right(workload: rows.Workload) -> None:
    """Gradients on the CPU backend agree with differences in the direction of the arguments themselves."""
    inputs = [np.asarray(x, np.float64) for x in numbers(workload, workload.small)]
    plain = program(workload, workload.small, gradient=False)
    assert all(np.isfinite(np.asarray(r, np.float64)).all() for r in plain(*numbers(workload, workload.small)[: len(workload.small)]))
    if workload.gradient and workload.dtype == "float32":
        made = program(workload, workload.small, gradient=True)
        results = made(*[x.astype(np.float32) for x in inputs])
        arguments, y_bar, step = inputs[:-1], inputs[-1], 1e-2
        moved = [np.asarray(plain(*[(x * (1 + sign * step)).astype(np.float32) for x in arguments])[0], np.float64) for sign in (1, -1)]
        expected = np.sum(y_bar * (moved[0] - moved[1])) / (2 * step)
        pulled = sum(np.sum(np.asarray(x_bar, np.float64) * x) for x_bar, x in zip(results[1:], arguments, strict=True))
        assert abs(pulled - expected) <= 2e-2 * max(abs(expected), np.sqrt(y_bar.size))


def test_what_is_wrong_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    workload = workloads()[0]
    monkeypatch.setattr(rows, "TOLERANCE", {"float32": -1.0})
    row = rows.measure(workload, "interpreter", (), 0.001, full=False)
    assert row.wrong
    assert not row.seconds
    assert "WRONG, not timed" in report.line(row, (), None)
