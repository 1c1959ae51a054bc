"""Compiled functions: the same results, gradients and effects as the function itself, and what makes them record again."""

from __future__ import annotations

import copy
import functools
import random
import re
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert.eager as eager

x0 = [0.5, 1.0, -0.25]


def leaf(values: Any = x0) -> Any:
    return eager.tensor(values, requires_grad=True)


def power_of_sine(x: Any, n: int) -> Any:
    y = x
    for _ in range(n):
        y = y.sin() * x
    return y


def branching(x: Any, n: int) -> Any:
    y = x * n
    if y.sum() > 0:
        return y * 2
    return {"negative": (y.exp(), n)}


def masked(x: Any, n: int) -> Any:
    return x[x > 0].sum() * n


def in_place(x: Any, n: int) -> Any:
    y = eager.zeros(3)
    for i in range(n):
        y[i] = x[i] * 2
        y += x
    return y.detach(), y


def inner_gradient(x: Any, n: int) -> Any:
    z = leaf([1.0, 2.0, 3.0])
    (g,) = eager.autograd.grad((z**n * x).sum(), z, create_graph=True)
    return g * x


def without_grad(x: Any, n: int) -> Any:
    with eager.no_grad():
        scale = x * n
    return x * scale


@pytest.mark.parametrize("function", [power_of_sine, branching, masked, in_place, inner_gradient, without_grad], ids=lambda f: f.__name__)
def test_results_and_gradients(function: Callable[..., Any]) -> None:
    compiled = eager.compile(function)

    def flat(value: Any) -> list[Any]:
        if isinstance(value, dict):
            value = tuple(value.values())
        return [v for part in value for v in flat(part)] if isinstance(value, tuple) else [value]

    for values in (x0, [1.0, 2.0, -3.5], [2.0, 1.0, 0.5], x0):
        for n in (2, 3):
            results: list[Any] = []
            for f in (function, compiled):
                x = leaf(values)
                outputs = flat(f(x, n))
                tracked = [y for y in outputs if isinstance(y, eager.Tensor) and y.requires_grad]
                sum((y * y).sum() for y in tracked).backward()
                results.append([x.grad.numpy(), len(tracked), *(y.detach().numpy() if isinstance(y, eager.Tensor) else y for y in outputs)])
            for found, expected in zip(results[1], results[0], strict=True):
                np.testing.assert_allclose(found, expected, rtol=2e-6)
    assert not any("as it is" in reason for reason in compiled.reasons)


def checkpointed(x: Any, n: int) -> Any:
    return eager.checkpoint(power_of_sine, x.exp(), n)


@pytest.mark.parametrize("function", [power_of_sine, without_grad, inner_gradient, checkpointed], ids=lambda f: f.__name__)
def test_gradients_of_gradients(function: Callable[..., Any]) -> None:
    """The derivative of a compiled function's derivative goes through the values that it keeps."""
    compiled = eager.compile(function)
    for i in range(6):
        found: list[Any] = []
        for f in (function, compiled):
            x = leaf([0.5 + i / 8, 1.0, -0.25])
            (g,) = eager.autograd.grad((f(x, 3) * x).sum(), x, create_graph=True)
            (h,) = eager.autograd.grad((g * g).sum(), x, create_graph=True)
            h.sum().backward()
            found.append([g.detach().numpy(), h.detach().numpy(), x.grad.numpy()])
        np.testing.assert_allclose(found[1], found[0], rtol=2e-4, atol=1e-5)
    assert not any("as it is" in reason for reason in compiled.reasons)


class Model:
    def __init__(self) -> None:
        self.weight = leaf([1.0, 2.0, 3.0])
        self.velocity = eager.zeros(3)
        self.momentum = 0.9

    def step(self, x: Any) -> Any:
        self.weight.grad = None
        loss = ((self.weight * x).sigmoid() ** 2).sum()
        loss.backward()
        with eager.no_grad():
            self.velocity.mul_(self.momentum).add_(self.weight.grad)
            self.weight.sub_(0.1 * self.velocity)
        return loss.detach()


def test_a_whole_training_step() -> None:
    plain, model = Model(), Model()
    step = eager.compile(model.step)
    for i in range(5):
        x = eager.tensor([float(i), 1.0, -2.0])
        np.testing.assert_allclose(step(x).item(), plain.step(x).item(), rtol=1e-6)
    for name in ("weight", "velocity"):
        np.testing.assert_allclose(getattr(model, name).detach().numpy(), getattr(plain, name).detach().numpy(), rtol=1e-6)
    np.testing.assert_allclose(model.weight.grad.numpy(), plain.weight.grad.numpy(), rtol=1e-6)
    assert step.reasons == ["recorded: the first call of this kind"]
    # What it reads by name is guarded; tensors are read anew by their path.
    model.momentum = 0.5
    model.velocity = eager.zeros(3)
    plain.momentum, plain.velocity = 0.5, eager.zeros(3)
    for _ in range(2):
        np.testing.assert_allclose(step(x).item(), plain.step(x).item(), rtol=1e-6)
    np.testing.assert_allclose(model.weight.detach().numpy(), plain.weight.detach().numpy(), rtol=1e-6)
    assert step.reasons[1:] == ["recorded: self.momentum was 0.9 and is 0.5"]


