"""What code that was written for PyTorch expects beside tensors and gradients: files, classes by dtype, functions of lists, dtypes of gradients."""

from __future__ import annotations

import gc
import io
import pickle
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from eager_sides import SIDES

import wengert.eager as eager
from wengert import nn

Function = eager.autograd.Function


# -- files


@SIDES
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64", "bool", "float16"])
def test_a_tensor_comes_back_from_a_file(t: Any, dtype: str, tmp_path: Path) -> None:
    x = t.tensor([0, 1, 1], dtype=getattr(t, dtype))
    for where in (tmp_path / "x.pt", str(tmp_path / "y.pt")):
        t.save(x, where)
        again = t.load(where)
        assert again.dtype == x.dtype
        np.testing.assert_array_equal(again.numpy(), x.numpy())


@SIDES
def test_containers_and_what_requires_a_gradient(t: Any) -> None:
    file = io.BytesIO()
    t.save(OrderedDict(w=t.tensor([[1.0, 2.0]], requires_grad=True), lr=0.1, steps=[3, ("a", None)]), file)
    file.seek(0)
    again = t.load(file)
    assert again["w"].requires_grad
    assert again["w"].is_leaf
    assert (again["lr"], again["steps"]) == (0.1, [3, ("a", None)])


def test_the_state_of_a_module() -> None:
    one, other = nn.Linear(3, 2), nn.Linear(3, 2)
    file = io.BytesIO()
    eager.save(one.state_dict(), file)
    file.seek(0)
    other.load_state_dict(eager.load(file))
    x = eager.ones(1, 3)
    np.testing.assert_array_equal(one(x).detach().numpy(), other(x).detach().numpy())


class Harmful:
    """Would run code where it is read."""

    def __reduce__(self) -> Any:
        return print, ("run",)


