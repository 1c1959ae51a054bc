"""The graph of grad_fn, hooks, and programs in which Python decides what is recorded, on PyTorch and on wengert.eager: values, gradients, graphs and kinds of errors agree."""

from __future__ import annotations

from typing import Any

import pytest
from side_by_side import Snippet, Snippets, agree, graph, kind_of_error, leaf

snippet = Snippets()


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


@snippet
def hooks_around_nodes(T: Any) -> Any:
    """Before a node, and around the node of a leaf, which is one."""
    x = leaf(T, 1.0, 2.0)
    y, z = x * 2, x * 3
    node, same = y.grad_fn.next_functions[0][0], z.grad_fn.next_functions[0][0]
    seen = []
    y.grad_fn.register_prehook(lambda out: (seen.append(out[0].clone()), (out[0] * 5,))[1])
    node.register_prehook(lambda out: (seen.append(out[0].clone()), (out[0] + 1,))[1])
    node.register_hook(lambda into, out: seen.append((len(into), out[0].clone())))
    y.grad_fn.metadata["note"] = 3
    (y * y + z).sum().backward()
    return seen, x.grad, node is same, y.grad_fn.metadata["note"], T.autograd.grad((x * x).sum(), x)


@snippet
def hooks_on_what_is_asked_for(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    return T.autograd.grad((y * y).sum(), [x, y]), T.autograd.grad((y * y).sum(), y)


@snippet
def hooks_that_return_something_else(T: Any) -> Any:
    refusals = []
    for wrong in (3.0, "text"):
        y = leaf(T, 1.0, 2.0) * 2
        y.register_hook(lambda g, wrong=wrong: wrong)
        try:
            y.sum().backward()
        except (TypeError, RuntimeError):
            refusals.append(True)
    return refusals


@snippet
def retained_through_changes(T: Any) -> Any:
    """What keeps its gradient keeps that of its new value."""
    x = leaf(T, 1.0, 2.0, 3.0)
    y, b = x * 2, x * 1
    v = b[1:]
    for kept in (y, b, v):
        kept.retain_grad()
    y.mul_(3)
    b.mul_(2)
    v.mul_(5)
    ((y * y).sum() + (v * v).sum() + (b * b).sum()).backward()
    return y.grad, v.grad, b.grad, x.grad, y.retains_grad, v.retains_grad


# -- Python as the language of programs


@snippet
def branches_and_loops(T: Any) -> Any:
    results = []
    for start in (0.5, 3.0, -2.0):
        x = leaf(T, start)
        y = x * 1
        steps = 0
        while float(y.detach().abs().sum()) < 10 and steps < 8:
            y = y * 2 if y.item() > 0 else y * y
            steps += 1
        y.sum().backward()
        results.append((y, x.grad, steps))
    return results


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


@pytest.mark.parametrize("code", snippet, ids=lambda code: code.__name__)
def test_snippet(code: Snippet) -> None:
    agree(code)