def test_gradients_that_add_up_are_guarded() -> None:
    w = leaf()

    @eager.compile
    def accumulate() -> None:
        (w * w).sum().backward()

    for count in (1, 2, 3):
        accumulate()
        np.testing.assert_allclose(w.grad.numpy(), [2 * count * v for v in x0])
    assert len(accumulate.reasons) == 2


scale = 2.0
table: dict[str, Any] = {"bias": [eager.tensor([1.0, 1.0, 1.0])]}


def uses_globals(x: Any) -> Any:
    return x * scale + table["bias"][0]


def test_reasons_for_recording_again(monkeypatch: pytest.MonkeyPatch) -> None:
    f = eager.compile(uses_globals)
    x = eager.tensor(x0)

    def check(reason: str) -> None:
        before = len(f.reasons)
        np.testing.assert_allclose(f(x).numpy(), uses_globals(x).numpy())
        f(x)
        assert (f.reasons[before:] or [""]) == [reason]

    check("recorded: the first call of this kind")
    monkeypatch.setitem(table, "bias", [eager.tensor([5.0, 5.0, 5.0])])
    check("")
    monkeypatch.setitem(uses_globals.__globals__, "scale", 3.0)
    check("recorded: global scale was 2.0 and is 3.0")
    table["bias"].append(eager.tensor([0.0]))
    check("recorded: global table['bias'] had 1 items and has 2")
    x = eager.tensor([x0, x0])
    check("recorded: the first call of this kind")


def test_compiled_functions_use_one_another() -> None:
    inner = eager.compile(lambda x: x * table["factor"])
    outer = eager.compile(lambda x: inner(x) + inner(x))
    table["factor"] = 2.0
    assert [outer(eager.tensor(1.0)).item() for _ in range(3)] == [4.0] * 3
    assert inner(eager.tensor(1.0)).item() == 2.0
    table["factor"] = 5.0
    assert [outer(eager.tensor(1.0)).item(), inner(eager.tensor(1.0)).item()] == [10.0, 5.0]
    assert outer.reasons[1:] == ["recorded: inner -> global table['factor'] was 2.0 and is 5.0"]


def test_a_looked_at_value_is_guarded_with_its_place() -> None:
    f = eager.compile(lambda x: x * 2 if x.sum() > 0 else x * 3)
    for sign in (1.0, -1.0, 1.0, -1.0):
        assert f(eager.tensor([sign])).item() == (2.0 if sign > 0 else -3.0)
    assert len(f.reasons) == 2
    assert "test_eager_compile.py" in f.reasons[1]
    assert "was True and is False" in f.reasons[1]


def test_random_numbers_are_drawn_anew() -> None:
    eager.manual_seed(0)
    f = eager.compile(lambda x: x + eager.randn(3))
    found = [f(eager.zeros(3)).tolist() for _ in range(3)]
    assert len({tuple(v) for v in found}) == 3
    eager.manual_seed(0)
    assert [eager.randn(3).tolist() for _ in range(3)] == found


def test_effects_on_arguments() -> None:
    def clear(x: Any) -> Any:
        x[1] = 7.0
        return x

    f = eager.compile(clear)
    for _ in range(3):
        x = eager.zeros(3)
        assert f(x) is x
        assert x.tolist() == [0.0, 7.0, 0.0]


def test_arguments_that_share_memory() -> None:
    def change(x: Any, y: Any) -> Any:
        x.mul_(2)
        return x + y

    f = eager.compile(change)
    for sharing in (False, True, False, True):
        for function in (change, f):
            x = eager.tensor([1.0, 2.0])
            y = x[0] if sharing else eager.tensor(1.0)
            assert function(x, y).tolist() == ([4.0, 6.0] if sharing else [3.0, 5.0])
    assert len(f.reasons) == 2


