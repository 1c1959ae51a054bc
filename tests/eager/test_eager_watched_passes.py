"""Backward passes that are watched, on PyTorch and on wengert.eager: the order of hooks and leaves, hooks of modules, what a pass says of itself, warnings."""

from __future__ import annotations

import gc
import warnings
from typing import Any
from weakref import ref

import pytest
import torch
from side_by_side import Snippet, Snippets, agree, kind_of_error, leaf

import wengert.eager as eager
import wengert.nn as nn
from wengert.eager import graph

snippets = Snippets()
pytestmark = pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # PyTorch's advice


def watched(T: Any, order: list[str], **tensors: Any) -> None:
    for name, x in tensors.items():
        x.register_hook(lambda _, name=name: order.append(name))


@snippets
def leaves_are_complete_as_soon_as_nothing_is_added(T: Any) -> Any:
    order: list[str] = []
    a, b = leaf(T, 1.0), leaf(T, 2.0)
    c, d = b.sin(), a.cos()
    out = c * d
    watched(T, order, a=a, b=b, c=c, d=d, out=out)
    a.register_post_accumulate_grad_hook(lambda x: order.append("a has its gradient"))
    out.backward(T.ones(1))
    return order, a.grad, b.grad


@snippets
def hooks_of_leaves_run_before_an_error_further_back(T: Any) -> Any:
    class Fails(T.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise RuntimeError("no")

    x, y, order = leaf(T, 1.0, 2.0), leaf(T, 3.0, 4.0), []
    watched(T, order, x=x, y=y)
    out = (Fails.apply(x) * y).sum()
    with pytest.raises(RuntimeError, match="no"):
        out.backward()
    return order, x.grad, y.grad


@snippets
def a_node_called_by_itself(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x**3
    with pytest.raises(TypeError, match=r"expected .* arguments, got"):
        y.grad_fn()
    return y.grad_fn(T.ones(2)), x.grad


@snippets
def one_of_two_handles_of_one_hook_is_removed(T: Any) -> Any:
    x, calls = leaf(T, 1.0), []
    hook = lambda g: calls.append(1)  # noqa: E731
    y = x * 2
    handle = y.register_hook(hook)
    y.register_hook(hook) if T is eager else y.register_hook(lambda g: calls.append(1))
    handle.remove()
    handle.remove()
    y.sum().backward()
    return calls


@snippets
def variance_and_mean_are_one_node(T: Any) -> Any:
    a, seen = leaf(T, 1.0, 2.0, 4.0), []
    var, mean = T.var_mean(a)
    mean.grad_fn.register_prehook(lambda gs: (gs[0] * 2, gs[1] * 3))
    mean.grad_fn.register_hook(lambda gs, ys: seen.append(len(ys)))
    (var + mean).backward()
    root, again = T.std_mean(a, 0, keepdim=True)
    return a.grad, seen, var.grad_fn.name(), (var.output_nr, mean.output_nr), root, again, root.grad_fn.name()


@snippets
def a_gradient_that_nobody_waits_for(T: Any) -> Any:
    x = leaf(T, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    z = y * y
    del y
    z.sum().backward()
    return x.grad


@snippets
def gradients_with_zeros_for_what_does_not_matter(T: Any) -> Any:
    x, a = leaf(T, 0.5), leaf(T, 1.0)
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        T.autograd.grad((x * 2).sum(), x, allow_unused=False, materialize_grads=True)
    edge = T.autograd.graph.get_gradient_edge(a * 2)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        T.autograd.grad((x * 2).sum(), edge, allow_unused=True, materialize_grads=True)
    return T.autograd.grad((x * 2).sum(), (x, a), materialize_grads=True)


@snippets
def complex_results_have_no_implicit_cotangent(T: Any) -> Any:
    y = leaf(T, 1.0) * 2j
    return y, kind_of_error(y.backward)


# -- modules


def _scaled(T: Any) -> Any:
    N = nn if T is eager else torch.nn
    module = N.Linear(2, 3)
    with T.no_grad():
        module.weight.copy_(T.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
        module.bias.copy_(T.tensor([0.5, -0.5, 0.0]))
    return module


@snippets
def hooks_on_the_backward_pass_of_a_module(T: Any) -> Any:
    module, seen = _scaled(T), []
    module.register_full_backward_pre_hook(lambda m, ys: (ys[0] * 2,))
    module.register_full_backward_hook(lambda m, xs, ys: seen.append((xs[0].clone(), ys[0].clone())))
    handle = module.register_full_backward_hook(lambda m, xs, ys: (xs[0] * 10,))
    x = T.tensor([[1.0, -1.0]], requires_grad=True)
    module(x).sin().sum().backward()
    first = x.grad.clone()
    handle.remove()
    module(x).sin().sum().backward()
    return seen, first, x.grad, module.weight.grad


@snippets
def hooks_on_a_module_whose_input_needs_no_gradient(T: Any) -> Any:
    module, seen = _scaled(T), []
    module.register_full_backward_hook(lambda m, xs, ys: seen.append((xs, ys[0].clone())))
    module(T.tensor([[1.0, -1.0]])).sum().backward()
    return seen, module.bias.grad


@snippets
def hooks_on_a_module_see_no_second_derivative(T: Any) -> Any:
    N = nn if T is eager else torch.nn
    module, count = N.MSELoss(), []
    module.register_full_backward_hook(lambda m, xs, ys: count.append(1))
    x = leaf(T, 1.0, 2.0)
    (g,) = T.autograd.grad(module(x, T.zeros(2)), x, create_graph=True)
    return count, T.autograd.grad(g.sum(), x), count


# -- warnings


@snippets
def warnings_say_what_one_may_not_know(T: Any) -> Any:
    def count(action: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            before = T is not eager and torch.is_warn_always_enabled()
            if T is not eager:
                torch.set_warn_always(True)
            action()
            if T is not eager:
                torch.set_warn_always(before)
        return [w.category.__name__ for w in caught]

    def decorate() -> None:
        @T.no_grad()
        class Some:
            pass

    x = leaf(T, 1.0)
    y = x * 2
    kept = x * 2
    kept.retain_grad()
    return [
        count(lambda: y.grad),
        count(lambda: x.grad),
        count(lambda: kept.grad),
        count(lambda: (x * x).sum().backward(create_graph=True)),
        count(decorate),
        count(lambda: T.autograd.detect_anomaly().__exit__(None, None, None)),
    ]


@snippets
def what_may_become_of_attributes(T: Any) -> Any:
    x = leaf(T, 1.0)
    kinds: list[Any] = []
    for action in (lambda: x.__delattr__("data"), lambda: setattr(x, "data", None), lambda: setattr(x, "data", T.tensor([1]))):
        try:
            action()
        except (RuntimeError, TypeError) as error:
            kinds.append([isinstance(error, k) for k in (RuntimeError, TypeError)])
    del x.grad
    return kinds, x.grad


@pytest.mark.parametrize("snippet", snippets, ids=lambda s: s.__name__)
def test_agrees_with_pytorch(snippet: Snippet) -> None:
    agree(snippet)


# -- a pass that is running; PyTorch has this among its internals


def test_a_pass_says_what_it_is_and_what_is_still_to_run() -> None:
    progress = eager.autograd.progress
    seen: list[Any] = []
    a, b = leaf(eager, 1.0), leaf(eager, 2.0)
    c, d = b.sin(), a.cos()
    out, other = c * d, a.exp()

    def look(_: Any) -> None:
        order = [node.name().rpartition(":")[2] for node in progress.execution_order()]
        will = [progress.will_execute(node) for node in (c.grad_fn, other.grad_fn)]
        seen.append((progress.current_task_id(), progress.current_task_keeps_graph(), order, will))

    out.register_hook(look)
    with eager.autograd.set_multithreading_enabled(False):
        out.backward(eager.ones(1), retain_graph=True)
        out.backward(eager.ones(1), inputs=[a])
    (first, keeps, order, will), (second, keeps_not, shorter, will_not) = seen
    assert (second - first, keeps, keeps_not) == (1, True, False)
    assert order == ["MulBackward0", "CosBackward0", "AccumulateGrad", "SinBackward0", "AccumulateGrad"]
    assert shorter == ["MulBackward0", "CosBackward0", "AccumulateGrad"]
    assert (will, will_not) == ([True, False], [False, False])


def test_a_pass_is_asked_only_while_it_runs() -> None:
    progress = eager.autograd.progress
    assert progress.current_task_id() == -1
    assert progress.current_node() is None
    y = leaf(eager, 1.0) * 2
    for action in (progress.execution_order, progress.current_task_keeps_graph, lambda: progress.will_execute(y.grad_fn)):
        with pytest.raises(eager.AutogradError, match="during the backward pass"):
            action()
    with pytest.raises(eager.AutogradError, match="expects an grad_fn, found Tensor"):
        progress.will_execute(y)
    y.register_hook(lambda _: progress.execution_order())
    with pytest.raises(eager.AutogradError, match="multithreading disabled"):
        y.sum().backward()


def test_hooks_that_come_while_a_node_runs_see_its_results_only() -> None:
    seen: list[Any] = []

    def unpack(kept: Any) -> Any:
        node = eager.autograd.progress.current_node()
        node.register_hook(lambda gradients, cotangents: seen.append((node.name(), gradients[0].tolist(), cotangents)))
        return kept

    with eager.autograd.graph.saved_tensors_hooks(lambda kept: kept, unpack):
        leaf(eager, 1.0, 2.0).square().sum().backward()
    assert seen == [("PowBackward0", [2.0, 4.0], (None,))]


def test_nodes_are_instances_of_node() -> None:
    Node = eager.autograd.graph.Node

    class Same(eager.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            assert isinstance(ctx, Node)
            return x * 1

    x = leaf(eager, 1.0)
    y = Same.apply(x * 1)
    assert isinstance(y.grad_fn, Node)
    assert type(y.grad_fn) is Same._backward_cls
    assert isinstance((x * 1).grad_fn.next_functions[0][0], Node)
    assert Node not in type(y.grad_fn).__mro__
    assert not isinstance(x, Node)
    assert [(m.shape, m.dtype) for m in y.grad_fn._input_metadata] == [((1,), eager.float32)]


def test_anomaly_names_the_node_and_the_place(capsys: pytest.CaptureFixture[str]) -> None:
    def modified() -> None:
        a = leaf(eager, 1.0, 2.0)
        b = a + 1
        c = b**2
        b += 1
        c.sum().backward()

    with eager.autograd.set_detect_anomaly(True):
        with pytest.warns(UserWarning, match=r"Error detected in PowBackward0.*test_eager_watched_passes.py"), pytest.raises(eager.ModifiedError):
            modified()
        with pytest.raises(eager.ModifiedError):
            modified()  # here warnings are errors
    assert "Error detected in PowBackward0" in capsys.readouterr().err


def test_a_pass_leaves_nothing_to_the_collector():
    for deep, walked in ((1, False), (1, True), (6, False)):
        x = leaf(eager, 1.0, 2.0)
        largest = graph.LARGEST
        try:
            graph.LARGEST = 0 if walked else largest
            for _ in range(graph.COMPILE_AFTER + 1):
                y = x
                for _ in range(deep):
                    y = (y * x).sin()
                root = y.sum()
                record = ref(root.grad_fn)
                gc.collect()
                gc.disable()
                root.backward()
                del y, root
                assert record() is None
                gc.enable()
        finally:
            gc.enable()
            graph.LARGEST = largest
