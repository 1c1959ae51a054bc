"""Derivatives of functions, their check, anomalies, and hooks on what is kept, beside PyTorch."""

from __future__ import annotations

import doctest
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from side_by_side import agree, kind_of_error

import wengert.eager as eager

Case = Callable[..., Any]


def inputs(T: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    return [T.tensor(rng.uniform(0.3, 1.9, shape).tolist(), dtype=T.float64, requires_grad=True) for shape in [(3,), (2, 3)]]


def both(x: Any, m: Any) -> Any:
    return x.sin() * m[0], (m @ x).exp().sum()


def energy(x: Any, m: Any) -> Any:
    return ((m @ x) ** 3).sum() + x.prod()


# F is torch.autograd.functional or ours; x: [3], m: [2, 3]
FUNCTIONAL: dict[str, Case] = {
    "jacobian": lambda T, F, x, m: F.jacobian(lambda x: x.exp() * x.sum(), x),
    "jacobian of several": lambda T, F, x, m: F.jacobian(both, (x, m)),
    "jacobian of a part": lambda T, F, x, m: F.jacobian(lambda x, m: (x * x).reshape(1, 3), (x, m), vectorize=True),
    "jacobian of constants": lambda T, F, x, m: F.jacobian(lambda x: T.ones(2), x),
    "jacobian differentiated": lambda T, F, x, m: T.autograd.grad((F.jacobian(both, (x, m), create_graph=True)[0][0] ** 2).sum(), (x, m)),
    "hessian": lambda T, F, x, m: F.hessian(lambda x: energy(x, m.detach()), x),
    "hessian of several": lambda T, F, x, m: F.hessian(energy, (x, m)),
    "hessian of a linear function": lambda T, F, x, m: F.hessian(lambda x: x.sum(), x),
    "hessian differentiated": lambda T, F, x, m: T.autograd.grad(F.hessian(lambda x: energy(x, m), x, create_graph=True).sum(), (x, m)),
    "vjp": lambda T, F, x, m: F.vjp(both, (x, m), (x.detach(), T.ones((), dtype=T.float64))),
    "vjp of a number": lambda T, F, x, m: F.vjp(energy, (x, m)),
    "vjp differentiated": lambda T, F, x, m: T.autograd.grad(F.vjp(energy, (x, m), create_graph=True)[1][0].sum(), (x, m)),
    "jvp": lambda T, F, x, m: F.jvp(both, (x, m), (x.detach(), m.detach().cos())),
    "jvp of a linear function": lambda T, F, x, m: F.jvp(lambda x: x.sum() * 2, x, x.detach()),
    "jvp differentiated": lambda T, F, x, m: T.autograd.grad(F.jvp(lambda x: x.sin() * m[0], x, x, create_graph=True)[1].sum(), (x, m)),
    "hvp": lambda T, F, x, m: F.hvp(energy, (x, m), (x.detach(), m.detach())),
    "vhp": lambda T, F, x, m: F.vhp(lambda x: energy(x, m.detach()), x, x.detach()),
}
WRONG: dict[str, Case] = {
    "vjp without v": lambda T, F, x, m: F.vjp(both, (x, m)),
    "vjp with another v": lambda T, F, x, m: F.vjp(lambda x: x.sin(), x, m),
    "hessian of a vector": lambda T, F, x, m: F.hessian(lambda x: x.sin(), x),
    "jacobian of no tensor": lambda T, F, x, m: F.jacobian(lambda x: 3, x),
    "strict jacobian": lambda T, F, x, m: F.jacobian(lambda x, m: x.sin(), (x, m), strict=True),
    "strict vjp of constants": lambda T, F, x, m: F.vjp(lambda x: T.ones(()), x, strict=True),
}


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional(name: str) -> None:
    def snippet(T: Any) -> Any:
        x, m = inputs(T)
        return [FUNCTIONAL[name](T, T.autograd.functional, x, m), x.grad, m.grad]

    agree(snippet, 1e-9)


@pytest.mark.parametrize("name", WRONG)
def test_functional_errors(name: str) -> None:
    for T in (torch, eager):
        with pytest.raises((RuntimeError, TypeError)):
            WRONG[name](T, T.autograd.functional, *inputs(T))


@pytest.mark.parametrize("create", [False, True])
def test_batched_cotangents(create: bool) -> None:
    def snippet(T: Any) -> Any:
        x, m = inputs(T)
        y = (m * x).exp()
        rows = T.arange(12, dtype=T.float64).reshape(2, 2, 3)
        gradients = T.autograd.grad(y, (x, m), rows, is_grads_batched=True, create_graph=create)
        again = T.autograd.grad(gradients[0].sum(), (x, m)) if create else kind_of_error(lambda: T.autograd.grad(y, x, rows[0]))
        return [gradients, again]

    agree(snippet, 1e-9)


def test_gradcheck() -> None:
    """What is right passes; what is wrong is an error in both, with a table of the elements here."""

    def made(T: Any) -> Any:
        class Wrong(T.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x**2

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                return 2 * g * x * T.tensor([1.0, 0.0, 1.0], dtype=T.float64)

        return Wrong.apply

    for T in (torch, eager):
        x, m = inputs(T)
        assert T.autograd.gradcheck(both, (x, m))
        assert T.autograd.gradgradcheck(energy, (x, m))
        assert not T.autograd.gradcheck(made(T), (x,), raise_exception=False)
        with pytest.raises(ValueError):
            T.autograd.gradcheck(both, (x.detach(), m.detach()))
    x = eager.tensor([1.0, 2.0, 3.0], dtype=eager.float64, requires_grad=True)
    with pytest.raises(eager.autograd.GradcheckError) as caught:
        eager.autograd.gradcheck(made(eager), x)
    assert str(caught.value).splitlines() == [
        "Jacobian mismatch for output 0 with respect to input 0: 1 of 9 derivatives are not those of differences (step 1e-06, atol 1e-05, rtol 0.001):",
        "of           by          numerical  analytical  difference",
        "output 0[1]  input 0[1]  4          0           4.0e+00",
    ]
    assert x.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.filterwarnings("ignore:(Anomaly|Error detected)")
def test_anomaly() -> None:
    """NaN are found where they arise, also in a tape that was compiled, and the forward line is named."""

    def snippet(T: Any) -> Any:
        x = T.tensor([1.0, 0.0], requires_grad=True)

        def run() -> None:
            ((x.sqrt() * T.tensor([1.0, 0.0])).sin() + x).sum().backward()

        for _ in range(4):
            run()  # nobody looks
        kinds = [T.autograd.set_detect_anomaly(True) and kind_of_error(run), kind_of_error(lambda: (x * 2).sum().backward())]
        T.autograd.set_detect_anomaly(False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it is slow
            with T.autograd.detect_anomaly(check_nan=False):
                run()
        return [*kinds, x.grad]

    agree(snippet)
    x = eager.tensor([0.0, 4.0], requires_grad=True)
    step = eager.compile(lambda: (x.sqrt() * 0.0).sum().backward())
    step()
    with eager.autograd.set_detect_anomaly(True), pytest.raises(eager.AnomalyError) as caught:
        step()
    assert (
        "Function 'SqrtBackward0' returned nan values in its 0th output. 1 of the 2 elements of the gradient of operand 0 are NaN: the derivative of 'sqrt' at"
        in str(caught.value)
    )
    assert "test_eager_derivatives.py:" in str(caught.value)
    assert not eager.autograd.is_anomaly_enabled()


def test_hooks_on_what_is_kept() -> None:
    def snippet(T: Any) -> Any:
        log: list[Any] = []

        def pack(x: Any) -> Any:
            log.append(tuple(x.shape))
            return x.detach().numpy() * 2

        def unpack(x: Any) -> Any:
            log.append("unpack")
            return T.as_tensor(x)

        class Cube(T.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx: Any, g: Any) -> Any:
                (x,) = ctx.saved_tensors
                return 3 * g * x**2

        x, m = inputs(T)
        with T.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = (m * x).exp()
            inner = T.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x * 0)
            with inner:
                z = y.sin()
            z = Cube.apply(z).sum()
        y.detach().zero_()  # nobody keeps it
        z.backward(retain_graph=True)
        first = x.grad.clone()
        return [sorted(map(str, log)), first, T.autograd.grad(z, m), z]

    agree(snippet, 1e-9)


def test_hooks_on_what_is_kept_beside_other_things() -> None:
    """Wrong hooks, second derivatives, checkpoints, the bytes that are kept, and tapes."""
    hooks = eager.autograd.graph.saved_tensors_hooks
    x = eager.tensor([1.0, 2.0], requires_grad=True)
    with hooks(lambda kept: kept.numpy().astype("f2"), lambda half: eager.tensor(half, dtype=eager.float32)):
        y = x.sin().exp()
        z = eager.checkpoint(lambda x: x.sin().exp(), x)
        kept = eager.ones(100).requires_grad_().sin().exp().tanh()
    (g,) = eager.autograd.grad(y.sum() + z.sum(), x, create_graph=True)
    (h,) = eager.autograd.grad(g.sum(), x)
    s, c = np.sin([1.0, 2.0]), np.cos([1.0, 2.0])
    np.testing.assert_allclose(h.numpy(), 2 * np.exp(s) * (c * c - s), rtol=3e-3)
    assert eager.saved_bytes(kept) == 600  # x and two results, two bytes each
    assert "stablehlo.sine" in eager.tape_of(y).ir()
    for wrong, kind in ((hooks(lambda kept: kept.mul_(2), lambda kept: kept), "AutogradError"), (hooks(lambda kept: kept, lambda kept: 3), "TypeError")):
        with pytest.raises((eager.AutogradError, TypeError)) as caught, wrong:
            x.exp().sum().backward()
        assert type(caught.value).__name__ == kind


@pytest.mark.parametrize("module", ["gradients.anomaly", "recording.saved_hooks"])
def test_docstrings(module: str) -> None:
    assert doctest.testmod(importlib.import_module(f"wengert.eager.{module}")).failed == 0
