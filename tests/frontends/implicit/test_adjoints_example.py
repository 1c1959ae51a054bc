"""The example of adjoints of a differential equation: checkpoints change nothing but memory, and the continuous adjoint is off by what it says."""

from __future__ import annotations

import runpy

import pytest


def test_adjoints(capsys: pytest.CaptureFixture[str]) -> None:
    names = runpy.run_path("examples/ode_adjoints.py")
    distances = names["main"]()
    assert distances["discrete"] == 0
    assert distances["checkpointed"] < 1e-12
    assert 1e-7 < distances["continuous"] < 1e-2
    lines = {line.split(":")[0].strip(): line for line in capsys.readouterr().out.splitlines() if line.endswith("bytes")}
    peaks = {name: int(line.split()[-2]) for name, line in lines.items()}
    assert peaks["continuous"] < peaks["checkpointed"] < peaks["discrete"] / 4
