"""Guards of a recorded function: what it depended on besides its arguments, and whether that is still so.

A function's surroundings are what it can reach by name: the variables of its closure, the globals that its code names, what it names of
modules, its default arguments, and for a method the object. From there attributes and items are followed a few levels deep, and those of
modules of layers to any depth; of an object also the attributes of its class, and what its methods can reach. Libraries are taken to stay
as they are. Tensors found so are read anew at every call, by the way on which they were found; everything else must be what it was.
"""

from __future__ import annotations

import dis
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from operator import attrgetter, itemgetter
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

import numpy as np

from wengert.eager.containers import Followed, listed
from wengert.eager.tensor import Tensor

SIMPLE = (bool, int, float, str, bytes, type(None))
_DEPTH = 5
_MOST = 20_000
_GONE = (LookupError, ValueError, TypeError, AttributeError)
_LIBRARIES = sys.stdlib_module_names | {"wengert", "numpy", "optree"}

Step = Callable[[Any], Any]
"""From an object to one that it leads to."""


@dataclass(frozen=True)
class Way:
    """One more step from something that was reached before (from nothing, if ``parent`` is negative), and what must be found there.

    ``differs`` says in words how what is there now is not what was there; empty if it is.
    """

    name: str
    parent: int
    step: Step
    differs: Callable[[Any], str]


# -- what must be as it was


def _same(value: Any) -> Callable[[Any], str]:
    """A function that says how something else differs from this value, by its kind."""
    kind = cast("type[Any]", type(value))
    if isinstance(value, (*SIMPLE, np.generic)):
        return lambda now: "" if type(now) is kind and (now == value or (now != now and value != value)) else f"was {value!r} and is {now!r}"
    if isinstance(value, Tensor):
        return lambda now: "" if isinstance(now, Tensor) else f"was a tensor and is {now!r}"
    if isinstance(value, np.ndarray):
        contents = _contents(cast(Any, value))
        return lambda now: "" if isinstance(now, np.ndarray) and _contents(cast(Any, now)) == contents else "is an array with other elements"
    if isinstance(value, list | tuple):
        size = len(listed(value))
        return lambda now: _other_kind(kind, now) or ("" if len(now) == size else f"had {size} items and has {len(now)}")
    if isinstance(value, dict):
        keys = list(cast("dict[Any, Any]", value))
        return lambda now: _other_kind(kind, now) or _other_keys(keys, list(now))
    if isinstance(value, set | frozenset):
        members: frozenset[Any] = frozenset(cast("set[Any]", value))
        return lambda now: _other_kind(kind, now) or ("" if now == members else f"was {set(members)!r} and is {now!r}")
    if isinstance(value, MethodType):
        return lambda now: "" if isinstance(now, MethodType) and (now.__func__, now.__self__) == (value.__func__, value.__self__) else "is another method"
    names = _attribute_names(value)
    if names is None or isinstance(value, FunctionType | type | ModuleType):
        what = "function" if isinstance(value, FunctionType) else "object"
        return lambda now: "" if now is value else f"is another {what}"
    if names == list(getattr(value, "__dict__", ())):  # no slots: the usual case is quick
        return lambda now: "" if type(now) is kind and list(now.__dict__) == names else _other_kind(kind, now) or _other_attributes(names, list(now.__dict__))
    return lambda now: _other_kind(kind, now) or _other_attributes(names, _attribute_names(now) or [])


def _contents(a: np.ndarray[Any, Any]) -> Any:
    return a.shape, a.dtype, a.tobytes()


def _other_kind(kind: type, now: Any) -> str:
    return "" if type(now) is kind else f"was a {kind.__name__} and is a {type(now).__name__}"


def _other_keys(before: list[Any], now: list[Any]) -> str:
    if before == now:
        return ""
    return f"had {len(before)} items and has {len(now)}" if len(before) != len(now) else "has other keys"


def _other_attributes(before: list[str], now: list[str]) -> str:
    if before == now:
        return ""
    changed = [name for name in (*now, *before) if (name in now) != (name in before)]
    return f"has another set of attributes: {', '.join(changed)}" if changed else ""


def _attribute_names(value: Any) -> list[str] | None:
    """The attributes that an object itself has; None if it has none to be seen, as objects written in C."""
    slots = [name for cls in type(value).__mro__ for name in listed_names(vars(cls).get("__slots__", ())) if hasattr(value, name)]
    if hasattr(value, "__dict__"):
        return [*vars(value), *(name for name in slots if name != "__dict__")]
    return slots or None


def listed_names(slots: Any) -> list[str]:
    """``__slots__`` as a list: one name stands for itself."""
    return [slots] if isinstance(slots, str) else [str(name) for name in slots if name not in ("__weakref__", "__dict__")]


