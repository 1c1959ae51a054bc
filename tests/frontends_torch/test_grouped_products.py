"""Products of rows in groups, as mixtures of experts have them, beside a product for each group."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch_cases import distance, imported


class Grouped(torch.nn.Module):
    def forward(self, x: Any, y: Any, ends: Any) -> Any:
        return torch.ops.aten._grouped_mm(x, y, ends)


def test_rows_have_the_matrix_of_their_group() -> None:
    torch.manual_seed(2)
    x, y, ends = torch.randn(9, 16).bfloat16(), torch.randn(3, 16, 8).bfloat16(), torch.tensor([2, 2, 9], dtype=torch.int32)
    module = imported(Grouped(), x, y, ends)
    expected = torch.cat([x[:2].float() @ y[0].float(), x[2:].float() @ y[2].float()])
    assert distance(module(x, y, ends).astype("float32"), expected) < 1e-2
