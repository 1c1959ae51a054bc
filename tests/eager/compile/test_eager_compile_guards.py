"""Compiled functions: what makes them record again, or run as they are."""

from __future__ import annotations

import copy
import functools
import random
import re
import types
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert.eager as eager

x0 = [0.5, 1.0, -0.25]


def leaf() -> Any:
    return eager.tensor(x0, requires_grad=True)


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
    assert "test_eager_compile_guards.py" in f.reasons[1]
    assert "was True and is False" in f.reasons[1]


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

    def f(x: Any, *, settings: Any = slotted) -> Any:
        y = functions[0](x) * Settings.rate * settings.rate * pairs[0].a + scaler(x) * array + len(members)
        return partial(y) * module.rate * numbers["n"] + sum(numbers["t"])

    def power() -> None:
        Scaler.power = 2

    changes: dict[str, tuple[Any, str]] = {
        "class": (lambda: setattr(Settings, "rate", Settings.rate + 1), "global Settings.rate"),
        "slot": (lambda: setattr(slotted, "rate", 3.0), "default settings.rate"),
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
