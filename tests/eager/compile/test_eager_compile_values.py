"""Compiled functions whose results depend on values, and changes that are not recorded: what was seen at the first call is not taken for granted at the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert.eager as eager
from wengert.nn import functional

T = eager.tensor
CALLS = 5


def _inputs() -> list[Any]:
    return [np.random.default_rng(seed).standard_normal((4, 6)).astype(np.float32) for seed in range(CALLS)]


SEEN: dict[str, Callable[[Any], Any]] = {
    "adaptive_max_pool1d": lambda x: functional.adaptive_max_pool1d(x[None], 2, return_indices=True)[0],
    "argwhere": lambda x: eager.argwhere(x > 0),
    "bincount": lambda x: eager.bincount((x.reshape(-1) > 0).long(), minlength=3),
    "bucketize": lambda x: eager.bucketize(x, T([-0.5, 0.0, 0.5])),
    "gcd": lambda x: eager.gcd((x * 5).long(), T(6)),
    "isin": lambda x: eager.isin((x > 0).long(), T([1])),
    "is_nonzero": lambda x: x * 2 if eager.is_nonzero((x.sum() > 0) * 1) else x * 3,
    "matrix_rank": lambda x: eager.linalg.matrix_rank(x * (x > 0)),
    "mode": lambda x: x.mode(-1)[0],
    "nonzero": lambda x: eager.nonzero(x > 0),
    "searchsorted": lambda x: eager.searchsorted(T([-0.5, 0.0, 0.5]), x),
    "where": lambda x: eager.where(x > 0)[0],
}


@pytest.mark.parametrize("name", SEEN)
def test_results_that_depend_on_values(name: str) -> None:
    compiled = eager.compile(SEEN[name])
    for x in _inputs():
        np.testing.assert_allclose(compiled(T(x.tolist())).numpy(), SEEN[name](T(x.tolist())).numpy(), rtol=1e-6)


def _doubled(x: Any) -> Any:
    y = x * 1
    with eager.no_grad():
        y.mul_(2)
    return y.sin()


def _row_changed(x: Any) -> Any:
    y = x * 1
    with eager.no_grad():
        y[0] = y[1] * 3
    return y.sin()


CHANGED: dict[str, Callable[[Any], Any]] = {
    "all of it": _doubled,
    "a part": _row_changed,
    "rows that are too long": lambda x: functional.embedding(T([0, 1]), x * 1, max_norm=1.0),
    "rows of a leaf": lambda x: functional.embedding(T([0, 1]), x, max_norm=1.0),
}


@pytest.mark.parametrize("name", CHANGED)
def test_gradients_go_on_through_what_was_changed_without_a_record(name: str) -> None:
    """As they do outside of compiled functions, and in PyTorch: as if the tensor had not been changed."""
    compiled = eager.compile(CHANGED[name])
    for x in _inputs():
        given, expected = (T(x.tolist(), requires_grad=True) for _ in range(2))
        compiled(given).square().sum().backward()
        CHANGED[name](expected).square().sum().backward()
        np.testing.assert_allclose(given.grad.numpy(), expected.grad.numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(given.detach().numpy(), expected.detach().numpy(), rtol=1e-6)
