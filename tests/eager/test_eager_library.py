"""PyTorch's operations beyond those with code of their own: a share of its database of operations, and what the library refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from reference_programs import share
from side_by_side import Snippet, Snippets, agree, leaf

import wengert.eager as eager
import wengert.nn as nn

snippets = Snippets()
SHARE = ["acosh", "addcmul", "addmm", "atan2", "baddbmm", "block_diag", "cdist", "clamp", "copysign", "corrcoef", "cov", "cross", "cummax", "cumprod", "cumulative_trapezoid", "diag_embed", "diff", "div", "dstack", "erfinv", "fmod", "hypot", "index_put", "kron", "lerp", "lgamma", "linalg.det", "linalg.inv", "linalg.norm", "linalg.solve", "logaddexp", "logcumsumexp", "masked_select", "median", "meshgrid", "movedim", "mvlgamma", "nan_to_num", "nansum", "polygamma", "repeat", "roll", "rot90", "std_mean", "take_along_dim", "tensordot", "trapezoid", "tril", "unfold", "var_mean", "xlogy", "fft.fft", "fft.irfft", "special.entr", "special.xlog1py", "nn.functional.adaptive_avg_pool2d", "nn.functional.avg_pool1d", "nn.functional.binary_cross_entropy", "nn.functional.celu", "nn.functional.conv1d", "nn.functional.conv_transpose2d", "nn.functional.cosine_similarity", "nn.functional.gaussian_nll_loss", "nn.functional.glu", "nn.functional.group_norm", "nn.functional.huber_loss", "nn.functional.kl_div", "nn.functional.pad", "nn.functional.pixel_shuffle", "nn.functional.rms_norm", "nn.functional.smooth_l1_loss", "nn.functional.softshrink", "masked.mean", "masked.softmax", "masked.var", "signal.windows.kaiser", "signal.windows.nuttall", "special.log_ndtr", "special.erfcx", "special.i1", "i0", "special.i0e", "special.chebyshev_polynomial_w", "special.modified_bessel_k1", "linalg.lu_factor", "linalg.lu_solve", "linalg.eigvals", "linalg.lstsq", "linalg.pinv", "ormqr", "fft.hfftn", "fft.ihfft2", "mode", "frexp", "gradient", "index_fill", "index_reduce.amax", "nanquantile", "native_layer_norm", "unique_consecutive", "nn.functional.max_unpool2d", "nn.functional.multilabel_margin_loss", "searchsorted", "view_as_complex", "stft", "istft", "igamma", "igammac", "grid_sampler_3d", "nn.functional.grid_sample", "nn.functional.embedding_bag", "nn.functional.ctc_loss", "nn.functional.fractional_max_pool2d", "nn.functional.multi_head_attention_forward"]  # fmt: skip


def _rights() -> list[Any]:
    pytest.importorskip("expecttest", reason="PyTorch's database of operations needs expecttest")
    from benchmarks.eager_operations import run

    return run(share(SHARE, 2), 2)


@pytest.mark.filterwarnings("ignore")
def test_a_share_of_the_database_is_right() -> None:
    outcomes = _rights()
    assert {o.name.split(".")[0] for o in outcomes}
    wrong = [f"{o.name}: {o.status} ({o.note})" for o in outcomes if o.status != "right"]
    assert not wrong, "\n".join(wrong)


@snippets
def keywords(T: Any) -> Any:
    x, y = leaf(T, 1.5, -2.5, 3.0), leaf(T, 0.7, 2.0, -1.0)
    return (
        x.add(y, alpha=3), T.sub(x, y, alpha=0.5), x.div(y, rounding_mode="floor"), T.div(x, y, rounding_mode="trunc"), x.round(decimals=1), x.cumsum(0, dtype=T.float64),
        x.softmax(0, dtype=T.float64), T.flip(x, dims=(0,)), T.zeros(2, device="cpu"), x.to("cpu", dtype=T.float64),
    )  # fmt: skip


@snippets
def tensors_without_dimensions(T: Any) -> Any:
    x = T.tensor(2.0, requires_grad=True)
    return x.max(0), x.argmax(0), x.sum(0), x.softmax(0), x.cumsum(0), T.stack([x, x]), x.sort(0)[0], x.squeeze(0), x.repeat(3), T.atleast_2d(x), x.flatten()


@snippets
def changed_by_any_function(T: Any) -> Any:
    x = leaf(T, 1.5, 2.5)
    y = x * 1
    y.log10_()
    y.lerp_(x, 0.25)
    y.sum().backward()
    return y, x.grad


@snippets
def complex_gradients(T: Any) -> Any:
    z = T.tensor(np.array([1 + 2j, 3 - 1j])).requires_grad_()
    x = leaf(T, 1.0, 2.0, 3.0)
    spectrum = T.fft.fft(x)
    return T.autograd.grad(z * z, z, T.tensor(np.array([1 + 2j, 3 - 1j]))), T.autograd.grad(T.fft.ifft(spectrum * spectrum).abs().sum(), x)


@snippets
def scalars_of_layers(T: Any) -> Any:
    import torch

    F = torch.nn.functional if T is torch else nn.functional
    x = T.arange(24.0).reshape(2, 3, 4).sin().requires_grad_()
    w = T.arange(18.0).reshape(2, 3, 3).cos().requires_grad_()
    y = F.conv1d(x, w, stride=1, padding=1)
    loss = F.smooth_l1_loss(y, T.zeros(2, 2, 4)) + F.scaled_dot_product_attention(x, x, x, is_causal=True).sum() + F.gelu(F.group_norm(x, 3)).mean()
    return loss, T.autograd.grad(loss, [x, w])


@snippets
def interpolation(T: Any) -> Any:
    import torch

    F = torch.nn.functional if T is torch else nn.functional
    x = T.arange(24.0, dtype=T.float64).reshape(1, 2, 3, 4).sin().requires_grad_()
    made = [F.interpolate(x, size=(5, 7), mode=mode) for mode in ("nearest", "bilinear", "bicubic", "area")]
    made += [F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=True)]
    return made, [T.autograd.grad(m.square().sum(), x) for m in made]


@pytest.mark.parametrize("snippet", snippets, ids=lambda s: s.__name__)
def test_agrees_with_pytorch(snippet: Snippet) -> None:
    agree(snippet, 1e-5)


def test_generators_are_their_own() -> None:
    first = [eager.rand(3, generator=eager.Generator().manual_seed(1)).tolist() for _ in range(2)]
    eager.manual_seed(0)
    before = eager.rand(2).tolist()
    eager.manual_seed(0)
    eager.randn(4, generator=eager.Generator().manual_seed(5))
    assert first[0] == first[1]
    assert eager.rand(2).tolist() == before


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: eager.linalg.pinv(eager.ones(2, 2), atol=0.1), "atol"),
        (lambda: nn.pad(eager.ones(2), [1, 1], mode="odd"), "'odd'"),
        (lambda: eager.ones(2).div(2, rounding_mode="up"), "'up'"),
    ],
)
def test_what_is_refused(action: Any, message: str) -> None:
    with pytest.raises(eager.ShapeError, match=message):
        action()


@pytest.mark.parametrize("missing", [lambda: eager.linalg.invv, lambda: nn.conv1dd, lambda: eager.rolll, lambda: eager.ones(1).rolll])
def test_names_that_are_not_there(missing: Any) -> None:
    with pytest.raises(AttributeError):
        missing()


def test_ranks_with_absolute_bounds_and_of_nothing() -> None:
    values = np.diag([4.0, 1.0, 0.1])
    for options in ({"atol": 0.5}, {"atol": 0.05, "rtol": 0.3}, {"atol": 2.0, "hermitian": True}, {}):
        theirs = torch.linalg.matrix_rank(torch.tensor(values), **options)
        assert eager.linalg.matrix_rank(eager.tensor(values), **options).item() == theirs.item()
    assert eager.linalg.matrix_rank(eager.zeros(2, 0, 3)).tolist() == [0, 0]
    assert [x.shape for x in eager.geqrf(eager.zeros(5, 0))] == [(5, 0), (0,)]


def test_cross_entropy_of_a_linear_layer() -> None:
    rng = np.random.default_rng(0)
    x, w, b = rng.standard_normal((4, 3)), rng.standard_normal((5, 2, 3)), rng.standard_normal((5, 2))
    target = np.array([[0, 4], [1, 2], [3, 3], [2, 0]])
    results: list[Any] = []
    for T, f in ((torch, torch.nn.functional.linear_cross_entropy), (eager, nn.linear_cross_entropy)):
        leaves = [T.tensor(v, requires_grad=True) for v in (x, w, b)]
        loss = f(leaves[0], leaves[1], T.tensor(target), linear_bias=leaves[2], label_smoothing=0.1)
        loss.backward()
        results.append([loss.detach().numpy(), *(leaf.grad.numpy() for leaf in leaves)])
    for ours, theirs in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
