"""The functions about gradients on PyTorch and on wengert.eager: forward mode, edges, hooks on several tensors, changes of kept values, passes inside of passes."""

from __future__ import annotations

from typing import Any

import pytest
from side_by_side import Snippet, Snippets, agree, kind_of_error, leaf

import wengert.eager as eager

snippets = Snippets()
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")  # PyTorch's own forward mode


# -- forward mode


@snippets
def dual_numbers(T: Any) -> Any:
    fwd = T.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(T.tensor([1.0, 2.0, 3.0]), T.tensor([1.0, 0.0, 2.0]))
        y = (x * x).sin() + x[1:].sum() * 2
        return *fwd.unpack_dual(y), fwd.unpack_dual(x.max(0)[0]).tangent, fwd.unpack_dual(T.ones(2)).tangent, fwd.unpack_dual(x.detach()).tangent


@snippets
def dual_numbers_changed_in_place(T: Any) -> Any:
    fwd = T.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(T.tensor([1.0, 2.0, 3.0]), T.tensor([1.0, 0.0, 2.0]))
        y = x * 1
        y.mul_(x)
        first = fwd.unpack_dual(y).tangent.clone()
        y[1:].mul_(x[:2])
        return first, fwd.unpack_dual(y).tangent, fwd.unpack_dual(y[2]).tangent, y


@snippets
def reverse_over_forward(T: Any) -> Any:
    fwd = T.autograd.forward_ad
    w = leaf(T, 1.0, 2.0, 3.0)
    with fwd.dual_level():
        x = fwd.make_dual(w * 2, T.tensor([1.0, 0.0, 2.0]))
        tangent = fwd.unpack_dual((w * x).sin().sum()).tangent
        return tangent, T.autograd.grad(tangent, w)


@snippets
def tangents_are_gone_after_the_level(T: Any) -> Any:
    fwd = T.autograd.forward_ad
    fwd.enter_dual_level()
    x = fwd.make_dual(T.ones(2), T.ones(2))
    inside = fwd.unpack_dual(x).tangent
    fwd.exit_dual_level()
    return inside, fwd.unpack_dual(x).tangent


@snippets
def custom_functions_in_forward_mode(T: Any) -> Any:
    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            ctx.twice = 2 * x
            return x * x

        @staticmethod
        def backward(ctx: Any, y_bar: Any) -> Any:
            return y_bar * 2 * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx: Any, x_dot: Any) -> Any:
            return x_dot * ctx.twice

    fwd = T.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(T.tensor([1.0, 2.0]), T.tensor([1.0, 10.0]))
        return fwd.unpack_dual(Square.apply(x).sum()).tangent


# -- edges


@snippets
def gradients_by_edges(T: Any) -> Any:
    edge = T.autograd.graph.get_gradient_edge
    x = leaf(T, 1.0, 2.0)
    y = x * 3
    inner = edge(y)
    z = (y * y).sum()
    at_y, at_x = T.autograd.grad(z, [inner, edge(x)], retain_graph=True)
    by_edge = T.autograd.grad(edge(z), x, grad_outputs=T.tensor(2.0))
    return at_y, at_x, by_edge, inner.output_nr, inner.node is y.grad_fn


