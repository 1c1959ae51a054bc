"""Names of values and symbols: reading them, and finding what they name.

Values are looked up by name in the scope of their region. A name that is used before its definition is a forward reference;
one that is never defined is reported where it was used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.parser.core import ForwardDeclaredValue

from wengert.ir.diagnostics import did_you_mean
from wengert.ir.parsing.attributes import AttributeReader
from wengert.ir.parsing.cursor import NAME, SPACE

_OPERAND = re.compile(SPACE + r"%(" + NAME + r")(?:#(\d{1,6}))?", re.ASCII)
_AUTOMATIC = re.compile(r"\d.*|(?:cst|c|arg|iterArg)(?:_?\d+)*")

References = dict[str, dict[int, ForwardDeclaredValue[Attribute]]]
"""Values that are used before they are defined, by name and number of the result."""

Operands = list[tuple[str, int, int]]
"""(name, number of the result, position) of each operand."""


class ValueReader(AttributeReader):
    """Reads names of values, and keeps what they name."""

    _defined_at: dict[str, int]
    _scope: list[str]
    _used_at: dict[int, int]
    """The positions of forward references, by their identities: they live as long as the parser does."""
    _references: list[SSAValue]

    def operand(self) -> tuple[str, int, int]:
        """Reads one operand."""
        match = _OPERAND.match(self.text, self.here)
        if match is None:
            self.unexpected("an operand")
        self.here = match.end()
        return match.group(1), int(match.group(2) or 0), match.start(1) - 1

    def resolve(self, operands: Operands, types: Sequence[Attribute], types_at: int) -> list[SSAValue]:
        """The values that are named, which must have these types."""
        if len(operands) != len(types):
            self.fail(f"{count_of(len(operands), 'operand')} but {count_of(len(types), 'operand type')}", types_at)
        resolved: list[SSAValue] = []
        values = self.ssa_values
        for (name, index, position), type in zip(operands, types):
            entry = values.get(name)
            if entry is None or index >= len(entry):
                resolved.append(self._unknown_value(name, index, type, position))
                continue
            value = entry[index]
            if value.type is not type and value.type != type:
                self._type_conflict(name, value, type, self._find_use(name, index, position))
            resolved.append(value)
        return resolved

    def _find_use(self, name: str, index: int, position: int) -> int:
        """Finds where a value is named, at or after this position."""
        match = re.compile(rf"%{re.escape(name)}(?:#{index}|(?![\w$.#-]))(?!\d)").search(self.text, position)
        return match.start() if match else position

    def _type_conflict(self, name: str, value: SSAValue, type: Attribute, position: int) -> None:
        notes = ()
        if (defined := self._defined_at.get(name)) is not None:
            notes = (self.diagnostic(f"'%{name}' is defined here", defined, severity="note"),)
        self.fail(f"'%{name}' is used here as {type}, but its type is {value.type}", position, notes=notes)

    def _unknown_value(self, name: str, index: int, type: Attribute, position: int) -> SSAValue:
        position = self._find_use(name, index, position)
        entry = self.ssa_values.get(name)
        if entry is not None:
            notes = (self.diagnostic(f"'%{name}' is defined here", self._defined_at[name], severity="note"),) if name in self._defined_at else ()
            self.fail(f"'%{name}#{index}' does not exist: '%{name}' has {count_of(len(entry), 'value')}", position, notes=notes)
        references = self.forward_ssa_references.setdefault(name, {})
        value = references.get(index)
        if value is None:
            value = references[index] = ForwardDeclaredValue(type)
            self._used_at[id(value)] = position
            self._references.append(value)
        elif value.type != type:
            self._two_types(name, value, type, position)
        return value

    def _two_types(self, name: str, value: SSAValue, type: Attribute, position: int) -> None:
        before = self.diagnostic("used here", self._position(value), severity="note")
        self.fail(f"'%{name}' is used here as {type}, but before as {value.type}", position, notes=(before,))

    def _position(self, reference: SSAValue) -> int:
        """The position of a forward reference."""
        return self._used_at.get(id(reference), 0)

    def leave_references(self, outer: References) -> None:
        """At the end of a region: what is used in it and not yet defined must be defined around it."""
        inner, self.forward_ssa_references = self.forward_ssa_references, outer
        for name, references in inner.items():
            pending = outer.setdefault(name, {})
            for index, reference in references.items():
                known = pending.setdefault(index, reference)
                if known is not reference:
                    if known.type != reference.type:
                        self._two_types(name, known, reference.type, self._position(reference))
                    reference.replace_all_uses_with(known)

    def define(self, name: str, values: Sequence[SSAValue], position: int) -> None:
        """Gives values a name that ops after this one can use."""
        if name in self.ssa_values:
            notes = (self.diagnostic("first defined here", self._defined_at[name], severity="note"),) if name in self._defined_at else ()
            self.fail(f"'%{name}' is defined twice", position, notes=notes)
        self.ssa_values[name] = tuple(values)
        self._defined_at[name] = position
        self._scope.append(name)
        if name in self.forward_ssa_references:
            self._settle(name, values)
        if _AUTOMATIC.fullmatch(name) is None:
            for value in values:
                value._name = name  # pyright: ignore[reportPrivateUsage]

    def _settle(self, name: str, values: Sequence[SSAValue]) -> None:
        """Replaces forward references by the value that is now defined."""
        for index, reference in self.forward_ssa_references.pop(name).items():
            position = self._position(reference)
            if index >= len(values):
                self.fail(f"'%{name}#{index}' does not exist: '%{name}' has {count_of(len(values), 'value')}", position)
            if reference.type != values[index].type:
                self._type_conflict(name, values[index], reference.type, position)
            reference.replace_all_uses_with(values[index])

    def check_defined(self) -> None:
        """Fails at the first use of a value that has not been defined by the end of its scope."""
        undefined = [(self._position(value), name) for name, references in self.forward_ssa_references.items() for value in references.values()]
        if undefined:
            position, name = min(undefined)
            known = [*self.ssa_values]
            self.fail(f"use of undefined value '%{name}'", position, hint=did_you_mean("%" + name, ["%" + k for k in known]))


def count_of(number: int, what: str) -> str:
    """``1 value``, ``2 values``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
