"""Locations: where an op was written, and what was made of it.

What is known of an op's origin is in its location, in forms that any MLIR tool prints and parses. A name ``"<pass>/<word>/<op name>"`` around a
location says how an op came about from the one that stood there, and names that op as its author wrote it:

``loc("vjp/cotangent/stablehlo.sine"("f.mlir":3:10))``
    a derived op; the word is its :class:`Role`. Derivatives of derivatives nest.
``loc("to-core/rewritten/stablehlo.while"("f.mlir":5:3))``
    an op that stands for one of the program itself, which was another op.
``loc("simplify/absorbed/stablehlo.transpose"("f.mlir":7:3))``
    only inside of a fused location: an op that a rewrite looked through. That it is a source is inferred from the rewrite, not said by it.

An op that came from several (:mod:`wengert.ir.location.fused`) is at ``loc(fused<"cse">["f.mlir":3:10, "f.mlir":4:10])``: the pass that merged them,
and all sources or, where they are many, the first and the number of others, ``fused<"vjp,cse +12">``. :func:`sources` lists what a location says::

    for source in sources(op.location, op.name):
        print(source.place, source.op_name, source.certainty)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple, cast

from msgspec import Struct
from xdsl.dialects.builtin import UNKNOWN_LOC, ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, IntAttr, LocationAttr, NameLoc, StringAttr, UnknownLoc
from xdsl.ir import Operation

from wengert.ir.construction import unverified
from wengert.ir.location.growing import Growing, beginning
from wengert.ir.location.places import describe


class Role(StrEnum):
    """The role of a derived op."""

    PRIMAL = "primal"
    COEFFICIENT = "coefficient"
    TANGENT = "tangent"
    COTANGENT = "cotangent"
    ACCUMULATION = "accumulation"


_ROLES = {str(role): role for role in Role}

REWRITTEN, ABSORBED = "rewritten", "absorbed"
"""What a name says of an op that is not derived."""


class Provenance(NamedTuple):
    """The provenance recorded in a derived op's location: which pass made it, its role, and the name of the op it was derived from.

    The name is that of the op as it was written. An accumulation names the op whose result is used several times, and so whose cotangent is summed.
    What belongs to an argument or a result of the function names that, counted from 0: ``argument#0``, ``result#1``.
    """

    pass_name: str
    role: Role
    op_name: str


class Certainty(StrEnum):
    """Ways in which a source of an op is known."""

    EXACT = "exact"
    """The op was made of it, is it, or computes the same."""

    INFERRED = "inferred"
    """A rewrite looked through it on the way to the op."""

    UNKNOWN = "unknown"
    """The op has no location."""


class Source(Struct, frozen=True):
    """One of the ops that an op came from.

    Attributes:
        place: where it was written: a file location, a name that the text gives, or unknown.
        op_name: the op that was written there; empty if that is not known.
        certainty: how that is known.
        derived: how the op was derived from it, or from what absorbed it, the last derivative first; empty for an op of the program itself.
        passes: the passes that rewrote or absorbed it.
        callers: the places of the calls around it, the innermost first.
    """

    place: LocationAttr
    op_name: str
    certainty: Certainty = Certainty.EXACT
    derived: tuple[Provenance, ...] = ()
    passes: tuple[str, ...] = ()
    callers: tuple[LocationAttr, ...] = ()

    @property
    def role(self) -> Role | None:
        """The role in the last derivative; None for an op of the program itself."""
        return self.derived[0].role if self.derived else None

    def __str__(self) -> str:
        said = "".join(f"{step.role} of " for step in self.derived) if self.certainty is not Certainty.INFERRED else "by way of "
        mark = "" if self.certainty is Certainty.EXACT else f" ({self.certainty})"
        return f"{said}{self.op_name or 'an op'} at {describe(self.place)}{mark}"


def at(filename: str, line: int, column: int) -> FileLineColLoc:
    """A place in a file, counted from 1."""
    return FileLineColLoc(StringAttr(filename), IntAttr(line), IntAttr(column))


@lru_cache(maxsize=1024)
def text_of(text: str) -> StringAttr:
    """A text as an attribute; equal ones are one."""
    return StringAttr(text)


def named_at(name: str, inner: LocationAttr) -> LocationAttr:
    """A name around a location."""
    return unverified(NameLoc, desc=text_of(name), location=inner)


@lru_cache(maxsize=1024)
def _mark(name: str) -> tuple[str, str, str] | None:
    """The parts of a name that one of our passes gave: the pass, the role or other word, and the op's name."""
    parts = name.split("/")
    known = len(parts) == 3 and (parts[1] in _ROLES or parts[1] in (REWRITTEN, ABSORBED))
    return (parts[0], parts[1], parts[2]) if known else None


# -- making locations


