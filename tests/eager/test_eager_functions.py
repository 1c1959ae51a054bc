"""Functions with derivatives of their own, on PyTorch and on wengert.eager: values, gradients, graphs and kinds of errors agree."""

from __future__ import annotations

from typing import Any

import pytest
from side_by_side import Snippet, Snippets, agree, graph, kind_of_error, leaf

snippet = Snippets()


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


@snippet
def custom_function_gradients_of_other_shapes(T: Any) -> Any:
    """What was broadcast is summed, what does not fit is an error, dtypes are converted."""
    gradients = []
    for change in (lambda g: g.sum(), lambda g: T.ones(5), lambda g: g.expand(3, 2), lambda g: g.double()):

        class Scaled(T.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x * 3

            @staticmethod
            def backward(ctx: Any, g: Any, change: Any = change) -> Any:
                return change(g)

        x = leaf(T, 1.0, 2.0)
        try:
            Scaled.apply(x).sum().backward()
            gradients.append(x.grad)
        except RuntimeError:
            gradients.append("refused")
    return gradients


@pytest.mark.parametrize("code", snippet, ids=lambda code: code.__name__)
def test_snippet(code: Snippet) -> None:
    agree(code)