@SIDES
def test_a_file_runs_nothing_unless_it_is_trusted(t: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = io.BytesIO()
    t.save({"x": Harmful()}, file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        t.load(file)
    assert capsys.readouterr().out == ""
    file.seek(0)
    assert t.load(file, weights_only=False) == {"x": None}
    assert capsys.readouterr().out == "run\n"


@SIDES
def test_what_is_kept_may_lie_in_files(t: Any, tmp_path: Path) -> None:
    def write(x: Any) -> Path:
        where = tmp_path / f"{len(list(tmp_path.iterdir()))}.pt"
        t.save(x, where)
        return where

    x = t.tensor([2.0, 3.0], requires_grad=True)
    with t.autograd.graph.saved_tensors_hooks(write, t.load):
        y = (x * x).exp()
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy() * y.detach().numpy(), rtol=1e-6)
    assert list(tmp_path.iterdir())


# -- classes by dtype


@SIDES
def test_classes_by_dtype(t: Any) -> None:
    x = t.ones(2)
    assert isinstance(x, t.FloatTensor)
    assert not isinstance(x, t.DoubleTensor)
    assert not isinstance(2.0, t.FloatTensor)
    assert isinstance(x.long(), t.LongTensor)
    assert isinstance(x.bool(), t.BoolTensor)
    assert isinstance(x.type(t.DoubleTensor), t.DoubleTensor)
    assert isinstance(x.type("torch.IntTensor"), t.IntTensor)
    assert x.type(t.float64).dtype == t.float64
    assert (x.type(), x.int().type()) == ("torch.FloatTensor", "torch.IntTensor")
    assert t.DoubleTensor([1.0, 2.0]).dtype == t.float64
    with pytest.raises((ValueError, TypeError)):
        x.type("torch.NoSuchTensor")


@SIDES
def test_gradients_flow_through_a_change_of_class(t: Any) -> None:
    x = t.ones(2, requires_grad=True)
    (x.type(t.DoubleTensor) * 3).sum().backward()
    assert x.grad.dtype == t.float32
    np.testing.assert_array_equal(x.grad.numpy(), [3, 3])


@SIDES
def test_volatile_is_false(t: Any) -> None:
    with pytest.warns(UserWarning, match="volatile was removed"):
        assert not t.ones(2).volatile


# -- lists of tensors


@SIDES
def test_functions_for_each_of_a_list(t: Any) -> None:
    x = [t.tensor([1.0, 4.0]), t.tensor(9.0)]
    y = [t.tensor([2.0, 2.0]), t.tensor(3.0)]
    for name, args, expected in (
        ("sqrt", (), ([1, 2], 3)),
        ("mul", (2.0,), ([2, 8], 18)),
        ("mul", ([2.0, 3.0],), ([2, 8], 27)),
        ("div", (y,), ([0.5, 2], 3)),
        ("addcmul", (y, y, 0.5), ([3, 6], 13.5)),
        ("addcdiv", (y, y, [1.0, 2.0]), ([2, 5], 11)),
        ("norm", (), (np.sqrt(17), 9)),
        ("neg", (), ([-1, -4], -9)),
        ("maximum", (y,), ([2, 4], 9)),
    ):
        made = getattr(t, f"_foreach_{name}")(x, *args)
        for got, wanted in zip(made, expected, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-6)


@SIDES
def test_lists_are_changed_in_place(t: Any) -> None:
    x = [t.ones(2), t.ones(())]
    t._foreach_add_(x, [t.full((2,), 2.0), t.tensor(3.0)], alpha=2)
    np.testing.assert_array_equal(x[0].numpy(), [5, 5])
    assert x[1].item() == 7
    t._foreach_copy_(x, [t.zeros(2), t.tensor(4.0)])
    assert (x[0].sum().item(), x[1].item()) == (0, 4)
    t._foreach_zero_(x)
    assert x[1].item() == 0


@SIDES
def test_lists_have_gradients(t: Any) -> None:
    x = [t.tensor(2.0, requires_grad=True), t.tensor(3.0, requires_grad=True)]
    y = t._foreach_pow(x, 3)
    (y[0] * y[1]).backward()
    assert (x[0].grad.item(), x[1].grad.item()) == (12 * 27, 27 * 8)


@SIDES
def test_lists_that_do_not_go_together(t: Any) -> None:
    with pytest.raises(RuntimeError, match="at least one tensor"):
        t._foreach_add([], 1)
    with pytest.raises(RuntimeError, match=r"same number of tensors|must have the same"):
        t._foreach_add([t.ones(2)], [t.ones(2), t.ones(2)])
    with pytest.raises(AttributeError):
        t._foreach_no_such_function([t.ones(2)])


# -- eigenvalues


@SIDES
@pytest.mark.parametrize("largest", [True, False])
def test_some_eigenvalues(t: Any, largest: bool) -> None:
    rng = np.random.default_rng(1)
    m = rng.standard_normal((9, 9))
    a, b = m @ m.T, np.diag(np.arange(1.0, 10.0))
    for other in (None, b):
        values, vectors = t.lobpcg(t.tensor(a), 2, None if other is None else t.tensor(other), largest=largest, niter=200, tol=1e-10)
        every = np.sort(np.linalg.eigvals(a if other is None else np.linalg.solve(other, a)).real)
        np.testing.assert_allclose(values.numpy(), every[::-1][:2] if largest else every[:2], rtol=1e-5)
        right = a @ vectors.numpy()
        np.testing.assert_allclose(right, (np.eye(9) if other is None else other) @ vectors.numpy() * values.numpy(), atol=1e-4)


def test_derivatives_of_some_eigenvalues() -> None:
    rng = np.random.default_rng(2)
    a = eager.tensor(rng.standard_normal((5, 5)), dtype=eager.float64, requires_grad=True)
    b = eager.tensor(np.diag([1.0, 2.0, 3.0, 4.0, 5.0]) + 0.1, dtype=eager.float64, requires_grad=True)

    def up_to_signs(x: Any, *other: Any) -> Any:
        values, vectors = eager.lobpcg(x, 2, *other)
        return values, vectors * vectors

    assert eager.autograd.gradcheck(up_to_signs, (a,))
    assert eager.autograd.gradcheck(up_to_signs, (a, b))
    with pytest.raises(ValueError, match="tracker"):
        eager.lobpcg(a, tracker=print)
    with pytest.raises(RuntimeError, match="6 eigenvalues of a matrix of 5 rows"):
        eager.lobpcg(a, 6)


# -- dtypes of gradients


def _wider() -> type[Any]:
    class Wider(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            return args[0] * 2

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return cotangents[0].double() * 2

    return Wider


def test_a_gradient_in_a_dtype_of_its_own() -> None:
    x = eager.ones(2, requires_grad=True)
    assert x.grad_dtype == eager.float32
    x.grad_dtype = eager.float64
    for times in (1, 2):
        (x * 3).sum().backward()
        assert x.grad is not None
        assert x.grad.dtype == eager.float64
        np.testing.assert_array_equal(x.grad.numpy(), [3 * times] * 2)
    assert eager.autograd.grad((x * 3).sum(), x)[0].dtype == eager.float64  # type: ignore[union-attr]


def test_a_gradient_as_it_arrives() -> None:
    x, y = eager.ones(2, requires_grad=True), eager.ones(2, requires_grad=True)
    y.grad_dtype = None
    for leaf, dtype in ((x, eager.float32), (y, eager.float64)):
        _wider().apply(leaf).sum().backward()
        assert leaf.grad is not None
        assert leaf.grad.dtype == dtype


def test_dtypes_of_gradients_that_are_refused() -> None:
    x = eager.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad_dtype can only be accessed on leaf tensors"):
        _ = (x * 2).grad_dtype
    with pytest.raises(RuntimeError, match="grad_dtype can only be set on leaf tensors"):
        (x * 2).grad_dtype = eager.float64
    x.grad_dtype = eager.float64
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype"):
        x.grad = eager.ones(2)
    x.grad = eager.ones(2, dtype=eager.float64)
    with pytest.raises(RuntimeError, match="already a gradient with dtype float64"):
        x.grad_dtype = eager.float32


# -- what holds itself


def test_saved_results_do_not_hold_themselves() -> None:
    class Changes(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            (x,) = args
            x.mul_(2)
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            (x,) = ctx.saved_tensors
            return cotangents[0] * 2 * x / x

    def run() -> Any:
        leaf = eager.tensor([3.0, 4.0], requires_grad=True)
        x = leaf.clone()
        view = x.view_as(x)
        y = Changes.apply(view)
        (y * y).sum().backward()
        np.testing.assert_array_equal(leaf.grad.numpy(), [24.0, 32.0])  # type: ignore[union-attr]
        return weakref.ref(view)

    gc.collect()
    gc.disable()
    try:
        assert run()() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("early_stop", [True, False])
def test_a_custom_function_in_a_checkpoint_does_not_hold_what_it_saved(early_stop: bool) -> None:
    made = []

    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            y = args[0].exp()
            ctx.save_for_backward(y)
            made.append(weakref.ref(y))
            return y

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return cotangents[0] * ctx.saved_tensors[0]

    def run() -> None:
        x = eager.tensor([1.0, 2.0], requires_grad=True)
        (g,) = eager.autograd.grad(eager.checkpoint(Keeps.apply, x, early_stop=early_stop).sum(), x, create_graph=True)
        assert g is not None
        (again,) = eager.autograd.grad(g.sum(), x)
        np.testing.assert_allclose(again.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)  # type: ignore[union-attr]

    gc.collect()
    gc.disable()
    try:
        run()
        assert made
        assert all(r() is None for r in made)
    finally:
        gc.enable()
