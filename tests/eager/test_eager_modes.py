"""What is recorded and what is not: detach, grad modes, dtypes, values that are not finite, kinks, on PyTorch and on wengert.eager: values, gradients, graphs and kinds of errors agree."""

from __future__ import annotations

from typing import Any

import pytest
from side_by_side import Snippet, Snippets, agree, graph, kind_of_error, leaf

snippet = Snippets()


@snippet
def detach(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x.exp()
    d = y.detach()
    (y * d).sum().backward()
    return d.requires_grad, d.is_leaf, x.grad


@snippet
def detached_memory_is_shared(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    y.detach()[0] = 9.0
    return y, y._version


@snippet
def straight_through(T: Any) -> Any:
    x = leaf(T, 0.3, 1.7)
    y = x + (x.round() - x).detach()
    (y * y).sum().backward()
    return y, x.grad


@snippet
def no_grad(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    with T.no_grad():
        y = x * 2
        inside = T.is_grad_enabled()
        values = x.numpy().tolist()
    z = x * y
    z.sum().backward()
    return y.requires_grad, y.is_leaf, inside, T.is_grad_enabled(), x.grad, values


@snippet
def no_grad_as_decorator(T: Any) -> Any:
    @T.no_grad()
    def double(v: Any) -> Any:
        return v * 2

    return double(leaf(T, 1.0)).requires_grad, T.is_grad_enabled()


@snippet
def enable_grad_inside_no_grad(T: Any) -> Any:
    x = leaf(T, 1.0)
    with T.no_grad(), T.enable_grad():
        y = x * 2
    return y.requires_grad, graph(y)


@snippet
def set_grad_enabled(T: Any) -> Any:
    x = leaf(T, 1.0)
    with T.set_grad_enabled(False):
        a = (x * 2).requires_grad
    T.set_grad_enabled(False)
    b = (x * 2).requires_grad
    T.set_grad_enabled(True)
    return a, b, (x * 2).requires_grad


@snippet
def inference_mode(T: Any) -> Any:
    w = leaf(T, 1.0, 2.0)
    with T.inference_mode():
        y = w * 2
        inside = T.is_inference_mode_enabled()
    return (
        y.requires_grad,
        y.is_inference(),
        inside,
        T.is_inference_mode_enabled(),
        kind_of_error(lambda: w * y),
        (w + y).requires_grad,
        (w * y.clone()).requires_grad,
    )


@snippet
def descent_step(T: Any) -> Any:
    w = leaf(T, 1.0, 2.0)
    for _ in range(3):
        loss = (w * w).sum()
        loss.backward()
        with T.no_grad():
            w -= 0.1 * w.grad
        w.grad = None
    return w, w.is_leaf, w.requires_grad, w._version


@snippet
def data_escapes(T: Any) -> Any:
    w = leaf(T, 1.0, 2.0)
    w.data = T.tensor([5.0, 6.0])
    (w * w).sum().backward()
    return w.grad, w.data.requires_grad


@snippet
def promotion(T: Any) -> Any:
    f, d, i, b = T.tensor([1.0, 2.0]), T.tensor([1.0, 2.0], dtype=T.float64), T.tensor([1, 2]), T.tensor([True, False])
    zero = T.tensor(2.0, dtype=T.float64)
    return (
        [f * d, f * i, i * b, f * zero, i * zero, i * 2.5, i * 2, b * 2, b * 2.5, i / i, i / 2, f + True, b + b, i // 1 if False else i % 2],
        [i**2, i**2.0, f**i, i.exp(), i.sum(), b.sum(), i.float().mean(), T.where(b, f, d), T.cat([f, d]), T.stack([i, f]), i > 1.5, f == i],
        [T.tensor(1.5), T.tensor(1), T.tensor(True), T.arange(3), T.arange(0.0, 1.0, 0.5), T.full((2,), 3), T.full((2,), 3.0), -i, abs(-i), 1 - i, 1.5 - i],
    )


@snippet
def values_that_are_not_finite(T: Any) -> Any:
    inf, nan = float("inf"), float("nan")
    x = leaf(T, -1.0, 0.0, inf, nan, -inf)
    y = T.cat([x.log(), 1 / x, x.relu(), x * 0, x.exp(), x.abs(), x.clamp(-2, 2)])
    y.backward(T.ones(35))
    return y, x.grad


@snippet
def kinks(T: Any) -> Any:
    x, c = leaf(T, -1.0, 0.0, 1.0, 2.0), T.tensor([-1.0, 0.0, 2.0, 1.0])
    y = x.abs() + x.relu() + x.clamp(0, 1) + T.maximum(x, c) + T.minimum(x, c) + x.sign() + x.max() + x.amax(0)
    y.sum().backward()
    ties = leaf(T, 3.0, 3.0, 1.0)
    (ties.max() + ties.amax(0) + ties.max(0)[0] + ties.norm() * 0).backward()
    zeros = leaf(T, 0.0, 0.0)
    zeros.norm().backward()
    return y, x.grad, ties.grad, zeros.grad


@snippet
def arithmetic_with_numpy(T: Any) -> Any:
    import numpy as np

    x = leaf(T, 1.0, 2.0)
    y = x * np.float32(2) + np.float64(1.5)
    y.sum().backward()
    return y, x.grad


@snippet
def numpy_and_item(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    return kind_of_error(x.numpy), float(x.sum().item()), x.detach().tolist(), kind_of_error(lambda: bool(x > 0)), bool((x > 0).all())


@snippet
def inference_tensors_and_views(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    with T.inference_mode():
        made, view = x * 2, x[0]
        made.add_(1)

    def refused(action: Any) -> bool:
        try:
            action()
        except RuntimeError:
            return True
        return False

    kept = made.clone()
    return kept, made.is_inference(), view.is_inference(), refused(lambda: made.add_(1)), refused(lambda: made._version), refused(made.requires_grad_)


@snippet
def generators_in_a_mode(T: Any) -> Any:
    @T.no_grad()
    def modes() -> Any:
        sent = yield T.is_grad_enabled()
        yield T.is_grad_enabled(), sent

    running = modes()
    return next(running), T.is_grad_enabled(), running.send(3), T.is_grad_enabled()


@pytest.mark.parametrize("code", snippet, ids=lambda code: code.__name__)
def test_snippet(code: Snippet) -> None:
    agree(code)
