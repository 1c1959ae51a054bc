"""Places in the user's code, kept cheaply: a code object and an offset, turned into a line when asked."""

from __future__ import annotations

import sys
from types import CodeType

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr

from wengert.ir.location.locations import at

Place = tuple[CodeType, int]
_PACKAGE = "wengert.eager"


def here() -> Place | None:
    """The innermost place outside of this package on the stack."""
    frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None


def _position(place: Place) -> tuple[int, int]:
    """Line and column, counted from 1."""
    code, offset = place
    for number, (line, _, column, _) in enumerate(code.co_positions()):
        if number * 2 >= offset:
            return line or 1, (column or 0) + 1
    return code.co_firstlineno, 1


def describe(place: Place | None) -> str:
    """``file:line`` of a place."""
    return "an unknown place" if place is None else f"{place[0].co_filename}:{_position(place)[0]}"


def location(place: Place | None) -> LocationAttr:
    """The place as a location of the IR."""
    return UNKNOWN_LOC if place is None else at(place[0].co_filename, *_position(place))