def derived(op: Operation, role: Role, pass_name: str) -> LocationAttr:
    """The location of what ``pass_name`` derives from ``op`` in this role. It names the op as it was written, if it has been rewritten since."""
    return derived_at(op.location, op.name, role, pass_name)


def derived_at(location: LocationAttr, op_name: str, role: Role, pass_name: str) -> LocationAttr:
    """The location of what ``pass_name`` derives from an op of this name and location."""
    kind: Any = type(location)
    if kind is FileLineColLoc:  # as it was written
        return named_at(f"{pass_name}/{role}/{op_name}", location)
    if kind is Growing:
        written, inner = unmarked(beginning(location))[0], location
    else:
        written, inner = unmarked(location)
    return named_at(f"{pass_name}/{role}/{written or op_name}", inner)


def rewritten(location: LocationAttr, op_name: str, pass_name: str) -> LocationAttr:
    """The location of what ``pass_name`` writes in place of an op of this name and location.

    Ops that were derived, or rewritten before, keep their locations, which say what they were.
    """
    kind: Any = type(location)
    if kind is Growing:
        return location if not is_bare(beginning(location)) else named_at(f"{pass_name}/{REWRITTEN}/{op_name}", location)
    if kind is FileLineColLoc:
        return named_at(f"{pass_name}/{REWRITTEN}/{op_name}", location)
    if isinstance(location, CallSiteLoc):
        callee = cast(LocationAttr, location.callee)
        inside = rewritten(callee, op_name, pass_name)
        return location if inside is callee else _call_site(inside, cast(LocationAttr, location.caller))
    if isinstance(location, UnknownLoc) or (isinstance(location, NameLoc) and _mark(location.desc.data) is not None):
        return location
    if isinstance(location, FusedLoc) and _merging(location) is not None:
        return _fused([rewritten(part, op_name, pass_name) for part in _parts(location)], cast(StringAttr, location.metadata).data)
    return named_at(f"{pass_name}/{REWRITTEN}/{op_name}", location)


def unmarked(location: LocationAttr) -> tuple[str, LocationAttr]:
    """The name of the op that was written if an op was rewritten since (else empty), and the location without this mark."""
    if isinstance(location, NameLoc):
        mark = _mark(location.desc.data)
        return (mark[2], cast(LocationAttr, location.location)) if mark is not None and mark[1] == REWRITTEN else ("", location)
    if isinstance(location, CallSiteLoc):
        written, callee = unmarked(cast(LocationAttr, location.callee))
        return (written, _call_site(callee, cast(LocationAttr, location.caller))) if written else ("", location)
    if isinstance(location, FusedLoc) and _merging(location) is not None:
        return unmarked(_parts(location)[0])[0], location
    return "", location


def written_op(op: Operation) -> str:
    """The name of the op that stands where an op was written: its own, unless it was rewritten since."""
    return unmarked(op.location)[0] or op.name


MOST_CALLERS = 100
"""The most nested calls that the location of an op names; calls further out are left off."""


def called_from(callee: LocationAttr, caller: LocationAttr) -> LocationAttr:
    """The location of an op that was inlined: where it was written, called from there.

    A chain of calls nests in the caller, as MLIR's inliner does: ``callsite(f at callsite(g at main))``.
    """
    places: list[LocationAttr] = []
    while isinstance(callee, CallSiteLoc):
        places.append(cast(LocationAttr, callee.callee))
        callee = cast(LocationAttr, callee.caller)
    if len(places) >= MOST_CALLERS:
        places, caller = places[:MOST_CALLERS], callee
    else:
        places.append(callee)
    for place in reversed(places):
        caller = _call_site(place, caller)
    return caller


def calls_around(location: LocationAttr) -> int:
    """Counts the calls that a location names around where its op was written."""
    count = 0
    while isinstance(location, CallSiteLoc):
        location = cast(LocationAttr, location.caller)
        count += 1
    return count


def _call_site(callee: LocationAttr, caller: LocationAttr) -> CallSiteLoc:
    return unverified(CallSiteLoc, callee=callee, caller=caller)


@lru_cache(maxsize=8192)
def with_role(location: LocationAttr, role: Role) -> LocationAttr:
    """A derived op's location in another role, each part of a fused one; any other location is returned as it is."""
    if isinstance(location, CallSiteLoc):  # inlined since
        callee = cast(LocationAttr, location.callee)
        changed = with_role(callee, role)
        return location if changed is callee else _call_site(changed, cast(LocationAttr, location.caller))
    if isinstance(location, FusedLoc) and _merging(location) is not None:
        return _fused([with_role(part, role) for part in _parts(location)], cast(StringAttr, location.metadata).data)
    if isinstance(location, NameLoc):
        mark = _mark(location.desc.data)
        if mark is not None and mark[1] in _ROLES:
            return named_at(f"{mark[0]}/{role}/{mark[2]}", cast(LocationAttr, location.location))
    return location


