"""Layers and losses beside torch.nn: with the same options and state, the same outputs and gradients, by inputs and by parameters."""

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
from wengert.nn.functional_modules import MODULES

Make = Callable[[Any], Any]


def _random(*shapes: tuple[int, ...]) -> Callable[[Any], list[Any]]:
    return lambda T: [random(T, *shape, seed=i) for i, shape in enumerate(shapes)]


def _with(*shapes: tuple[int, ...], **constant: Any) -> Callable[[Any], list[Any]]:
    """Random inputs, and behind them constant ones."""
    return lambda T: [*_random(*shapes)(T), *(T.tensor(value) for value in constant.values())]


def _probabilities(*shape: int) -> Callable[[Any], list[Any]]:
    return lambda T: [random(T, *shape).sigmoid(), random(T, *shape, seed=1, requires_grad=False).sigmoid()]


SIGNS = [1.0, -1.0, 1.0, -1.0]
CASES: dict[str, tuple[Make, Callable[[Any], list[Any]]]] = {
    "LeakyReLU": (lambda N: N.LeakyReLU(0.3, inplace=False), _random((3, 4))),
    "ELU": (lambda N: N.ELU(0.7), _random((3, 4))),
    "CELU": (lambda N: N.CELU(alpha=0.5), _random((3, 4))),
    "SELU": (lambda N: N.SELU(), _random((3, 4))),
    "ReLU6": (lambda N: N.ReLU6(), lambda T: [random(T, 3, 4) * 9]),
    "GLU": (lambda N: N.GLU(0), _random((4, 3))),
    "Mish": (lambda N: N.Mish(), _random((3, 4))),
    "Hardswish": (lambda N: N.Hardswish(), lambda T: [random(T, 3, 4) * 4]),
    "Hardsigmoid": (lambda N: N.Hardsigmoid(), lambda T: [random(T, 3, 4) * 4]),
    "Hardtanh": (lambda N: N.Hardtanh(-0.5, 0.25), _random((3, 4))),
    "Hardshrink": (lambda N: N.Hardshrink(0.25), _random((3, 4))),
    "Softshrink": (lambda N: N.Softshrink(0.25), _random((3, 4))),
    "Tanhshrink": (lambda N: N.Tanhshrink(), _random((3, 4))),
    "Softsign": (lambda N: N.Softsign(), _random((3, 4))),
    "LogSigmoid": (lambda N: N.LogSigmoid(), _random((3, 4))),
    "Threshold": (lambda N: N.Threshold(0.1, 20), _random((3, 4))),
    "Softmin": (lambda N: N.Softmin(dim=1), _random((3, 4))),
    "Softmax": (lambda N: N.Softmax(0), _random((3, 4))),
    "Softmax2d": (lambda N: N.Softmax2d(), _random((2, 3, 2, 2))),
    "LogSoftmax": (lambda N: N.LogSoftmax(-1), _random((3, 4))),
    "Softplus": (lambda N: N.Softplus(beta=2, threshold=1), _random((3, 4))),
    "RReLU": (lambda N: N.RReLU(0.1, 0.5).eval(), _random((3, 4))),
    "AlphaDropout": (lambda N: N.AlphaDropout(0.0), _random((3, 4))),
    "FeatureAlphaDropout": (lambda N: N.FeatureAlphaDropout(0.5).eval(), _random((3, 4, 2))),
    "Dropout1d": (lambda N: N.Dropout1d(0.0), _random((3, 4, 2))),
    "Dropout2d": (lambda N: N.Dropout2d(0.5).eval(), _random((3, 4, 2, 2))),
    "Dropout3d": (lambda N: N.Dropout3d(0.0), _random((3, 4, 2, 2, 1))),
    "MaxPool1d": (lambda N: N.MaxPool1d(3, 2, 1, 2, False, True), _random((2, 3, 9))),
    "MaxPool3d": (lambda N: N.MaxPool3d((2, 1, 2), ceil_mode=True), _random((2, 3, 5, 2, 3))),
    "AvgPool1d": (lambda N: N.AvgPool1d(3, 2, 1, False, False), _random((2, 3, 9))),
    "AvgPool3d": (lambda N: N.AvgPool3d(2, 1, divisor_override=3), _random((2, 3, 4, 2, 3))),
    "LPPool1d": (lambda N: N.LPPool1d(2, 3, stride=2), lambda T: [random(T, 2, 3, 9).exp()]),
    "LPPool2d": (lambda N: N.LPPool2d(2, (2, 1)), lambda T: [random(T, 2, 3, 4, 5).exp()]),
    "LPPool3d": (lambda N: N.LPPool3d(3, 2), lambda T: [random(T, 2, 1, 4, 4, 2).exp()]),
    "FractionalMaxPool2d": (lambda N: N.FractionalMaxPool2d(3, output_size=(2, 2), _random_samples=_samples(N)), _random((1, 2, 5, 6))),
    "AdaptiveAvgPool1d": (lambda N: N.AdaptiveAvgPool1d(3), _random((2, 3, 7))),
    "AdaptiveAvgPool2d": (lambda N: N.AdaptiveAvgPool2d((None, 2)), _random((2, 3, 4, 5))),
    "AdaptiveAvgPool3d": (lambda N: N.AdaptiveAvgPool3d(1), _random((2, 3, 4, 5, 2))),
    "AdaptiveMaxPool1d": (lambda N: N.AdaptiveMaxPool1d(3), _random((2, 3, 7))),
    "AdaptiveMaxPool2d": (lambda N: N.AdaptiveMaxPool2d((3, 2)), _random((2, 3, 4, 5))),
    "AdaptiveMaxPool3d": (lambda N: N.AdaptiveMaxPool3d(2), _random((2, 3, 4, 5, 3))),
    "Unfold": (lambda N: N.Unfold((2, 3), padding=1, stride=(2, 1)), _random((2, 3, 5, 4))),
    "Fold": (lambda N: N.Fold((4, 5), (2, 3), dilation=(2, 1), padding=1, stride=(1, 2)), _random((2, 12, 12))),
    "Fold of one": (lambda N: N.Fold(4, 2, stride=2), _random((8, 4))),
    "LocalResponseNorm": (lambda N: N.LocalResponseNorm(3, 0.5), _random((2, 5, 3, 2))),
    "PixelShuffle": (lambda N: N.PixelShuffle(2), _random((2, 8, 3, 2))),
    "PixelUnshuffle": (lambda N: N.PixelUnshuffle(2), _random((2, 3, 4, 6))),
    "ChannelShuffle": (lambda N: N.ChannelShuffle(2), _random((2, 6, 3))),
    "Upsample": (lambda N: N.Upsample(scale_factor=2, mode="bilinear"), _random((2, 3, 4, 5))),
    "UpsamplingNearest2d": (lambda N: N.UpsamplingNearest2d((6, 5)), _random((2, 3, 4, 5))),
    "UpsamplingBilinear2d": (lambda N: N.UpsamplingBilinear2d(scale_factor=2), _random((2, 3, 4, 5))),
    "ConstantPad1d": (lambda N: N.ConstantPad1d((2, -1), 3.5), _random((2, 3, 4))),
    "ConstantPad2d": (lambda N: N.ConstantPad2d(1, 0.5), _random((3, 4, 2))),
    "ConstantPad3d": (lambda N: N.ConstantPad3d((1, 0, 2, 1, 0, 1), 0.5), _random((1, 3, 4, 2, 2))),
    "ZeroPad1d": (lambda N: N.ZeroPad1d(2), _random((2, 3, 4))),
    "ZeroPad2d": (lambda N: N.ZeroPad2d((1, 0, 2, 0)), _random((2, 3, 4, 2))),
    "ZeroPad3d": (lambda N: N.ZeroPad3d(1), _random((3, 4, 2, 2))),
    "ReflectionPad1d": (lambda N: N.ReflectionPad1d((2, 1)), _random((2, 3, 4))),
    "ReflectionPad2d": (lambda N: N.ReflectionPad2d((2, 1, 1, 0)), _random((2, 3, 4, 5))),
    "ReflectionPad3d": (lambda N: N.ReflectionPad3d(1), _random((2, 3, 4, 5, 3))),
    "ReplicationPad1d": (lambda N: N.ReplicationPad1d((2, 5)), _random((2, 3, 4))),
    "ReplicationPad2d": (lambda N: N.ReplicationPad2d(2), _random((2, 3, 4, 5))),
    "ReplicationPad3d": (lambda N: N.ReplicationPad3d((1, 0, 2, 0, 0, 1)), _random((2, 3, 4, 5, 3))),
    "CircularPad1d": (lambda N: N.CircularPad1d((2, 1)), _random((2, 3, 4))),
    "CircularPad2d": (lambda N: N.CircularPad2d((2, 1, 1, 0)), _random((2, 3, 4, 5))),
    "CircularPad3d": (lambda N: N.CircularPad3d(1), _random((2, 3, 4, 5, 3))),
    "CosineSimilarity": (lambda N: N.CosineSimilarity(dim=0), _random((3, 4), (3, 4))),
    "PairwiseDistance": (lambda N: N.PairwiseDistance(3.0, keepdim=True), _random((3, 4), (3, 4))),
    "L1Loss": (lambda N: N.L1Loss(reduction="sum"), _random((3, 4), (3, 4))),
    "SmoothL1Loss": (lambda N: N.SmoothL1Loss(beta=0.5), _random((3, 4), (3, 4))),
    "HuberLoss": (lambda N: N.HuberLoss("none", 0.5), _random((3, 4), (3, 4))),
    "BCELoss": (lambda N: N.BCELoss(), _probabilities(3, 4)),
    "BCEWithLogitsLoss": (lambda N: N.BCEWithLogitsLoss(pos_weight=_constant(N, [1.0, 2.0, 3.0, 4.0])), _probabilities(3, 4)),
    "KLDivLoss": (lambda N: N.KLDivLoss(reduction="batchmean", log_target=True), _random((3, 4), (3, 4))),
    "PoissonNLLLoss": (lambda N: N.PoissonNLLLoss(full=True), lambda T: [random(T, 3, 4), random(T, 3, 4, seed=1, requires_grad=False).exp() * 2]),
    "GaussianNLLLoss": (lambda N: N.GaussianNLLLoss(full=True), lambda T: [*_random((3, 4), (3, 4))(T), random(T, 3, 4, seed=2).exp()]),
    "HingeEmbeddingLoss": (lambda N: N.HingeEmbeddingLoss(0.5), _with((4,), y=SIGNS)),
    "SoftMarginLoss": (lambda N: N.SoftMarginLoss(), _with((4,), y=SIGNS)),
    "MarginRankingLoss": (lambda N: N.MarginRankingLoss(0.3), _with((4,), (4,), y=SIGNS)),
    "CosineEmbeddingLoss": (lambda N: N.CosineEmbeddingLoss(0.1, reduction="sum"), _with((4, 3), (4, 3), y=SIGNS)),
    "MultiMarginLoss": (lambda N: N.MultiMarginLoss(2, 0.8), _with((4, 3), y=[0, 2, 1, 2])),
    "MultiLabelMarginLoss": (lambda N: N.MultiLabelMarginLoss(), _with((2, 4), y=[[3, 0, -1, 1], [1, -1, 0, 0]])),
    "MultiLabelSoftMarginLoss": (lambda N: N.MultiLabelSoftMarginLoss(), _with((2, 2), y=[[1.0, 0.0], [0.0, 1.0]])),
    "TripletMarginLoss": (lambda N: N.TripletMarginLoss(0.5, swap=True), _random((4, 3), (4, 3), (4, 3))),
    "TripletMarginWithDistanceLoss": (lambda N: N.TripletMarginWithDistanceLoss(margin=0.5), _random((4, 3), (4, 3), (4, 3))),
    "NLLLoss": (lambda N: N.NLLLoss(weight=_constant(N, [1.0, 2.0, 0.5]), ignore_index=1), _with((4, 3), y=[0, 2, 1, 2])),
    "CTCLoss": (lambda N: N.CTCLoss(reduction="sum"), lambda T: [random(T, 6, 2, 4).log_softmax(-1), *map(T.tensor, ([[1, 2], [3, 3]], [6, 5], [2, 1]))]),
    "Identity": (lambda N: N.Identity(3, any=True), _random((3, 4))),
    "PReLU": (lambda N: N.PReLU(4, 0.1), _random((3, 4, 2))),
    "Bilinear": (lambda N: N.Bilinear(3, 4, 2), _random((5, 3), (5, 4))),
    "EmbeddingBag": (lambda N: N.EmbeddingBag(5, 3, mode="max"), lambda T: [T.tensor([[0, 1], [4, 4]])]),
    "EmbeddingBag with offsets": (lambda N: N.EmbeddingBag(5, 3, mode="sum", padding_idx=2), lambda T: [T.tensor([0, 2, 4]), T.tensor([0, 1])]),
    "Conv1d": (lambda N: N.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), _random((2, 4, 9))),
    "Conv1d of one": (lambda N: N.Conv1d(2, 3, 4, padding="same", dilation=2, bias=False), _random((2, 9))),
    "Conv1d around": (lambda N: N.Conv1d(2, 3, 4, padding="same", padding_mode="circular"), _random((1, 2, 9))),
    "Conv2d": (lambda N: N.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="reflect"), _random((2, 2, 5, 6))),
    "Conv3d": (lambda N: N.Conv3d(2, 3, (1, 2, 3), padding=1, padding_mode="replicate", stride=(1, 2, 1)), _random((1, 2, 3, 4, 5))),
    "ConvTranspose1d": (lambda N: N.ConvTranspose1d(4, 6, 3, 2, 1, 1, 2), _random((2, 4, 5))),
    "ConvTranspose2d": (lambda N: N.ConvTranspose2d(4, 2, (3, 2), stride=2, dilation=(1, 2), bias=False), _random((2, 4, 3, 4))),
    "ConvTranspose3d": (lambda N: N.ConvTranspose3d(2, 2, 2), _random((1, 2, 3, 2, 2))),
}  # fmt: skip