class Cube(eager.autograd.Function):
    """Saves its argument; its derivative is twice what it should be."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 6 * x * x * g


class Exponential(eager.autograd.Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        ctx.k = k
        y = (x * k).exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0] * ctx.k, None


class Both(eager.autograd.Function):
    """Two results, two arguments."""

    @staticmethod
    def forward(ctx: Any, x: Any, w: Any) -> Any:
        ctx.save_for_backward(x, w)
        return x * w, (x + w).sum()

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        x, w = ctx.saved_tensors
        return gs[0] * w + gs[1], gs[0] * x * 5 + gs[1]


class Rounded(eager.autograd.Function):
    """Straight through."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.round()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


CUSTOM: dict[str, Callable[[Any, Any], Any]] = {
    "argument saved": lambda x, w: Cube.apply(x) * w,
    "result saved": lambda x, w: Exponential.apply(x, 2.0).sin() * w,
    "two of each": lambda x, w: Both.apply(x.sin(), w)[0] + Both.apply(w, x)[1],
    "used elsewhere": lambda x, w: Rounded.apply(3 * x) * x * w,
    "one after another": lambda x, w: Exponential.apply(Cube.apply(x * 0.5), 0.5) * Rounded.apply(w * x) + Cube.apply(w),
}


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_functions_keep_their_rules(name: str) -> None:
    """Three derivatives, and a backward pass inside."""
    function = CUSTOM[name]

    def inside(x: Any, w: Any) -> Any:
        function(x, w).sum().backward()
        return x.grad, w.grad

    found: list[list[Any]] = []
    compiled = eager.compile(function), eager.compile(inside)
    for f, step in ((function, inside), compiled):
        found.append([])
        for start in (0.5, 0.75):
            x, w = (eager.tensor(v, dtype=eager.float64, requires_grad=True) for v in ([start, 1.0, -0.3], [1.0, 2.0, 3.0]))
            y = f(x, w).sum()
            for _ in range(3):
                gradients = eager.autograd.grad(y, [x, w], create_graph=True, materialize_grads=True)
                found[-1] += [g.detach().numpy() for g in gradients]
                y = sum((g * g * 0.1).sum() for g in gradients)
            found[-1] += [g.numpy() for g in step(x, w)]
    for ours, expected in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-10)
    assert all(f.reasons == ["recorded: the first call of this kind"] for f in compiled)


def rule(backward: Callable[[Any, Any], Any], forward: Callable[[Any, Any], Any] = lambda ctx, x: x * 2) -> Any:
    return type("Ruled", (eager.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def dirty(ctx: Any, x: Any) -> Any:
    ctx.mark_dirty(x)
    return x.mul_(2)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (rule(lambda ctx, g: g * 2 if g.sum() > 0 else g * 3), "Ruled.backward looks at values"),
        (rule(lambda ctx, g: g * eager.rand(3)), "Ruled.backward has effects or draws random numbers"),
        (rule(lambda ctx, g: g * 2, dirty), "Ruled.apply changes its arguments in place"),
        (rule(eager.autograd.once_differentiable(lambda ctx, g: g * 2)), "Ruled.backward is marked once_differentiable"),
    ],
    ids=["looks", "draws", "dirty", "once"],
)
def test_rules_that_cannot_be_recorded_are_run(function: Any, reason: str) -> None:
    f = eager.compile(lambda x: function.apply(x * 1) + 1)
    for _ in range(2):
        x = leaf()
        f(x).sum().backward()
        assert x.grad.tolist() == [2.0, 2.0, 2.0] or "draws" in reason
    assert f.reasons == [f"run as it is: {reason}"]


class Settings:
    rate = 1.0


class Slotted:
    __slots__ = ("rate",)


class Scaler:
    """Reaches a global through its method, and a constant of its class."""

    power = 1

    def scaled(self, x: Any) -> Any:
        return x**self.power * scale

    def __call__(self, x: Any) -> Any:
        return self.scaled(x)


module = types.ModuleType("settings")
module.rate = 1.0  # pyright: ignore[reportAttributeAccessIssue]


class Pair(NamedTuple):
    a: float
    b: float


