"""Gradients of leaves and of what lies between: backward, grad, gradients of gradients, on PyTorch and on wengert.eager: values, gradients, graphs and kinds of errors agree."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from side_by_side import Snippet, Snippets, agree, graph, kind_of_error, leaf

snippet = Snippets()


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
    gradients = []
    for _ in range(5):
        first, second = (y * y).split(1)
        z = (x.exp() * y.sin() * first * second).sum()
        gradients.append(T.autograd.grad(z, x, retain_graph=True)[0])
        gradients.append(T.autograd.grad(z, y)[0])
    return gradients


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
    derivatives = []
    for _ in range(3):
        (y,) = T.autograd.grad(y.sum(), x, create_graph=True)
        derivatives.append(y)
    return derivatives


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


@snippet
def kinks(T: Any) -> Any:
    x = T.tensor([0.0, -0.0, 1.0, -1.0, 2.0], requires_grad=True)
    functions = [lambda x: x.abs(), lambda x: x.clamp(-1, 1), lambda x: x.norm(), lambda x: (x * 0).norm(), lambda x: (x * 0).std(), lambda x: x.prod(),
                 lambda x: T.atan2(x, x), lambda x: T.atan2(x, -x), lambda x: T.maximum(x, T.zeros(5)), lambda x: x.amax(), lambda x: x.sqrt()]  # fmt: skip
    return [(f(x), T.autograd.grad(f(x).sum(), x)) for f in functions]


@pytest.mark.parametrize("code", snippet, ids=lambda code: code.__name__)
def test_snippet(code: Snippet) -> None:
    agree(code)
