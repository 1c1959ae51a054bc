"""Fused locations that are put together when somebody looks at them.

Ops are shared by the thousand while programs are differentiated and simplified, and nobody looks at the locations of most. So what becomes a fused
location is at first a list of what goes into it, :class:`Growing`; :mod:`wengert.ir.location.fused` says how it is put together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.builtin import FusedLoc, LocationAttr
from xdsl.ir import ParametrizedAttribute

from wengert.ir.construction import unverified
from wengert.ir.pipeline.stages import locked


class Growing(ParametrizedAttribute):
    """A fused location before anybody looks at it, and an ordinary one from then on.

    To ask for its class is to look at it, as ``isinstance`` does, so nobody but ``type`` sees that it is anything else.

    Attributes:
        before: the location that it was.
        step: what was added to it.
        finish: makes the fields of the fused location.
    """

    before: Any
    step: Any
    finish: Any

    @locked
    def _grow(self) -> None:
        if type(self) is Growing:
            parts: dict[str, Any] = self.finish(self)
            for name in ("before", "step", "finish"):
                object.__delattr__(self, name)
            for name, value in parts.items():
                object.__setattr__(self, name, value)
            _CLASS.__set__(self, FusedLoc)

    @property
    def __class__(self) -> type[FusedLoc]:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._grow()
        return FusedLoc

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        self._grow()
        return getattr(self, name)

    def __eq__(self, other: object) -> bool:
        self._grow()
        return self == other

    def __hash__(self) -> int:
        self._grow()
        return hash(self)


_CLASS: Any = object.__dict__["__class__"]


def grown(before: LocationAttr, step: object, finish: Callable[[Any], dict[str, Any]]) -> LocationAttr:
    """A location with one more step."""
    made: Any = unverified(Growing, before=before, step=step, finish=finish)
    return made


def beginning(location: Any) -> LocationAttr:
    """The location that grew."""
    while type(location) is Growing:
        location = location.before
    return location
