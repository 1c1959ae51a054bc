"""Exported models beside PyTorch: what they return, a loss and its gradients by all parameters, and changed buffers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_cases import TOLERANCE, distance, exported, flat, imported

import wengert as wg

nn, F = torch.nn, torch.nn.functional


class WithLoss(nn.Module):
    """A model and a loss of what it returns, as one module."""

    def __init__(self, model: Any, loss: Callable[..., Any]):
        super().__init__()
        self.model = model
        self.loss = loss

    def forward(self, *inputs: Any) -> Any:
        return self.loss(self.model(*inputs[:-1]), inputs[-1])


class Recurrent(nn.Module):
    def __init__(self, kind: Any):
        super().__init__()
        self.embedding, self.cell, self.out = nn.Embedding(7, 4), kind(4, 5, batch_first=True), nn.Linear(5, 7)

    def forward(self, tokens: Any) -> Any:
        return self.out(self.cell(self.embedding(tokens))[0]).transpose(1, 2)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 3, 1)

    def forward(self, x: Any) -> Any:
        return (x + self.second(F.relu(self.norm(self.first(x))))).mean((2, 3))


class Attention(nn.Module):
    """Causal attention with rotary positions, as language models have it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out, self.norm = nn.Linear(8, 24, bias=False), nn.Linear(8, 8), nn.RMSNorm(8)

    def forward(self, x: Any) -> Any:
        n, t, _ = x.shape
        q, k, v = (part.view(n, t, 2, 4).transpose(1, 2) for part in self.qkv(self.norm(x)).chunk(3, -1))
        angle = torch.arange(t, dtype=x.dtype)[:, None] * torch.tensor([1.0, 0.1], dtype=x.dtype)
        q, k = (
            torch.stack([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1).flatten(-2)
            for a, b in ((p[..., ::2], p[..., 1::2]) for p in (q, k))
        )
        return x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(n, t, 8))


