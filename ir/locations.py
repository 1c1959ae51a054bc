"""Locations: where an op was written, and for a derived op what it was derived from.

A derived op's location is a name location ``"<pass>/<role>/<op name>"`` around the location of the op it was derived
from, so that any MLIR tool prints it, and derivatives of derivatives nest::

    loc("vjp/cotangent/stablehlo.sine"("f.mlir":3:10))
"""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple, cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, IntAttr, LocationAttr, NameLoc, StringAttr
from xdsl.ir import Operation

from wengert.ir.construction import unverified
from wengert.ir.diagnostics import Diagnostic, DiagnosticError


class Role(StrEnum):
    """The role of a derived op."""

    PRIMAL = "primal"
    COEFFICIENT = "coefficient"
    TANGENT = "tangent"
    COTANGENT = "cotangent"
    ACCUMULATION = "accumulation"


class Provenance(NamedTuple):
    """The provenance recorded in a derived op's location: which pass made it, its role, and the name of the op it was derived from."""

    pass_name: str
    role: Role
    op_name: str


def at(filename: str, line: int, column: int) -> FileLineColLoc:
    """A place in a file, counted from 1."""
    return FileLineColLoc(StringAttr(filename), IntAttr(line), IntAttr(column))


@lru_cache(maxsize=1024)
def _name(text: str) -> StringAttr:
    return StringAttr(text)


def _derived(name: str, inner: LocationAttr) -> LocationAttr:
    return unverified(NameLoc, desc=_name(name), location=inner)


def derived(op: Operation, role: Role, pass_name: str) -> LocationAttr:
    """The location of what ``pass_name`` derives from ``op`` in this role."""
    return _derived(f"{pass_name}/{role}/{op.name}", op.location)


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


def provenance(location: LocationAttr) -> Provenance | None:
    """The provenance in a derived op's location (also after inlining), or None for an op that was written or is unknown."""
    while isinstance(location, CallSiteLoc):
        location = cast(LocationAttr, location.callee)
    if isinstance(location, NameLoc):
        parts = location.desc.data.split("/")
        if len(parts) == 3 and parts[1] in set(Role):
            return Provenance(parts[0], Role(parts[1]), parts[2])
    return None


def origin(location: LocationAttr) -> LocationAttr:
    """The place in the source under all names and calls: a file location, or what is nearest to one."""
    while isinstance(location, NameLoc | CallSiteLoc):
        location = cast(LocationAttr, location.location if isinstance(location, NameLoc) else location.callee)
    if isinstance(location, FusedLoc):
        parts = [origin(part) for part in cast("ArrayAttr[LocationAttr]", location.locations)]
        return next((p for p in parts if isinstance(p, FileLineColLoc)), parts[0])
    return location


_NOWHERE = "<unknown>"


def describe(location: LocationAttr) -> str:
    """``file:line:col`` of the origin, or ``<unknown>``."""
    place = origin(location)
    if isinstance(place, FileLineColLoc):
        return f"{place.filename.data}:{place.line.data}:{place.column.data}"
    return _NOWHERE


def describe_within(op: Operation) -> str:
    """``file:line:col`` of an op, or of the last op inside of it that has a place: of a kernel, that of which it computes the result."""
    places = (describe(inner.location) for inner in (op, *reversed(list(op.walk()))))
    return next((place for place in places if place != _NOWHERE), _NOWHERE)


def error_at(location: LocationAttr, message: str, hint: str = "") -> DiagnosticError:
    """The error to raise for something wrong at a location."""
    place = origin(location)
    if isinstance(place, FileLineColLoc):
        return DiagnosticError(Diagnostic(message, place.filename.data, place.line.data, place.column.data, hint=hint))
    return DiagnosticError(Diagnostic(message, hint=hint))


@lru_cache(maxsize=8192)
def with_role(location: LocationAttr, role: Role) -> LocationAttr:
    """A derived op's location in another role; any other location is returned as it is."""
    known = provenance(location)
    if known is None:
        return location
    if isinstance(location, CallSiteLoc):  # inlined since
        return _call_site(with_role(cast(LocationAttr, location.callee), role), cast(LocationAttr, location.caller))
    return _derived(f"{known.pass_name}/{role}/{known.op_name}", cast(LocationAttr, cast(NameLoc, location).location))
