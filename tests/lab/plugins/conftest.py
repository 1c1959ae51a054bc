"""Folders with a plug-in, which no other test knows afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.programs.plugin_files import MINE, PROGRAM

import wengert as wg
from wengert.dialects import registry
from wengert.ir import plugins
from wengert.ir.pipeline.passes import PASSES
from wengert.transforms.ad import strategies
from wengert.transforms.ad.residuals import policies


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Nothing that a test registers is known to another."""
    tables: list[dict[Any, Any]] = [
        plugins.LOADED,
        plugins._CONTENTS,
        PASSES._registered,
        strategies.STRATEGIES._registered,
        policies.POLICIES._registered,
        registry._REGISTERED,
    ]
    before = [dict(table) for table in tables]
    registering = set(plugins._REGISTERING)
    yield
    for table, kept in zip(tables, before, strict=True):
        table.clear()
        table.update(kept)
    plugins._REGISTERING.clear()
    plugins._REGISTERING.update(registering)
    PASSES.version += 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WENGERT_REPRODUCER_DIR", str(tmp_path / "reproducers"))
    (tmp_path / "p.mlir").write_text(PROGRAM)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


@pytest.fixture
def program(folder: Path) -> wg.Program:
    wg.load_plugin(folder / "mine.py")
    return wg.load("p.mlir")