def _constant(N: Any, values: list[float]) -> Any:
    return torch.tensor(values, dtype=torch.float64) if N is torch.nn else eager.tensor(values, dtype="float64")


def _samples(N: Any) -> Any:
    values = [[[0.3, 0.7], [0.1, 0.9]]]
    return torch.tensor(values, dtype=torch.float64) if N is torch.nn else eager.tensor(values, dtype="float64")


@pytest.mark.parametrize("name", CASES)
def test_a_layer(name: str) -> None:
    make, inputs = CASES[name]
    torch.manual_seed(0)
    models = {torch: make(torch.nn).double(), eager: make(nn).double()}
    models[eager].load_state_dict(
        {n: x for n, x in models[torch].state_dict().items() if "weight" in n or "bias" in n}, strict=bool(list(models[eager].parameters()))
    )
    runs: dict[Any, Any] = {}
    for T, model in models.items():
        xs = inputs(T)
        leaves = [x.retain_grad() or x for x in xs if x.requires_grad]
        y = model(*xs)
        if y.requires_grad:
            y.backward(random(T, *y.shape, seed=9, requires_grad=False))
        runs[T] = plain([y, [x.grad for x in leaves], [p.grad for p in model.parameters()]])
        assert [n for n, _ in model.named_parameters()] == [n for n, _ in models[torch].named_parameters()]
    compare(runs[eager], runs[torch], 1e-7 if name == "Hardsigmoid" else 1e-9)  # PyTorch's kernel of it has 1/6 in single precision