# -- where names lead


def _is_library(value: Any) -> bool:
    """Whether a function, class or module is of a library, which is taken to stay as it is."""
    name = value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", ""))
    file = value.__code__.co_filename if isinstance(value, FunctionType) else str(getattr(sys.modules.get(name), "__file__", ""))
    return name.partition(".")[0] in _LIBRARIES or "site-packages" in file or (isinstance(value, FunctionType) and file.startswith("<string"))


def _chains(code: CodeType) -> dict[str, set[tuple[str, ...]]]:
    """The names that code reads from outside of it, that of functions defined in it included, with the attributes read of each: ``a.b.c``."""
    by_name: dict[str, set[tuple[str, ...]]] = {}
    chain: list[str] = []
    for instruction in [*dis.get_instructions(code), None]:
        if instruction is not None and instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain.append(str(instruction.argval))
            continue
        if chain:
            by_name.setdefault(chain[0], set()).add(tuple(chain[1:]))
        reads = instruction is not None and instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF")
        chain = [str(instruction.argval)] if instruction is not None and reads else []
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            for name, chains in _chains(inner).items():
                by_name.setdefault(name, set()).update(chains)
    return by_name


def _cell(position: int) -> Step:
    return lambda function: function.__closure__[position].cell_contents


def _global(name: str) -> Step:
    return lambda function: function.__globals__[name]


def _of_function(function: FunctionType) -> Iterator[tuple[str, Step]]:
    for position, name in enumerate(function.__code__.co_freevars):
        yield name, _cell(position)
    for name in _chains(function.__code__):
        if name in function.__globals__ and name not in function.__code__.co_freevars:
            yield f"global {name}", _global(name)
    for position, _ in enumerate(function.__defaults__ or ()):
        yield f"default {position}", lambda f, position=position: f.__defaults__[position]
    for name in function.__kwdefaults__ or {}:
        yield f"default {name}", lambda f, name=name: f.__kwdefaults__[name]


_GENERATED = ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__slots__", "__match_args__", "__orig_bases__")


def _of_class(cls: type) -> Iterator[tuple[str, Step]]:
    """The attributes of a class: methods by the functions that they are."""
    for name, value in vars(cls).items():
        if name in _GENERATED or name.startswith("__dataclass"):
            continue
        yield f".{name}", _of_descriptor(name, _UNDERLYING.get(cast(Any, type(value)), ""))


_UNDERLYING: dict[Any, str] = {staticmethod: "__func__", classmethod: "__func__", property: "fget", cached_property: "func"}
"""The attribute with the function that such an attribute of a class stands for."""


def _of_descriptor(name: str, inner: str) -> Step:
    def step(cls: Any) -> Any:
        descriptor = cast("dict[str, Any]", vars(cls))[name]
        return getattr(descriptor, inner) if inner else descriptor

    return step


def _inside(value: Any, chains: set[tuple[str, ...]]) -> Iterator[tuple[str, Step, set[tuple[str, ...]]]]:
    """The steps from a value, with what to write behind its name, and which attributes are read of what is there (for modules)."""
    if isinstance(value, ModuleType):
        for name in {chain[0] for chain in chains if chain} if not _is_library(value) else ():
            yield f".{name}", attrgetter(name), {chain[1:] for chain in chains if chain[:1] == (name,)}
    elif isinstance(value, list | tuple):
        yield from ((f"[{i}]", itemgetter(i), set()) for i in range(len(listed(value))))
    elif isinstance(value, dict):
        yield from ((f"[{key!r}]", itemgetter(key), set()) for key in cast("dict[Any, Any]", value))
    elif isinstance(value, FunctionType):
        if not _is_library(value):
            chains_of = _chains(value.__code__)
            yield from ((f" -> {name}", step, chains_of.get(name.removeprefix("global "), set())) for name, step in _of_function(value))
    elif isinstance(value, MethodType):
        yield " -> self", attrgetter("__self__"), set()
        yield "", attrgetter("__func__"), set()
    elif isinstance(value, partial):
        yield from ((f".{name}", attrgetter(name), set()) for name in ("func", "args", "keywords"))
    elif isinstance(getattr(value, "__wrapped__", None), FunctionType | MethodType):  # such as a compiled function: it stands for what it wraps
        yield "", attrgetter("__wrapped__"), set()
    elif isinstance(value, type):
        if not _is_library(value):
            yield from ((name, step, set()) for name, step in _of_class(value))
    else:
        yield from ((f".{name}", attrgetter(name), set()) for name in _attribute_names(value) or ())


