"""Memory and who may change it, on PyTorch and on wengert.eager: views by strides, other extents, inference mode, marks of custom functions, kept values."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from side_by_side import Snippet, Snippets, agree, kind_of_error, leaf

import wengert.eager as eager

snippets = Snippets()


def matrix(T: Any) -> Any:
    return T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


# -- views by strides


@snippets
def windows_of_a_vector(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0, 4.0, 5.0)
    y = x.as_strided((3, 3), (1, 1))
    (y * T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])).sum().backward()
    return y, x.grad, y.grad_fn.name(), y.as_strided((2,), (2,), 1)


@snippets
def strides_of_a_transposed_matrix(T: Any) -> Any:
    x = matrix(T)
    y = (x * 1).t().as_strided((2, 2), (3, 1), 1)
    (y * y).sum().backward()
    return y, x.grad


@snippets
def a_change_through_strides(T: Any) -> Any:
    x = matrix(T)
    y = x * 1
    z = y.as_strided((3,), (2,), 1)
    z.mul_(10.0)
    (y * y).sum().backward()
    return y, z, x.grad, y._version


@snippets
def strides_in_place(T: Any) -> Any:
    x = matrix(T)
    y = x * 2
    y.as_strided_((2, 2), (1, 2), 1)
    y.square().sum().backward()
    return y, x.grad


@snippets
def strides_beyond_memory(T: Any) -> Any:
    try:
        T.zeros(4).as_strided((5,), (1,), 0)
    except RuntimeError:
        return "refused"


@snippets
def strides_count_from_the_memory_of_a_detached_view(T: Any) -> Any:
    x = leaf(T, *(float(i) for i in range(12)))
    part = (x * 1)[4:8]
    seen: list[Any] = []
    for y in (part.detach(), part.detach().detach(), part.data, part[1:].detach(), part.detach()[2:], (x * 1).view(3, 4).t()[1].detach()):
        seen += [y.storage_offset(), y.as_strided((2, 2), (1, 2), 0), y.as_strided((2,), (4,)), y.as_strided((3,), (1,), 9).storage_offset()]
    return seen


@snippets
def a_change_beside_a_detached_view(T: Any) -> Any:
    y = T.tensor([float(i) for i in range(6)])
    beside = y[3:].detach().as_strided((2,), (2,), 0)
    beside.mul_(10.0).add_(1.0)
    return y, beside, y._version, beside._version, beside.requires_grad


@snippets
def strides_of_a_detached_view_beyond_memory(T: Any) -> Any:
    part = T.zeros(6)[2:4].detach()
    return part.as_strided((4,), (1,), 2), kind_of_error(lambda: part.as_strided((4,), (1,), 3)) != "none"


@snippets
def the_place_of_a_tensor_over_a_part_of_other_memory(T: Any) -> Any:
    x = T.tensor([1.0, 2.0, 3.0, 4.0])
    y = T.zeros(1).set_(x[1:])
    return y.storage_offset(), y.as_strided((2,), (2,), 0), x.storage_offset(), x.detach().storage_offset()


# -- other extents, other memory


@snippets
def other_extents_in_place(T: Any) -> Any:
    x = T.tensor([1.0, 2.0, 3.0, 4.0])
    versions = [x.resize_(2, 2)._version, x.resize_as_(T.zeros(3))._version, x.resize_(3)._version]
    return x, versions, kind_of_error(lambda: leaf(T, 1.0).resize_(2)) != "none"


@snippets
def other_memory(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0, 3.0)
    with T.no_grad():
        x.set_(x[1:])
    (x * x).sum().backward()
    return x, x.grad


@snippets
def the_dimensions_of_a_tensor_with_views_change(T: Any) -> Any:
    x = matrix(T)
    y = x * 1
    row = y[0]
    y.t_()
    y.mul_(2.0)
    (y[1] * row[1]).sum().backward()
    return y, row, x.grad


@snippets
def pieces_that_may_be_changed(T: Any) -> Any:
    x = matrix(T)
    first, second = (x * 1).unsafe_split(1)
    first.mul_(second)
    first.sum().backward()
    return first, x.grad, [p.shape for p in x.unsafe_chunk(2)]


# -- inference mode


@snippets
def views_and_changes_in_inference_mode(T: Any) -> Any:
    y = matrix(T) * 1
    with T.inference_mode():
        v = y.view(-1)
        made = T.ones(2, 2)
        y.add_(1)
        inside = v.requires_grad, y.requires_grad, v._is_view(), v.is_inference()
    seen = made.view(-1)
    T.autograd.graph.increment_version(made)
    return inside, y, seen.is_inference(), seen._is_view(), seen.requires_grad, kind_of_error(made.t_)


@snippets
def a_view_that_was_left_behind(T: Any) -> Any:
    kinds: list[str] = []
    for mode in (T.inference_mode, T.no_grad):
        y = matrix(T) * 1
        with mode():
            v = y.view(-1)
        kinds.append(kind_of_error(lambda v=v: v.add_(1)))
        y.add_(1)
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
            _ = v.grad_fn
        kinds.append(repr(v).split("grad_fn=")[1])
    return kinds


# -- kept values


@snippets
def copies_of_what_is_changed(T: Any) -> Any:
    counts: list[int] = []
    with T.autograd.graph.allow_mutation_on_saved_tensors() as ctx:
        a = matrix(T)
        b = a.clone()
        c, d = b**2, b**2
        b.sin_()
        counts.append(len(ctx.cloned))
        e = b**2
        b.sin_()
        counts.append(len(ctx.cloned))
        del c
        counts.append(len(ctx.cloned))
        del d
        counts.append(len(ctx.cloned))
        e.sum().backward()
        counts.append(len(ctx.cloned))
    return counts, a.grad


@snippets
def hooks_on_what_a_function_saved(T: Any) -> Any:
    class Doubled(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x, None)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    x = leaf(T, 1.0, 2.0)
    y = Doubled.apply(x * 1)
    first, second = y.grad_fn._raw_saved_tensors
    for action in (lambda: first.register_hooks(lambda v: v), lambda: first.register_hooks(1, 1)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            action()
    with pytest.raises(RuntimeError, match="None is forbidden"):
        second.register_hooks(lambda v: v, lambda v: v)
    first.register_hooks(lambda v: v * 10, lambda v: v * 1)
    with pytest.raises(RuntimeError, match="already been set"):
        first.register_hooks(lambda v: v, lambda v: v)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = y.grad_fn.saved_tensors
    return x.grad


@snippets
def a_leaf_that_hooks_replaced(T: Any) -> Any:
    a = leaf(T, 1.0, 2.0)
    with T.autograd.graph.saved_tensors_hooks(lambda x: 2 * x, lambda x: x):
        y = a * a
    kept = y.grad_fn._saved_self
    y.sum().backward()
    with T.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x), pytest.raises(RuntimeError, match="none here"):  # noqa: SIM117
        with T.autograd.graph.disable_saved_tensors_hooks("none here"):
            pass
    return kept, a.grad


# -- what custom functions say of their results


@snippets
def what_is_marked_must_be_returned(T: Any) -> Any:
    def function(change: Any) -> Any:
        class Some(T.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return change(ctx, x)

            @staticmethod
            def backward(ctx: Any, g: Any, *rest: Any) -> Any:
                return g

        return Some.apply

    def not_returned(ctx: Any, x: Any) -> Any:
        x.mul_(2)
        ctx.mark_dirty(x)
        return x.clone()

    def not_given(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_dirty(y)
        return y

    a = leaf(T, 1.0, 2.0)
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"):
        function(not_returned)(a * 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(not_given)(a * 1)
    seen = function(lambda ctx, x: x[:1])
    kinds = [kind_of_error(lambda x=x: seen(x).add_(a)) for x in (a * 1, T.zeros(2))]
    Old = type("Old", (T.autograd.Function,), {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = Old()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        old(a)
    return len(caught), kinds


@snippets
def results_without_gradient_may_get_none(T: Any) -> Any:
    seen: list[Any] = []

    class Two(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            second = x.clone()
            ctx.mark_non_differentiable(second)
            ctx._materialize_non_diff_grads = False
            return x.clone(), second

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            seen.append(h)
            return g

    x = leaf(T, 1.0)
    Two.apply(x)[0].backward()
    return seen, x.grad


@snippets
def lists_of_lists_are_indices_for_each_dimension(T: Any) -> Any:
    x = T.arange(16.0).reshape(4, 4).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch means to change that
        y = x[[[1, 1, 3], [0]]].sum() + x[[[[1, 2], [0, 0]], [[0, 1], [1, 1]]]].sum() + x[[1, 2]].sum()
    y.backward()
    return x.grad


# -- checkpoints of the older kind


def checkpoint(T: Any) -> Any:
    return eager.checkpoint if T is eager else __import__("torch.utils.checkpoint").utils.checkpoint.checkpoint


@snippets
def checkpoints_that_run_a_pass_of_their_own(T: Any) -> Any:
    w, runs = leaf(T, 2.0, 3.0), []

    def f(x: Any, power: int) -> Any:
        runs.append(1)
        return (x**power * w).sin(), x + 1

    x = leaf(T, 1.0, 0.5)
    y, z = checkpoint(T)(f, x, 2, use_reentrant=True)
    (y * z).sum().backward()
    with pytest.raises(RuntimeError, match="checkpoint is incompatible"):
        T.autograd.grad(checkpoint(T)(f, x, 2, use_reentrant=True)[0].sum(), x)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        checkpoint(T)(lambda x: x.detach(), x, use_reentrant=True).sum().backward()
    return x.grad, w.grad, len(runs)


@snippets
def what_differs_in_the_second_run(T: Any) -> Any:
    def run(first: Any, second: Any, **options: Any) -> Any:
        functions = iter((first, second))

        def along(x: Any) -> Any:
            function = next(functions)
            return function(x)

        checkpoint(T)(along, leaf(T, 0.5), use_reentrant=False, **options).sum().backward()

    three, two = lambda x: x.sin().exp().sin(), lambda x: x.sin().exp()
    other = lambda x: x.sin() * T.tensor([1.0, 2.0])  # noqa: E731
    with pytest.raises(RuntimeError, match="A different number of tensors was saved"):
        run(three, two)
    with pytest.raises(RuntimeError, match="Recomputed values for the following tensors have different metadata"):
        run(two, other)
    with pytest.raises(RuntimeError, match="You are seeing this error because you passed `debug=True` to checkpoint"):
        run(two, other, debug=True)
    return run(two, three)


@pytest.mark.parametrize("snippet", snippets, ids=lambda s: s.__name__)
def test_agrees_with_pytorch(snippet: Snippet) -> None:
    agree(snippet)


# -- promotion with complex numbers

DTYPES = ("float32", "float64", "complex64", "complex128", "int64", "bool")


@pytest.mark.parametrize(("first", "second"), list(itertools.product(DTYPES, DTYPES)))
def test_complex_numbers_stand_above_floats(first: str, second: str) -> None:
    for shape, other in itertools.product(((), (2,)), repeat=2):
        ours, theirs = (T.ones(shape).to(getattr(T, first)) * T.ones(other).to(getattr(T, second)) for T in (eager, torch))
        assert ours.dtype == theirs.numpy().dtype, (shape, other)
    ours, theirs = (T.ones(2).to(getattr(T, first)) * 2j for T in (eager, torch))
    assert ours.dtype == theirs.numpy().dtype
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_as_strided_of_elements_beside_the_tensors_own_is_refused_where_gradients_flow() -> None:
    """PyTorch reads them, and gives them no gradient."""
    base = eager.tensor(np.arange(20.0), requires_grad=True)
    view = base[5:15]
    with pytest.raises(eager.AutogradError, match="of elements of the tensor"):
        eager.as_strided(view, (2, 2), (1, 2), 0)
    (eager.as_strided(base[::2], (3,), (4,), 2) ** 2).sum().backward()
    assert base.grad is not None
    np.testing.assert_array_equal(base.grad.numpy(), [0, 0, 4, 0, 0, 0, 12, 0, 0, 0, 20, *[0] * 9])


def test_a_tensor_that_requires_a_gradient_is_not_written_beside_a_detached_view() -> None:
    """In PyTorch the detached view would require a gradient then; here that is refused, and the memory stays as it is."""
    base, w = eager.tensor([1.0, 2.0, 3.0, 4.0]), eager.tensor([2.0, 2.0], requires_grad=True)
    beside = base[2:].detach().as_strided((2,), (1,), 0)
    with pytest.raises(eager.InPlaceError, match="elements beside those of a detached tensor"):
        beside.mul_(w)
    np.testing.assert_array_equal(base.numpy(), [1, 2, 3, 4])


def test_compiled_functions_read_beside_a_detached_view_what_its_memory_holds_now() -> None:
    """The elements are no part of what was recorded: such a function runs as it is written."""

    def beside(x: eager.Tensor) -> eager.Tensor:
        return (x * 2)[2:].detach().as_strided((2,), (1,), 0) + 1

    compiled = eager.compile(beside)
    for start in (0.0, 5.0, 7.0):
        np.testing.assert_array_equal(compiled(eager.tensor([start, start + 1, 0.0, 0.0])).numpy(), [2 * start + 1, 2 * start + 3])