def test_every_layer_is_compared() -> None:
    """Unpooling needs the places of a pool, and drawn windows in three dimensions are their functions'."""
    assert set(MODULES) - {name.split(" ")[0] for name in CASES} == {"MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d", "FractionalMaxPool3d"}


@pytest.mark.parametrize("n", [1, 2, 3])
def test_places_of_a_pool_lead_back(n: int) -> None:
    runs: dict[Any, Any] = {}
    for T, N in ((torch, torch.nn), (eager, nn)):
        x = random(T, 2, 3, *(4,) * n)
        largest, places = getattr(N, f"AdaptiveMaxPool{n}d")(2, return_indices=True)(x)
        y = getattr(N, f"MaxUnpool{n}d")(2)(largest, places, output_size=x.shape)
        (y * y).sum().backward()
        runs[T] = plain([y, x.grad])
    compare(runs[eager], runs[torch], 1e-12)


def test_sizes_of_transposed_results() -> None:
    layers = {torch: torch.nn.ConvTranspose2d(2, 3, 3, stride=3).double(), eager: nn.ConvTranspose2d(2, 3, 3, stride=3).double()}
    layers[eager].load_state_dict(layers[torch].state_dict())
    results = [layer(random(T, 1, 2, 3, 4), output_size=(11, 12)) for T, layer in layers.items()]
    compare(plain(results[1]), plain(results[0]), 1e-12)
    with pytest.raises(eager.ShapeError, match=r"sizes from \[9, 12\] on"):
        layers[eager](random(eager, 1, 2, 3, 4), output_size=(12, 12))


