"""Language models of LSTM layers."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as nn
from benchmarks.models.in_torch.layers import Tensor, cross_entropy, dense


def loss(*inputs: Tensor, layers: int) -> Tensor:
    *weights, tokens, wanted = inputs
    w = iter(weights)
    x = nn.embedding(tokens.T.long(), next(w))
    parameters: list[Tensor] = []
    for _ in range(layers):
        by_input, by_state, bias = next(w), next(w), next(w)
        parameters += [by_input.T, by_state.T, bias, torch.zeros_like(bias)]
    zero = x.new_zeros(layers, x.shape[1], x.shape[2])
    lstm: Any = torch.lstm  # pyright: ignore[reportUnknownMemberType]  # what torch.nn.LSTM calls
    x = lstm(x, (zero, zero), parameters, True, layers, 0.0, False, False, False)[0]
    return cross_entropy(dense(x, w), wanted.T)
