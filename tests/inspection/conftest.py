"""Files with functions that are traced count as loaded in their process; each test forgets its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from wengert.ir.plugins import LOADED


@pytest.fixture(autouse=True)
def forgotten_files() -> Iterator[None]:
    before = dict(LOADED)
    yield
    LOADED.clear()
    LOADED.update(before)
