"""Selectors: the ops and values of a module that a short text names.

.. code-block:: text

    %12  %12#1  %acc            a value, by its name as it is printed, or as the user wrote it
    result:0  arg:1             a result or an argument of the entry function
    p.mlir:12  p.mlir:12:8      what was written at a line, or came from there
    12                          the same in the program's own file
    op:tanh  op:stablehlo.*     ops by name, with or without the dialect; * and ? stand for anything
    role:cotangent              derived ops by their role
    loc("vjp/cotangent")        ops whose location holds this text
    @f  @f/%12  @f/op:tanh      a function, and any of the above inside of it

A selector that selects nothing is an error that lists what there is.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, LocationAttr, ModuleOp, NameLoc
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from wengert.ir.diagnostics import did_you_mean, one_of
from wengert.ir.location.locations import Role, provenance
from wengert.ir.location.places import describe
from wengert.ir.printing.attributes import AttributeWriter
from wengert.ir.printing.printer import printed_names
from wengert.ir.traversal import all_ops
from wengert.lab.inspection.naming import WRITTEN, owner_of
from wengert.runtime.errors import InputError
from wengert.runtime.functions import entry_function, functions

FORMS = '%12, result:0, arg:1, file:line, a line, op:tanh, role:cotangent, loc("...") or @f'
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_POSITION = re.compile(r"(result|arg|argument):(\d+)")
_PLACE = re.compile(r"(?:(?P<file>(?!\d+(?::\d+)?$).+?):)?(?P<line>\d+)(?::(?P<column>\d+))?")
_LOCATION = re.compile(r"loc\((.*)\)", re.DOTALL)
_FUNCTION = re.compile(r"@([\w$.-]+)(?:/(.+))?", re.DOTALL)
_SHOWN = 6


@dataclass(frozen=True)
class Selected:
    """One thing that a selector names.

    Attributes:
        op: the op; of an argument, the function or the op in whose region it is.
        value: the value that was named, or the op's first result; None for an op without results.
        name: the value's name as it is printed, or the op's.
    """

    op: Operation
    value: SSAValue | None
    name: str

    @property
    def place(self) -> str:
        """``file:line:col`` of where it was written, or of what it was derived from."""
        return describe(self.value.location if isinstance(self.value, BlockArgument) else self.op.location)

    def __str__(self) -> str:
        what = "argument" if isinstance(self.value, BlockArgument) else printed_op_name(self.op)
        return f"{self.name} ({what}, {self.place})"


def select(module: ModuleOp, selector: str, *, entry: str = "main", sources: Mapping[str, str] | None = None) -> tuple[Selected, ...]:
    """Finds what a selector names in a module, in the order of the text; at least one thing.

    Args:
        module: the IR.
        selector: one of the forms above.
        entry: the function that ``result:0`` and ``arg:0`` are about.
        sources: texts by the file names that locations have, for values by the names that the user gave them.

    Raises:
        InputError: it is no selector, or it selects nothing; lists what is near.
    """
    return Names(module, entry, sources or {}).select(selector)


class Names:
    """The names of what is in a module, for several selectors."""

    def __init__(self, module: ModuleOp, entry: str = "main", sources: Mapping[str, str] | None = None):
        self.module = module
        self.entry = entry
        self._lines = {name: text.splitlines() for name, text in (sources or {}).items()}

    @cached_property
    def printed(self) -> dict[SSAValue, str]:
        """The name of every value as it is printed."""
        return printed_names(self.module)

    @cached_property
    def _ops(self) -> list[Operation]:
        return all_ops(self.module)[1:]

    @cached_property
    def _values(self) -> dict[str, list[SSAValue]]:
        values: dict[str, list[SSAValue]] = defaultdict(list)
        for value, name in self.printed.items():
            values[name].append(value)
            if name.endswith("#0"):
                values[name[:-2]].append(value)
        return values

    @cached_property
    def _written(self) -> dict[str, list[Operation]]:
        """The ops that were written under a name in the sources, or else those that were derived from them."""
        written: dict[str, list[Operation]] = defaultdict(list)
        derived: dict[str, list[Operation]] = defaultdict(list)
        for op in self._ops:
            for place in places_of(op.location):
                if (name := self._name_at(place)) is not None:
                    known = provenance(op.location)
                    (written if known is None or known.role is Role.PRIMAL else derived)[name].append(op)
        return {**derived, **written}

    def _name_at(self, place: FileLineColLoc) -> str | None:
        lines = self._lines.get(place.filename.data)
        if lines is None or place.line.data > len(lines):
            return None
        match = WRITTEN.match(lines[place.line.data - 1], place.column.data - 1)
        return None if match is None else f"%{match[1]}"

    def name(self, op: Operation) -> str:
        """What an op is called: its first result as it is printed, or its own name if it has none."""
        return self.printed.get(op.results[0], "%?") if op.results else op.name

    def selected(self, op: Operation) -> Selected:
        """An op as something that was selected."""
        return Selected(op, op.results[0] if op.results else None, self.name(op))

    def select(self, selector: str) -> tuple[Selected, ...]:
        """What a selector names; see :func:`select`."""
        text = selector.strip()
        if match := _FUNCTION.fullmatch(text):
            return self._in_function(match[1], match[2])
        ways: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterable[Selected]]], ...] = (
            (_VALUE, lambda match: self._by_name(match[0])),
            (_POSITION, lambda match: [self._by_position(match[1], int(match[2]))]),
            (re.compile(r"op:(.+)"), lambda match: self._by_op(match[1])),
            (re.compile(r"role:(.+)"), lambda match: self._by_role(match[1])),
            (_LOCATION, lambda match: self._by_location(match[1])),
            (_PLACE, lambda match: self._by_place(match["file"], int(match["line"]), match["column"])),
        )
        for pattern, way in ways:
            if match := pattern.fullmatch(text):
                return tuple(way(match))
        raise InputError(f"{selector!r} selects nothing: a selector is {FORMS}{self._meant(text)}")

    def _meant(self, text: str) -> str:
        """What a text that is no selector may have been meant as."""
        if f"%{text}" in self._values or f"%{text}" in self._written:
            return f"; did you mean '%{text}'?"
        if any(_matches(op, text) for op in self._ops):
            return f"; did you mean 'op:{text}'?"
        return f"; did you mean 'role:{text}'?" if text in set(Role) else ""

    def _in_function(self, name: str, rest: str | None) -> tuple[Selected, ...]:
        known = functions(self.module)
        if name not in known:
            raise InputError(f"there is no function @{name}; " + (did_you_mean(name, known) or f"there is {_listed([f'@{n}' for n in known])}"))
        if rest is None:
            return (Selected(known[name], None, f"@{name}"),)
        inside = [s for s in self._for_entry(name).select(rest) if s.op is known[name] or known[name].is_ancestor(s.op)]
        if not inside:
            raise InputError(f"'{rest}' selects nothing in @{name}, though elsewhere")
        return tuple(inside)

    def _for_entry(self, entry: str) -> Names:
        other = Names(self.module, entry)
        other._lines = self._lines
        return other

    def _by_name(self, name: str) -> Iterator[Selected]:
        values = self._values.get(name)
        if values:
            for value in values:
                yield Selected(owner_of(value), value, self.printed[value])
            return
        plain, _, number = name.partition("#")
        ops = [op for op in self._written.get(plain, ()) if not number or int(number) < len(op.results)]
        if not ops:
            near = get_close_matches(name, [*self._values, *self._written], _SHOWN, 0.6) or list(self._values)[:_SHOWN]
            raise InputError(f"there is no value {name}; near it: {', '.join(near) or 'none'}")
        for op in ops:
            value = op.results[int(number or 0)] if op.results else None
            yield Selected(op, value, self.printed.get(value, op.name) if value is not None else op.name)

    def _by_position(self, kind: str, position: int) -> Selected:
        function = entry_function(self.module, self.entry)
        values = _results(function) if kind == "result" else tuple(function.body.blocks.first.args if function.body.blocks.first else ())
        if position >= len(values):
            word = "result" if kind == "result" else "argument"
            count = f"{len(values)} {word}{'s' if len(values) != 1 else ''}"
            raise InputError(f"@{self.entry} has no {word} {position}: it has {count}" + (f", 0 to {len(values) - 1}" if len(values) > 1 else ""))
        value = values[position]
        return Selected(owner_of(value), value, self.printed[value])

    def _by_op(self, pattern: str) -> Iterator[Selected]:
        ops = [op for op in self._ops if _matches(op, pattern)]
        if not ops:
            names = sorted({printed_op_name(op) for op in self._ops})
            near = get_close_matches(pattern, [*names, *(n.partition(".")[2] for n in names)], 3, 0.6)
            raise InputError(f"there is no op {pattern}; " + (f"did you mean {one_of(near)}?" if near else f"there is {_listed(names, 12)}"))
        yield from map(self.selected, ops)

    def _by_role(self, role: str) -> Iterator[Selected]:
        ops = [op for op in self._ops if (known := provenance(op.location)) is not None and known.role.value == role]
        if not ops:
            there = sorted({known.role.value for op in self._ops if (known := provenance(op.location)) is not None})
            raise InputError(
                f"no op has the role {role}; " + (f"there is {_listed(there)}" if there else "the program is no derivative, and its ops have none")
            )
        yield from map(self.selected, ops)

    def _by_location(self, text: str) -> Iterator[Selected]:
        wanted = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
        writer = AttributeWriter()
        ops = [op for op in self._ops if wanted in (location := writer.location(op.location)) or wanted in location.replace('"', "")]
        if not ops:
            names = sorted({loc.desc.data for op in self._ops if isinstance(loc := op.location, NameLoc)})
            near = get_close_matches(wanted, names, 3, 0.4)
            raise InputError(f"no op has a location with {wanted!r}" + (f"; there is {_listed(near)}" if near else ""))
        yield from map(self.selected, ops)

    def _by_place(self, file: str | None, line: int, column: str | None) -> Iterator[Selected]:
        there: dict[str, set[tuple[int, int]]] = defaultdict(set)
        hits: list[tuple[Operation, set[str]]] = []
        for op in self._ops:
            files: set[str] = set()
            for place in places_of(op.location):
                name, spot = place.filename.data, (place.line.data, place.column.data)
                if file is None or _same_file(name, file):
                    there[name].add(spot)
                    if spot[0] == line and (column is None or spot[1] == int(column)):
                        files.add(name)
            if files:
                hits.append((op, files))
        if not hits:
            raise InputError(self._nothing_at(file, line, column, there))
        own = {name for name in self._lines if file is None and any(name in files for _, files in hits)}
        yield from (self.selected(op) for op, files in hits if not own or own & files)

    def _nothing_at(self, file: str | None, line: int, column: str | None, there: Mapping[str, set[tuple[int, int]]]) -> str:
        wanted = f"{file or 'line'}{':' if file else ' '}{line}{f':{column}' if column else ''}"
        if not there:
            files = sorted({p.filename.data for op in self._ops for p in places_of(op.location)})
            return f"nothing comes from {wanted}: " + (f"what there is comes from {_listed(files)}" if files else "the program says no places")
        name = next((name for name in self._lines if name in there), next(iter(there)))
        spots = sorted(there[name], key=lambda spot: (abs(spot[0] - line), abs(spot[1] - int(column or 1))))
        near = list(dict.fromkeys(f"{name}:{at}:{c}" if column else f"{name}:{at}" for at, c in spots))[:3]
        return f"nothing comes from {wanted}; nearest: {', '.join(near)}"


def places_of(location: LocationAttr) -> Iterator[FileLineColLoc]:
    """All places in files that a location names: of what an op was derived from, of all ops that were made one, and of the calls around them."""
    if isinstance(location, FileLineColLoc):
        yield location
    elif isinstance(location, NameLoc):
        yield from places_of(cast(LocationAttr, location.location))
    elif isinstance(location, CallSiteLoc):
        yield from places_of(cast(LocationAttr, location.callee))
        yield from places_of(cast(LocationAttr, location.caller))
    elif isinstance(location, FusedLoc):
        for part in cast("ArrayAttr[LocationAttr]", location.locations):
            yield from places_of(part)


def _results(function: FuncOp) -> tuple[SSAValue, ...]:
    block = function.body.blocks.last
    return tuple(block.last_op.operands) if block is not None and block.last_op is not None else ()


def _matches(op: Operation, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for written in {op.name, printed_op_name(op)} for name in (written, written.partition(".")[2]))


def printed_op_name(op: Operation) -> str:
    """An op's name as it is printed: a scalar function of a kernel has its own, such as ``kernel.tanh``."""
    return getattr(op, "mnemonic", op.name)


def _same_file(name: str, wanted: str) -> bool:
    return name == wanted or os.path.normpath(name) == os.path.normpath(wanted) or name.endswith(f"/{wanted}")


def _listed(names: Iterable[str], most: int = _SHOWN) -> str:
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more
