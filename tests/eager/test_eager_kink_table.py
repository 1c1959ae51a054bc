"""The table of special values in docs/kinks.md: what it says is what is computed, by us, JAX and PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
from kink_table import BEGIN, DOCUMENT, END, ROWS, Row, eager, same, table, traced

import wengert as wg
import wengert.eager
import wengert.numpy as wnp

pytestmark = pytest.mark.filterwarnings("ignore")
rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.text}, order {row.order}")


def test_the_document_has_the_table() -> None:
    written = DOCUMENT.read_text().partition(BEGIN)[2].partition(END)[0]
    assert written == table(), "write it by: python tests/eager/kink_table.py --write"


@rows
def test_define_by_run_is_pytorch(row: Row) -> None:
    torch: Any = pytest.importorskip("torch")
    assert same(eager(row, wengert.eager), eager(row, torch))


@rows
def test_traced_code_is_jax(row: Row) -> None:
    jax: Any = pytest.importorskip("jax")
    import jax.numpy as jnp

    with jax.enable_x64(True):
        expected = traced(row, jnp, jax.grad)
        assert same(row.jax or traced(row, wnp, wg.grad), expected)
        assert row.jax is None or not same(traced(row, wnp, wg.grad), expected)
