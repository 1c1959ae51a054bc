"""Scaled dot-product attention beside PyTorch: masks, causal, grouped queries, scales, and the ops that PyTorch chooses for it."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch_cases import Case, compare_family, distance, exported

import wengert as wg

F, aten = torch.nn.functional, torch.ops.aten
G = torch.Generator().manual_seed(11)
attend = F.scaled_dot_product_attention


def x(*extents: int, dtype: Any = torch.float64) -> Any:
    return torch.randn(extents, generator=G, dtype=dtype)


def qkv(*heads: int, length: int = 5, source: int = 6, dtype: Any = torch.float64) -> tuple[Any, ...]:
    return x(*heads, length, 4, dtype=dtype), x(*heads, source, 4, dtype=dtype), x(*heads, source, 3, dtype=dtype)


MASK = torch.rand(2, 1, 5, 6, generator=G) > 0.4
HIDDEN = MASK.clone()
HIDDEN[0, 0, 2] = False


def strided(q: Any, k: Any, v: Any) -> Any:
    """With heads behind positions in memory, as models have them: PyTorch's own decomposition fails for these."""
    q, k, v = (t.view(2, -1, 3, 4).transpose(1, 2) for t in (q, k, v))
    return attend(q, k, v, is_causal=True).transpose(1, 2).reshape(2, -1, 12)


def of_cpu(q: Any, k: Any, v: Any) -> Any:
    return aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)[0]


CASES = {
    "forms": [
        Case("plain", attend, qkv(2, 3)),
        Case("causal", lambda *a: attend(*a, is_causal=True), qkv(2, 3)),
        Case("one batch dimension", attend, qkv(2)),
        Case("no batch dimension", attend, qkv()),
        Case("scale", lambda *a: attend(*a, scale=0.3), qkv(2, 3)),
        Case("a mask of booleans", lambda *a: attend(*a, attn_mask=MASK), qkv(2, 3)),
        Case("rows that are hidden", lambda *a: attend(*a, attn_mask=HIDDEN), qkv(2, 3)),
        Case("a bias", lambda q, k, v, m: attend(q, k, v, attn_mask=m), (*qkv(2, 3), x(5, 6))),
        Case(
            "a bias that hides", lambda q, k, v: attend(q, k, v, attn_mask=torch.zeros(5, 6, dtype=q.dtype).masked_fill(~HIDDEN[0, 0], -torch.inf)), qkv(2, 3)
        ),
        Case("one key for all heads", attend, (x(2, 3, 5, 4), x(2, 1, 6, 4), x(2, 1, 6, 3))),
        Case("grouped queries", lambda *a: attend(*a, enable_gqa=True), (x(2, 6, 5, 4), x(2, 3, 6, 4), x(2, 3, 6, 3))),
        Case("grouped, causal", lambda *a: attend(*a, is_causal=True, enable_gqa=True), (x(2, 6, 5, 4), x(2, 2, 5, 4), x(2, 2, 5, 4))),
        Case("grouped, masked", lambda *a: attend(*a, attn_mask=MASK, enable_gqa=True), (x(2, 6, 5, 4), x(2, 3, 6, 4), x(2, 3, 6, 3))),
        Case("as models have it", strided, (x(2, 5, 12), x(2, 5, 12), x(2, 5, 12))),
    ],
    "single precision": [
        Case("float32", lambda *a: attend(*a, is_causal=True), qkv(2, 3, dtype=torch.float32)),
        Case("as models have it", strided, (x(2, 5, 12, dtype=torch.float32), x(2, 5, 12, dtype=torch.float32), x(2, 5, 12, dtype=torch.float32))),
    ],
    "chosen ops": [
        Case("math", lambda *a: aten._scaled_dot_product_attention_math(*a), qkv(2, 3)),
        Case("safe softmax", lambda a: aten._safe_softmax(a.masked_fill(HIDDEN[0, 0].T, -torch.inf), 0), (x(6, 5),)),
    ],
}


@pytest.mark.parametrize("family", CASES)
def test_attention(family: str) -> None:
    compare_family(CASES[family], 1e-5 if family == "single precision" else 1e-10)


class Module(torch.nn.Module):
    def __init__(self, function: Any):
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


@pytest.mark.parametrize("function", [of_cpu, lambda *a: attend(*a, is_causal=True)], ids=["for CPU", "any"])
def test_an_export_that_was_decomposed(function: Any) -> None:
    """What PyTorch's own decomposition left of attention."""
    inputs = [x(2, 3, 5, 4) for _ in range(3)]
    program = exported(Module(function), *inputs).run_decompositions()
    assert distance(wg.from_torch(program)(*inputs), function(*inputs)) < 1e-12


def test_dropout_keeps_the_mean() -> None:
    q, k = torch.zeros(1, 1, 2000, 2), torch.zeros(1, 1, 50, 2)
    v = torch.ones(1, 1, 50, 1)
    module = wg.from_torch(exported(Module(lambda *a: attend(*a, dropout_p=0.25)), q, k, v), seed=1)
    y = module(q, k, v)
    # The mean of 50 weights that are 1 / 0.75 with the probability 0.75.
    assert abs(y.mean() - 1) < 0.01
    assert abs(y.std() - (0.25 / 0.75 / 50) ** 0.5) < 0.01
