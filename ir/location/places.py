"""Places in messages: where in a file an op comes from, and errors that are raised there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, NameLoc
from xdsl.ir import Attribute, Operation

from wengert.ir.diagnostics import Diagnostic, DiagnosticError


def origin(location: LocationAttr) -> LocationAttr:
    """The place in the source under all names and calls: a file location, or what is nearest to one."""
    while isinstance(location, NameLoc | CallSiteLoc):
        location = cast(LocationAttr, location.location if isinstance(location, NameLoc) else location.callee)
    if isinstance(location, FusedLoc):
        parts = [origin(part) for part in cast("ArrayAttr[LocationAttr]", location.locations)]
        return next((p for p in parts if isinstance(p, FileLineColLoc)), parts[0])
    return location


_NOWHERE = "<unknown>"


def source_place(location: LocationAttr) -> FileLineColLoc | None:
    """The place in a file that a location comes from; where no file has it (what JAX's own functions do is known by name only), that of the nearest call
    around it; None where neither is known."""
    place = origin(location)
    return place if isinstance(place, FileLineColLoc) else next(_places(location), None)


def place_around(op: Operation) -> FileLineColLoc | None:
    """The place of an op, or of the nearest op around it that has one."""
    outwards: Operation | None = op
    while outwards is not None:
        if (place := source_place(outwards.location)) is not None:
            return place
        outwards = outwards.parent_op()
    return None


def _places(location: LocationAttr) -> Iterator[FileLineColLoc]:
    left: list[Attribute] = [location]
    while left:
        match left.pop():
            case FileLineColLoc() as place:
                yield place
            case NameLoc(location=named):
                left.append(named)
            case CallSiteLoc(callee=callee, caller=caller):
                left += (caller, callee)
            case FusedLoc() as fused:
                left += reversed(cast("ArrayAttr[LocationAttr]", fused.locations).data)
            case _:  # nothing is known of it
                pass


def describe(location: LocationAttr) -> str:
    """``file:line:col`` of the origin or of the nearest call around it, or ``<unknown>``."""
    return _text(source_place(location))


def describe_within(op: Operation) -> str:
    """``file:line:col`` of an op, or of the last op inside of it that has a place: of a kernel, that of which it computes the result."""
    places = (describe(inner.location) for inner in (op, *reversed(list(op.walk()))))
    return next((place for place in places if place != _NOWHERE), _NOWHERE)


def describe_around(op: Operation) -> str:
    """``file:line:col`` of :func:`place_around`, or ``<unknown>``."""
    return _text(place_around(op))


def error_at(at: Operation | LocationAttr, message: str, hint: str = "") -> DiagnosticError:
    """The error to raise for something wrong with an op, at its place or that of the nearest op around it that has one, or at a location."""
    place = source_place(at) if isinstance(at, LocationAttr) else place_around(at)
    if place is None:
        return DiagnosticError(Diagnostic(message, hint=hint))
    return DiagnosticError(Diagnostic(message, place.filename.data, place.line.data, place.column.data, hint=hint))


def _text(place: FileLineColLoc | None) -> str:
    return _NOWHERE if place is None else f"{place.filename.data}:{place.line.data}:{place.column.data}"
