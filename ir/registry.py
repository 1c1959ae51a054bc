"""Objects by name that plug-ins add to: strategies of differentiation, policies for residuals.

A name is looked up among ours, then among those that plug-ins have registered, then among those that installed packages declare in an entry point group
(:mod:`wengert.ir.plugins`), which are loaded when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from wengert.ir.diagnostics import did_you_mean, one_of
from wengert.ir.location.places import error_at
from wengert.ir.plugins import declared_names, is_declared, load_declared, owner_of


class Named(Protocol):
    """Anything that has a name in options of passes."""

    @property
    def name(self) -> str:
        """The name, in kebab-case."""
        ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """Objects of one kind by name.

    Args:
        kind: what they are, in messages.
        option: the option of passes that takes their names.
        group: the entry point group that packages declare theirs in.
        ours: those of this package, in the order in which they are listed.
    """

    def __init__(self, kind: str, option: str, group: str, ours: Sequence[T]):
        self._kind = kind
        self._option = option
        self._group = group
        self._ours = {thing.name: thing for thing in ours}
        self._registered: dict[str, T] = {}

    def register(self, thing: T) -> None:
        """Makes an object known by its name. One of the same class is replaced; raises ValueError for a name that another has."""
        refuse_taken(self._kind, thing.name, type(thing), thing.name in self._ours, type(other) if (other := self._registered.get(thing.name)) else None)
        self._registered[thing.name] = thing

    def names(self) -> list[str]:
        """The names of all: ours, those of plug-ins, those that installed packages declare."""
        return list(dict.fromkeys([*self._ours, *self._registered, *declared_names(self._group)]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def is_ours(self, name: str) -> bool:
        """Whether this is the name of one of this package."""
        return name in self._ours

    def named(self, name: str, location: LocationAttr = UNKNOWN_LOC) -> T:
        """The object of this name. Raises a DiagnosticError that names the option and what it may be."""
        known = self._ours.get(name) or self._registered.get(name)
        if known is not None:
            return known
        if is_declared(self._group, name):
            declared: Any = load_declared(self._group, name)
            self._registered[name] = declared() if isinstance(declared, type) else declared
            return self._registered[name]
        names = self.names()
        raise error_at(location, f"{self._option} must be {one_of(names)}, not '{name}'", hint=did_you_mean(name, names))


def refuse_taken(kind: str, name: str, cls: type[object], is_ours: bool, other: type[object] | None) -> None:
    """Raises ValueError where a class may not register a name: it is one of this package, or another class (of another module or name) has it."""
    if is_ours:
        raise ValueError(f"there is a {kind} {name!r} already: one of wengert")
    if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"there is a {kind} {name!r} already: {other.__qualname__} of {owner_of(other)}")
