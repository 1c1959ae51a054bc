"""What code that was written for PyTorch asks besides operations: layout, kept values, old names, options of checkpoints; beside PyTorch."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from side_by_side import Snippet, Snippets, agree, leaf

import wengert.eager as eager

snippets = Snippets()


@snippets
def layout(T: Any) -> Any:
    x = T.zeros(3, 4, 2)
    y = x.transpose(0, 2)[1]
    return (
        list(y.stride()), y.stride(1), y.storage_offset(), y.is_contiguous(), x.element_size(), str(x.device), x.device == T.device("cpu"), y._is_view(), x._is_view(),
        y.data_ptr() - x.data_ptr(), x.is_sparse,
    )  # fmt: skip


@snippets
def parts_of_complex_numbers_share_memory(T: Any) -> Any:
    z = T.tensor(np.array([1 + 2j, 3 - 1j])).requires_grad_()
    y = z * (1 + 1j)
    y.real.mul_(2)
    y.imag[0] = 5.0
    pairs = T.view_as_real(y)
    pairs[1] += 1
    w = T.view_as_complex(pairs * 1)
    (w.real.sum() + 3 * w.imag.sum()).backward()
    return y, pairs, w, z.grad


@snippets
def shapes_changed_in_place(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    y = (x * 1).unsqueeze_(0)
    y.t_()
    y.mul_(2)
    z = x.reshape(1, 3).clone()
    v = z[:, 1:]
    v.squeeze_(0)
    v.mul_(3)
    (y.sum() + (z**2).sum()).backward()
    return list(y.shape), y, z, v, x.grad


@snippets
def a_function_that_changes_a_view_of_a_computed_tensor(T: Any) -> Any:
    class Double(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    a = T.tensor([1.0], requires_grad=True)
    c = a.clone()
    v = c[:]
    out = Double.apply(v)
    out.backward()
    return out, c, a.grad


@snippets
def functions_by_vjp_and_with_defaults(T: Any) -> Any:
    class Power(T.autograd.Function):
        @staticmethod
        def forward(x: Any, n: int = 3) -> Any:
            return x**n

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.n = inputs
            ctx.save_for_backward(x)

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * ctx.n * x ** (ctx.n - 1), None

    x = leaf(T, 1.0, 2.0)
    Power.apply(x).sum().backward()
    return x.grad


@snippets
def kept_values_of_nodes(T: Any) -> Any:
    x, y = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0)
    product, power = x * y, x.exp()
    product.grad_fn._raw_saved_self.register_hooks(lambda v: 2 * v, lambda v: v)
    product.sum().backward()
    with pytest.raises(AttributeError):
        _ = power.grad_fn._saved_nothing
    return product.grad_fn._saved_self if T is None else (power.grad_fn._saved_result, x.grad, y.grad)


@snippets
def hooks_on_kept_leaves_reach_second_derivatives(T: Any) -> Any:
    with T.autograd.graph.saved_tensors_hooks(lambda v: 2 * v, lambda v: v):
        x = leaf(T, 1.0, 2.0)
        y = (x**3).sum()
    (g,) = T.autograd.grad(y, x, create_graph=True)
    g.sum().backward()
    return g, x.grad


@snippets
def calls_at_the_end_of_a_pass(T: Any) -> Any:
    order: list[str] = []
    x = leaf(T, 1.0, 2.0)

    def hook(_: Any) -> None:
        order.append("hook")
        T.autograd.Variable._execution_engine.queue_callback(lambda: order.append("end"))

    y = x * 2
    y.register_hook(hook)
    (y * x).sum().backward()
    with pytest.raises(RuntimeError):
        T.autograd.Variable._execution_engine.queue_callback(print)
    return order, isinstance(x, T.autograd.Variable), T.autograd.Variable(x, requires_grad=True).requires_grad


@snippets
def index_fill_by_a_tensor(T: Any) -> Any:
    x, value = leaf(T, 1.0, 2.0, 3.0), T.tensor(5.0, requires_grad=True)
    y = x.index_fill(0, T.tensor([0, 2]), value)
    (y * T.tensor([1.0, 2.0, 3.0])).sum().backward()
    return y, x.grad, value.grad


@snippets
def generators_in_a_grad_mode(T: Any) -> Any:
    seen: list[Any] = []

    @T.no_grad()
    def numbers() -> Any:
        try:
            seen.append(T.is_grad_enabled())
            yield 1
        except ValueError:
            seen.append(T.is_grad_enabled())
            yield 2
        finally:
            seen.append(T.is_grad_enabled())

    g = numbers()
    first = next(g)
    second = g.throw(ValueError())
    g.close()
    return first, second, seen, T.is_grad_enabled()


@snippets
def pooling_with_positions(T: Any) -> Any:
    nn = T.nn.functional if hasattr(T, "nn") else __import__("wengert.nn", fromlist=["nn"]).functional
    x = T.tensor(np.random.default_rng(0).normal(size=(1, 2, 6, 6))).requires_grad_()
    y, places = nn.max_pool2d(x, 2, return_indices=True)
    back = nn.max_unpool2d(y, places, 2)
    (back**2).sum().backward()
    z, where = nn.adaptive_max_pool2d(x, 4, return_indices=True)
    return y, places, back, x.grad, z, where


@pytest.mark.parametrize("snippet", snippets, ids=lambda s: s.__name__)
def test_agrees_with_pytorch(snippet: Snippet) -> None:
    agree(snippet)


def test_gradcheck_of_complex_tensors_and_in_forward_mode() -> None:
    z = eager.tensor(np.array([1 + 2j, 0.5 - 1j])).requires_grad_()
    assert eager.autograd.gradcheck(lambda z: (z * z.conj() + z**2).sin(), z, check_forward_ad=True, check_batched_grad=True)
    x = eager.tensor([1.0, 2.0], dtype=eager.float64, requires_grad=True)
    assert eager.autograd.gradgradcheck(lambda x: x.sin() * x, x)

    class Wrong(eager.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def jvp(ctx: Any, x_dot: Any) -> Any:
            return x_dot * 3

    with pytest.raises(eager.autograd.GradcheckError, match="Jacobian computed with forward mode mismatch for output 0 with respect to input 0"):
        eager.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True, check_backward_ad=False)


def test_checkpoints_of_functions_that_take_gradients() -> None:
    """A gradient inside of a checkpoint is walked: a second run that is compiled would keep something else."""
    x = eager.tensor(0.5, requires_grad=True)

    def inner(x: Any) -> Any:
        return x.sin().exp().sin()

    def f(x: Any) -> Any:
        (g,) = eager.autograd.grad(inner(x), x, create_graph=True)
        return g * x

    for _ in range(5):
        (expected,) = eager.autograd.grad(f(x), x)
        (actual,) = eager.autograd.grad(eager.checkpoint(f, x), x)
        assert abs(actual.item() - expected.item()) < 1e-6


def test_options_of_checkpoints() -> None:
    runs: list[str] = []

    class Noting:
        def __init__(self, name: str):
            self.name = name

        def __enter__(self) -> None:
            runs.append(self.name)

        def __exit__(self, *_: object) -> None:
            pass

    x = eager.ones(3, requires_grad=True)
    eager.checkpoint(lambda x: x.sin().sum(), x, context_fn=lambda: (Noting("first"), Noting("second"))).backward()
    assert runs == ["first", "second"]
    counts = [0]

    def counted(x: Any) -> Any:
        y = x.sin()
        counts[0] += 1
        return y.exp() if counts[0] < 0 else y.cos() * 1

    with eager.set_checkpoint_early_stop(False):
        eager.checkpoint(counted, x).sum().backward()
    assert counts == [2]
    y = eager.checkpoint_sequential([eager.sin, eager.exp, eager.cos], 2, x)
    assert eager.allclose(y, x.sin().exp().cos())
    with pytest.raises(ValueError, match="4 segments of 3"):
        eager.checkpoint_sequential([eager.sin] * 3, 4, x)


def test_a_leaf_and_its_node_do_not_hold_each_other() -> None:
    gc.disable()
    try:
        x = eager.ones(2, requires_grad=True)
        assert x.view_as(x).grad_fn.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
        gone = weakref.ref(x)
        del x
        assert gone() is None
    finally:
        gc.enable()


def test_hooks_on_the_node_of_a_leaf_stay() -> None:
    x, calls = eager.ones(2, requires_grad=True), []
    x.view_as(x).grad_fn.next_functions[0][0].register_prehook(lambda gradients: calls.append(len(gradients)))
    x.sum().backward()
    assert calls == [1]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: eager.ones(2, requires_grad=True).unsqueeze_(0), "leaf Variable that requires grad"),
        (lambda: eager.device("cuda"), "there is no device 'cuda'"),
        (lambda: eager.special.bessel_j0(eager.ones(2, requires_grad=True)), "special.bessel_j0 has no derivative"),
        (lambda: eager.view_as_real(eager.ones(2)), "only supported for complex"),
        (lambda: eager.ones(2).imag, "non-complex dtypes"),
        (lambda: eager.view_as_complex(eager.ones(4, 2)[:, ::2].t()), "last dimension of size 2"),
    ],
)
def test_errors(action: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        action()
