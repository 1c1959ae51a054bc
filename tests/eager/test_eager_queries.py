"""Functions of whole tensors, as functions and as methods, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import wengert.eager as eager

A = [[1.5, -2.0, 0.0], [np.inf, np.nan, 4.0]]
B = [[2.0, 1.0, -1.0], [0.5, 3.0, 1.0]]

QUERIES: dict[str, Callable[[Any], Any]] = {
    "addmm": lambda T: T.tensor(B).addmm(T.tensor(B), T.ones(3, 3), beta=0.5, alpha=2),
    "atan2": lambda T: T.tensor(B).atan2(T.tensor([1.0, -1.0, 0.0])),
    "outer": lambda T: T.tensor([1.0, 2.0]).outer(T.tensor([3.0, 4.0, 5.0])),
    "logical": lambda T: [T.tensor(B).logical_and(T.tensor([1, 0, 2])), T.tensor([0, 3]).logical_not()],
    "isfinite": lambda T: [T.tensor(A).isfinite(), T.tensor([1]).isfinite(), T.tensor([1 + 1j, complex(np.inf, 0), complex(0, np.nan)]).isfinite()],
    "allclose": lambda T: [T.tensor(A).allclose(T.tensor(A)), T.tensor(A).allclose(T.tensor(A), equal_nan=True), T.tensor(B).equal(T.tensor(B))],
    "fill_diagonal_": lambda T: [T.ones(3, 2).fill_diagonal_(5), T.ones(7, 2).fill_diagonal_(0, wrap=True), T.ones(2, 2, 2).fill_diagonal_(3)],
    "sizes": lambda T: [T.tensor(A).nelement(), T.numel(T.tensor(A)), T.tensor(A).ndimension(), T.tensor(A).is_same_size(T.tensor(B)), T.tensor(A).get_device()],
    "kinds": lambda T: [T.is_complex(T.tensor(1j)), T.is_floating_point(T.tensor(1)), T.tensor(1).is_signed(), T.tensor(True).is_signed()],
    "is_nonzero": lambda T: [T.tensor([[0.5]]).is_nonzero(), T.is_nonzero(T.tensor(0))],
    "made after another": lambda T: [T.tensor([1, 2]).type_as(T.tensor(B)), T.tensor([1.0], dtype=T.float64).new_tensor([1, 2]), T.tensor(B).cpu()],
    "asarray": lambda T: [T.asarray([1, 2], dtype=T.float64), T.as_tensor(T.tensor([1.5]), dtype=T.int64), T.as_tensor([1.0, 2.0])],
    "finfo": lambda T: [float(T.finfo(T.float64).eps), float(T.finfo(T.float32).max), float(T.finfo().tiny), int(T.iinfo(T.int8).max)],
    "types": lambda T: [str(T.result_type(T.tensor([1]), 1.5)).split(".")[-1], str(T.promote_types(T.int32, T.float16)).split(".")[-1]],
    "windows": lambda T: [T.hann_window(5), T.hamming_window(6, False), T.hamming_window(5, True, 0.5, 0.4), T.blackman_window(1), T.bartlett_window(4)],
    "kaiser": lambda T: [T.kaiser_window(6, periodic=False, beta=3.0), T.kaiser_window(5, dtype=T.float64)],
    "frequencies": lambda T: [T.fft.fftfreq(5, 0.5), T.fft.rfftfreq(6), T.fft.fftfreq(4, dtype=T.float64)],
    "matrix_exp": lambda T: T.linalg.matrix_exp(T.tensor([[0.5, 1.0], [-1.0, 0.25]], dtype=T.float64)),
}  # fmt: skip


def _plain(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [x for part in value for x in _plain(part)]
    return [value.detach().numpy() if hasattr(value, "detach") else value]


@pytest.mark.parametrize("name", QUERIES)
def test_as_pytorch_has_it(name: str) -> None:
    ours, theirs = (_plain(QUERIES[name](T)) for T in (eager, torch))
    assert len(ours) == len(theirs)
    for actual, expected in zip(ours, theirs, strict=True):
        if isinstance(expected, np.ndarray):
            assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
            np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=1e-7)
        else:
            assert (type(actual), actual) == (type(expected), expected)


def test_gradients_flow_through_methods() -> None:
    runs: list[list[Any]] = []
    for T in (torch, eager):
        x, y = (T.tensor(v, dtype=T.float64, requires_grad=True) for v in (B[0], B[1]))
        (x.outer(y).addmm(x.reshape(3, 1), y.reshape(1, 3)).sum() + x.atan2(y).sum()).backward()
        runs.append([x.grad.numpy(), y.grad.numpy()])
    np.testing.assert_allclose(runs[1], runs[0], rtol=1e-12)


@pytest.mark.parametrize("call", [lambda T: T.ones(2, 2).is_nonzero(), lambda T: T.ones(2).fill_diagonal_(1), lambda T: T.ones(2, 3, 2).fill_diagonal_(1)])
def test_what_is_refused(call: Callable[[Any], Any]) -> None:
    with pytest.raises(RuntimeError):
        call(torch)
    with pytest.raises(eager.ShapeError):
        call(eager)