class Variational(nn.Module):
    """An autoencoder that takes its noise as an input and returns several tensors in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(6, 4), nn.Linear(2, 6)

    def forward(self, x: Any, noise: Any) -> Any:
        mean, spread = self.encode(x).chunk(2, -1)
        return {
            "found": torch.sigmoid(self.decode(mean + noise * torch.exp(spread / 2))),
            "kl": -0.5 * (1 + spread - mean**2 - spread.exp()).sum(),
            "none": None,
        }


def convolutional() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, groups=2), nn.GELU(),
        nn.AvgPool2d(2, ceil_mode=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 5),
    )  # fmt: skip


def transformer(norm_first: bool) -> Any:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True, norm_first=norm_first), 1, enable_nested_tensor=False)


def generator() -> Any:
    return nn.Sequential(nn.ConvTranspose2d(3, 4, 2, stride=2), nn.GroupNorm(2, 4), nn.SiLU(), nn.Upsample(scale_factor=2), nn.Conv2d(4, 1, 3), nn.Tanh())


def mlp() -> Any:
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 5), nn.LogSoftmax(-1))


def squared(y: Any, target: Any) -> Any:
    return F.mse_loss(flat(y)[0], target)


def elbo(y: Any, target: Any) -> Any:
    return F.binary_cross_entropy(y["found"], target.sigmoid()) + y["kl"]


Tensors = tuple[Any, ...]
MODELS: dict[str, tuple[Callable[[], Any], Callable[..., Any], Callable[[], Tensors]]] = {
    "mlp": (mlp, F.nll_loss, lambda: (torch.randn(4, 6), torch.randint(5, (4,)))),
    "convolutional": (convolutional, F.cross_entropy, lambda: (torch.randn(3, 3, 8, 8), torch.randint(5, (3,)))),
    "residual": (Residual, squared, lambda: (torch.randn(2, 3, 4, 4), torch.randn(2, 3))),
    "generator": (generator, squared, lambda: (torch.randn(2, 3, 2, 2), torch.randn(2, 1, 6, 6))),
    "lstm": (lambda: Recurrent(nn.LSTM), F.cross_entropy, lambda: (torch.randint(7, (2, 3)), torch.randint(7, (2, 3)))),
    "gru": (lambda: Recurrent(nn.GRU), F.cross_entropy, lambda: (torch.randint(7, (2, 3)), torch.randint(7, (2, 3)))),
    "rnn": (lambda: Recurrent(nn.RNN), F.cross_entropy, lambda: (torch.randint(7, (2, 3)), torch.randint(7, (2, 3)))),
    "transformer": (lambda: transformer(True), squared, lambda: (torch.randn(2, 3, 8), torch.randn(2, 3, 8))),
    "transformer, norm last": (lambda: transformer(False), squared, lambda: (torch.randn(2, 3, 8), torch.randn(2, 3, 8))),
    "attention": (Attention, squared, lambda: (torch.randn(2, 3, 8), torch.randn(2, 3, 8))),
    "variational": (Variational, elbo, lambda: (torch.randn(4, 6), torch.randn(4, 2), torch.randn(4, 6))),
    "bag": (
        lambda: nn.Sequential(nn.Embedding(9, 6, padding_idx=0), nn.Dropout(0.0), nn.Linear(6, 2)),
        squared,
        lambda: (torch.randint(3, (2, 5)), torch.randn(2, 5, 2)),
    ),
}


def made(name: str, dtype: Any, training: bool) -> tuple[Any, list[Any]]:
    torch.manual_seed(len(name))
    make, loss, inputs = MODELS[name]
    model = WithLoss(make().to(dtype).train(training), loss)
    return model, [x.to(dtype) if x.is_floating_point() else x for x in inputs()]


@pytest.mark.parametrize(("name", "dtype"), [pytest.param(name, torch.float32 if i % 3 == 2 else torch.float64, id=name) for i, name in enumerate(MODELS)])
def test_loss_and_gradients(name: str, dtype: Any) -> None:
    model, inputs = made(name, dtype, training=True)
    module = imported(model, *inputs)
    expected = model(*inputs)
    expected.backward()
    loss, gradients = module.value_and_grad(*inputs)
    assert distance(loss, expected) < TOLERANCE[dtype]
    distances = {key: distance(gradients[key], p.grad if p.grad is not None else torch.zeros_like(p)) for key, p in model.named_parameters()}
    assert max(distances.values()) < TOLERANCE[dtype], distances


@pytest.mark.parametrize("name", ["convolutional", "variational"])
def test_values_in_eval_mode(name: str) -> None:
    model, inputs = made(name, torch.float32, training=False)
    module = imported(model.model, *inputs[:-1])
    actual, expected = module(*inputs[:-1]), model.model(*inputs[:-1])
    leaves = list(zip(flat(actual), flat(expected), strict=True))
    assert type(actual) is dict or isinstance(actual, np.ndarray)
    assert max(distance(x, y) for x, y in leaves if y is not None) < 1e-5


def test_a_call_in_train_mode_moves_the_statistics() -> None:
    model, inputs = made("residual", torch.float64, training=True)
    module = imported(model.model, inputs[0])
    names = [r.name for r in module.program.signature.results]
    assert names == ["output 0", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"]
    before = dict(module.buffers)
    for _ in range(2):
        y, module = module.step(inputs[0])
        expected = model.model(inputs[0])
    assert distance(y, expected) < 1e-10
    for name, buffer in model.model.named_buffers():
        assert distance(module.buffers[name], buffer) < 1e-10
        assert not np.array_equal(module.buffers[name], before[name])


def test_the_signature_names_parameters_buffers_and_inputs() -> None:
    model, inputs = made("residual", torch.float32, training=False)
    module = imported(model.model, inputs[0])
    names = [a.name for a in module.program.signature.arguments]
    assert names == [n for n, _ in model.model.named_parameters()] + [n for n, _ in model.model.named_buffers()] + ["x"]
    assert module.position("norm.running_var") == names.index("norm.running_var")
    assert str(module.program.signature.arguments[0].type) == "tensor<4x3x3x3xf32>"
    assert "residual" not in str(wg.parse(str(module.program)).signature)
    with pytest.raises(wg.InputError, match=r"did you mean 'norm\.weight'"):
        module.position("norm.weigth")


def test_inputs_are_those_of_the_export() -> None:
    class Scaled(nn.Module):
        def forward(self, x: Any, scales: Any, times: int = 2) -> Any:
            return x * scales["a"] * times

    inputs = (torch.ones(3), {"a": torch.ones(3)})
    module = wg.from_torch(torch.export.export(Scaled(), inputs, {"times": 3}))
    assert module(*inputs, times=3).tolist() == [3.0, 3.0, 3.0]
    assert module(np.ones(3, np.float32), {"a": np.ones(3, np.float32)}, times=3).tolist() == [3.0, 3.0, 3.0]
    with pytest.raises(wg.InputError, match="was 3 at export"):
        module(*inputs, times=2)
    with pytest.raises(wg.InputError, match="of the structure"):
        module(*inputs)
    with pytest.raises(wg.InputError, match="one real number"):
        module.value_and_grad(*inputs, times=3)
    with pytest.raises(wg.InputError, match=r"wg\.from_torch\(torch\.export\.export"):
        wg.from_torch(Scaled())


def test_ops_carry_the_lines_of_the_model() -> None:
    model, inputs = made("residual", torch.float32, training=False)
    text = wg.from_torch(exported(model.model, inputs[0])).program.text(locations=True)
    line = next(i for i, line in enumerate(Path(__file__).read_text().splitlines(), 1) if "F.relu(self.norm" in line)
    assert f'test_torch_models.py":{line}:1' in text


def test_dynamic_shapes_are_fixed_or_refused() -> None:
    model = nn.Linear(2, 3)
    program = torch.export.export(model, (torch.ones(4, 2),), dynamic_shapes=({0: torch.export.Dim("n", min=2, max=64)},))
    with pytest.raises(wg.InputError, match=r"dimension 0 of the input input is dynamic \(s\d+, from 2 to 64\)"):
        wg.from_torch(program)
    x = torch.randn(5, 2)
    fixed = wg.from_torch(program, inputs=(x,))
    assert [a.name for a in fixed.program.signature.arguments] == ["weight", "bias", "input"]
    assert distance(fixed(x), model(x)) < 1e-6
