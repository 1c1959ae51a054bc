"""Names of values in messages: those that the user wrote, found by their places in the source."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cached_property

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from wengert.ir.location.locations import provenance
from wengert.ir.location.places import origin, source_place
from wengert.ir.printing.printer import printed_names
from wengert.ir.traversal import all_ops
from wengert.runtime.functions import entry_function, names_of
from wengert.runtime.program import Program

WRITTEN = re.compile(r"%([\w$.-]+)(?::\d+)?(?:\s*,\s*%[\w$.-]+)*\s*=")
"""The names that an op's results are given where it is written."""


class SourceNames:
    """The names that the values of a program have in its source.

    Args:
        primal: the program, for names as they are printed where there is no text.
        sources: texts by the file names that locations have.
    """

    def __init__(self, primal: Program | None = None, sources: Mapping[str, str] | None = None):
        self._primal = primal
        self._lines = {name: text.splitlines() for name, text in (sources or {}).items()}

    @property
    def file(self) -> str:
        """The name that locations give to the text that the program was read from."""
        return self._primal.name if self._primal is not None else next(iter(self._lines), "")

    @cached_property
    def _printed(self) -> dict[LocationAttr, str]:
        if self._primal is None:
            return {}
        names = printed_names(self._primal.module)
        return {op.location: name for op in reversed(all_ops(self._primal.module)) if op.results and (name := names.get(op.results[0]))}

    @cached_property
    def _arguments(self) -> list[str]:
        """The names of the entry's arguments: those that its attributes give, or those of their values."""
        if self._primal is None:
            return []
        function = entry_function(self._primal.module, self._primal.entry)
        given, printed = names_of(function)[0], printed_names(function)
        return [name or printed[argument] for name, argument in zip(given, function.body.block.args, strict=True)]

    def at(self, location: LocationAttr) -> str:
        """The name of what was written at the place that a location comes from; empty where it is not known."""
        place = origin(location)
        if not isinstance(place, FileLineColLoc):
            return ""
        lines = self._lines.get(place.filename.data, ())
        if 0 < place.line.data <= len(lines):
            match = WRITTEN.match(lines[place.line.data - 1], place.column.data - 1)
            if match is not None:
                return f"%{match[1]}"
        return self._printed.get(place, "")

    def argument(self, number: int) -> str:
        """The name of an argument of the entry, or its number."""
        return self._arguments[number] if number < len(self._arguments) else f"argument {number}"


def source_line(location: LocationAttr) -> tuple[str, int]:
    """The file and line that a location comes from; an empty name and 0 where it is not known."""
    place = source_place(location)
    return ("", 0) if place is None else (place.filename.data, place.line.data)


def line_text(place: tuple[str, int], only: str = "") -> str:
    """``:12``, with the file's last name in front where it is not ``only``; empty where the place is not known."""
    file, line = place
    if not line:
        return ""
    return f":{line}" if file == only else f"{os.path.basename(file)}:{line}"


def plain_name(op: Operation | str) -> str:
    """An op's name without its dialect."""
    name = op if isinstance(op, str) else op.name
    return name.partition(".")[2] or name


def derived_from(op: Operation) -> str:
    """``cotangent of tanh``, or the op's own name if it is part of the program."""
    known = provenance(op.location)
    return plain_name(op) if known is None else f"{known.role.value} of {plain_name(known.op_name)}"


def owner_of(value: SSAValue) -> Operation:
    """The op that makes a value; of an argument, the op in whose region it is."""
    if isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        assert parent is not None
        return parent
    owner = value.owner
    assert isinstance(owner, Operation)
    return owner