@dataclass
class Surroundings:
    """A snapshot of what a function can reach.

    Attributes:
        ways: how to reach it, each after the one that it starts from.
        tensors: for every tensor, by identity, the number of the way to it.
        values: what was found at the last look, by the number of the way.
    """

    ways: list[Way] = field(default_factory=list[Way])
    tensors: dict[int, int] = field(default_factory=dict[int, int])
    values: list[Any] = field(default_factory=list[Any])
    _random: Any = None
    _states: dict[int, Any] = field(default_factory=dict[int, Any])
    """The states of generators of random numbers, by the number of the way."""

    def changes(self) -> str:
        """The first thing that is not as it was, in words; empty if there is none. Afterwards :attr:`values` is what is there now."""
        checks, values = self._checks, list[Any]()
        self.values = values
        try:
            for parent, step, still, differs in checks:
                now = step(values[parent] if parent >= 0 else None)
                if now is not still and (different := differs(now)):
                    return f"{self.ways[len(values)].name} {different}"
                values.append(now)
        except _GONE:
            return f"{self.ways[len(values)].name} is gone"
        return ""

    @cached_property
    def _checks(self) -> list[tuple[int, Step, Any, Callable[[Any], str]]]:
        """The ways for a quick look, with what must be there where nothing can change inside of it."""
        fixed = (*SIMPLE, FunctionType, type, ModuleType)
        return [(w.parent, w.step, v if isinstance(v, fixed) else self, w.differs) for w, v in zip(self.ways, self.values, strict=True)]

    def changed_by_itself(self) -> str:
        """The first thing within its reach that the function has set itself, tensors too, if it was run since this was made."""
        before = self.values
        changed = self.changes()
        if not changed:
            for number in self.tensors.values():
                if self.values[number] is not before[number]:
                    return f"it sets {self.ways[number].name} to another tensor"
            for number, value in enumerate(self.values):
                if isinstance(value, Iterator):
                    return f"it may advance the iterator {self.ways[number].name}"
                if self._states.get(number) != _state(value):
                    return f"it draws random numbers from {self.ways[number].name}"
            if self._random != _random_state():
                return "it draws random numbers of Python or NumPy"
        return changed

    def add(self, name: str, parent: int, step: Step, value: Any) -> int:
        """Another way, to this value."""
        self.ways.append(Way(name, parent, step, _same(value)))
        self.values.append(value)
        if (state := _state(value)) is not None:
            self._states[len(self.ways) - 1] = state
        return len(self.ways) - 1


def _state(value: Any) -> Any:
    """The state of a generator of random numbers; None for all else."""
    if isinstance(value, np.random.Generator):
        return repr(value.bit_generator.state)
    return value.getstate() if isinstance(value, random.Random) else None


def _random_state() -> Any:
    state: Any = np.random.get_state()  # noqa: NPY002  (that of others is what is looked for)
    return random.getstate(), state[1].tobytes(), state[2:]


def look_around(function: Callable[..., Any], arguments: Sequence[Any] = ()) -> Surroundings:
    """Takes a snapshot of what a function can reach, by its names or from arguments that are objects."""
    surroundings = Surroundings(_random=_random_state())
    level: list[tuple[int, int, set[tuple[str, ...]]]] = []
    seen: set[int] = set()

    def arrive(name: str, parent: int, step: Step, depth: int, chains: set[tuple[str, ...]]) -> None:
        try:
            value = step(surroundings.values[parent] if parent >= 0 else None)
        except _GONE:  # such as a variable of the closure that is not set yet
            return
        if len(surroundings.ways) >= _MOST:
            return
        number = surroundings.add(name, parent, step, value)
        if isinstance(value, Tensor):
            surroundings.tensors.setdefault(id(value), number)
        elif not isinstance(value, SIMPLE) and depth > 0:
            level.append((number, depth, chains))

    root = "self" if not isinstance(function, FunctionType | MethodType) else ""
    arrive(root, -1, lambda _: function, _DEPTH + 1, set())
    for a in arguments:
        arrive(f"argument of type {type(a).__name__}", -1, lambda _, a=a: a, _DEPTH, set())
    while level:
        here, level = level, []
        for number, depth, chains in here:
            value, name = surroundings.values[number], surroundings.ways[number].name
            if id(value) in seen and not isinstance(value, ModuleType):
                continue
            seen.add(id(value))
            if depth > 1 or isinstance(value, Followed):
                for suffix, step, further in _inside(value, chains):
                    shown = f"{name}{suffix}" if name else suffix.removeprefix(" -> ")
                    arrive(shown, number, step, max(depth - 1, 1), further)
            if not isinstance(value, type | FunctionType | MethodType | ModuleType):
                for cls in type(value).__mro__:
                    if id(cls) not in seen and not _is_library(cls):
                        arrive(cls.__name__, -1, lambda _, cls=cls: cls, depth, set())
    return surroundings
