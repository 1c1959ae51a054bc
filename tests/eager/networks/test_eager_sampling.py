"""Functions that read at computed or drawn places, and attention of several heads, against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import wengert.eager as eager
import wengert.nn as nn

RNG = np.random.default_rng(5)


def both(*extents: int) -> tuple[Any, Any]:
    values = RNG.standard_normal(extents)
    return torch.tensor(values, requires_grad=True), eager.tensor(values, requires_grad=True)


def agree(theirs: Any, own: Any, leaves: list[tuple[Any, Any]]) -> None:
    np.testing.assert_allclose(own.detach().numpy(), theirs.detach().numpy(), rtol=1e-10, atol=1e-12)
    (theirs * theirs).sum().backward()
    (own * own).sum().backward()
    for t, m in leaves:
        np.testing.assert_allclose(m.grad.numpy(), t.grad.numpy(), rtol=1e-9, atol=1e-11)


def test_moved_images() -> None:
    (image, own_image), (theta, own_theta) = both(2, 3, 4, 5), both(2, 2, 3)
    grid = torch.nn.functional.affine_grid(theta, [2, 3, 6, 3], align_corners=False)
    own_grid = nn.affine_grid(own_theta, (2, 3, 6, 3), align_corners=False)
    theirs = torch.nn.functional.grid_sample(image, grid, padding_mode="reflection", align_corners=False)
    agree(theirs, nn.grid_sample(own_image, own_grid, padding_mode="reflection", align_corners=False), [(image, own_image), (theta, own_theta)])


@pytest.mark.parametrize("rank", [2, 3])
def test_windows_drawn_at_random(rank: int) -> None:
    image, own = both(2, 3, *(7, 6, 5)[:rank])
    samples = RNG.random((2, 3, rank))
    given = {"kernel_size": 2, "output_ratio": (0.6,) * rank, "return_indices": True}
    name = f"fractional_max_pool{rank}d"
    theirs, places = getattr(torch.nn.functional, name)(image, _random_samples=torch.tensor(samples), **given)
    made, own_places = getattr(nn, name)(own, _random_samples=eager.tensor(samples), **given)
    np.testing.assert_array_equal(own_places.numpy(), places.numpy())
    agree(theirs, made, [(image, own)])
    drawn = getattr(nn, name)(own, 2, output_size=3)
    assert drawn.shape == (2, 3) + (3,) * rank
    assert set(drawn.detach().numpy().ravel()) <= set(own.detach().numpy().ravel())


def test_a_spectrogram_and_back() -> None:
    x, own = both(2, 50)
    window = np.hanning(12) + 0.1
    theirs = torch.istft(torch.stft(x, 12, 3, window=torch.tensor(window), return_complex=True), 12, 3, window=torch.tensor(window), length=50)
    made = eager.istft(eager.stft(own, 12, 3, window=eager.tensor(window), return_complex=True), 12, 3, window=eager.tensor(window), length=50)
    np.testing.assert_allclose(made.detach().numpy(), x.detach().numpy(), atol=1e-12)
    agree(theirs, made, [(x, own)])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: nn.grid_sample(x.reshape(1, 4, 4), x), eager.ShapeError, "images of two or three dimensions"),
        (lambda x: nn.grid_sample(x, x, mode="cubic"), eager.ShapeError, "mode is one of 'bilinear', 'nearest', 'bicubic'"),
        (lambda x: nn.embedding_bag(eager.tensor([1, 0]), x.reshape(4, 4)), eager.ShapeError, "needs offsets"),
        (lambda x: nn.embedding_bag(eager.tensor([[1, 0]]), x.reshape(4, 4), max_norm=1.0), eager.ShapeError, "max_norm"),
        (lambda x: nn.fractional_max_pool2d(x, 2), ValueError, "either an output_size or an output_ratio"),
        (lambda x: eager.stft(x.reshape(16), 4), eager.ShapeError, "return_complex"),
        (lambda x: eager.istft(x.reshape(4, 4), 6), eager.ShapeError, "complex-valued"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(eager.ones(1, 1, 4, 4))
