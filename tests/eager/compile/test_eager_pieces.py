"""Repeated tapes with hooks, kept gradients, custom functions and checkpoints, beside PyTorch; their pieces are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from side_by_side import compare, leaf, plain
from test_eager_checkpoint import again

import wengert.eager as eager
from wengert.eager import graph


def chain(h: Any, w: Any) -> Any:
    for _ in range(3):
        h = (h * w).sin() + h
    return h


def with_hooks(T: Any, x: Any, w: Any) -> Any:
    seen = []
    h = chain(x, w)
    h.register_hook(lambda g: seen.append(g.clone()))
    h.register_hook(lambda g: g * 2)
    k = chain(h.exp(), w)
    k.register_hook(lambda g: seen.append(g * 1))
    (chain(k, w) * h).sum().backward()
    return seen


def with_kept_gradients(T: Any, x: Any, w: Any) -> Any:
    h = chain(x, w)
    first, second = (chain(h, w) * 2).split(1)
    h.retain_grad()
    second.retain_grad()
    (first * second.exp() + h.sum()).sum().backward()
    return h.grad, second.grad


def with_gradients_inside(T: Any, x: Any, w: Any) -> Any:
    h = chain(x, w)
    k = chain(h, w)
    return T.autograd.grad((chain(k, w) * h).sum(), [k, w, h])


def with_values_that_are_kept_and_asked_for(T: Any, x: Any, w: Any) -> Any:
    h = (x * w).exp()
    k = (h * h).tanh()
    k.retain_grad()
    return T.autograd.grad((k * h).sum(), [h, x, w]), k.grad


def with_steps_that_change_nothing(T: Any, x: Any, w: Any) -> Any:
    """A clone, and products of stacks, whose operands are expanded and viewed as what they are."""
    y = (x.clone() ** 2 * w).view(1, 1, 2) @ w.view(1, 2, 1).clone()
    y.sum().backward()
    return y


def with_a_custom_function(T: Any, x: Any, w: Any) -> Any:
    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x, y * 1

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0], None

    h = chain(x, w)
    y, z = Double.apply(h, chain(w, w))
    (chain(y, w) + chain(z, x)).sum().backward()


def with_a_hook_on_a_node(T: Any, x: Any, w: Any) -> Any:
    seen = []
    h = chain(x, w) * chain(w, x)
    h.grad_fn.register_hook(lambda inputs, outputs: seen.append([*inputs, *outputs]) or (inputs[0] * 3, inputs[1]))
    chain(h, w).sum().backward()
    return seen


def with_checkpoints(T: Any, x: Any, w: Any) -> Any:
    h = again(T, lambda v: again(T, chain, chain(v, w), w).tanh() * v, chain(x, w))
    again(T, chain, h, w).sum().backward()


def with_everything(T: Any, x: Any, w: Any) -> Any:
    seen = []
    h = again(T, chain, x, w)
    h.retain_grad()
    k = chain(h, w) * h
    k.register_hook(lambda g: seen.append(g * 1) or g.clamp(-1, 1))
    y = chain(k, w)
    y.retain_grad()
    (y.sum() + k.sum()).backward(inputs=[x, h, k])
    return seen, h.grad, k.grad, y.grad


def with_a_gradient_penalty(T: Any, x: Any, w: Any) -> Any:
    y = chain(x, w) * 2
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    (y.sum() + ((g * g).sum() - 1) ** 2).backward()
    return g


def with_third_derivatives(T: Any, x: Any, w: Any) -> Any:
    y = (chain(x, w) * w).exp()
    (first,) = T.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = T.autograd.grad((first * w).sum(), x, create_graph=True)
    (second * x).sum().backward()
    return first, second


def with_hooks_that_are_differentiated(T: Any, x: Any, w: Any) -> Any:
    h = again(T, chain, x, w)
    h.retain_grad()
    h.register_hook(lambda g: g * g)
    k = chain(h, w)
    gradients = T.autograd.grad(chain(k, x).sum(), [x, k], create_graph=True)
    (gradients[0] * gradients[1]).sum().backward()
    return gradients, h.grad


CASES: list[Callable[[Any, Any, Any], Any]] = [
    with_hooks,
    with_kept_gradients,
    with_gradients_inside,
    with_values_that_are_kept_and_asked_for,
    with_steps_that_change_nothing,
    with_a_custom_function,
    with_a_hook_on_a_node,
    with_checkpoints,
    with_everything,
    with_a_gradient_penalty,
    with_third_derivatives,
    with_hooks_that_are_differentiated,
]


RUNS = 3 * (graph.COMPILE_AFTER + 1) + 1
"""Often enough for a derivative of a derivative of a derivative."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_repeated(case: Callable[[Any, Any, Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: dict[Any, graph.Entry] = {}
    monkeypatch.setattr(graph, "GRAPHS", graphs)
    results: list[Any] = []
    for T in (torch, eager):
        runs = []
        for i in range(RUNS):
            x, w = leaf(T, 0.3 + i / 20, -0.2), leaf(T, 0.5, 0.7 - i / 20)
            outcome = case(T, x, w)
            runs.append(plain([outcome, x.grad, w.grad]))
        results.append(runs)
    compare(results[1], results[0], 2e-5)
    compiled = [entry for entry in graphs.values() if entry.program is not None]
    assert compiled
    # Every piece that is large enough, and comes again when the pieces of a recorded pass have become programs.
    assert all(entry.program is not None or entry.seen == graph.COMPILE_AFTER for entry in graphs.values())


def test_a_hook_that_is_taken_away_leaves_the_whole_tape_to_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs: dict[Any, graph.Entry] = {}
    monkeypatch.setattr(graph, "GRAPHS", graphs)
    x, w = leaf(eager, 0.3, -0.2), leaf(eager, 0.5, 0.7)
    h = chain(x, w)
    handle = h.register_hook(lambda g: g * 0)
    y = chain(h, w).sum()
    (without,) = eager.autograd.grad(y, x, retain_graph=True)
    handle.remove()
    (whole,) = eager.autograd.grad(y, x)
    assert without.tolist() == [0.0, 0.0]
    assert np.abs(whole.numpy()).min() > 0
    assert len(graphs) == 3


def test_gradients_that_others_hold_are_not_written_to() -> None:
    """What arrives at a leaf from a program is taken as it is, unless a hook has seen it on its way there."""
    for _ in range(graph.COMPILE_AFTER + 2):
        x, seen = leaf(eager, 1.0, 2.0), []
        x.register_hook(seen.append)
        h = chain(x, x)
        h.retain_grad()
        chain(h, x).sum().backward(retain_graph=True)
        before = seen[0].clone()
        x.sum().backward()
        assert seen[0].tolist() == before.tolist()
