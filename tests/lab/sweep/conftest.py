"""The folder that sweeps run in."""

from __future__ import annotations

from pathlib import Path

import pytest
from record_programs import OPEN
from sweep_model import MODEL


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "sine.mlir").write_text(OPEN)
    monkeypatch.chdir(tmp_path)
    return tmp_path
