"""The notebooks run from top to bottom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebook(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert cells
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        assert not cell["outputs"], "notebooks are kept without outputs"
        exec(compile("".join(cell["source"]), f"{path.name}[{number}]", "exec"), names)


def test_forward_and_reverse_agree() -> None:
    names: dict[str, Any] = {}
    (path,) = [path for path in NOTEBOOKS if path.stem == "forward_and_reverse"]
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    forward = [float(names["forward"](2.0, 5.0, *direction)[1]) for direction in ((1.0, 0.0), (0.0, 1.0))]
    assert forward == pytest.approx([float(names["x1_bar"]), float(names["x2_bar"])], rel=1e-15)
