"""The notebooks run from top to bottom, and the numbers in them are right."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def run(name: str) -> dict[str, Any]:
    """Runs all cells; the names that they leave."""
    path = next(path for path in NOTEBOOKS if path.stem == name)
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        assert not cell["outputs"], "notebooks are kept without outputs"
        exec(compile("".join(cell["source"]), f"{path.name}[{number}]", "exec"), names)
    return names


def forward_and_reverse(names: dict[str, Any]) -> None:
    forward = [float(names["forward"](2.0, 5.0, *direction)[1]) for direction in ((1.0, 0.0), (0.0, 1.0))]
    assert forward == pytest.approx([float(names["x1_bar"]), float(names["x2_bar"])], rel=1e-15)


def computation_graphs(names: dict[str, Any]) -> None:
    by_hand = [1 / 2.0 + 5.0, 2.0 - math.cos(5.0)]
    assert [names["by_x1"], names["by_x2"]] == pytest.approx(by_hand, rel=1e-15)
    assert [names["bar"][names[x]] for x in ("x1", "x2")] == pytest.approx(by_hand, rel=1e-15)
    assert [names[f"eager_{x}"].grad.item() for x in ("x1", "x2", "a", "b")] == pytest.approx([*by_hand, 2.0, 5.0], rel=1e-15)


def the_tape_is_ir(names: dict[str, Any]) -> None:
    np.testing.assert_allclose(names["w_bar"], names["w"].grad.numpy(), rtol=1e-13)
    assert names["t"].grad.item() == 9 / 32  # from 3, the steps are two of 3 x + 1 and five of x / 2
    assert names["u"].grad.item() == pytest.approx(math.cos(0.5) * 0.5 + math.sin(0.5), rel=1e-6)


def custom_rules(names: dict[str, Any]) -> None:
    assert math.isnan(names["naive"][2])
    assert names["better"] == [0.5, 1.0, 1.0]
    assert names["at_two"] == pytest.approx(0.5 / 2**0.5, rel=1e-15)
    assert names["t"].grad.tolist() == [0.0, 2.0, 4.0]


def laboratory(names: dict[str, Any]) -> None:
    crossings = {basis: [round(c.size) for c in crossover.crossings] for basis, crossover in names["crossings"].items()}
    assert crossings["flops"] == [40]
    assert [20 < size < 80 for size in crossings["predicted"]] == [True]
    by_mode = {cell.mode: cell for cell in names["curve"].cells}  # those of the largest size
    assert (by_mode["forward"].result.directions, by_mode["reverse"].result.directions) == (2, 512)
    assert all(ratio > 1 for ratio in names["curve"].crossovers()["forward and reverse"]["flops"].ratios.values())
    modes = {series.mode: series.values("flops")[256.0] for series in names["loss"].series}
    assert modes["reverse"] < modes["recompute-all"]
    assert all(cell.result.status == "ok" and cell.result.samples for cell in names["loss"].cells)
    (w, v), x = names["weights"], np.linspace(-1.0, 1.0, 32)
    hidden = np.tanh(np.outer(w, x))
    residual = 2 * (v @ hidden - np.sin(3 * x))
    np.testing.assert_allclose(names["v_bar"], hidden @ residual, rtol=1e-12)
    np.testing.assert_allclose(names["w_bar"], v * (((1 - hidden**2) * residual) @ x), rtol=1e-12)
    assert all(text in names["mixed"].plot()._repr_svg_() for text in ("<svg", "time of one run (s)", "forward: power"))
    assert [cell.again for cell in names["again"].cells] == [True] * 4 + [False] * 2
    assert len(names["kept"]) == 6


def bilevel(names: dict[str, Any]) -> None:
    penalties, inputs, labels = names["start"], names["inputs"], names["labels"]

    def loss(penalties: Any) -> float:
        weights = np.linalg.solve(inputs.T @ inputs + np.diag(np.exp(penalties)), inputs.T @ labels)
        return float(np.mean((names["held_out"] @ weights - names["held_out_labels"]) ** 2))

    by_hand = [(loss(penalties + h) - loss(penalties - h)) / 2e-5 for h in 1e-5 * np.eye(20)]
    np.testing.assert_allclose(names["gradient"], by_hand, atol=1e-8)
    np.testing.assert_allclose(names["other"], names["gradient"], atol=1e-9)
    assert float(names["value"]) == pytest.approx(loss(penalties), rel=1e-9)
    assert names["history"][-1] < names["history"][0] / 2
    assert names["log_penalties"][5:].mean() > names["log_penalties"][:5].mean()


CHECKS = [forward_and_reverse, computation_graphs, the_tape_is_ir, custom_rules, laboratory, bilevel]
NEEDS = {"laboratory": "matplotlib"}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_notebook(check: Callable[[dict[str, Any]], None]) -> None:
    if check.__name__ in NEEDS:
        pytest.importorskip(NEEDS[check.__name__])
    check(run(check.__name__))


def test_no_notebook_is_left_out() -> None:
    assert sorted(check.__name__ for check in CHECKS) == [path.stem for path in NOTEBOOKS]
