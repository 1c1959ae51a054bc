"""The page on upstream programs says what is read."""

from __future__ import annotations

from pathlib import Path

from wengert.dialects.upstream.tables import FORMS
from wengert.lab.ops.upstream import state_of, table
from wengert.transforms.upstream.convert.converter import Converter

PAGE = (Path(__file__).parents[2] / "docs" / "upstream.md").read_text()


def test_the_table_is_that_of_the_page() -> None:
    """After a change: ``python -m wengert.lab.ops.upstream``."""
    assert PAGE.endswith(table())


def test_every_handler_has_a_form() -> None:
    assert [name for name in Converter.HANDLERS if name not in FORMS] == []


def test_what_is_refused() -> None:
    refused = {name for name in FORMS if state_of(name) == "refused"}
    assert "cf.br" in refused
    assert "linalg.matmul" not in refused
    assert len(refused) < 25
