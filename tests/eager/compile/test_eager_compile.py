"""Compiled functions: the same results, gradients and effects as the function itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert.eager as eager

x0 = [0.5, 1.0, -0.25]


def leaf(values: Any = x0) -> Any:
    return eager.tensor(values, requires_grad=True)


def power_of_sine(x: Any, n: int) -> Any:
    y = x
    for _ in range(n):
        y = y.sin() * x
    return y


def branching(x: Any, n: int) -> Any:
    y = x * n
    if y.sum() > 0:
        return y * 2
    return {"negative": (y.exp(), n)}


def masked(x: Any, n: int) -> Any:
    return x[x > 0].sum() * n


def in_place(x: Any, n: int) -> Any:
    y = eager.zeros(3)
    for i in range(n):
        y[i] = x[i] * 2
        y += x
    return y.detach(), y


def inner_gradient(x: Any, n: int) -> Any:
    z = leaf([1.0, 2.0, 3.0])
    (g,) = eager.autograd.grad((z**n * x).sum(), z, create_graph=True)
    return g * x


def without_grad(x: Any, n: int) -> Any:
    with eager.no_grad():
        scale = x * n
    return x * scale


@pytest.mark.parametrize("function", [power_of_sine, branching, masked, in_place, inner_gradient, without_grad], ids=lambda f: f.__name__)
def test_results_and_gradients(function: Callable[..., Any]) -> None:
    compiled = eager.compile(function)

    def flat(value: Any) -> list[Any]:
        if isinstance(value, dict):
            value = tuple(value.values())
        return [v for part in value for v in flat(part)] if isinstance(value, tuple) else [value]

    for values in (x0, [1.0, 2.0, -3.5], [2.0, 1.0, 0.5], x0):
        for n in (2, 3):
            results: list[Any] = []
            for f in (function, compiled):
                x = leaf(values)
                outputs = flat(f(x, n))
                tracked = [y for y in outputs if isinstance(y, eager.Tensor) and y.requires_grad]
                sum((y * y).sum() for y in tracked).backward()
                results.append([x.grad.numpy(), len(tracked), *(y.detach().numpy() if isinstance(y, eager.Tensor) else y for y in outputs)])
            for actual, expected in zip(results[1], results[0], strict=True):
                np.testing.assert_allclose(actual, expected, rtol=2e-6)
    assert not any("as it is" in reason for reason in compiled.reasons)


def checkpointed(x: Any, n: int) -> Any:
    return eager.checkpoint(power_of_sine, x.exp(), n)


@pytest.mark.parametrize("function", [power_of_sine, without_grad, inner_gradient, checkpointed], ids=lambda f: f.__name__)
def test_gradients_of_gradients(function: Callable[..., Any]) -> None:
    """The derivative of a compiled function's derivative goes through the values that it keeps."""
    compiled = eager.compile(function)
    for i in range(6):
        actual: list[Any] = []
        for f in (function, compiled):
            x = leaf([0.5 + i / 8, 1.0, -0.25])
            (g,) = eager.autograd.grad((f(x, 3) * x).sum(), x, create_graph=True)
            (h,) = eager.autograd.grad((g * g).sum(), x, create_graph=True)
            h.sum().backward()
            actual.append([g.detach().numpy(), h.detach().numpy(), x.grad.numpy()])
        np.testing.assert_allclose(actual[1], actual[0], rtol=2e-4, atol=1e-5)
    assert not any("as it is" in reason for reason in compiled.reasons)


class Model:
    def __init__(self) -> None:
        self.weight = leaf([1.0, 2.0, 3.0])
        self.velocity = eager.zeros(3)
        self.momentum = 0.9

    def step(self, x: Any) -> Any:
        self.weight.grad = None
        loss = ((self.weight * x).sigmoid() ** 2).sum()
        loss.backward()
        with eager.no_grad():
            self.velocity.mul_(self.momentum).add_(self.weight.grad)
            self.weight.sub_(0.1 * self.velocity)
        return loss.detach()


def test_a_whole_training_step() -> None:
    plain, model = Model(), Model()
    step = eager.compile(model.step)
    for i in range(5):
        x = eager.tensor([float(i), 1.0, -2.0])
        np.testing.assert_allclose(step(x).item(), plain.step(x).item(), rtol=1e-6)
    for name in ("weight", "velocity"):
        np.testing.assert_allclose(getattr(model, name).detach().numpy(), getattr(plain, name).detach().numpy(), rtol=1e-6)
    np.testing.assert_allclose(model.weight.grad.numpy(), plain.weight.grad.numpy(), rtol=1e-6)
    assert step.reasons == ["recorded: the first call of this kind"]
    # What it reads by name is guarded; tensors are read anew by their path.
    model.momentum = 0.5
    model.velocity = eager.zeros(3)
    plain.momentum, plain.velocity = 0.5, eager.zeros(3)
    for _ in range(2):
        np.testing.assert_allclose(step(x).item(), plain.step(x).item(), rtol=1e-6)
    np.testing.assert_allclose(model.weight.detach().numpy(), plain.weight.detach().numpy(), rtol=1e-6)
    assert step.reasons[1:] == ["recorded: self.momentum was 0.9 and is 0.5"]


def test_random_numbers_are_drawn_anew() -> None:
    eager.manual_seed(0)
    f = eager.compile(lambda x: x + eager.randn(3))
    drawn = [f(eager.zeros(3)).tolist() for _ in range(3)]
    assert len({tuple(v) for v in drawn}) == 3
    eager.manual_seed(0)
    assert [eager.randn(3).tolist() for _ in range(3)] == drawn


def test_effects_on_arguments() -> None:
    def clear(x: Any) -> Any:
        x[1] = 7.0
        return x

    f = eager.compile(clear)
    for _ in range(3):
        x = eager.zeros(3)
        assert f(x) is x
        assert x.tolist() == [0.0, 7.0, 0.0]


def test_arguments_that_share_memory() -> None:
    def change(x: Any, y: Any) -> Any:
        x.mul_(2)
        return x + y

    f = eager.compile(change)
    for sharing in (False, True, False, True):
        for function in (change, f):
            x = eager.tensor([1.0, 2.0])
            y = x[0] if sharing else eager.tensor(1.0)
            assert function(x, y).tolist() == ([4.0, 6.0] if sharing else [3.0, 5.0])
    assert len(f.reasons) == 2


def test_hooks_inside() -> None:
    """Python runs in the backward pass, so the function runs as it is; results made in inference mode are such."""

    def hooked(x: Any) -> Any:
        y = x * 3
        y.register_hook(lambda g: g * 5)
        return y

    def with_hooked_weight(x: Any) -> Any:
        w.grad = None
        (x * w).sum().backward()
        return w.grad

    w = leaf()
    handle = w.register_hook(lambda g: g * 2)
    f, g = eager.compile(hooked), eager.compile(with_hooked_weight)
    for _ in range(3):
        x = leaf()
        f(x).sum().backward()
        assert x.grad.tolist() == [15.0] * 3
    assert g(eager.ones(3)).tolist() == [2.0] * 3
    handle.remove()
    assert g(eager.ones(3)).tolist() == [1.0] * 3
    assert f.reasons == ["run as it is: it registers a hook"]
    assert g.reasons == ["run as it is: a hook ran in its backward pass"]
    h = eager.compile(eager.inference_mode(lambda x: x * 2))
    assert [h(eager.ones(2)).is_inference() for _ in range(3)] == [True] * 3
