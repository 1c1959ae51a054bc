"""Random programs of operations, views, changes in place and modes, run on PyTorch and on wengert.eager.

Operations that keep something else than PyTorch's (softmax, relu, extremes) are left out, because a change in place is then an error in
one and not in the other. Graphs are compared elsewhere: PyTorch finds the place of a view anew by its strides (AsStridedBackward0), we
by its path.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from side_by_side import agree, kind_of_error

PURE: list[Callable[[Any, Any, Any], Any]] = [
    lambda T, x, y: x + y,
    lambda T, x, y: x * y,
    lambda T, x, y: x - 2 * y,
    lambda T, x, y: x / (y * y + 1),
    lambda T, x, y: x.sin(),
    lambda T, x, y: x.tanh() * 2,
    lambda T, x, y: (x * 0.1).exp(),
    lambda T, x, y: T.where(x > y, x, y),
    lambda T, x, y: x.flip(0),
    lambda T, x, y: x @ y.t(),
    lambda T, x, y: x.cumsum(0) + x.mean(),
    lambda T, x, y: x.detach() * y,
    lambda T, x, y: T.stack([x[0], y[1], x[2]]),
    lambda T, x, y: T.cat([x[:1], y[1:]]),
    lambda T, x, y: x[T.tensor([2, 0, 0])],
    lambda T, x, y: x.clone(),
]
VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x,
    lambda x: x.t(),
    lambda x: x.reshape(3, 3),
    lambda x: x.transpose(0, 1).unsqueeze(0).squeeze(0),
]
CHANGES: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x.add_(y * 1),
    lambda x, y: x.mul_(0.5),
    lambda x, y: x.mul_(y * 1),
    lambda x, y: x.mul_(x),
    lambda x, y: x[0].copy_(y[1] * 1),
    lambda x, y: x[:, ::2].add_(1),
    lambda x, y: x.t()[1].mul_(y[0] * 1),
    lambda x, y: x.__setitem__((1, slice(None)), y[2] * 2),
    lambda x, y: x.sin_(),
    lambda x, y: x[1:].t()[2].zero_(),
]


def program(seed: int) -> Callable[[Any], Any]:
    """A program of a dozen steps that depends on the seed alone."""

    def run(T: Any) -> Any:
        rng = random.Random(seed)
        leaves = [T.tensor([[rng.uniform(-1, 1) for _ in range(3)] for _ in range(3)], dtype=T.float64, requires_grad=i < 2) for i in range(3)]
        values = list(leaves)
        log: list[Any] = []
        for _ in range(12):
            x, y = rng.choice(values), rng.choice(values)
            action = rng.random()
            if action < 0.5:
                pure = rng.choice(PURE)
                if rng.random() < 0.1:
                    with T.no_grad():
                        values.append(pure(T, x, y))
                else:
                    values.append(pure(T, x, y))
            elif action < 0.7:
                values.append(rng.choice(VIEWS)(x))
            else:
                change = rng.choice(CHANGES)
                log.append(kind_of_error(lambda change=change, x=x, y=y: change(x, y)))
        total = sum((v * (i + 1)).sum() for i, v in enumerate(values))
        log += [values, [v.requires_grad for v in values], [v._version for v in values]]
        log.append(kind_of_error(total.backward))
        if log[-1] == "none":
            log.append([None if leaf.grad is None else leaf.grad for leaf in leaves[:2]])
        return log

    return run


@pytest.mark.parametrize("seed", range(30))
def test_random_program(seed: int) -> None:
    agree(program(seed), 1e-9)
