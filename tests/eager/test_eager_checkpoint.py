"""Checkpoints beside torch.utils.checkpoint: values, gradients, errors, how often the function runs, and how many bytes are kept."""

from __future__ import annotations

import doctest
import importlib
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils.checkpoint
from side_by_side import Snippet, Snippets, agree, graph, kind_of_error, leaf

import wengert.eager as eager
from wengert import nn
from wengert.eager import graph as graph_module

snippet = Snippets()


def again(T: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if T is eager:
        return eager.checkpoint(function, *args, **kwargs)
    return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=False, **kwargs)


def kept(T: Any, make: Callable[[], Any]) -> tuple[Any, int]:
    """What the function makes, and the bytes that the graph behind it keeps, those of leaves not counted."""
    if T is eager:
        made = make()
        return made, eager.saved_bytes(made)
    saved: dict[int, int] = {}

    def pack(x: Any) -> Any:
        if not (x.is_leaf and x.requires_grad):
            saved[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        made = make()
    return made, sum(saved.values())


def layers(w: Any) -> Callable[[Any], Any]:
    def run(h: Any) -> Any:
        for i in range(4):
            h = (h * w[i]).sin().exp()
        return h.tanh()

    return run


@snippet
def values_gradients_graph_and_bytes(T: Any) -> Any:
    w, x = T.tensor([[0.3, 0.5]] * 4, requires_grad=True), leaf(T, 1.0, 2.0)
    y, most = kept(T, lambda: layers(w)(x * 2))
    z, least = kept(T, lambda: again(T, layers(w), x * 2))
    shape = graph(y), graph(z)
    (y.sum() + 2 * z.sum()).backward()
    return y, z, shape[0] == shape[1], shape, least, most > 5 * least, w.grad, x.grad


@snippet
def a_chain_of_checkpoints_keeps_one_array_for_each(T: Any) -> Any:
    w, x = T.tensor([[0.3, 0.5]] * 4, requires_grad=True), leaf(T, 1.0, 2.0)

    def run() -> Any:
        h = x
        for _ in range(5):
            h = again(T, layers(w), h)
        return h

    y, size = kept(T, run)
    y.sum().backward()
    return y, size, w.grad, x.grad


@snippet
def nested(T: Any) -> Any:
    w, x = T.tensor([[0.3, 0.5]] * 4, requires_grad=True), leaf(T, 1.0, 2.0)
    runs = []

    def inner(h: Any, name: str) -> Any:
        runs.append(name)
        return layers(w)(h)

    def outer(h: Any) -> Any:
        runs.append("outer")
        return again(T, inner, again(T, inner, h.sin(), "first"), "second").cos() * h

    y, size = kept(T, lambda: again(T, outer, x * 2))
    y.sum().backward()
    return y, size, w.grad, x.grad, runs[:3]


@snippet
def arguments_of_all_kinds(T: Any) -> Any:
    x, c = leaf(T, 1.0, 2.0), T.tensor([3.0, 4.0])

    def f(h: Any, power: int, *, pair: Any, named: dict[str, Any], flag: bool = False) -> Any:
        h = (h**power * pair[0]).sin() + named["shift"]
        return {"out": h.exp() if flag else h, "plain": pair[1], "list": [h * 2, "text"]}

    outputs = again(T, f, x * 1, 3, pair=(c, 7), named={"shift": x}, flag=True)
    (outputs["out"].sum() + outputs["list"][0].sum()).backward()
    return outputs["out"], outputs["plain"], outputs["list"], x.grad


@snippet
def double_backward(T: Any) -> Any:
    w, x = T.tensor([[0.3, 0.5]] * 4, requires_grad=True), leaf(T, 0.1, 0.2)
    (g,) = T.autograd.grad(again(T, layers(w), x).sum(), x, create_graph=True)
    (h,) = T.autograd.grad((g * g).sum(), w, retain_graph=True)
    (g.sum() + (g**2).sum()).backward()
    return g, h, x.grad, w.grad


@snippet
def gradient_taken_inside(T: Any) -> Any:
    x = leaf(T, 0.5, 1.0)

    def slope(h: Any) -> Any:
        (g,) = T.autograd.grad((h.sin() * h.exp()).sum(), h, create_graph=True)
        return g * h

    again(T, slope, x * 1).sum().backward()
    return x.grad


@snippet
def run_backwards_twice(T: Any) -> Any:
    x, runs = leaf(T, 1.0, 2.0), []

    def f(h: Any) -> Any:
        runs.append(1)
        return h.exp().sin()

    y = again(T, f, x * 1)
    y.sum().backward(retain_graph=True)
    first = len(runs)
    y.sum().backward()
    return x.grad, first, len(runs), kind_of_error(y.sum().backward)


@snippet
def partial_gradients_and_several_results(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    a, b = again(T, lambda h, v: ((h * v).exp().sin(), (v * v).cos()), x * 1, w)
    first = T.autograd.grad(b.sum(), w, retain_graph=True)
    second = T.autograd.grad(a.sum(), [x, w], retain_graph=True)
    (a.sum() + b.sum()).backward(inputs=[w])
    return first, second, x.grad, w.grad


@snippet
def it_stops_when_it_has_everything(T: Any) -> Any:
    x, steps = leaf(T, 1.0, 2.0), []

    def f(h: Any) -> Any:
        h = (h * h).exp()
        steps.append("saved")
        h = h + 1
        steps.append("added")
        return h

    again(T, f, x * 1).sum().backward()
    return steps, x.grad


@snippet
def where_nothing_is_recorded(T: Any) -> Any:
    x, runs = leaf(T, 1.0, 2.0), []

    def f(h: Any) -> Any:
        runs.append(1)
        return h.exp()

    with T.no_grad():
        y = again(T, f, x)
    z = again(T, f, T.tensor([1.0]))
    return y, y.requires_grad, z.requires_grad, len(runs)


@snippet
def hooks_retained_gradients_and_untracked_parts(T: Any) -> Any:
    x, seen, middle = leaf(T, 0.1, 0.2), [], []

    def f(h: Any) -> Any:
        inside = h.exp()
        with T.no_grad():
            scale = inside * 2
        if not middle:
            middle.append(inside)
            inside.register_hook(lambda g: seen.append(g.clone()) or g * 2)
            inside.retain_grad()
        return (inside * scale).sin()

    again(T, f, x * 1).sum().backward()
    return x.grad, seen, middle[0].grad


@snippet
def custom_functions_inside(T: Any) -> Any:
    class Exp(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            result = x.exp()
            ctx.save_for_backward(result, y, None)
            return result * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            result, y, nothing = ctx.saved_tensors
            assert nothing is None
            return g * result * y, g * result

    x, w = leaf(T, 0.5, 1.0), leaf(T, 2.0, 3.0)
    y, size = kept(T, lambda: again(T, lambda h: Exp.apply(h * 2, w).sin(), x * 1))
    (g,) = T.autograd.grad(y.sum(), x, create_graph=True)
    (g * g).sum().backward()
    return y, size, g, x.grad, w.grad


@snippet
def views_and_changes_in_place_inside(T: Any) -> Any:
    x = leaf(T, 0.1, 0.2, 0.3)

    def f(h: Any) -> Any:
        h = h * 2
        h[0].mul_(3)
        h.add_(1)
        rows = T.zeros(2, 3)
        rows[1] = h.sin()
        return rows * h

    again(T, f, x.exp()).sum().backward()
    return x.grad


@snippet
def other_computation_the_second_time(T: Any) -> Any:
    x, runs = leaf(T, 1.0, 2.0), []

    def shapes(h: Any) -> Any:
        runs.append(1)
        return (h if len(runs) % 2 else h[:1]).exp().sum()

    def numbers(h: Any) -> Any:
        runs.append(1)
        return h.exp().sin() if len(runs) % 2 else h.exp()

    return kind_of_error(again(T, shapes, x * 1).backward), kind_of_error(again(T, numbers, (runs.clear(), x * 1)[1]).sum().backward)


@pytest.mark.parametrize("code", snippet, ids=lambda code: code.__name__)
def test_snippet(code: Snippet) -> None:
    agree(code)


def test_dropout_is_the_same_the_second_time() -> None:
    """With the state kept, the gradient is that of what was computed; without, of another mask. What is drawn later is not disturbed."""
    x = eager.ones(2000, requires_grad=True)
    same_mask = []
    for preserve in (True, False):
        eager.manual_seed(3)
        y = eager.checkpoint(lambda h: nn.dropout(h, 0.5).exp() * nn.dropout(h, 0.5), x * 1, preserve_rng_state=preserve)
        before = eager.rand(3).tolist()
        (g,) = eager.autograd.grad(y.sum(), x)
        same_mask.append(((g.numpy() == 0) == (y.detach().numpy() == 0)).all())
        after = eager.rand(3).tolist()
        if preserve:
            eager.manual_seed(3)
            eager.rand(2000), eager.rand(2000)
            assert (before, after) == (eager.rand(3).tolist(), eager.rand(3).tolist())
    assert same_mask == [True, False]


def raised(function: Callable[[], Any]) -> str:
    with pytest.raises(eager.AutogradError) as error:
        function()
    return f"{type(error.value).__name__}: {error.value}"


def test_errors() -> None:
    """What PyTorch lets pass and computes a wrong gradient of is an error here."""
    w, x = leaf(eager, 1.0, 2.0), leaf(eager, 3.0, 4.0)
    y = eager.checkpoint(lambda h: (h + w).exp(), x * 1)
    with eager.no_grad():
        w.add_(1)
    message = raised(y.sum().backward)
    assert message.startswith("ModifiedError: a checkpoint (")
    assert message.count("test_eager_checkpoint.py:") == 2
    argument = x * 1
    y = eager.checkpoint(lambda h: (h + 1).exp(), argument)
    argument.mul_(2)
    assert "ModifiedError: a checkpoint" in raised(y.sum().backward)
    assert "changes an argument in place" in raised(lambda: eager.checkpoint(lambda h: h.mul_(2).exp(), x * 1))
    with pytest.raises(ValueError, match="positional arguments only"):
        eager.checkpoint(lambda h: h, h=x, use_reentrant=True)
    runs: list[int] = []

    def changing(h: Any) -> Any:
        runs.append(1)
        return h.exp() if len(runs) == 1 else h.sin()

    message = raised(eager.checkpoint(changing, x * 1).sum().backward)
    assert "'sin' of float32[2]" in message
    assert "'exp' of float32[2]" in message


def test_values_are_dropped_after_the_pass() -> None:
    x = leaf(eager, 1.0, 2.0)
    y = eager.checkpoint(lambda h: h.exp().sin() * h.cos(), x * 1)
    before = eager.saved_bytes(y)
    y.sum().backward(retain_graph=True)
    assert eager.saved_bytes(y) == before == 8
    deferred = y.grad_fn.holds()[1]
    assert deferred is not None
    assert not deferred.frame._values


def test_memory_is_given_back() -> None:
    """At its peak a step holds the arguments of all checkpoints and the inside of one: of 6 with 6 layers that keep two arrays each."""
    size = 1 << 14

    def block(h: Any, w: Any) -> Any:
        for _ in range(6):
            h = (h * w).sin()
        return h

    peaks: list[float] = []
    for checkpointed in (False, True):
        for _ in range(graph_module.COMPILE_AFTER + 2):  # pieces are compiled at last
            h, w = (eager.ones(size, requires_grad=True) for _ in range(2))
            tracemalloc.start()
            for _ in range(6):
                h = eager.checkpoint(block, h, w) if checkpointed else block(h, w)
            h.sum().backward()
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        peaks.append(peak / (4 * size))
    assert peaks[0] > 6 * 12
    assert peaks[1] < 6 + 12 + 12


@pytest.mark.parametrize("name", ["checkpoint", "recording.memory"])
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"wengert.eager.{name}"))
    assert tried > 2
    assert failed == 0
