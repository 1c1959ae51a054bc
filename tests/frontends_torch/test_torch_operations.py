"""A share of PyTorch's database of operations, exported and imported."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

SHARE = ["igammac", "stft", "istft", "grid_sampler_3d", "nn.functional.grid_sample", "nn.functional.embedding_bag", "nn.functional.multi_head_attention_forward"]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_a_share_of_the_database_is_right() -> None:
    pytest.importorskip("expecttest", reason="PyTorch's database of operations needs expecttest")
    from benchmarks.torch_operations import run

    outcomes = list(run(SHARE, 2))
    assert {o.name for o in outcomes} == set(SHARE)
    wrong = [f"{o.name}: {o.status} ({o.note})" for o in outcomes if o.status != "right"]
    assert not wrong, "\n".join(wrong)
