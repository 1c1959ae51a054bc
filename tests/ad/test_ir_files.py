"""The passes of differentiation on small programs: every file under ``ir`` says what it checks."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_lines import run_lines

FILES = sorted((Path(__file__).parent / "ir").glob("*.mlir"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_run_lines(path: Path) -> None:
    run_lines(path)
