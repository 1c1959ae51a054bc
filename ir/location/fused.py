"""Fused locations: those of ops that came from several.

An op is merged with an equal one, or it stands for ops that a rewrite looked through. Its location then lists the sources of all, without repetition:
those of the program itself before derived ones, and at most :data:`MOST_SOURCES`::

    loc(fused<"vjp,cse">["f.mlir":3:10, "vjp/coefficient/stablehlo.sine"("f.mlir":4:10)])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, cast

from msgspec import Struct
from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, LocationAttr, UnknownLoc
from xdsl.ir import Operation

from wengert.ir.construction import unverified
from wengert.ir.location.growing import Growing, grown
from wengert.ir.location.locations import ABSORBED, flat, is_absorbed, is_bare, named_at, provenance, rewritten, text_of, unmarked
from wengert.ir.location.places import origin

MOST_SOURCES = 16
"""The most sources that the location of an op lists; of the others it has the number."""

MOST_TOGETHER = 64
"""The same of what is put together of many, such as a kernel."""


def merged(location: LocationAttr, other: LocationAttr, pass_name: str, op_name: str = "") -> LocationAttr:
    """The location of an op that is two ops from now on: ``location`` is that of the one that stays.

    Sources of the program itself come before derived ones. An unknown location adds nothing. If one op was rewritten and the other is as it was
    written, ``op_name`` is the name of the latter.
    """
    kind: Any = type(location)
    other_kind: Any = type(other)  # to ask for classes by isinstance would look at what grows
    if location is other or other_kind is UnknownLoc:
        return location
    if kind is UnknownLoc:
        return other
    if kind is Growing:
        if cast(Any, location).step.added is other:
            return location
    elif kind is other_kind and location == other:
        return location
    return grown(location, _Step(other, pass_name or "merge", op_name, "merge"), _finish)


def absorbing(location: LocationAttr, op: Operation, pass_name: str) -> LocationAttr:
    """The location of an op for which a rewrite has looked through ``op``, which it stands for too. A place that is a source already is none again."""
    if type(op.location) is UnknownLoc:
        return location
    return grown(location, _Step(op.location, pass_name or "merge", op.name, "absorb"), _finish)


class _Step(NamedTuple):
    """An addition to a location: that of an op of this name, by a pass, and as what."""

    added: LocationAttr
    pass_name: str
    op_name: str
    how: Literal["merge", "absorb", "rewrite"]


def _finish(location: Any) -> dict[str, Any]:
    """The fields of the fused location that was put together step by step."""
    steps: list[_Step] = []
    while type(location) is Growing:
        steps.append(location.step)
        location = location.before
    parts, passes, left_off = flat(location)
    so_far = _Parts(list(parts), dict.fromkeys(passes.split(",") if passes else ()), left_off)
    for step in reversed(steps):
        getattr(so_far, step.how)(step.added, step.pass_name, step.op_name)
    count = f" +{so_far.left_off}" if so_far.left_off else ""
    return {"locations": unverified(ArrayAttr, data=tuple(so_far.parts)), "metadata": text_of(",".join(so_far.passes) + count)}


class _Parts(Struct):
    """The parts of a fused location while it is put together."""

    parts: list[LocationAttr]
    passes: dict[str, None]
    left_off: int

    def merge(self, other: LocationAttr, pass_name: str, op_name: str) -> None:
        """Adds the sources of an equal op."""
        more, passes, left_off = flat(other)
        new = [part for part in more if part not in self.parts]
        self.left_off += left_off
        if not new:
            return
        self.passes.update(dict.fromkeys((*(passes.split(",") if passes else ()), pass_name)))
        if op_name and self.parts and _differ(self.parts[0], new[0]):
            self.parts = list(dict.fromkeys(rewritten(part, op_name, pass_name) for part in self.parts))
            new = [part for part in (rewritten(part, op_name, pass_name) for part in new) if part not in self.parts]
        new = self._fitting(new)
        if new and self.parts and provenance(self.parts[0]) is not None and provenance(new[0]) is None and not is_absorbed(new[0]):
            self.parts = [*new, *self.parts]
        else:
            self.parts += new

    def absorb(self, other: LocationAttr, pass_name: str, op_name: str) -> None:
        """Adds an op that a rewrite looked through."""
        known = {origin(part) for part in self.parts}
        parts, _, _ = flat(other)
        written = unmarked(other)[0] or op_name
        new = [part if is_absorbed(part) else named_at(f"{pass_name}/{ABSORBED}/{written}", part) for part in parts if origin(part) not in known]
        if new:
            self.passes[pass_name] = None
            self.parts += self._fitting(new)

    def rewrite(self, other: LocationAttr, pass_name: str, op_name: str) -> None:
        """Adds an op that a larger one is put together of."""
        parts, _, left_off = flat(other)
        marked = (part if is_absorbed(part) else rewritten(part, op_name, pass_name) for part in parts)
        self.parts = [part for part in self.parts if type(part) is not UnknownLoc]
        self.passes[pass_name] = None
        self.left_off += left_off
        self.parts += self._fitting([part for part in marked if part not in self.parts], MOST_TOGETHER)

    def _fitting(self, new: list[LocationAttr], most: int = MOST_SOURCES) -> list[LocationAttr]:
        """Those for which there is room; the others are counted."""
        room = max(0, most - len(self.parts))
        self.left_off += max(0, len(new) - room)
        return new[:room]


def _differ(one: LocationAttr, other: LocationAttr) -> bool:
    """Whether of two ops of the program itself one is as it was written, and the other is not."""
    return is_bare(one) != is_bare(other) and provenance(one) is None and provenance(other) is None


def together(ops: Sequence[Operation], pass_name: str) -> LocationAttr:
    """The location of a kernel or another op that ``pass_name`` puts together of ops, the most important first; it lists up to :data:`MOST_TOGETHER`."""
    if len(ops) == 1:
        return rewritten(ops[0].location, ops[0].name, pass_name)
    result: LocationAttr = UNKNOWN_LOC
    for op in ops:
        if type(op.location) is not UnknownLoc:
            result = grown(result, _Step(op.location, pass_name, op.name, "rewrite"), _finish)
    return result


def merged_all(locations: Iterable[LocationAttr], pass_name: str) -> LocationAttr:
    """The location of what ``pass_name`` makes of ops of these locations, the most important first."""
    result: LocationAttr = UNKNOWN_LOC
    for location in locations:
        result = merged(result, location, pass_name)
    return result
