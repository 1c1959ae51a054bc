"""Backward passes where nothing arrives, shared by several passes, or of inference tensors; what nodes say of their operations; Jacobians."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from eager_sides import SIDES

import wengert.eager as eager
from wengert.eager.gradient_jacobians import get_analytical_jacobian, get_numerical_jacobian

fwd = eager.autograd.forward_ad


def _checkpoint(t: Any) -> Any:
    return t if t is eager else t.utils.checkpoint


def _function(t: Any, forward: Any, backward: Any) -> Any:
    return type("Own", (t.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def _gradcheck(t: Any) -> Any:
    check = t.autograd.gradcheck
    return check if callable(check) else check.gradcheck


# -- custom functions that nothing arrives at


@SIDES
@pytest.mark.parametrize("zeros", [True, False])
def test_a_custom_function_runs_though_nothing_arrives(t: Any, zeros: bool) -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(zeros)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(g)
        return g

    ends = _function(t, lambda ctx, x: x.clone(), lambda ctx, g: None)
    x = t.ones(3, requires_grad=True)
    # In between there are operations that nothing arrives at either.
    (ends.apply(_function(t, forward, backward).apply(x).sin() * 2) + 0).sum().backward()
    if zeros:
        np.testing.assert_array_equal(seen[0].numpy(), np.zeros(3))
        np.testing.assert_array_equal(x.grad.numpy(), np.zeros(3))
    else:
        assert seen == [None]
        assert x.grad is None


@SIDES
def test_it_does_not_run_where_its_gradient_is_not_asked_for(t: Any) -> None:
    seen: list[Any] = []

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(g)
        return g

    own = _function(t, lambda ctx, x: x.clone(), backward)
    ends = _function(t, lambda ctx, x: x.clone(), lambda ctx, g: None)
    x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
    (ends.apply(own.apply(x)) + y).sum().backward(inputs=[y])
    assert not seen
    np.testing.assert_array_equal(y.grad.numpy(), [1, 1])


@SIDES
def test_hooks_are_told_that_nothing_arrives(t: Any) -> None:
    seen: list[Any] = []
    ends = _function(t, lambda ctx, x: x.clone(), lambda ctx, g: None)
    x = t.ones(3, requires_grad=True)
    y = x.exp()
    y.register_hook(seen.append)
    ends.apply(y * 2).sum().backward()
    assert seen == [None]
    assert x.grad is None
    z = x.exp()
    z.register_hook(lambda g: t.ones(3))
    with pytest.raises(RuntimeError, match="replace a"):
        ends.apply(z).sum().backward()


@SIDES
@pytest.mark.filterwarnings("ignore:Backwards compatibility")
def test_gradcheck_asks_what_happens_where_nothing_arrives(t: Any) -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2

    def careless(ctx: Any, g: Any) -> Any:
        return g.clone() * 2

    def careful(ctx: Any, g: Any) -> Any:
        return None if g is None else g * 2

    def inventive(ctx: Any, g: Any) -> Any:
        return t.ones(2, dtype=t.float64) if g is None else g * 2

    x = t.ones(2, dtype=t.float64, requires_grad=True)
    assert _gradcheck(t)(_function(t, forward, careful).apply, (x,))
    for backward, said in ((careless, "handle undefined output grads|has no attribute"), (inventive, "undefined or zero")):
        assert _gradcheck(t)(_function(t, forward, backward).apply, (x,), check_undefined_grad=False)
        with pytest.raises((RuntimeError, AttributeError), match=said):
            _gradcheck(t)(_function(t, forward, backward).apply, (x,))


@SIDES
def test_complex_results_of_custom_functions_have_gradients(t: Any) -> None:
    own = _function(t, lambda ctx, x: x * (2 + 1j), lambda ctx, g: g * (2 - 1j))
    z = t.tensor([1 + 2j, 3 - 1j], dtype=t.complex128, requires_grad=True)
    y = own.apply(z)
    assert y.requires_grad
    (y.real * y.real + y.imag).sum().backward()
    (expected,) = t.autograd.grad(((z * (2 + 1j)).real ** 2 + (z * (2 + 1j)).imag).sum(), z)
    np.testing.assert_allclose(z.grad.numpy(), expected.numpy())
    assert _gradcheck(t)(own.apply, (z,))


# -- checkpoints that several passes share


@SIDES
@pytest.mark.parametrize("together", [True, False])
def test_passes_share_what_a_checkpoint_computes_again(t: Any, together: bool) -> None:
    runs: list[int] = []

    def function(x: Any) -> Any:
        runs.append(1)
        y = x.sin().cos()
        return y, y.sin().cos()

    switches = _checkpoint(t)
    if not hasattr(switches, "GraphExecGroup"):
        pytest.skip("this PyTorch has no GraphExecGroup")
    x = t.tensor([0.2, 0.4, 0.6], requires_grad=True)
    y, z = switches.checkpoint(function, x, use_reentrant=False)

    def passes() -> Any:
        (y_bar,) = t.autograd.grad(z, y, t.ones(3))
        return t.autograd.grad(y, x, y_bar)[0]

    if together:
        with switches.GraphExecGroup():
            x_bar = passes()
    else:
        x_bar = passes()
    assert len(runs) == (2 if together else 3)
    (expected,) = t.autograd.grad(function(x)[1], x, t.ones(3))
    np.testing.assert_allclose(x_bar.numpy(), expected.numpy(), rtol=1e-6)


@SIDES
def test_passes_that_share_must_not_overlap(t: Any) -> None:
    switches = _checkpoint(t)
    if not hasattr(switches, "GraphExecGroup"):
        pytest.skip("this PyTorch has no GraphExecGroup")
    x = t.ones(2, requires_grad=True)
    y = switches.checkpoint(lambda x: x.sin().cos(), x, use_reentrant=False)
    with switches.GraphExecGroup():
        y.sum().backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="Performing two backward calls that overlap"):
            y.sum().backward(retain_graph=True)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [2 * -np.sin(np.sin(1)) * np.cos(1)] * 2, rtol=1e-5)


def test_groups_do_not_nest() -> None:
    with eager.GraphExecGroup(), pytest.raises(RuntimeError, match="cannot be nested"), eager.GraphExecGroup():
        pass
    with eager.GraphExecGroup():  # the one before is closed
        pass


# -- inference tensors


@SIDES
@pytest.mark.parametrize("requires_grad", [True, False])
def test_what_is_computed_of_inference_tensors_alone_is_not_recorded(t: Any, requires_grad: bool) -> None:
    with t.inference_mode():
        x = t.ones(2, 3, requires_grad=requires_grad)
    for y in (x * x, x.exp(), x.sum(), x.sum(0), x + x, t.cat([x, x]), x.softmax(0)):
        assert not y.requires_grad
        assert not y.is_inference()
    assert (x * 2).requires_grad == requires_grad  # a number is a normal tensor
    z = (x * x).requires_grad_()
    (z * 3).sum().backward()
    np.testing.assert_array_equal(z.grad.numpy(), np.full((2, 3), 3))


@SIDES
def test_beside_a_normal_tensor_they_cannot_be_kept(t: Any) -> None:
    with t.inference_mode():
        x = t.ones(2)
    y = t.ones(2, requires_grad=True)
    for product in (lambda: x * y, lambda: y * x):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            product()
    (x + y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), [1, 1])


# -- tangents


@SIDES
@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")
def test_the_tangent_of_a_part_of_memory_is_a_copy(t: Any) -> None:
    part, whole = t.ones(5)[:4].detach(), t.ones(4)
    with t.autograd.forward_ad.dual_level():
        for primal, copied in ((part, True), (whole, False)):
            given = t.full((4,), 3.0)
            tangent = t.autograd.forward_ad.unpack_dual(t.autograd.forward_ad.make_dual(primal, given)).tangent
            tangent *= 2
            np.testing.assert_array_equal(given.numpy(), np.full(4, 3 if copied else 6))
            np.testing.assert_array_equal(tangent.numpy(), np.full(4, 6))


def test_gradients_flow_through_a_copied_tangent() -> None:
    v = eager.tensor([1.0, 2.0], requires_grad=True)
    with fwd.dual_level():
        x = fwd.make_dual(eager.tensor([3.0, 4.0, 5.0])[:2].detach(), v)
        tangent = fwd.unpack_dual(x * x).tangent
        assert tangent is not None
        tangent.sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), [6.0, 8.0])  # type: ignore[union-attr]


# -- nodes


@SIDES
def test_nodes_say_what_their_operations_were_given(t: Any) -> None:
    x = t.ones(2, 3, 4, requires_grad=True)
    positions = t.tensor([0, 1])
    for y, name, expected in (
        (t.stack([x, x], dim=1), "dim", 1),
        (t.cat([x, x], dim=2), "dim", 2),
        (x.sum(1, True), "dim", (1,)),
        (x.sum(1, True), "keepdim", True),
        (x.mean((0, 2)), "dim", (0, 2)),
        (x.mean((0, 2)), "self_sym_sizes", (2, 3, 4)),
        (x.softmax(1), "dim", 1),
        (x.log_softmax(1), "dim", 1),
        (x.cumsum(2), "dim", 2),
        (x.unsqueeze(1), "dim", 1),
        (x.select(1, 2), "dim", 1),
        (x.select(1, 2), "index", 2),
        (x.narrow(1, 1, 2), "start", 1),
        (x.narrow(1, 1, 2), "end", 3),
        (x[:, 0:3:2], "step", 2),
        (x.amax((0, 1), True), "dim", (0, 1)),
        (x.flip(0, 2), "dims", (0, 2)),
        (x.permute(2, 0, 1), "dims", (2, 0, 1)),
        (x.index_select(1, positions), "dim", 1),
        (x.gather(2, t.tensor([[[0]]])), "dim", 2),
        (x.as_strided((3,), (2,), 1), "storage_offset", 1),
        (x.as_strided((3,), (2,), 1), "stride", (2,)),
        (x.clamp(-1, 2), "min", -1),
        (x.clamp(-1, 2), "max", 2),
    ):
        value = getattr(y.grad_fn, f"_saved_{name}")
        assert (tuple(value) if isinstance(expected, tuple) else value) == expected, (y.grad_fn, name)
    indices = x[:, positions].grad_fn._saved_indices
    assert indices[0] is None
    np.testing.assert_array_equal(indices[1].numpy(), [0, 1])
    with pytest.raises(AttributeError):
        _ = x.exp().grad_fn._saved_dim


@SIDES
def test_a_value_that_is_gone_takes_no_hooks(t: Any) -> None:
    x = t.ones(2, requires_grad=True)
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        y.grad_fn._raw_saved_self.register_hooks(lambda v: v, lambda v: v)


@SIDES
def test_profiles_say_which_operation_a_node_is_of(t: Any) -> None:
    x = t.ones(3, requires_grad=True)
    with t.autograd.profiler.profile() as profile:
        (x + x).exp().sum().backward()
    events = profile.function_events
    for operation, node in (("aten::add", "AddBackward0"), ("aten::exp", "ExpBackward0")):
        (first,) = (e for e in events if e.name == operation and e.sequence_nr >= 0)
        (other,) = (e for e in events if e.name == node)
        assert other.sequence_nr == first.sequence_nr
        assert other.fwd_thread == first.thread


# -- Jacobians


def test_jacobians_by_differences_and_by_backward_passes() -> None:
    rng = np.random.default_rng(3)
    a, b = (eager.tensor(rng.standard_normal((2, 3)), dtype=eager.float64, requires_grad=True) for _ in range(2))
    by_a, by_b = get_numerical_jacobian(lambda both: (both[0] * both[0] + 3 * both[1], both[0]), (a, b), eps=1e-6)
    np.testing.assert_allclose(by_a, np.diag(2 * a.detach().numpy().reshape(-1)), atol=1e-6)
    np.testing.assert_allclose(by_b, 3 * np.eye(6), atol=1e-6)
    (only_b,) = get_numerical_jacobian(lambda both: both[0].sum(1) * both[1].sum(1), (a, b), b, 1e-6)
    assert only_b.shape == (6, 2)
    exact, alike, sizes, types = get_analytical_jacobian((a, b), a.sum(1) * b.sum(1))
    assert (alike, sizes, types) == (True, True, True)
    np.testing.assert_allclose(exact[1], only_b, atol=1e-6)
    for refused in (lambda: get_numerical_jacobian(lambda x: x, a, grad_out=2.0), lambda: get_analytical_jacobian(a, a * 1j)):
        with pytest.raises(ValueError, match="jacobian"):
            refused()


def test_a_backward_pass_that_differs_from_the_last() -> None:
    calls = iter(range(100))
    own = _function(eager, lambda ctx, x: x * 1, lambda ctx, g: g * (1 + 0.01 * next(calls)))
    x = eager.ones(2, dtype=eager.float64, requires_grad=True)
    assert not get_analytical_jacobian((x,), own.apply(x))[1]
    assert get_analytical_jacobian((x,), own.apply(x), nondet_tol=10.0)[1]
