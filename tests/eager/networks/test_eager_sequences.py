"""Recurrent networks and transformers beside torch.nn: with the same state, the same outputs, states and gradients; and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from side_by_side import compare, plain
from test_eager_nn import random

import wengert.eager as eager
import wengert.nn as nn

MASK = np.triu(np.ones((4, 4), np.bool_), 1)
PADDING = np.array([[False, False, False, True], [False, False, False, False]])

CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any], tuple[tuple[int, ...], ...]]] = {
    "rnn cell": (lambda N: N.RNNCell(3, 4, nonlinearity="relu"), lambda T, m, x: m(x, m(x)), ((2, 3),)),
    "gru cell": (lambda N: N.GRUCell(3, 4), lambda T, m, x: m(x, m(x)), ((2, 3),)),
    "lstm cell": (lambda N: N.LSTMCell(3, 4, bias=False), lambda T, m, x: m(x, m(x)), ((2, 3),)),
    "rnn": (lambda N: N.RNN(3, 4, 2), lambda T, m, x: m(x), ((5, 2, 3),)),
    "gru": (lambda N: N.GRU(3, 4, 2, bidirectional=True, batch_first=True), lambda T, m, x, h: m(x, h), ((2, 5, 3), (4, 2, 4))),
    "lstm": (lambda N: N.LSTM(3, 4, 2, bidirectional=True), lambda T, m, x, h, c: m(x, (h, c)), ((5, 2, 3), (4, 2, 4), (4, 2, 4))),
    "lstm of one sequence": (lambda N: N.LSTM(3, 4), lambda T, m, x: m(x), ((5, 3),)),
    "attention": (
        lambda N: N.MultiheadAttention(6, 2, batch_first=True, add_bias_kv=True, add_zero_attn=True),
        lambda T, m, x: m(x, x, x, attn_mask=T.tensor(MASK), key_padding_mask=T.tensor(PADDING)),
        ((2, 4, 6),),
    ),
    "attention of other widths": (
        lambda N: N.MultiheadAttention(6, 3, kdim=5, vdim=4),
        lambda T, m, q, k, v: m(q, k, v, average_attn_weights=False),
        ((4, 2, 6), (3, 2, 5), (3, 2, 4)),
    ),
    "attention of one sequence": (lambda N: N.MultiheadAttention(6, 2), lambda T, m, x: m(x, x, x), ((4, 6),)),
    "encoder": (
        lambda N: N.TransformerEncoder(N.TransformerEncoderLayer(6, 2, 8, 0.0, "gelu", batch_first=True), 2, N.LayerNorm(6)),
        lambda T, m, x: m(x, src_key_padding_mask=T.tensor(PADDING)),
        ((2, 4, 6),),
    ),
    "decoder": (
        lambda N: N.TransformerDecoder(N.TransformerDecoderLayer(6, 2, 8, 0.0, norm_first=True), 2),
        lambda T, m, x, y: m(x, y, tgt_mask=T.tensor(MASK)),
        ((4, 2, 6), (3, 2, 6)),
    ),
}


def _flat(made: Any) -> list[Any]:
    return [x for part in made for x in _flat(part)] if isinstance(made, tuple) else [made]


@pytest.mark.filterwarnings("ignore::UserWarning:torch")
@pytest.mark.parametrize("name", CASES)
def test_sequences(name: str) -> None:
    make, call, shapes = CASES[name]
    torch.manual_seed(0)
    models = {torch: make(torch.nn).double(), eager: make(nn).double()}
    models[eager].load_state_dict(models[torch].state_dict())
    results: list[Any] = []
    for T, model in models.items():
        leaves = [random(T, *shape, seed=i) for i, shape in enumerate(shapes)]
        made = _flat(call(T, model, *leaves))
        loss = sum((y * random(T, *y.shape, seed=9 + i, requires_grad=False)).sum() for i, y in enumerate(made))
        loss.backward()
        names = [n for n, _ in model.named_parameters()]
        results.append([plain([made, [x.grad for x in leaves], [p.grad for _, p in sorted(model.named_parameters())]]), sorted(names)])
    compare(results[1], results[0], 1e-6 if name == "encoder" else 1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda N: N.GRU(80, 70),
        lambda N: N.LSTMCell(90, 60),
        lambda N: N.MultiheadAttention(96, 4, add_bias_kv=True, kdim=80),
    ],
)
def test_parameters_start_from_the_same_distributions(make: Callable[[Any], Any]) -> None:
    eager.manual_seed(1)
    torch.manual_seed(1)
    ours, theirs = dict(make(nn).named_parameters()), dict(make(torch.nn).named_parameters())
    assert sorted(ours) == sorted(theirs)
    for name, p in ours.items():
        p, q = p.detach().numpy(), theirs[name].detach().numpy()
        assert p.shape == q.shape
        assert p.std() == pytest.approx(q.std(), rel=0.25)
        if p.size > 1000:
            assert abs(p).max() == pytest.approx(abs(q).max(), rel=0.1)


def test_dropout_between_layers() -> None:
    eager.manual_seed(0)
    model, x = nn.GRU(3, 4, 2, dropout=0.5), random(eager, 5, 2, 3).float()
    first, second = model(x)[0].detach().numpy(), model(x)[0].detach().numpy()
    assert not np.array_equal(first, second)
    model.eval()
    np.testing.assert_array_equal(model(x)[0].detach().numpy(), model(x)[0].detach().numpy())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.RNN(2, 3, nonlinearity="sin"), "'tanh' or 'relu', found 'sin'"),
        (lambda: nn.LSTM(2, 3)(eager.ones(4, 1, 2), (eager.ones(1, 2, 3), eager.ones(1, 2, 3))), r"of shape \(1, 1, 3\), found"),
        (lambda: nn.MultiheadAttention(5, 2), "do not divide among 2 heads"),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="tan"), "'relu', 'gelu' or a function"),
    ],
)
def test_what_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(eager.ShapeError, match=message):
        call()
