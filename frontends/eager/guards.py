"""What a recorded function depended on besides its arguments, and whether that is still so.

A function's surroundings are what it can reach by name: the variables of its closure, the globals that its code names, its default
arguments, and for a method the object. From there attributes and items are followed a few levels deep, and those of modules to any
depth. Tensors found there are read
anew at every call, by the path on which they were found; numbers, strings and the like must be equal to what they were.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

from wengert.eager.containers import Followed, listed
from wengert.eager.tensor import Tensor

SIMPLE = (bool, int, float, str, bytes, type(None))
_DEPTH = 5
_MOST = 20_000


@dataclass(frozen=True)
class Path:
    """How to reach an object: a name for messages, and a function that goes there (raising if it is gone)."""

    name: str
    find: Callable[[], Any]


def _cell(cell: Any) -> Callable[[], Any]:
    def find() -> Any:
        return cell.cell_contents

    return find


def _item(parent: Callable[[], Any], key: Any) -> Callable[[], Any]:
    def find() -> Any:
        return parent()[key]

    return find


def _attribute(parent: Callable[[], Any], name: str) -> Callable[[], Any]:
    def find() -> Any:
        return cast("dict[str, Any]", vars(parent()))[name]

    return find


def _names(code: CodeType) -> list[str]:
    """The globals that code names, that of functions defined in it included."""
    own = [str(i.argval) for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _names(c)]
    return list(dict.fromkeys([*own, *inner]))


def surroundings(function: Callable[..., Any]) -> list[Path]:
    """Where a function's names lead."""
    found: list[Path] = []
    if isinstance(function, MethodType):
        owner = function.__self__
        found.append(Path("self", lambda: owner))
        function = function.__func__
    elif not isinstance(function, FunctionType):
        owner = function
        found.append(Path("self", lambda: owner))
        function = type(function).__call__
    if not isinstance(function, FunctionType):
        return found
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        found.append(Path(name, _cell(cell)))
    names = function.__globals__
    found += [Path(f"global {name}", _item(lambda: names, name)) for name in _names(function.__code__) if name in names]
    for position, _ in enumerate(function.__defaults__ or ()):
        found.append(Path(f"default {position}", _item(lambda f=function: f.__defaults__, position)))
    return found


def _inside(path: Path, value: Any) -> Iterator[Path]:
    """The paths one level further."""
    if isinstance(value, list | tuple):
        yield from (Path(f"{path.name}[{i}]", _item(path.find, i)) for i in range(len(listed(value))))
    elif isinstance(value, dict):
        yield from (Path(f"{path.name}[{key!r}]", _item(path.find, key)) for key in cast("dict[Any, Any]", value))
    elif isinstance(value, FunctionType | MethodType):
        yield from (Path(f"{path.name} -> {p.name}", p.find) for p in surroundings(value))
    elif isinstance(wrapped := getattr(value, "__wrapped__", None), FunctionType | MethodType):  # such as a compiled function: it stands for what it wraps
        yield from (Path(f"{path.name} -> {p.name}", p.find) for p in surroundings(wrapped))
    elif hasattr(value, "__dict__") and not isinstance(value, type | ModuleType):
        yield from (Path(f"{path.name}.{name}", _attribute(path.find, name)) for name in cast("dict[str, Any]", vars(value)))


@dataclass
class Surroundings:
    """What a function can reach, at one moment.

    Attributes:
        tensors: for every tensor, by identity, how to reach it.
        simple: paths to numbers, strings and the like, with their values.
        sizes: paths to lists and dictionaries, with their lengths.
    """

    tensors: dict[int, Path]
    simple: list[tuple[Path, Any]]
    sizes: list[tuple[Path, int]]

    def changes(self) -> str:
        """What is not as it was, in words; empty if nothing is."""
        for path, before in self.simple:
            try:
                now = path.find()
            except (LookupError, ValueError, TypeError):
                return f"{path.name} is gone"
            if type(now) is not type(before) or (now != before and not (now != now and before != before)):
                return f"{path.name} was {before!r} and is {now!r}"
        for path, size in self.sizes:
            now = path.find()
            if len(now) != size:
                return f"{path.name} had {size} items and has {len(now)}"
        return ""


def _held(value: Any) -> Callable[[], Any]:
    return lambda: value


def look_around(function: Callable[..., Any], arguments: Sequence[Any] = ()) -> Surroundings:
    """What a function can reach now, by its names or from arguments that are objects."""
    found = Surroundings({}, [], [])
    paths = [*surroundings(function), *(Path(f"argument of type {type(a).__name__}", _held(a)) for a in arguments)]
    level = [(path, _DEPTH) for path in paths]
    seen: set[int] = set()
    while level:
        following: list[tuple[Path, int]] = []
        for path, depth in level:
            try:
                value: Any = path.find()
            except ValueError:  # a variable of the closure that is not set yet
                continue
            if isinstance(value, SIMPLE):
                found.simple.append((path, value))
            elif isinstance(value, Tensor):
                found.tensors.setdefault(id(value), path)
            elif id(value) not in seen and len(seen) < _MOST:
                seen.add(id(value))
                if isinstance(value, list | dict):
                    found.sizes.append((path, len(cast("Sized", value))))
                if depth > 1 or isinstance(value, Followed):
                    following += ((inner, max(depth - 1, 1)) for inner in _inside(path, value))
        level = following
    return found