@snippets
def edges_of_one_of_several_results(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    parts = x.unbind()
    edge = T.autograd.graph.get_gradient_edge(parts[1])
    return T.autograd.grad(parts[1] * 5 + parts[0], edge), edge.output_nr


# -- hooks


@snippets
def a_hook_on_all_of_several_tensors(T: Any) -> Any:
    calls: list[Any] = []
    a, b, c = leaf(T, 1.0), leaf(T, 2.0), leaf(T, 3.0)
    y = a * b
    handle = T.autograd.graph.register_multi_grad_hook((a, y, c), lambda grads: calls.append([g if g is None else g.clone() for g in grads]))
    (y * y).sum().backward()
    (y.detach() * c + a).sum().backward()
    handle.remove()
    (a * 2).sum().backward()
    return calls


@snippets
def a_hook_on_any_of_several_tensors(T: Any) -> Any:
    calls: list[Any] = []
    a, b = leaf(T, 1.0), leaf(T, 2.0)
    y = a * b
    T.autograd.graph.register_multi_grad_hook((y, a), lambda grad: calls.append(grad.clone()), mode="any")
    (y * 3).sum().backward(retain_graph=True)
    (y * 4).sum().backward()
    return calls


@snippets
def hooks_on_leaves_may_change_them(T: Any) -> Any:
    """They run without grad mode, so that an optimizer's step in them is no recorded change of a leaf."""
    w = leaf(T, 1.0, 2.0)
    modes: list[bool] = []

    def step(x: Any) -> None:
        modes.append(T.is_grad_enabled())
        x.sub_(0.1 * x.grad)
        x.grad = None

    w.register_post_accumulate_grad_hook(step)
    (w * w).sum().backward()
    return w, w.grad, modes, T.is_grad_enabled()


@snippets
def modes_set_in_hooks_end_with_the_pass(T: Any) -> Any:
    x = leaf(T, 1.0)
    y = x * 2

    def hook(gradient: Any) -> None:
        T.set_grad_enabled(True)

    y.register_hook(hook)
    x.register_hook(hook)
    z = (y * y).sum()
    with T.no_grad():
        z.backward()
        inside = T.is_grad_enabled()
    return inside, T.is_grad_enabled(), x.grad


@snippets
def the_pass_sets_the_mode(T: Any) -> Any:
    modes: list[bool] = []
    x = leaf(T, 1.0)
    y = x * 2
    y.register_hook(lambda g: modes.append(T.is_grad_enabled()))
    x.register_hook(lambda g: modes.append(T.is_grad_enabled()))
    y.sum().backward(retain_graph=True)
    T.autograd.grad(y.sum(), x, create_graph=True)
    return modes


# -- what a tape keeps


@snippets
def kept_values_may_be_changed_where_it_is_allowed(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    with T.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = y * w + y.exp()
        y[0].mul_(5)
        y.add_(1)
        u = (z * y).sum()
        y.zero_()
        u.backward()
    return x.grad, w.grad


@snippets
def custom_functions_whose_saved_tensors_are_changed(T: Any) -> Any:
    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, y_bar: Any) -> Any:
            return y_bar * 2 * ctx.saved_tensors[0]

    x = leaf(T, 1.0, 2.0)
    with T.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = Square.apply(y)
        y.mul_(10)
        z.sum().backward()
    return x.grad


@snippets
def hooks_on_kept_values_can_be_forbidden(T: Any) -> Any:
    graph = T.autograd.graph
    with graph.disable_saved_tensors_hooks("not here"):
        try:
            with graph.saved_tensors_hooks(lambda x: x, lambda x: x):
                leaf(T, 1.0).exp()
        except RuntimeError as error:
            return str(error)
    return ""


@snippets
def versions_can_be_counted_up(T: Any) -> Any:
    x = leaf(T, 1.0)
    y = x.exp()
    T.autograd.graph.increment_version(y)
    return y._version, kind_of_error(lambda: y.sum().backward())


@snippets
def values_kept_elsewhere(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    with T.autograd.graph.save_on_cpu():
        y = (x.exp() * x).sum()
    y.backward()
    return x.grad


# -- passes inside of passes, several cotangents at once, nodes


@snippets
def a_thousand_passes_inside_of_each_other(T: Any) -> Any:
    class Deeper(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, depth: int) -> Any:
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx: Any, y_bar: Any) -> Any:
            if ctx.depth == 0:
                return y_bar, None
            with T.enable_grad():
                x = T.tensor([1.0], requires_grad=True)
                Deeper.apply(x, ctx.depth - 1).sum().backward()
            return y_bar + x.grad, None

    x = leaf(T, 2.0)
    Deeper.apply(x, 1000).sum().backward()
    return x.grad


@snippets
def cotangents_in_a_batch(T: Any) -> Any:
    x, w = leaf(T, 1.0, 2.0, 3.0), leaf(T, 4.0)
    y = x * x * w
    basis = T.eye(3)
    rows = T.autograd.grad(y, (x, w), basis, is_grads_batched=True, retain_graph=True, create_graph=True)
    unused = T.autograd.grad(y, (x, leaf(T, 1.0)), basis, is_grads_batched=True, retain_graph=True, allow_unused=True)
    return rows, unused, T.autograd.grad(rows[0].sum(), x)


@snippets
def nodes_of_custom_functions(T: Any) -> Any:
    class Twice(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.note = "noted"
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, y_bar: Any) -> Any:
            return y_bar * 2

    y = Twice.apply(leaf(T, 1.0))
    node = y.grad_fn
    return node.name(), type(node).__name__, node.note, node.saved_tensors[0], node.needs_input_grad, isinstance(node, T.autograd.graph.Node)


@snippets
def tensors_of_inference_mode(T: Any) -> Any:
    with T.inference_mode():
        x = T.ones(2)
    return T.is_inference(x), T.is_inference(T.ones(2)), x.is_inference()


@pytest.mark.parametrize("snippet", snippets, ids=lambda s: s.__name__)
def test_agrees_with_pytorch(snippet: Snippet) -> None:
    agree(snippet)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: eager.autograd.forward_ad.make_dual(eager.ones(2), eager.ones(2)), "no level"),
        (lambda: eager.autograd.graph.get_gradient_edge(eager.ones(2)), "does not require a gradient"),
    ],
)
def test_errors(action: Any, message: str) -> None:
    with pytest.raises(eager.AutogradError, match=message):
        action()


def test_a_hook_on_several_tensors_is_on_all_or_any() -> None:
    with pytest.raises(ValueError, match="'all', 'any'"):
        eager.autograd.graph.register_multi_grad_hook([], print, mode="some")


def test_a_tangent_has_the_type_of_its_tensor() -> None:
    fwd = eager.autograd.forward_ad
    with fwd.dual_level(), pytest.raises(eager.AutogradError, match=r"float32\[2\], float64\[2\]|float64\[2\]"):
        fwd.make_dual(eager.ones(2), eager.ones(2, dtype=eager.float64))
    with fwd.dual_level(), pytest.raises(eager.AutogradError, match="Nested forward mode"), fwd.dual_level():
        pass
