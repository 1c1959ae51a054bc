"""Corners of PyTorch's meaning that reading its tests one by one brought up: each beside PyTorch where it can be, in our own words."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from eager_sides import SIDES

import wengert.eager as eager

Function = eager.autograd.Function
fwd = eager.autograd.forward_ad


@SIDES
@pytest.mark.parametrize("name", ["median", "nanmedian"])
def test_a_median_that_is_nan_shares_its_gradient(t: Any, name: str) -> None:
    x = t.tensor([float("nan")] * 4, requires_grad=True)
    getattr(t, name)(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), [0.25] * 4)
    y = t.tensor([2.0, float("nan"), 1.0, float("nan")], requires_grad=True)
    getattr(t, name)(y).backward()
    np.testing.assert_allclose(y.grad.numpy(), [0, 0.5, 0, 0.5] if name == "median" else [0, 0, 1, 0])


@SIDES
def test_extents_changed_in_place_where_nothing_is_recorded(t: Any) -> None:
    for mode in (t.no_grad, t.inference_mode):
        x = t.ones(2, 3, requires_grad=True).clone()
        with mode():
            x.transpose_(0, 1)
        assert x.requires_grad
        assert tuple(x.shape) == (3, 2)
        x.transpose_(0, 1)
        x.add_(1)
        assert x.requires_grad


def test_its_gradient_has_the_old_extents() -> None:
    leaf = eager.ones(2, 3, requires_grad=True)
    x = leaf.clone()
    with eager.no_grad():
        x.t_()
    (x * eager.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), [[1, 3, 5], [2, 4, 6]])  # type: ignore[union-attr]


@SIDES
def test_hooks_of_a_leaf_see_what_those_before_did_to_its_gradient(t: Any) -> None:
    x = t.ones(3, requires_grad=True)
    node = x.view_as(x).grad_fn.next_functions[0][0]
    seen: list[float] = []

    def add(leaf: Any) -> None:
        leaf.grad.add_(1)

    node.register_prehook(lambda g: (g[0] * 3,))
    x.register_post_accumulate_grad_hook(add)
    node.register_hook(lambda _, g: seen.append(float(g[0].sum())))
    x.sum().backward()
    assert seen == [12.0]


@SIDES
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, when its forward mode is first used
def test_a_tensor_detached_in_place_has_no_tangent(t: Any) -> None:
    mode: Any = fwd if t is eager else t.autograd.forward_ad
    with mode.dual_level():
        x = mode.make_dual(t.ones(2), t.ones(2)) * 2
        x.detach_()
        assert mode.unpack_dual(x * 3).tangent is None


@SIDES
def test_what_is_said_of_views_that_must_not_be_changed(t: Any) -> None:
    class Middle(t.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x[1:2]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return None

    x = t.ones(3, requires_grad=True).clone()
    with pytest.raises(RuntimeError, match=r"Output 1 of Unbind\w* is a view and is being modified inplace"):
        x.unbind()[1].add_(1)
    with pytest.raises(RuntimeError, match=r"Output 0 of Middle\w* is a view and is being modified inplace. This view was created inside a custom Function"):
        Middle.apply(x).add_(1)


@SIDES
def test_only_arguments_are_marked_dirty(t: Any) -> None:
    class Bad(t.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.clone().view_as(x)
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        Bad.apply(t.ones(1, requires_grad=True).clone())


def test_saved_tensors_that_are_given_up_once_asked_for() -> None:
    class Once(Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx: Any, x: Any, twice: bool) -> Any:
            ctx.save_for_backward(x)
            ctx.twice = twice
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            alive = weakref.ref(x)
            del x
            assert alive() is None
            if ctx.twice:
                ctx.saved_tensors  # noqa: B018
            return g, None

    x = eager.ones(3, requires_grad=True)
    Once.apply(x.clone(), False).sum().backward()
    with pytest.raises(RuntimeError, match="can only be accessed once"):
        Once.apply(x.clone(), True).sum().backward()


def test_a_function_that_saves_its_result_is_freed_without_the_collector() -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp()
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(eager.ones(2, requires_grad=True))
        alive = weakref.ref(y)
        del y
        assert alive() is None
    finally:
        gc.enable()
    x = eager.tensor(0.3, dtype=eager.float64, requires_grad=True)
    assert eager.autograd.gradgradcheck(Exp.apply, x)  # through the saved result


@SIDES
def test_unique_elements_have_gradients(t: Any) -> None:
    x = t.tensor([3.0, 1.0, 3.0, float("nan"), float("nan")], requires_grad=True)
    values, inverse = t.unique(x, return_inverse=True)
    assert values.requires_grad
    assert not inverse.requires_grad
    np.testing.assert_array_equal(values.detach().numpy(), [1, 3, np.nan, np.nan])
    assert inverse.tolist() == [1, 0, 1, 2, 3]
    assert t.unique_consecutive(x, return_counts=True)[0].requires_grad


def test_the_first_of_equal_elements_gets_it() -> None:
    x = eager.tensor([3.0, 1.0, 3.0], requires_grad=True)
    (eager.unique(x) * eager.tensor([10.0, 20.0])).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [20, 10, 0])  # type: ignore[union-attr]
    y = eager.tensor([[1.0, 1.0], [1.0, 1.0], [2.0, 0.0]], requires_grad=True)
    eager.unique_consecutive(y, dim=0).sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), [[1, 1], [0, 0], [1, 1]])  # type: ignore[union-attr]


@SIDES
def test_what_gradcheck_finds_besides_jacobians(t: Any) -> None:
    check: Any = eager.autograd.gradcheck if t is eager else t.autograd.gradcheck

    def shifted(x: Any) -> Any:
        y = x.clone()
        y.register_hook(lambda g: g + 1e-2)
        return y

    with pytest.raises(RuntimeError, match="backward not multiplied by grad_output"):
        check(shifted, (t.ones(1, dtype=t.float64, requires_grad=True),), atol=0.1)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        assert check(lambda x: x * 1, (t.ones(1, requires_grad=True),), atol=0.1)
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        check(lambda x: x * 1, (t.ones(1, dtype=t.float64, requires_grad=True).expand(2, 2),))
