"""How often the choice of a strategy is right, over a corpus: what is counted, and what is left out. Times are given, not taken."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from wengert.lab.cli.main import main
from wengert.lab.strategies.accuracy import Chosen, summary

TEXT = """
func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.sine %x : tensor<3xf64>
  return %0 : tensor<3xf64>
}
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A corpus of one program, with its Jacobian."""
    folder = tmp_path / "corpus" / "sine"
    folder.mkdir(parents=True)
    (folder / "f64.mlir").write_text(TEXT)
    x = np.array([0.1, 0.2, 0.3])
    ones = np.ones(3)
    arrays = {"in_0": x, "out_0": np.sin(x), "tan_0": ones, "cot_0": ones, "jvp_0": np.cos(x), "vjp_0": np.cos(x), "jac_0_0": np.diag(np.cos(x))}
    np.savez(folder / "f64.npz", **arrays)  # pyright: ignore[reportArgumentType]
    tolerances = {kind: {"f64": 1e-10} for kind in ("out", "jvp", "vjp")}
    manifest = {"programs": [{"name": "sine", "precisions": ["f64"], "tolerance": tolerances}]}
    (folder.parent / "manifest.json").write_text(json.dumps(manifest))
    return folder.parent


def test_conformance_compares_choices_with_the_fastest(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "choices.json"
    assert main(["conformance", str(corpus), "--strategies", "--dtype", "f64", "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert "of 1 programs" in out
    assert "left out: 0" in out
    (choice,) = json.loads(path.read_text())
    assert {"jacfwd", "jacrev", "jacrev direct"} <= choice["times"].keys()
    assert choice["chosen"] in choice["times"]
    assert choice["error"] < 1e-12


def test_a_choice_is_right_within_five_per_cent():
    times = {"jacfwd": 1.0, "jacrev": 1.04, "jacrev direct": 1.2}
    choices = [Chosen("p", "f64", name, "jacfwd", "jacfwd", "jacfwd", times, times) for name in times]
    choices += [Chosen("p", "f64", None, None, "jacfwd", "jacfwd", times, times), Chosen("q", "f64", skipped="too large")]
    assert [choice.is_right for choice in choices[:4]] == [True, True, False, False]
    settled, predicted, measured, rest = summary(choices)
    assert "3 of 4 programs (75 %)" in settled
    assert "2 of 4 programs (50 %)" in predicted
    assert "4 of 4 programs (100 %)" in measured
    assert "left out: 1" in rest
