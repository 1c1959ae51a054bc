"""Methods of dataclasses that are compiled when they are first called do what those do that are compiled at once."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from types import ModuleType
from typing import Any

import pytest

TEXT = """
from dataclasses import dataclass, field

@dataclass(order=True)
class Mutable:
    x: int
    y: list[int] = field(default_factory=list)
    z: int = field(default=7, kw_only=True)

    def __post_init__(self):
        self.next = self.x + 1

@dataclass(frozen=True)
class Frozen:
    a: int = 1
    b: str = "b"

@dataclass(frozen=True)
class Derived(Frozen):
    c: float = 2.0

@dataclass(frozen=True, slots=True)
class Slotted:
    a: int = 1

@dataclass(eq=False)
class Nested:
    inner: object = None
"""


@pytest.fixture
def define(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes the classes in a module of a name."""

    def in_module(name: str) -> Any:
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(TEXT, name, "exec"), module.__dict__)
        return module

    return in_module


def is_late(method: Any) -> bool:
    return method.__code__.co_name == "stand_in"


def test_methods_are_compiled_at_their_first_call(define: Any):
    late = define("xdsl.classes")
    init = late.Frozen.__init__
    assert is_late(init)
    assert is_late(late.Frozen.__eq__)
    assert late.Frozen(2).a == 2
    assert not is_late(late.Frozen.__init__)
    assert late.Frozen.__init__.__qualname__ == "Frozen.__init__"
    assert init(object.__new__(late.Frozen), 3) is None, "who held the function may still call it"


def test_classes_of_others_are_left_alone(define: Any):
    assert not any(is_late(getattr(define(name).Frozen, method)) for name in ("theirs", "xdslx.classes") for method in ("__init__", "__eq__", "__hash__"))


def test_they_do_the_same(define: Any):
    late, plain = define("wengert.classes"), define("theirs")

    def facts(classes: Any) -> list[Any]:
        mutable, derived = classes.Mutable(3), classes.Derived(5, "q")
        mutable.y.append(1)
        nested = classes.Nested()
        nested.inner = nested
        return [
            (mutable.next, mutable.z, repr(mutable), mutable == classes.Mutable(3, [1]), mutable < classes.Mutable(4), mutable >= classes.Mutable(4)),
            (repr(derived), derived == classes.Derived(5, "q"), derived != classes.Frozen(5, "q"), derived == 3),
            hash(derived) == hash(classes.Derived(5, "q", 2.0)),
            dataclasses.replace(derived, c=1.0).c,
            dataclasses.asdict(derived),
            repr(classes.Slotted(4)),
            repr(nested),
            [inspect.signature(getattr(classes.Derived, name)) == inspect.signature(getattr(plain.Derived, name)) for name in ("__init__", "__hash__")],
        ]

    assert facts(late) == facts(plain)


@pytest.mark.parametrize("name", ["Frozen", "Derived"])
def test_frozen_stays_frozen(define: Any, name: str):
    record = getattr(define("xdsl.classes"), name)()
    for _ in range(2):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
            record.a = 3
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'a'"):
            del record.a
    assert record.a == 1


def test_wrong_calls_are_refused_as_always(define: Any):
    late = define("xdsl.classes")
    for _ in range(2):
        with pytest.raises(TypeError, match=r"__init__\(\) (missing 1 required positional argument: 'x'|got an unexpected keyword argument 'w')"):
            late.Mutable(**({} if _ else {"x": 1, "w": 2}))


def test_text_of_another_form_is_executed_at_once():
    made: dict[str, Any] = {}
    vars(dataclasses)["exec"]("def __create_fn__():\n x = 3\n return x", {"__name__": "xdsl.classes"}, made)
    assert made["__create_fn__"].__code__.co_name == "__create_fn__"
    assert made["__create_fn__"]() == 3


def test_classes_of_xdsl_are_compiled_late():
    from xdsl.dialects import builtin

    assert any(is_late(method) for cls in vars(builtin).values() if isinstance(cls, type) for method in vars(cls).values() if inspect.isfunction(method))