def reached_in_many_ways() -> tuple[Any, dict[str, tuple[Any, str]]]:
    """A function, and changes of what it depends on, with what the reason for recording again has to name."""
    slotted, scaler, array, members, functions, pairs = Slotted(), Scaler(), np.ones(3, np.float32), {1}, [lambda x: x * 2], [Pair(1.0, 2.0)]
    slotted.rate = 1.0
    partial = functools.partial(lambda x, k: x * k, k=2.0)
    numbers = {"n": np.float32(2.0), "t": (1.0,)}

    def f(x: Any, *, held: Any = slotted) -> Any:
        y = functions[0](x) * Settings.rate * held.rate * pairs[0].a + scaler(x) * array + len(members)
        return partial(y) * module.rate * numbers["n"] + sum(numbers["t"])

    def power() -> None:
        Scaler.power = 2

    changes: dict[str, tuple[Any, str]] = {
        "class": (lambda: setattr(Settings, "rate", Settings.rate + 1), "global Settings.rate"),
        "slot": (lambda: setattr(slotted, "rate", 3.0), "held.rate"),
        "array": (lambda: array.__setitem__(0, 5.0), "array is an array with other elements"),
        "set": (lambda: members.add(2), "members was"),
        "function": (lambda: functions.__setitem__(0, lambda x: x * 3), r"functions\[0\] is another function"),
        "named tuple": (lambda: pairs.__setitem__(0, Pair(4.0, 2.0)), r"pairs\[0\]\[0\]"),
        "module": (lambda: setattr(module, "rate", 7.0), "global module.rate"),
        "scalar": (lambda: numbers.__setitem__("n", np.float32(5.0)), r"numbers\['n'\]"),
        "longer tuple": (lambda: numbers.__setitem__("t", (1.0, 2.0)), r"numbers\['t'\] had 1 items"),
        "partial": (lambda: partial.keywords.__setitem__("k", 5.0), "partial.keywords"),
        "method's class": (power, "Scaler.power"),
        "method": (lambda: setattr(Scaler, "scaled", lambda self, x: x * 11), "Scaler.scaled is another function"),
    }
    return f, changes


def test_whatever_is_in_reach_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scaler, "scaled", Scaler.scaled)
    monkeypatch.setattr(Scaler, "power", 1)
    monkeypatch.setattr(Settings, "rate", 1.0)
    function, changes = reached_in_many_ways()
    x = eager.tensor(x0)
    for change, reason in changes.values():
        f = eager.compile(function)
        f(x)
        change()
        for _ in range(2):
            np.testing.assert_allclose(f(x).numpy(), function(x).numpy(), rtol=1e-6)
        assert len(f.reasons) == 2
        assert re.search(reason, f.reasons[1]), f.reasons[1]


state: list[Any] = []


def sets_a_tensor(x: Any) -> Any:
    state[0] = state[0] + x
    return state[0] * 1


def appends(x: Any) -> Any:
    state.append(1.0)
    return x * len(state)


def draws(x: Any) -> Any:
    return x * random.random() + state[1].standard_normal()


def advances(x: Any) -> Any:
    return x * next(state[2])


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (sets_a_tensor, r"sets global state\[0\]"),
        (appends, "had 3 items and has 4"),
        (draws, "draws random numbers"),
        (advances, r"the iterator global state\[2\]"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_changes_its_surroundings_runs_every_time(function: Any, reason: str) -> None:
    results: list[list[Any]] = []
    f = eager.compile(function)
    for call in (function, f):
        random.seed(0)
        state[:] = [eager.zeros(3), np.random.default_rng(0), iter(range(1, 20))]
        results.append([call(eager.tensor(x0)).numpy() for _ in range(11)])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-6)
    assert any(re.search(reason, given) for given in f.reasons), f.reasons
    assert "run as it is" in f.reasons[-1]


def test_hooks_inside() -> None:
    """Python runs in the backward pass, so the function runs as it is; results made in inference mode are such."""

    def hooked(x: Any) -> Any:
        y = x * 3
        y.register_hook(lambda g: g * 5)
        return y

    def with_hooked_weight(x: Any) -> Any:
        w.grad = None
        (x * w).sum().backward()
        return w.grad

    w = leaf()
    handle = w.register_hook(lambda g: g * 2)
    f, g = eager.compile(hooked), eager.compile(with_hooked_weight)
    for _ in range(3):
        x = leaf()
        f(x).sum().backward()
        assert x.grad.tolist() == [15.0] * 3
    assert g(eager.ones(3)).tolist() == [2.0] * 3
    handle.remove()
    assert g(eager.ones(3)).tolist() == [1.0] * 3
    assert f.reasons == ["run as it is: it registers a hook"]
    assert g.reasons == ["run as it is: a hook ran in its backward pass"]
    h = eager.compile(eager.inference_mode(lambda x: x * 2))
    assert [h(eager.ones(2)).is_inference() for _ in range(3)] == [True] * 3


def test_it_gives_up_where_nothing_repeats() -> None:
    class Counter:
        count = 0

        def step(self, x: Any) -> Any:
            self.count = self.count + 1
            return x * self.count

    counter = Counter()
    counter.count = 0
    f = eager.compile(counter.step)
    assert [f(eager.tensor(1.0)).item() for _ in range(12)] == [float(i) for i in range(1, 13)]
    assert "recorded 8 times" in f.reasons[-1]
    assert copy.copy(f.reasons)[1] == "recorded: self.count was 0 and is 1"
