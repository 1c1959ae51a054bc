"""Names that belong to dialects: which are refused as a whole, and which attributes and types a known dialect does not have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from xdsl.dialects.builtin import UnregisteredAttr
from xdsl.ir import Attribute

from wengert.ir.diagnostics import did_you_mean
from wengert.ir.parsing.cursor import SPACE, Cursor

_NAME = re.compile(SPACE + r"[#!]([A-Za-z_][\w$]*)(?:\.([\w$.-]+)|" + SPACE + "<" + SPACE + r"([A-Za-z_][\w$.]*))", re.ASCII)


class DialectText(Protocol):
    """Reads the attributes and types of a dialect."""

    def attribute(self) -> Attribute:
        """The attribute that comes next."""
        ...

    def type(self) -> Attribute:
        """The type that comes next."""
        ...


class DialectReader(Cursor):
    """Knows which dialects there are."""

    closed_dialects: frozenset[str] = frozenset()
    """Dialects of which everything is known."""
    opaque: frozenset[str] = frozenset()
    """Attributes and types of closed dialects that are kept as their text, with their marks: ``#dialect.name``."""
    refused_dialects: Mapping[str, str] = {}
    """Dialects that are not read at all, each with what to do instead."""
    own_texts: Mapping[str, Callable[[Any], DialectText]] = {}
    """Dialects that read their attributes and types themselves: for each what makes its reader, given this one."""

    def own_text(self) -> DialectText | None:
        """What reads ``#dialect.name`` or ``!dialect<name>``, which comes next, if its dialect reads its own."""
        match = _NAME.match(self.text, self.here) if self.own_texts else None
        make = self.own_texts.get(match.group(1)) if match is not None else None
        return None if make is None else make(self)

    def check_dialect(self, dialect: str, position: int) -> None:
        """Fails at what belongs to a dialect that is not read at all."""
        if dialect in self.refused_dialects:
            self.fail(f"the dialect '{dialect}' is not supported", position, hint=self.refused_dialects[dialect])

    def check_dialect_name(self, mark: str) -> None:
        """Fails before ``#dialect.name`` or ``!dialect<name>`` where there is no such thing."""
        match = _NAME.match(self.text, self.here)
        if match is None:
            return
        dialect, name = match.group(1), match.group(2) or match.group(3)
        position = match.start(1) - 1
        self.check_dialect(dialect, position)
        full = f"{dialect}.{name}"
        if dialect in self.closed_dialects and mark + full not in self.opaque:
            find: Callable[[str], Any] = self.ctx.get_optional_type if mark == "!" else self.ctx.get_optional_attr
            if (cls := find(full)) is None or issubclass(cls, UnregisteredAttr):
                kind = "type" if mark == "!" else "attribute"
                self.fail(f"unknown {kind} '{mark}{full}'", position, hint=self._hint(mark, dialect, full))

    def _hint(self, mark: str, dialect: str, full: str) -> str:
        loaded = self.ctx.loaded_types if mark == "!" else self.ctx.loaded_attrs
        known = [mark + cls.name for cls in loaded if not issubclass(cls, UnregisteredAttr)] + list(self.opaque)
        return did_you_mean(mark + full, [name for name in known if name.startswith(f"{mark}{dialect}.")])
