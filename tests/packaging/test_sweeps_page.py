"""The page about sweeps and records, followed literally in an empty folder."""

from __future__ import annotations

from pathlib import Path

from followed_page import EmptyFolder, Run, Show, steps

PAGE = Path(__file__).parents[2] / "docs" / "sweeps.md"


def test_the_page_is_followed(tmp_path: Path) -> None:
    followed = steps(PAGE.read_text())
    assert [step.file for step in followed if isinstance(step, Show)] == ["mix.py", "rows.mlir", "mix.toml"]
    assert sum(isinstance(step, Run) for step in followed) == 9
    workplace = EmptyFolder(tmp_path)
    for step in followed:
        workplace.follow(step)
