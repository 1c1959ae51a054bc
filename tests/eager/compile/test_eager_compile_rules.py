"""Compiled functions keep the rules of custom functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert.eager as eager


def leaf() -> Any:
    return eager.tensor([0.5, 1.0, -0.25], requires_grad=True)


class Cube(eager.autograd.Function):
    """Saves its argument; its derivative is twice what it should be."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 6 * x * x * g


class Exponential(eager.autograd.Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        ctx.k = k
        y = (x * k).exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0] * ctx.k, None


class Both(eager.autograd.Function):
    """Two results, two arguments."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w, (x + w).sum()

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        x, w = ctx.saved_tensors
        return gs[0] * w + gs[1], gs[0] * x * 5 + gs[1]


class Rounded(eager.autograd.Function):
    """Straight through."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


CUSTOM: dict[str, Callable[[Any, Any], Any]] = {
    "argument saved": lambda x, w: Cube.apply(x) * w,
    "result saved": lambda x, w: Exponential.apply(x, 2.0).sin() * w,
    "two of each": lambda x, w: Both.apply(x.sin(), w)[0] + Both.apply(w, x)[1],
    "used elsewhere": lambda x, w: Rounded.apply(3 * x) * x * w,
    "one after another": lambda x, w: Exponential.apply(Cube.apply(x * 0.5), 0.5) * Rounded.apply(w * x) + Cube.apply(w),
}


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_functions_keep_their_rules(name: str) -> None:
    """Three derivatives, and a backward pass inside."""
    function = CUSTOM[name]

    def inside(x: Any, w: Any) -> Any:
        function(x, w).sum().backward()
        return x.grad, w.grad

    actual: list[list[Any]] = []
    compiled = eager.compile(function), eager.compile(inside)
    for f, step in ((function, inside), compiled):
        actual.append([])
        for start in (0.5, 0.75):
            x, w = (eager.tensor(v, dtype=eager.float64, requires_grad=True) for v in ([start, 1.0, -0.3], [1.0, 2.0, 3.0]))
            y = f(x, w).sum()
            for _ in range(3):
                gradients = eager.autograd.grad(y, [x, w], create_graph=True, materialize_grads=True)
                actual[-1] += [g.detach().numpy() for g in gradients]
                y = sum((g * g * 0.1).sum() for g in gradients)
            actual[-1] += [g.numpy() for g in step(x, w)]
    for ours, expected in zip(actual[1], actual[0], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-10)
    assert all(f.reasons == ["recorded: the first call of this kind"] for f in compiled)


def rule(backward: Callable[[Any, Any], Any], forward: Callable[[Any, Any], Any] = lambda ctx, x: x * 2) -> Any:
    return type("Ruled", (eager.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def dirty(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (rule(lambda ctx, g: g * 2 if g.sum() > 0 else g * 3), "Ruled.backward looks at values"),
        (rule(lambda ctx, g: g * eager.rand(3)), "Ruled.backward has effects or draws random numbers"),
        (rule(lambda ctx, g: g * 2, dirty), "Ruled.apply changes its arguments in place"),
        (rule(eager.autograd.once_differentiable(lambda ctx, g: g * 2)), "Ruled.backward is marked once_differentiable"),
    ],
    ids=["looks", "draws", "dirty", "once"],
)
def test_rules_that_cannot_be_recorded_are_run(function: Any, reason: str) -> None:
    f = eager.compile(lambda x: function.apply(x * 1) + 1)
    for _ in range(2):
        x = leaf()
        f(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0, 2.0] or "draws" in reason
    assert f.reasons == [f"run as it is: {reason}"]
