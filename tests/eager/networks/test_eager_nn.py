"""Layers and optimizers against PyTorch."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from side_by_side import agree, graph, kind_of_error

import wengert.eager as eager
import wengert.nn
import wengert.nn as nn
import wengert.optim as optim


def functions(T: Any) -> Any:
    return torch.nn.functional if T is torch else nn


def random(T: Any, *shape: int, seed: int = 0, requires_grad: bool = True) -> Any:
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return T.tensor(values.tolist(), dtype=T.float64, requires_grad=requires_grad)


LAYERS: dict[str, Callable[[Any, Any], tuple[Any, list[Any]]]] = {}


def layer(name: str, shapes: list[tuple[int, ...]], call: Callable[..., Any]) -> None:
    def run(T: Any, F: Any) -> tuple[Any, list[Any]]:
        leaves = [random(T, *shape, seed=i) for i, shape in enumerate(shapes)]
        return call(T, F, *leaves), leaves

    LAYERS[name] = run


layer("linear", [(4, 3), (2, 3), (2,)], lambda T, F, x, w, b: F.linear(x, w, b))
layer("linear of a stack", [(2, 4, 3), (2, 3), (2,)], lambda T, F, x, w, b: F.linear(x, w, b))
layer("conv2d", [(2, 3, 5, 6), (4, 3, 3, 2), (4,)], lambda T, F, x, w, b: F.conv2d(x, w, b, stride=2, padding=1))
layer("conv2d in groups", [(1, 4, 6, 6), (6, 2, 2, 2)], lambda T, F, x, w: F.conv2d(x, w, groups=2, dilation=(2, 1)))
layer("layer_norm", [(4, 3, 5), (3, 5), (3, 5)], lambda T, F, x, w, b: F.layer_norm(x, (3, 5), w, b))
layer("batch_norm eval", [(4, 3, 2), (3,), (3,)], lambda T, F, x, w, b: F.batch_norm(x, T.ones(3, dtype=T.float64), 2 * T.ones(3, dtype=T.float64), w, b))
layer("embedding", [(5, 3)], lambda T, F, w: F.embedding(T.tensor([[0, 4], [4, 1]]), w))
layer("relu", [(4, 3)], lambda T, F, x: F.relu(x))
layer("gelu", [(4, 3)], lambda T, F, x: F.gelu(x))
layer("gelu by tanh", [(4, 3)], lambda T, F, x: F.gelu(x, approximate="tanh"))
layer("silu", [(4, 3)], lambda T, F, x: F.silu(x))
layer("softplus", [(4, 3)], lambda T, F, x: F.softplus(20 * x))
layer("softmax", [(4, 3)], lambda T, F, x: F.softmax(x, 1))
layer("mse_loss", [(4, 3), (4, 3)], lambda T, F, x, y: F.mse_loss(x, y))
layer("cross_entropy", [(4, 3)], lambda T, F, x: F.cross_entropy(x, T.tensor([0, 2, 1, 1])))
layer("cross_entropy smoothed", [(4, 3)], lambda T, F, x: F.cross_entropy(x, T.tensor([0, 2, 1, 1]), reduction="sum", label_smoothing=0.1))
layer("cross_entropy of probabilities", [(4, 3), (4, 3)], lambda T, F, x, p: F.cross_entropy(x, p.softmax(1)))
layer(
    "cross_entropy with classes left out",
    [(4, 3)],
    lambda T, F, x: F.cross_entropy(x, T.tensor([0, -100, 1, 1])) + F.cross_entropy(x, T.tensor([0, 2, 1, 1]), ignore_index=1),
)
layer("cross_entropy with weights", [(4, 3), (3,)], lambda T, F, x, w: F.cross_entropy(x, T.tensor([0, 2, -100, 1]), w.detach().exp(), label_smoothing=0.2))
layer(
    "cross_entropy of an image",
    [(2, 3, 4), (3,)],
    lambda T, F, x, w: F.cross_entropy(x, T.tensor([[0, 2, 1, 1], [2, 2, 0, -100]]), w.detach().exp(), reduction="none", label_smoothing=0.1),
)
layer("cross_entropy of probabilities of an image", [(2, 3, 4)], lambda T, F, x: F.cross_entropy(x, x.detach().softmax(1), T.tensor([1.0, 2.0, 0.5])))
layer("cross_entropy of one", [(3,)], lambda T, F, x: F.cross_entropy(x, T.tensor(1)))
layer("nll_loss at minus infinity", [(2, 3)], lambda T, F, x: F.nll_loss(x.masked_fill(T.tensor([[True, False, False]]), -float("inf")), T.tensor([1, 2])))
layer("embedding with padding", [(5, 3)], lambda T, F, w: F.embedding(T.tensor([[0, 4], [4, 1]]), w, padding_idx=4))
layer("conv2d of the same size", [(3, 5, 6), (4, 3, 3, 5), (4,)], lambda T, F, x, w, b: F.conv2d(x, w, b, padding="same", dilation=2))
layer("steep softplus", [(4, 3)], lambda T, F, x: F.softplus(20 * x, beta=2, threshold=10))
layer("addmm", [(3,), (2, 4), (4, 3)], lambda T, F, c, x, y: T.addmm(c, x, y, beta=0.5, alpha=2))
layer("norms", [(4, 3)], lambda T, F, x: T.stack([x.norm(), x.norm(1), x.norm(p=3), x.norm(float("inf")), x.norm(2, 1).sum(), x.norm(0.5, dim=(0, 1))]))
layer("scattering", [(4, 3)], lambda T, F, x: x.var(1, unbiased=False).sum() + x.std(0, correction=0).sum() + x.var(False) + x.std(1, False, True).sum())
layer("limits", [(4, 3), (3,)], lambda T, F, x, y: x.clamp(max=y) + x.clamp(y.detach() - 1, y.detach()) + x.clamp(min=0, max=T.tensor(0.5)))
layer("of a number", [()], lambda T, F, x: T.stack([x.softmax(0), x.log_softmax(-1), x.logsumexp(0), x.cumsum(0), x[True].sum()]))
layer(
    "of other dtypes",
    [(4, 3)],
    lambda T, F, x: x.float().sum(dtype=T.float64) + x.float().mean(1, dtype=T.float64).sum() + x.float().prod(0, dtype=T.float64).sum(),
)
layer("max_pool2d", [(2, 3, 5, 6)], lambda T, F, x: F.max_pool2d(x, 2))
layer("max_pool2d of ties", [(3, 6, 7)], lambda T, F, x: F.max_pool2d(F.relu(x), (3, 2), stride=(1, 2), padding=1, dilation=(1, 2)))
layer("max_pool2d rounded up", [(1, 2, 6, 8)], lambda T, F, x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True))
layer("avg_pool2d", [(2, 3, 5, 6)], lambda T, F, x: F.avg_pool2d(x, (2, 3)))
layer("avg_pool2d padded", [(3, 5, 6)], lambda T, F, x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True))
layer("avg_pool2d without padding", [(3, 5, 6)], lambda T, F, x: F.avg_pool2d(x, 3, 2, 1, True, False) * F.avg_pool2d(x, 3, 2, 1, True, divisor_override=4))
layer("logsumexp of all", [(4, 3)], lambda T, F, x: x.logsumexp((0, 1), keepdim=True))


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str) -> None:
    def snippet(T: Any) -> Any:
        y, leaves = LAYERS[name](T, functions(T))
        y.backward(random(T, *y.shape, seed=9, requires_grad=False))
        return y, [leaf.grad for leaf in leaves]

    agree(snippet, 1e-6 if "gelu" in name else 1e-9)


@pytest.mark.parametrize("pool", ["max_pool2d", "avg_pool2d"])
def test_pooling_twice(pool: str) -> None:
    """Second derivatives, nodes, and errors."""

    def snippet(T: Any) -> Any:
        f = getattr(functions(T), pool)
        x, image, vector = random(T, 2, 5, 6), T.ones(1, 4, 4), T.ones(1, 1, 1, 4, 4)
        y = f(x, 2, 1, 1)
        (x_bar,) = T.autograd.grad((y**3).sum(), x, create_graph=True)
        wrong = [lambda: f(vector, 2), lambda: f(image, 5), lambda: f(image, 2, padding=2)]
        return [graph(y), x_bar, T.autograd.grad((x_bar**2).sum(), x), *map(kind_of_error, wrong)]

    agree(snippet, 1e-9)


def test_batch_norm_in_training() -> None:
    def snippet(T: Any) -> Any:
        x, w, b = random(T, 4, 3, 5), random(T, 3), random(T, 3, seed=1)
        mean, variance = T.zeros(3, dtype=T.float64), T.ones(3, dtype=T.float64)
        for _ in range(2):
            y = functions(T).batch_norm(x, mean, variance, w, b, training=True)
        (y**3).sum().backward()
        return y, mean, variance, x.grad, w.grad, b.grad

    agree(snippet, 1e-9)


def test_dropout() -> None:
    x = eager.ones(1000, requires_grad=True)
    y = nn.dropout(x, 0.25)
    y.sum().backward()
    assert set(y.tolist()) == {0.0, np.float32(1 / 0.75)}
    assert 650 < float((y > 0).float().sum()) < 850
    assert (x.grad == y).all()
    assert nn.dropout(x, 0.25, training=False) is x


OPTIMIZERS: dict[str, Callable[[Any, Any], Any]] = {
    "sgd": lambda m, p: m.SGD(p, lr=0.1),
    "momentum": lambda m, p: m.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "nesterov": lambda m, p: m.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda m, p: m.Adam(p, lr=0.05, weight_decay=0.01),
    "adamw": lambda m, p: m.AdamW(p, lr=0.05, betas=(0.8, 0.9)),
    "rmsprop": lambda m, p: m.RMSprop(p, lr=0.05, weight_decay=0.01),
    "rmsprop, centered": lambda m, p: m.RMSprop(p, lr=0.05, alpha=0.9, momentum=0.8, centered=True),
    "adagrad": lambda m, p: m.Adagrad(p, lr=0.1, weight_decay=0.01),
    "adagrad, decaying": lambda m, p: m.Adagrad(p, lr=0.1, lr_decay=0.1, initial_accumulator_value=0.5),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizer(name: str) -> None:
    def snippet(T: Any) -> Any:
        w, b = random(T, 3, 2), random(T, 2)
        optimizer = OPTIMIZERS[name](torch.optim if T is torch else optim, [w, b])
        for i in range(4):
            optimizer.zero_grad()
            ((random(T, 5, 3, seed=i, requires_grad=False) @ w + b) ** 2).mean().backward()
            optimizer.step()
        return w, b

    agree(snippet, 1e-9)


@pytest.mark.parametrize("name", ["nesterov", "adamw"])
def test_a_compiled_step_is_the_step(name: str) -> None:
    results_of: list[Any] = []
    for compiling in (False, True):
        tree = {"w": random(eager, 3, 2), "b": [random(eager, 2)]}
        optimizer = OPTIMIZERS[name](optim, tree)

        def step(x: Any, tree: Any = tree, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            loss = nn.mse_loss(nn.gelu(nn.linear(x, tree["w"].t(), tree["b"][0])), eager.ones(5, 2, dtype=eager.float64))
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = eager.compile(step) if compiling else step
        losses = [run(random(eager, 5, 3, seed=i, requires_grad=False)).item() for i in range(6)]
        results_of.append([losses, tree["w"].tolist(), tree["b"][0].tolist()])
        if compiling:
            assert len(run.reasons) <= 2, run.reasons
    for plain, compiled in zip(*results_of, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-9)


@pytest.mark.parametrize("module", [wengert.nn, optim, eager], ids=lambda m: m.__name__)
def test_examples(module: Any) -> None:
    failed, tried = doctest.testmod(module)
    assert tried > 2
    assert failed == 0


def test_loss_scaling_beside_torch() -> None:
    """Weights in f32, the network in f16: the scale falls until gradients are finite, and grows again after two good steps."""
    x = np.linspace(-3, 3, 12, dtype=np.float16).reshape(4, 3)
    ours, theirs = eager.tensor(np.ones((3, 2), np.float32), requires_grad=True), torch.ones(3, 2, requires_grad=True)
    scaler, reference = optim.LossScaler(2.0**15, interval=2), torch.amp.GradScaler("cpu", init_scale=2.0**15, growth_interval=2)
    optimizers = optim.SGD([ours], lr=0.01), torch.optim.SGD([theirs], lr=0.01)
    stepped = []
    for _ in range(9):
        for optimizer in optimizers:
            optimizer.zero_grad()
        product = eager.tensor(x) @ ours.to(np.float16)
        scaler.scale((product * product).sum()).backward()
        stepped.append(scaler.step(optimizers[0]))
        y = torch.from_numpy(x) @ theirs.to(torch.float16)
        reference.scale((y * y).sum()).backward()
        reference.step(optimizers[1])
        reference.update()
        assert scaler.value == reference.get_scale()
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=2e-3)
    assert True in stepped
    assert False in stepped


@pytest.mark.parametrize("order", [2.0, 1.0, float("inf")])
def test_gradients_are_clipped_together(order: float) -> None:
    results: list[Any] = []
    for T, N in ((torch, torch.nn), (eager, nn)):
        leaves = [random(T, 3, 2), random(T, 4, seed=1), random(T, 2, seed=2)]
        ((leaves[0] ** 3).sum() + (leaves[1] ** 2).sum()).backward()
        norms = [N.utils.clip_grad_norm_(leaves, bound, order) for bound in (100.0, 1.5)]
        N.utils.clip_grad_value_(leaves, 0.3)
        vector = N.utils.parameters_to_vector(leaves)
        N.utils.vector_to_parameters(vector.detach() * 2, leaves)
        results.append([*(np.asarray(n.detach()) for n in norms), *(np.asarray(x.grad) for x in leaves[:2]), *(np.asarray(x.detach()) for x in leaves)])
    for actual, expected in zip(results[1], results[0], strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12)
    x = random(eager, 2)
    assert nn.utils.clip_grad_norm_(x, 1.0).item() == 0
    (x * float("inf")).sum().backward()
    with pytest.raises(RuntimeError, match=r"the norm of order 2\.0 of the gradients is"):
        nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)


def test_a_rate_that_is_a_tensor_is_not_recorded_anew() -> None:
    rates = (0.1, 0.05, 0.025, 0.0)
    results: list[Any] = []
    for compiling in (False, True):
        w = random(eager, 3)
        optimizer = optim.RMSprop([w], lr=eager.tensor(0.0, dtype="float64") if compiling else 0.0)

        def step(optimizer: Any = optimizer, w: Any = w) -> Any:
            optimizer.zero_grad()
            (w * w).sum().backward()
            optimizer.step()
            return w.detach().clone()

        run = eager.compile(step) if compiling else step
        for rate in rates:
            if compiling:
                optimizer.lr.fill_(rate)
            else:
                optimizer.lr = rate
            last = run().numpy()
        results.append(last)
        if compiling:
            assert len(run.reasons) == 1
    np.testing.assert_allclose(results[1], results[0], rtol=1e-12)
