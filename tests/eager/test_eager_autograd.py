"""Ordinary uses of PyTorch's autograd, run on PyTorch and on wengert.eager: values, gradients, graphs and kinds of errors agree.

Every snippet takes the namespace T and returns what is compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from side_by_side import agree, graph, kind_of_error

Snippet = Callable[[Any], Any]
SNIPPETS: list[Snippet] = []


def snippet(function: Snippet) -> Snippet:
    SNIPPETS.append(function)
    return function


def leaf(T: Any, *values: float) -> Any:
    return T.tensor(list(values), requires_grad=True)


# -- requires_grad, leaves, accumulation


@snippet
def leaves(T: Any) -> Any:
    x, c = leaf(T, 1.0, 2.0), T.tensor([3.0, 4.0])
    y = x * c
    return [v.is_leaf for v in (x, c, y)], [v.requires_grad for v in (x, c, y)], [graph(v) for v in (x, c, y)], (c * c).is_leaf


@snippet
def gradients_add_up(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad.clone()
    kept = x.grad
    (x**3).sum().backward()
    return first, x.grad, kept is x.grad


@snippet
def zeroing_gradients(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    (x * x).sum().backward()
    x.grad.zero_()
    (3 * x).sum().backward()
    middle = x.grad.clone()
    x.grad = None
    (5 * x).sum().backward()
    return middle, x.grad


@snippet
def gradient_has_no_history(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    (x * x).sum().backward()
    return x.grad.requires_grad, graph(x.grad)


@snippet
def requires_grad_later(T: Any) -> Any:
    x = T.tensor([1.0, 2.0])
    before = (x * 2).requires_grad
    x.requires_grad_()
    (x * x).sum().backward()
    return before, x.grad, kind_of_error(lambda: T.tensor([1, 2]).requires_grad_()), kind_of_error(lambda: (x * 2).requires_grad_(False))


@snippet
def diamond(T: Any) -> Any:
    x = leaf(T, 0.5)
    a = x.sin()
    b = a * x
    c = a + b * a
    c.backward()
    return x.grad, graph(c)


@snippet
def unused_leaf(T: Any) -> Any:
    x, y = leaf(T, 1.0), leaf(T, 2.0)
    (x * 2).sum().backward()
    return x.grad, y.grad


@snippet
def root_is_leaf(T: Any) -> Any:
    x = leaf(T, 3.0)
    x.backward()
    return x.grad


@snippet
def gradients_do_not_share_memory(T: Any) -> Any:
    class Both(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    x, y, g = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0), T.tensor([1.0, 2.0])
    for _ in range(2):
        Both.apply(x, y).backward(g)
    x.backward(g)
    (x + y).backward(g)
    return x.grad, y.grad, g


@snippet
def only_what_is_needed_is_given_up(T: Any) -> Any:
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    a, b = x.exp(), y.exp()
    (g,) = T.autograd.grad((a + b).sum(), x)
    return g, kind_of_error(a.sum().backward), kind_of_error(b.sum().backward), y.grad


# -- backward(gradient, retain_graph, create_graph, inputs)


@snippet
def non_scalar_backward(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    y = x * x
    error = kind_of_error(y.backward)
    y.backward(gradient=T.tensor([1.0, 0.5, -1.0]))
    return error, x.grad, kind_of_error(lambda: (x * x).backward(T.tensor([1.0])))


@snippet
def one_element_needs_no_gradient(T: Any) -> Any:
    x = T.ones(1, 1, requires_grad=True)
    (x * 3).backward()
    return x.grad


@snippet
def second_backward(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = (x * x).sum()
    y.backward()
    return kind_of_error(y.backward), x.grad


@snippet
def second_backward_of_what_keeps_nothing(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = (x + 1).sum()
    y.backward()
    return kind_of_error(y.backward), x.grad


@snippet
def second_backward_through_a_shared_part(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    shared = x.exp()
    shared.sum().backward()
    return kind_of_error(lambda: (shared * 2).sum().backward())


@snippet
def retained_graph(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    y.backward()
    return x.grad, kind_of_error(y.backward)


@snippet
def backward_into_some_inputs(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    (x * w).sum().backward(inputs=[w])
    return x.grad, w.grad


@snippet
def backward_of_several(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y, z = x * x, (x**3).sum()
    T.autograd.backward([y, z], [T.tensor([1.0, -1.0]), None])
    return x.grad


@snippet
def nothing_requires_a_gradient(T: Any) -> Any:
    x = T.tensor([1.0, 2.0])
    return kind_of_error(lambda: (x * x).sum().backward()), kind_of_error(lambda: T.autograd.grad(x.sum(), x))


# -- autograd.grad


@snippet
def grad_of_leaves(T: Any) -> Any:
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    gradients = T.autograd.grad((x * y.sin()).sum(), (x, y))
    return gradients, x.grad, y.grad


@snippet
def grad_of_an_intermediate(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    h = x.exp()
    return T.autograd.grad((h * h).sum(), [h, x])


@snippet
def grad_with_cotangents(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    return T.autograd.grad([x * x, x.sin()], x, grad_outputs=[T.tensor([1.0, 2.0]), T.tensor([0.5, 0.0])])


@snippet
def grad_of_unused(T: Any) -> Any:
    x, y = leaf(T, 1.0), leaf(T, 2.0)
    z = (x * x).sum()
    error = kind_of_error(lambda: T.autograd.grad(z, [x, y], retain_graph=True))
    return (
        error,
        T.autograd.grad(z, [x, y], allow_unused=True, retain_graph=True),
        T.autograd.grad(z, [x, y], allow_unused=True, materialize_grads=True),
    )


@snippet
def jacobian_row_by_row(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    y = x.cumsum(0) * x
    return [T.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(3)]


@snippet
def the_same_partial_gradient_many_times(T: Any) -> Any:
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    found = []
    for _ in range(5):
        first, second = (y * y).split(1)
        z = (x.exp() * y.sin() * first * second).sum()
        found.append(T.autograd.grad(z, x, retain_graph=True)[0])
        found.append(T.autograd.grad(z, y)[0])
    return found


# -- double backward


@snippet
def second_derivative(T: Any) -> Any:
    x = leaf(T, 0.3, 1.2)
    (g,) = T.autograd.grad((x.sin() * x).sum(), x, create_graph=True)
    (h,) = T.autograd.grad(g.sum(), x)
    return g, h, g.requires_grad, h.requires_grad


@snippet
def third_derivative(T: Any) -> Any:
    x = leaf(T, 0.7)
    y = x**4 + x.exp()
    found = []
    for _ in range(3):
        (y,) = T.autograd.grad(y.sum(), x, create_graph=True)
        found.append(y)
    return found


@snippet
def gradient_penalty(T: Any) -> Any:
    w, x = leaf(T, 0.5, -1.0), leaf(T, 1.0, 2.0)
    y = (w * x).tanh().sum()
    (g,) = T.autograd.grad(y, x, create_graph=True)
    loss = y + ((g.norm() - 1) ** 2)
    loss.backward()
    return w.grad, x.grad


@snippet
def hessian_vector_product(T: Any) -> Any:
    x, v = leaf(T, 1.0, 2.0, 3.0), T.tensor([1.0, -1.0, 0.5])
    (g,) = T.autograd.grad((x.prod() + (x**3).sum()), x, create_graph=True)
    return T.autograd.grad(g, x, grad_outputs=v)


@snippet
def jvp_by_two_vjps(T: Any) -> Any:
    x, v = leaf(T, 0.5, 1.5), T.tensor([1.0, 2.0])
    y = x.exp() * x.sum()
    u = T.zeros_like(y, requires_grad=True)
    (g,) = T.autograd.grad(y, x, u, create_graph=True)
    return T.autograd.grad(g, u, v)


@snippet
def backward_with_create_graph(T: Any) -> Any:
    x = leaf(T, 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns of the cycle between a leaf and its gradient
        (x**3).sum().backward(create_graph=True)
    g = x.grad
    x.grad = None
    (g * g).sum().backward()
    return g, x.grad


@snippet
def double_backward_through_matmul(T: Any) -> Any:
    w = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    x = leaf(T, 1.0, -1.0)
    y = ((w @ x).sigmoid() ** 2).sum()
    (g,) = T.autograd.grad(y, x, create_graph=True)
    g.sum().backward()
    return w.grad, x.grad


# -- the graph


@snippet
def names_and_edges(T: Any) -> Any:
    x, y = leaf(T, 1.0), leaf(T, 2.0)
    z = (x * y + x.sin()).exp().sum()
    node = z.grad_fn
    accumulate = node.next_functions[0][0].next_functions[0][0].next_functions[1][0].next_functions[0][0]
    return graph(z), accumulate.variable is x


@snippet
def classic_scalar_example(T: Any) -> Any:
    x1, x2 = T.tensor(2.0, requires_grad=True), T.tensor(5.0, requires_grad=True)
    y = x1.log() + x1 * x2 - x2.sin()
    y.backward()
    return y, x1.grad, x2.grad, graph(y)


@snippet
def a_plus_b_times_b_plus_one(T: Any) -> Any:
    a, b = T.tensor(2.0, requires_grad=True), T.tensor(1.0, requires_grad=True)
    e = (a + b) * (b + 1)
    e.backward()
    return e, a.grad, b.grad, graph(e)


@snippet
def several_results(T: Any) -> Any:
    x = T.tensor([[1.0, 5.0], [7.0, 2.0]], requires_grad=True)
    values, positions = x.max(1)
    first, second = x.split(1)
    (values.sum() + (first * 2).sum()).backward()
    return values, positions, positions.requires_grad, graph(values), graph(second), second.output_nr, x.grad


# -- hooks and retain_grad


@snippet
def retain_grad(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    h = x * 3
    h.retain_grad()
    (h * h).sum().backward()
    return h.grad, x.grad, h.retains_grad, x.retains_grad, kind_of_error(T.tensor([1.0]).retain_grad)


@snippet
def retained_after_hooks(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    h = x * 3
    h.retain_grad()
    h.register_hook(lambda g: g * 10)
    h.sum().backward()
    return h.grad, x.grad


@snippet
def hook_sees_the_sum(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    h = x * 2
    seen = []
    h.register_hook(lambda g: seen.append(g.clone()))
    (h.sum() + (h * h).sum()).backward()
    return seen, x.grad


@snippet
def hook_changes_the_gradient(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    h = x.exp()
    handle = h.register_hook(lambda g: g * 2)
    h.register_hook(lambda g: g + 1)
    h.sum().backward(retain_graph=True)
    first = x.grad.clone()
    handle.remove()
    h.sum().backward()
    return first, x.grad


@snippet
def hook_on_a_leaf(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    x.register_hook(lambda g: -g)
    ((x * x).sum() + x.sum()).backward()
    return x.grad, T.autograd.grad((x * 2).sum(), x), kind_of_error(lambda: T.tensor([1.0]).register_hook(print))


@snippet
def hook_after_accumulation(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.clone()))
    (x * x).sum().backward()
    (x * x).sum().backward()
    return seen, kind_of_error(lambda: (x * 1).register_post_accumulate_grad_hook(print))


@snippet
def hook_on_a_node(T: Any) -> Any:
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    z = x * y
    seen = []

    def hook(inputs: Any, outputs: Any) -> Any:
        seen.append([*inputs, *outputs])
        return inputs[0] * 2, inputs[1]

    z.grad_fn.register_hook(hook)
    (z * 5).sum().backward()
    return seen, x.grad, y.grad


@snippet
def clipping_by_hooks(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    x.register_hook(lambda g: g.clamp(-1, 1))
    (x**4).sum().backward()
    return x.grad


# -- detach and modes


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


# -- changes in place and versions


@snippet
def in_place_chain(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 2
    y.add_(1).mul_(3)
    shape = graph(y)
    y.sum().backward()
    return y, shape, y._version, x.grad


@snippet
def in_place_with_a_tracked_operand(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = x + 1
    y *= w
    y.sum().backward()
    return y, x.grad, w.grad


@snippet
def untracked_becomes_tracked(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    total = T.zeros(2)
    for _ in range(3):
        total += x * x + x
    total.sum().backward()
    return total.requires_grad, total.is_leaf, graph(total), x.grad


@snippet
def kept_then_added_to(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    total = T.zeros(2)
    for _ in range(2):
        total += x * total
    return kind_of_error(total.sum().backward)


@snippet
def kept_result_changed(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x.exp()
    y.add_(1)
    return kind_of_error(y.sum().backward)


@snippet
def kept_operand_changed(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), T.tensor([3.0, 4.0])
    y = x * w
    w.add_(1)
    return kind_of_error(y.sum().backward)


@snippet
def changed_leaf_under_no_grad(T: Any) -> Any:
    w, v = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = w * v
    with T.no_grad():
        w.add_(1)
    return kind_of_error(y.sum().backward)


@snippet
def changed_but_not_needed(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x + 1
    z = y * 2
    y.mul_(5)
    z.sum().backward()
    return x.grad


@snippet
def quotient_changed(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    y = x / w
    y.add_(1)
    y.sum().backward()
    return x.grad, w.grad


@snippet
def leaf_changed_in_place(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)

    def assign() -> None:
        x[0] = 5.0

    return kind_of_error(lambda: x.add_(1)), kind_of_error(lambda: x[0].mul_(2)), kind_of_error(assign), x


@snippet
def wrong_changes(T: Any) -> Any:
    whole, row = T.tensor([1, 2]), T.ones(3)
    return (
        kind_of_error(lambda: whole.add_(1.5)),
        kind_of_error(lambda: row.add_(T.ones(2, 3))),
        kind_of_error(lambda: row.expand(2, 3).add_(1)),
        kind_of_error(lambda: row + T.ones(2)),
        kind_of_error(lambda: T.ones(2, 3) @ T.ones(2, 3)),
        kind_of_error(lambda: row.view(2)),
        kind_of_error(lambda: T.ones(2, 3).t().view(6)),
        kind_of_error(lambda: row[5]),
    )


@snippet
def relu_in_place(T: Any) -> Any:
    x = leaf(T, -1.0, 2.0)
    y = x * 3
    y.relu_()
    y.sum().backward()
    return y, graph(y), x.grad


@snippet
def exp_in_place(T: Any) -> Any:
    x = leaf(T, 0.5, 1.0)
    y = (x * 2).exp_()
    y.sum().backward()
    return y, x.grad


@snippet
def filled_and_zeroed(T: Any) -> Any:
    x = leaf(T, 0.5, 1.0)
    y, z = x * 2, x * 3
    y.fill_(4.0)
    z.zero_()
    (y.sum() + z.sum() + x.sum()).backward()
    return y, z, y.requires_grad, x.grad


# -- views


@snippet
def view_shares_memory(T: Any) -> Any:
    base = T.zeros(2, 3)
    view = base[0]
    view.add_(1)
    base.view(6)[5] = 7.0
    return base, view, view._base is base, view._version, base._version


@snippet
def change_through_a_view(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    y = x * 1
    y[0].mul_(10)
    shape = graph(y)
    y.sum().backward()
    return y, shape, x.grad


@snippet
def assignment(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0, 3.0), leaf(T, 5.0)
    y = x * x
    y[1:2] = w * 2
    y[0] = 0.0
    y.sum().backward()
    return y, x.grad, w.grad


@snippet
def assignment_into_a_buffer(T: Any) -> Any:
    x = leaf(T, 0.5)
    rows = T.zeros(3, 1)
    for i in range(3):
        rows[i] = x * (i + 1) if i == 0 else rows[i - 1].clone() * x
    rows.sum().backward()
    return rows, x.grad, graph(rows)[0]


@snippet
def assignment_by_index(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0, 3.0), leaf(T, 5.0, 6.0)
    y = x * 2
    y[T.tensor([2, 0])] = w * w
    y[y > 30] = 0.0
    y.sum().backward()
    return y, x.grad, w.grad


@snippet
def steps_and_transposes_written_through(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    y = (x * 1).view(2, 3)
    y.t()[::2, 1].mul_(7)
    y[:, 1].add_(x[:2])
    y.sum().backward()
    return y, x.grad


@snippet
def base_changed_view_follows(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    view = y[0]
    y.mul_(3)
    view.backward()
    return view, x.grad


@snippet
def other_view_follows(T: Any) -> Any:
    x = leaf(T, 2.0)
    y = T.zeros(3)
    first, rest = y[0], y[:2]
    rest[0] = (x * x)[0]
    wanted = first.requires_grad, y.requires_grad
    (first * 3).backward()
    return wanted, first, x.grad


@snippet
def view_kept_then_base_changed(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    z = y[0] * y[1]
    y.add_(1)
    return kind_of_error(z.backward)


@snippet
def several_views_at_once(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    first, _ = (x * 1).split(2)
    return kind_of_error(lambda: first.add_(1)), graph(first)


@snippet
def view_made_without_grad(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    with T.no_grad():
        view = y[0]
    return view._base is y, kind_of_error(lambda: view.add_(1))


# -- functions with derivatives of their own


def exponential(T: Any) -> Any:
    class Exp(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            result = x.exp()
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (result,) = ctx.saved_tensors
            return g * result

    return Exp


@snippet
def custom_function(T: Any) -> Any:
    x = leaf(T, 0.5, 1.0)
    y = exponential(T).apply(x * 2)
    shape = graph(y)
    y.sum().backward()
    return y, shape, x.grad, y.requires_grad, kind_of_error(y.sum().backward)


@snippet
def custom_function_twice_differentiated(T: Any) -> Any:
    x = leaf(T, 0.5, 1.0)
    (g,) = T.autograd.grad(exponential(T).apply(x * 2).sum(), x, create_graph=True)
    return g, T.autograd.grad(g.sum(), x)


@snippet
def custom_function_saved_value_changed(T: Any) -> Any:
    x = leaf(T, 0.5, 1.0)
    y = exponential(T).apply(x * 2)
    y.detach().add_(1)
    return kind_of_error(y.sum().backward)


@snippet
def custom_function_of_several(T: Any) -> Any:
    seen = []

    class Mix(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, factor: float) -> Any:
            ctx.save_for_backward(x, y)
            ctx.factor = factor
            return x * y * factor, x + y

        @staticmethod
        def backward(ctx: Any, product: Any, total: Any) -> Any:
            x, y = ctx.saved_tensors
            seen.append(ctx.needs_input_grad)
            return product * y * ctx.factor + total, product * x * ctx.factor + total, None

    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    a, b = Mix.apply(x, y, 2.0)
    b.sum().backward(retain_graph=True)
    first = x.grad.clone()
    (a * b).sum().backward()
    c, _ = Mix.apply(x, y.detach(), 1.0)
    c.sum().backward()
    return first, x.grad, y.grad, [list(s) for s in seen], graph(b)[:2]


@snippet
def custom_function_with_setup(T: Any) -> Any:
    class Cube(T.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x**3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = leaf(T, 2.0)
    Cube.apply(x).sum().backward()
    return x.grad


@snippet
def custom_function_non_differentiable_result(T: Any) -> Any:
    class Sorted(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            big = (x > 1).float()
            ctx.mark_non_differentiable(big)
            ctx.save_for_backward(big)
            return x * big, big

        @staticmethod
        def backward(ctx: Any, g: Any, _: Any) -> Any:
            (big,) = ctx.saved_tensors
            return g * big

    x = leaf(T, 0.5, 2.0)
    y, big = Sorted.apply(x)
    (y * big).sum().backward()
    return y, big, big.requires_grad, x.grad


@snippet
def custom_function_in_place(T: Any) -> Any:
    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    x = leaf(T, 1.0, 2.0)
    y = x * 3
    z = Double.apply(y)
    z.sum().backward()
    return z, z is y, x.grad, graph(z)


@snippet
def custom_function_wrong_count(T: Any) -> Any:
    class Wrong(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    x = leaf(T, 1.0)
    return kind_of_error(Wrong.apply(x, x).sum().backward)


@snippet
def custom_function_once_differentiable(T: Any) -> Any:
    import torch

    mark = torch.autograd.function.once_differentiable if T is torch else T.autograd.once_differentiable

    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @mark
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x = leaf(T, 3.0)
    Square.apply(x).sum().backward()
    (g,) = T.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    return x.grad, g, kind_of_error(lambda: (g * g).sum().backward())


@snippet
def custom_function_without_grad(T: Any) -> Any:
    Exp = exponential(T)
    with T.no_grad():
        y = Exp.apply(leaf(T, 1.0))
    return y, y.requires_grad, Exp.apply(T.tensor([1.0])).requires_grad


# -- Python as the language of programs


@snippet
def branches_and_loops(T: Any) -> Any:
    found = []
    for start in (0.5, 3.0, -2.0):
        x = leaf(T, start)
        y = x * 1
        steps = 0
        while float(y.detach().abs().sum()) < 10 and steps < 8:
            y = y * 2 if y.item() > 0 else y * y
            steps += 1
        y.sum().backward()
        found.append((y, x.grad, steps))
    return found


@snippet
def recursion(T: Any) -> Any:
    def evaluate(tree: Any, x: Any) -> Any:
        if isinstance(tree, float):
            return x * tree
        left, right = (evaluate(t, x) for t in tree)
        return (left * right).tanh() + left

    x = leaf(T, 0.3, 0.9)
    y = evaluate(((1.0, 2.0), (3.0, (0.5, 1.5))), x)
    y.sum().backward()
    return y, x.grad


@snippet
def changing_shapes(T: Any) -> Any:
    w = leaf(T, 0.5, -0.3)
    for n in (1, 2, 3, 5, 2):
        x = T.arange(2 * n).float().view(n, 2)
        ((x @ w).sigmoid() ** 2).mean().backward()
    return w.grad


@snippet
def the_same_graph_many_times(T: Any) -> Any:
    w, b = T.tensor([[0.1, 0.2], [0.3, -0.4]], requires_grad=True), leaf(T, 0.0, 0.1)
    losses = []
    for step in range(6):
        x = T.tensor([[1.0, float(step)], [0.5, -1.0]])
        loss = ((x @ w + b).tanh() * (1.0 + step)).pow(2).mean()
        loss.backward()
        losses.append(loss.detach())
        with T.no_grad():
            for p in (w, b):
                p -= 0.05 * p.grad
                p.grad.zero_()
    return losses, w, b


@pytest.mark.parametrize("code", SNIPPETS, ids=lambda code: code.__name__)
def test_snippet(code: Snippet) -> None:
    agree(code)
