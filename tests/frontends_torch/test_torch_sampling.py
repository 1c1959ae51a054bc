"""ATen ops that read at computed or drawn places, and incomplete gamma functions, beside PyTorch: values, gradients, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_cases import Case, compare_family, imported
from xdsl.ir import Block

from wengert.dialects.builder import OpBuilder
from wengert.frontends.aten.calls import call
from wengert.ir.tensor_types import f64, i64, tensor

F = torch.nn.functional
G = torch.Generator().manual_seed(11)


def x(*extents: int) -> Any:
    return torch.randn(extents, generator=G, dtype=torch.float64)


def positive(*extents: int) -> Any:
    return torch.rand(extents, generator=G, dtype=torch.float64) + 0.1


def grids(images: Any, *extents: int) -> list[Case]:
    """All ways to sample these images, at places of which some are outside, one is on the last element and one far away."""
    ways = [
        (mode, padding, align)
        for mode in ("bilinear", "nearest", *(["bicubic"] if images.ndim == 4 else []))
        for padding in ("zeros", "border", "reflection")
        for align in (False, True)
    ]
    cases: list[Case] = []
    for mode, padding, align in ways:
        places = 1.5 * x(images.shape[0], *extents, images.ndim - 2)
        places[0, 0] = 1
        places[0, 1] = -7.3

        def sample(a: Any, grid: Any, mode: str = mode, padding: str = padding, align: bool = align) -> Any:
            return F.grid_sample(a, grid, mode=mode, padding_mode=padding, align_corners=align)

        cases.append(Case(f"{mode} {padding} {align} of {images.ndim} dimensions", sample, (images.clone(), places)))
    return cases


TOKENS = torch.tensor([1, 4, 4, 2, 0, 4, 3])
OFFSETS = torch.tensor([0, 3, 3, 5])
TIES = torch.tensor([[1.0, 2.0], [1.0, 0.0], [3.0, 2.0], [0.0, 2.0], [3.0, 1.0]], dtype=torch.float64)


def bag(mode: str, **keywords: Any) -> Case:
    return Case(f"bag {mode} {keywords}", lambda w: F.embedding_bag(TOKENS, w, OFFSETS, mode=mode, **keywords), (x(5, 3),))


FAMILIES = {
    "grids": [*grids(x(2, 3, 4, 5), 3, 2), *grids(x(2, 2, 3, 4, 2), 3, 2, 2), *grids(x(1, 1, 1, 1), 2, 2)],
    "affine grids": [
        Case(
            f"affine grid {size} {align}", lambda t, size=size, align=align: F.affine_grid(t, size, align_corners=align), (x(2, len(size) - 2, len(size) - 1),)
        )
        for size in ((2, 1, 3, 4), (2, 1, 1, 2), (2, 3, 2, 3, 4))
        for align in (False, True)
    ],
    "bags": [
        *(bag(mode) for mode in ("sum", "mean", "max")),
        *(bag(mode, padding_idx=4) for mode in ("sum", "mean", "max")),
        *(bag(mode, scale_grad_by_freq=True) for mode in ("sum", "mean")),
        bag("sum", include_last_offset=True),
        Case("bag of ties", lambda w: F.embedding_bag(TOKENS, w, OFFSETS, mode="max"), (TIES.clone(),)),
        Case("bag of scaled", lambda w, s: F.embedding_bag(TOKENS, w, OFFSETS, mode="sum", per_sample_weights=s), (x(5, 3), x(7))),
        Case("bag of a matrix", lambda w: F.embedding_bag(TOKENS[:6].reshape(3, 2), w), (x(5, 3),)),
        Case("embedding by frequency", lambda w: F.embedding(TOKENS, w, scale_grad_by_freq=True, padding_idx=2), (x(5, 3),)),
    ],
    "fractional pooling": [
        Case(
            "two dimensions",
            lambda a, s: F.fractional_max_pool2d_with_indices(a, 2, (3, 4), _random_samples=s.detach()),
            (x(2, 3, 6, 7), positive(2, 3, 2) * 0.9),
        ),
        Case("one window", lambda a, s: F.fractional_max_pool2d(a, (2, 3), (1, 2), _random_samples=s.detach()), (x(1, 2, 5, 6), positive(1, 2, 2) * 0.9)),
        Case(
            "three", lambda a, s: F.fractional_max_pool3d_with_indices(a, 2, (2, 3, 2), _random_samples=s.detach()), (x(1, 2, 5, 6, 4), positive(1, 2, 3) * 0.9)
        ),
    ],
    "short time": [
        Case("stft", lambda a, w: torch.stft(a, 8, window=w, return_complex=True), (x(2, 40), positive(8))),
        Case("stft short window", lambda a, w: torch.stft(a, 8, 3, 6, window=w, normalized=True, return_complex=True), (x(20), positive(6))),
        Case("stft twosided", lambda a: torch.stft(a, 7, 2, center=False, onesided=False, return_complex=True), (x(30),)),
        Case("stft of complex", lambda a, b: torch.stft(torch.complex(a, b), 8, return_complex=True), (x(30), x(30))),
        Case("stft as parts", lambda a: torch.stft(a, 8, return_complex=False), (x(30),)),
        Case("istft", lambda a, b, w: torch.istft(torch.complex(a, b), 8, window=w), (x(2, 5, 9), x(2, 5, 9), positive(8))),
        Case("istft of a length", lambda a, b: torch.istft(torch.complex(a, b), 8, 3, length=20, normalized=True), (x(5, 9), x(5, 9))),
        Case("istft complex", lambda a, b: torch.istft(torch.complex(a, b), 8, onesided=False, return_complex=True), (x(8, 9), x(8, 9))),
    ],
    "incomplete gamma": [
        Case("igamma", lambda a, z: torch.special.gammainc(a.detach(), z), (4 * positive(40), 6 * positive(40))),
        Case("igammac", lambda a, z: torch.special.gammaincc(a.detach(), z), (4 * positive(40), 6 * positive(40))),
        Case("large", lambda a, z: (torch.igamma(a.detach(), z), torch.igammac(a.detach(), z)), (3000 + 10 * x(20), 3000 + 90 * x(20))),
    ],
}


@pytest.mark.filterwarnings("ignore:Since version 1.3.0, affine_grid", "ignore:A window was not provided", "ignore:stft with return_complex=False")
@pytest.mark.parametrize("family", FAMILIES)
def test_values_and_gradients_are_those_of_pytorch(family: str) -> None:
    compare_family(FAMILIES[family], 1e-9)


def test_incomplete_gamma_at_edges() -> None:
    values = [0.0, 0.5, 3.0, float("inf"), -1.0, float("nan")]
    a, z = (torch.tensor(v, dtype=torch.float64) for v in zip(*[(p, q) for p in values for q in values], strict=True))

    class Both(torch.nn.Module):
        def forward(self, a: Any, z: Any) -> Any:
            return torch.igamma(a, z), torch.igammac(a, z)

    for actual, expected in zip(imported(Both(), a, z)(a, z), Both()(a, z), strict=True):
        np.testing.assert_allclose(actual, expected.numpy(), rtol=1e-12, atol=1e-15)


def test_incomplete_gamma_has_derivatives_by_the_order_to_the_second() -> None:
    """PyTorch has none of them. The reference are differences of SciPy's values."""
    special = pytest.importorskip("scipy.special")

    class Lower(torch.nn.Module):
        def forward(self, a: Any, z: Any) -> Any:
            return torch.igamma(a, z)

    a, z = torch.tensor([0.4, 2.0, 5.0, 9.0], dtype=torch.float64), torch.tensor([1.5, 1.0, 7.0, 8.0], dtype=torch.float64)
    program = imported(Lower(), a, z).program
    h, ones, zeros = 1e-4, np.ones(4), np.zeros(4)
    first = program.jvp()
    by_a = first(a.numpy(), z.numpy(), ones, zeros)[1]
    low, mid, high = (special.gammainc(a.numpy() + k * h, z.numpy()) for k in (-1, 0, 1))
    np.testing.assert_allclose(by_a, (high - low) / (2 * h), rtol=1e-6)
    pullback = program.vjp(0)
    np.testing.assert_allclose(pullback(a.numpy(), z.numpy(), ones)[1], by_a, rtol=1e-12)
    second = program.jvp(wrt=0).jvp(wrt=0)(a.numpy(), z.numpy(), ones, ones)[-1]
    np.testing.assert_allclose(second, (high - 2 * mid + low) / h**2, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_alignments_beside_pytorch(zero_infinity: bool) -> None:
    """PyTorch does not export this loss; define-by-run code calls it."""
    import wengert.eager as eager
    import wengert.nn as nn

    logits = x(9, 4, 6)
    targets = torch.tensor([[1, 2, 2, 3], [4, 4, 4, 4], [5, 1, 0, 0], [3, 0, 0, 0]])
    lengths, target_lengths = [9, 7, 5, 3], [4, 4, 2, 0]
    flat = torch.cat([row[:n] for row, n in zip(targets, target_lengths, strict=True)])
    for given in (targets, flat):
        for reduction in ("none", "mean", "sum"):
            theirs = logits.clone().requires_grad_()
            loss = F.ctc_loss(theirs.log_softmax(2), given, lengths, target_lengths, reduction=reduction, zero_infinity=zero_infinity)
            loss.sum().backward()
            for ints in (True, False):
                own = eager.tensor(logits.numpy(), requires_grad=True)
                known = (lengths, target_lengths) if ints else (eager.tensor(lengths), eager.tensor(target_lengths))
                made = nn.ctc_loss(own.log_softmax(2), eager.tensor(given.numpy()), *known, reduction=reduction, zero_infinity=zero_infinity)
                made.sum().backward()
                np.testing.assert_allclose(made.detach().numpy(), loss.detach().numpy(), rtol=1e-12)
                np.testing.assert_allclose(own.grad.numpy(), theirs.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_alignments_that_do_not_exist() -> None:
    import wengert.eager as eager
    import wengert.nn as nn

    logs = x(2, 1, 3).log_softmax(2)
    for zero_infinity, wanted in ((False, np.inf), (True, 0.0)):
        theirs, own = logs.clone().requires_grad_(), eager.tensor(logs.numpy(), requires_grad=True)
        loss = F.ctc_loss(theirs, torch.tensor([[1, 1]]), [2], [2], zero_infinity=zero_infinity)
        made = nn.ctc_loss(own, eager.tensor([[1, 1]]), [2], [2], zero_infinity=zero_infinity)
        assert made.item() == loss.item() == wanted
        if zero_infinity:
            made.backward()
            assert not own.grad.numpy().any()


@pytest.mark.parametrize(
    ("name", "types", "args", "message"),
    [
        ("grid_sampler.default", [((1, 1, 2, 2), f64), ((1, 3, 3, 3), f64)], (0, 0, False), "places of 2 numbers"),
        ("grid_sampler.default", [((1, 1, 2, 2, 2), f64), ((1, 3, 3, 3, 3), f64)], (2, 0, False), "bicubic"),
        ("ctc_loss.IntList", [((0, 1, 2), f64), ((1, 1), i64)], ([0], [1]), "one frame"),
    ],
)
def test_what_is_refused(name: str, types: Any, args: Any, message: str) -> None:
    b = OpBuilder(block := Block(arg_types=[tensor(*t) for t in types]))
    with pytest.raises(ValueError, match=message):
        call(b, name, *block.args, *args)