# -- several sources

_MERGING = re.compile(r"([a-z][\w.,-]*)(?: \+(\d+))?")


def _merging(location: FusedLoc) -> tuple[str, int] | None:
    """Which passes fused a location, and how many sources were left off; None for one that the text had."""
    return _read_merging(location.metadata.data) if isinstance(location.metadata, StringAttr) else None


@lru_cache(maxsize=1024)
def _read_merging(text: str) -> tuple[str, int] | None:
    match = _MERGING.fullmatch(text)
    return (match.group(1), int(match.group(2) or 0)) if match else None


def _parts(location: FusedLoc) -> tuple[LocationAttr, ...]:
    return cast("ArrayAttr[LocationAttr]", location.locations).data


def _fused(parts: Iterable[LocationAttr], merging: str) -> LocationAttr:
    return unverified(FusedLoc, locations=unverified(ArrayAttr, data=tuple(parts)), metadata=text_of(merging))


def flat(location: LocationAttr) -> tuple[tuple[LocationAttr, ...], str, int]:
    """The sources that a location lists, the passes that merged them, and the number of sources that were left off."""
    if isinstance(location, FusedLoc):
        merging = _merging(location)
        if merging is not None:
            return _parts(location), *merging
    return (location,), "", 0


def is_bare(location: LocationAttr) -> bool:
    """Whether an op of this location is as it was written."""
    while isinstance(location, CallSiteLoc):
        location = cast(LocationAttr, location.callee)
    if isinstance(location, FusedLoc) and _merging(location) is not None and _parts(location):
        return is_bare(_parts(location)[0])
    return not (isinstance(location, NameLoc) and _mark(location.desc.data) is not None)


def is_absorbed(location: LocationAttr) -> bool:
    """Whether this part of a fused location is that of an op which a rewrite looked through."""
    mark = _mark(location.desc.data) if isinstance(location, NameLoc) else None
    return mark is not None and mark[1] == ABSORBED


# -- reading locations


def sources(location: LocationAttr, op_name: str = "") -> tuple[Source, ...]:
    """All that a location says an op came from, the most important source first; at least one.

    Args:
        location: that of an op at any level, from the program as written to kernels.
        op_name: the name of the op, which is what was written where the location does not name another.
    """
    listed: dict[Source, None] = {}
    _collect(location, Source(UNKNOWN_LOC, op_name), listed)
    return tuple(listed)


def _collect(location: LocationAttr, so_far: Source, listed: dict[Source, None]) -> None:
    place, op_name, certainty, steps, passes, callers = location, so_far.op_name, so_far.certainty, so_far.derived, so_far.passes, so_far.callers
    while True:
        if isinstance(place, NameLoc):
            mark = _mark(place.desc.data)
            if mark is None and not isinstance(place.location, LocationAttr):
                break
            if mark is not None:
                pass_name, word, op_name = mark
                if word in _ROLES:
                    steps = (*steps, Provenance(pass_name, _ROLES[word], op_name))
                elif pass_name not in passes:
                    passes = (*passes, pass_name)
                if word == ABSORBED:
                    certainty = Certainty.INFERRED
            place = cast(LocationAttr, place.location)
        elif isinstance(place, CallSiteLoc):
            callers = (*callers, cast(LocationAttr, place.caller))
            place = cast(LocationAttr, place.callee)
        elif isinstance(place, FusedLoc) and _parts(place):
            for part in _parts(place):
                _collect(part, Source(UNKNOWN_LOC, op_name, certainty, steps, passes, callers), listed)
            return
        else:
            break
    if isinstance(place, UnknownLoc):
        certainty = Certainty.UNKNOWN
    listed[Source(place, op_name, certainty, steps, passes, callers)] = None


def left_off(location: LocationAttr) -> int:
    """The number of sources that a location has, but does not list (:data:`~wengert.ir.location.fused.MOST_SOURCES`), at the outermost level."""
    return flat(location)[2]


def provenance(location: LocationAttr) -> Provenance | None:
    """The provenance in a derived op's location (also after inlining), or None for an op of the program itself or one of which nothing is known.

    Of an op with several sources it is that of the first; an op that is one of the program itself too is that before all.
    """
    while True:
        if isinstance(location, CallSiteLoc):
            location = cast(LocationAttr, location.callee)
        elif isinstance(location, FusedLoc) and _parts(location):
            location = _parts(location)[0]
        else:
            break
    if isinstance(location, NameLoc):
        mark = _mark(location.desc.data)
        if mark is not None and mark[1] in _ROLES:
            return Provenance(mark[0], _ROLES[mark[1]], mark[2])
    return None
