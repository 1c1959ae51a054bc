"""Gradients for several cotangents at once: by one batched program, beside a pass for each, and beside PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert.eager as eager
from wengert.eager.gradients import batched

grad = eager.autograd.grad
PRECISIONS = (eager.float32, eager.float64)


def _layers(dtype: Any) -> tuple[Any, Any, Any]:
    eager.manual_seed(3)
    x, w = eager.randn(5, dtype=dtype, requires_grad=True), eager.randn(6, 5, dtype=dtype, requires_grad=True)
    return x, w, ((w @ x).tanh() * (w @ x)).cumsum(0)


def _each(y: Any, inputs: Any, rows: Any, **keywords: Any) -> list[Any]:
    """A pass for every row, stacked."""
    passes = [grad(y, inputs, row, retain_graph=True, **keywords) for row in rows]
    return [eager.stack(list(column)) for column in zip(*passes, strict=True)]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_same_as_a_pass_for_each(dtype: Any, count: int) -> None:
    x, w, y = _layers(dtype)
    rows = eager.randn(count, 6, dtype=dtype)
    at_once = grad(y, (x, w), rows, is_grads_batched=True, retain_graph=True)
    tolerance = 1e-5 if dtype == eager.float32 else 1e-12
    for g, expected in zip(at_once, _each(y, (x, w), rows), strict=True):
        assert g is not None
        assert g.dtype == dtype
        np.testing.assert_allclose(g.numpy(), expected.numpy(), rtol=tolerance, atol=tolerance)


def test_they_are_one_program() -> None:
    x, w, y = _layers(eager.float64)
    known = len(batched.BATCHED)
    rows = eager.randn(11, 6, dtype=eager.float64)
    for _ in range(3):
        grad(y, (x, w), rows, is_grads_batched=True, retain_graph=True)
    assert len(batched.BATCHED) == known + 1


def test_values_inside_and_several_outputs() -> None:
    x = eager.tensor([0.3, -0.7, 1.1], dtype=eager.float64, requires_grad=True)
    inner = x.exp()
    outputs = [inner * x, inner.sum()]
    rows = [eager.randn(4, 3, dtype=eager.float64), eager.randn(4, dtype=eager.float64)]
    at_once = grad(outputs, (inner, x), rows, is_grads_batched=True, retain_graph=True)
    for i in range(4):
        one = grad(outputs, (inner, x), [r[i] for r in rows], retain_graph=True)
        for g, expected in zip(at_once, one, strict=True):
            np.testing.assert_allclose(g[i].numpy(), expected.numpy(), rtol=1e-12)  # type: ignore[index]  # pyright: ignore[reportOptionalSubscript, reportOptionalMemberAccess]


def test_they_can_be_differentiated_again() -> None:
    x, w, y = _layers(eager.float64)
    rows = eager.randn(5, 6, dtype=eager.float64)

    def second(first: list[Any]) -> Any:
        return grad((first[0] ** 2).sum() + (first[1] ** 2).sum(), (x, w), retain_graph=True)

    at_once = list(grad(y, (x, w), rows, is_grads_batched=True, retain_graph=True, create_graph=True))
    for g, expected in zip(second(at_once), second(_each(y, (x, w), rows, create_graph=True)), strict=True):
        np.testing.assert_allclose(g.numpy(), expected.numpy(), rtol=1e-9, atol=1e-12)


def test_complex_numbers() -> None:
    z = eager.tensor([1 + 2j, -0.5j], requires_grad=True)
    y = z.exp() * z
    rows = eager.tensor([[1.0 + 0j, 0], [0, 1], [1j, 1], [2, -1j]], dtype=eager.complex64)
    (at_once,) = grad(y, (z,), rows, is_grads_batched=True, retain_graph=True)
    np.testing.assert_allclose(at_once.numpy(), _each(y, (z,), rows)[0].numpy(), rtol=1e-5)  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]


def test_wide_values_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, y = _layers(eager.float64)
    rows = eager.randn(8, 6, dtype=eager.float64)
    expected = _each(y, (x, w), rows)
    monkeypatch.setattr(batched, "MOST_ELEMENTS", 3 * 30)
    for g, e in zip(grad(y, (x, w), rows, is_grads_batched=True), expected, strict=True):
        np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-12)  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]


def test_python_on_the_way_runs_for_every_row() -> None:
    x = eager.tensor([1.0, 2.0], requires_grad=True)
    seen: list[float] = []
    y = x * x
    y.register_hook(lambda g: seen.append(float(g.sum().item())))
    rows = eager.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    (g,) = grad(y * 3, (x,), rows, is_grads_batched=True)
    assert seen == [3.0, 3.0, 12.0]
    np.testing.assert_allclose(g.numpy(), [[6, 0], [0, 12], [12, 24]])  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]


def test_what_does_not_matter() -> None:
    x, other = eager.tensor([1.0, 2.0], requires_grad=True), eager.tensor([1.0], requires_grad=True)
    rows = eager.ones(4, 2)
    with pytest.raises(eager.AutogradError, match="Set allow_unused=True"):
        grad(x * x, (x, other), rows, is_grads_batched=True)
    y = x * x
    assert grad(y, (x, other), rows, is_grads_batched=True, allow_unused=True, retain_graph=True)[1] is None
    _, zeros = grad(y, (x, other), rows, is_grads_batched=True, materialize_grads=True)
    assert zeros is not None
    assert zeros.shape == (4, 1)
    with pytest.raises(eager.AutogradError, match="second time"):
        grad(y, (x,), rows, is_grads_batched=True)


def test_no_inputs() -> None:
    with pytest.raises(RuntimeError, match="cannot be empty"):
        grad(eager.ones(1, requires_grad=True) * 2, ())


def test_jacobians_beside_pytorch() -> None:
    torch = pytest.importorskip("torch")

    start = np.linspace(-1, 1, 4)

    def f(x: Any) -> Any:
        return x.exp() * x.sum(), (x[:2] ** 3).sum()

    ours = eager.autograd.functional.jacobian(f, eager.tensor(start))
    theirs = torch.autograd.functional.jacobian(f, torch.tensor(start), vectorize=True)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)
    h = eager.autograd.functional.hessian(lambda x: (x**3).sum() * x.prod(), eager.tensor(start))
    np.testing.assert_allclose(
        h.numpy(), torch.autograd.functional.hessian(lambda x: (x**3).sum() * x.prod(), torch.tensor(start)).numpy(), rtol=1e-9, atol=1e-12
    )