def test_in_place() -> None:
    x = eager.tensor([-1.0, 2.0])
    assert nn.ReLU(inplace=True)(x) is x
    assert x.tolist() == [0.0, 2.0]
    y = nn.Sequential(nn.LeakyReLU(0.1, inplace=True), nn.Dropout(0.0, inplace=True), nn.SiLU(inplace=True))(x)
    assert y.shape == (2,)


def test_containers_by_name_and_of_parameters() -> None:
    both: list[Any] = []
    for T, N in ((torch, torch.nn), (eager, nn)):
        model = N.Module()
        model.parts = N.ModuleDict({"a": N.Linear(2, 3), "b": N.ReLU()})
        model.parts["c"] = N.Linear(3, 1)
        del model.parts["b"]
        model.rows = N.ParameterList([T.ones(2)])
        model.rows.append(N.Parameter(T.zeros(3)))
        model.named = N.ParameterDict({"x": T.ones(1)})
        model.named.update({"y": N.Parameter(T.ones(2))})
        shapes = [[name, list(p.shape)] for name, p in model.named_parameters()]
        sides = [list(model.parts), len(model.rows), [list(p.shape) for p in model.rows], list(model.named.keys()), "a" in model.parts, "b" in model.parts]
        both.append([sorted(shapes), sides, list(model.named["y"].shape), [list(v.shape) for v in model.named.values()], [n for n, _ in model.parts.items()]])
    assert both[0] == both[1]
    with pytest.raises(KeyError):
        nn.ModuleDict()["absent"]
    with pytest.raises(KeyError, match="method"):
        nn.ModuleDict({"update": nn.ReLU()})


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (nn.MaxPool3d, TypeError, r"MaxPool3d: missing a required argument: 'kernel_size'; the options are \(kernel_size, stride=None"),
        (lambda: nn.LeakyReLU(slope=2), TypeError, r"LeakyReLU: got an unexpected keyword argument 'slope'"),
        (lambda: nn.ReflectionPad2d(1)(eager.ones(3)), eager.ShapeError, r"expected 3 or 4 dimensions, found \[3\]"),
        (lambda: nn.Conv1d(3, 4, 1, groups=2), eager.ShapeError, "Conv1d: 3 and 4 channels are not multiples of 2 groups"),
        (lambda: nn.Conv2d(2, 4, 1, padding_mode="mirror"), eager.ShapeError, "padding_mode must be one of zeros, reflect, replicate, circular"),
        (lambda: nn.Fold(4, 2)(eager.ones(1, 4, 4)), eager.ShapeError, r"fold: \[4, 4\] with windows of \[2, 2\] has 9 windows"),
        (lambda: nn.LeekyReLU, AttributeError, "did you mean 'LeakyReLU'"),
    ],
)
def test_what_is_refused(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_drawn_layers_drop_channels_in_training_only() -> None:
    eager.manual_seed(0)
    x = eager.ones(4, 50, 3, 2)
    y = nn.Dropout2d(0.4)(x).numpy()
    assert {float(v) for v in np.unique(y)} == {0.0, float(np.float32(1 / 0.6))}
    assert np.all(y == y[:, :, :1, :1])
    assert 0.2 < np.mean(y == 0) < 0.6
    np.testing.assert_array_equal(nn.Dropout2d(0.4).eval()(x).numpy(), x.numpy())
