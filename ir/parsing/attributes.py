"""Reading attribute dictionaries and locations. A dictionary whose text was seen before is not read again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    DenseIntOrFPElementsAttr,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    RankedStructure,
    StringAttr,
)
from xdsl.ir import Attribute

from wengert.ir.parsing.builtins import Attributes
from wengert.ir.parsing.cursor import SPACE
from wengert.ir.parsing.resources import ResourceReader

_FLAT_DICTIONARY = re.compile(SPACE + r"(\{[^{}\"]{0,2000}\})")
_FLAT_PROPERTIES = re.compile(SPACE + r"<(\{[^{}\"]{0,2000}\})>")
_ALIAS_USE = re.compile(SPACE + r"#([A-Za-z_][\w$]*)(?![\w.<$])", re.ASCII)
_LOCATION_ALIAS = re.compile(r"^[ \t]*#([A-Za-z_][\w$]*)[ \t]*=[ \t]*(?=loc\()", re.MULTILINE | re.ASCII)
_LOCATION_DEPTH = 128
_LOC = re.compile(SPACE + r"loc(?=\s*\()")


class AttributeReader(ResourceReader):
    """Reads dictionaries of attributes and locations."""

    _dictionaries: dict[str, Mapping[str, Attribute]]
    _late_locations: dict[str, int]
    _has_locations = True

    # -- attributes

    def dictionary(self) -> Attributes:
        """Reads ``{a = 1, b}`` if it comes next, else an empty dictionary."""
        if self.peek() != "{":
            return {}
        match = _FLAT_DICTIONARY.match(self.text, self.here)
        if match is not None:
            key = match.group(1)
            entries = self._dictionaries.get(key)
            if entries is None:
                entries = self._dictionaries[key] = self.entries()
            self.here = match.end()
            return dict(entries)
        return self.entries()

    def properties(self) -> Attributes:
        """Reads ``<{a = 1, b}>`` if it comes next, else an empty dictionary."""
        match = _FLAT_PROPERTIES.match(self.text, self.here)
        if match is not None:
            key = match.group(1)
            entries = self._dictionaries.get(key)
            if entries is None:
                self.here = match.start(1)
                entries = self._dictionaries[key] = self.entries()
            self.here = match.end()
            return dict(entries)
        if self.peek() != "<":
            return {}
        self.need("<")
        entries = self.entries()
        self.need(">")
        return entries

    def parse_dense_int_or_fp_elements_attr(self, type: RankedStructure[Any] | None) -> DenseIntOrFPElementsAttr[Any]:
        """Reads a dense constant inside another attribute (called by xDSL)."""
        self.from_tokens()
        constant = self.dense(type)
        self.to_tokens()
        return constant

    # -- locations

    def location_attribute(self) -> Attribute:
        return cast(LocationAttr, self.location())

    def location(self) -> LocationAttr | None:
        """Reads ``loc(...)`` if it comes next."""
        match = _LOC.match(self.text, self.here)
        if match is None:
            return None
        self.here = match.end()
        self.need("(")
        location = self._location()
        self.need(")")
        return location

    _location_depth = 0

    def _location(self) -> LocationAttr:
        self._location_depth += 1
        if self._location_depth > _LOCATION_DEPTH:
            self.too_deep(self.skip())
        location = self._one_location()
        self._location_depth -= 1
        return location

    def _one_location(self) -> LocationAttr:
        position = self.skip()
        if (alias := _ALIAS_USE.match(self.text, self.here)) is not None:
            self.here = alias.end()
            return self._location_alias(alias.group(1), position)
        if self.peek() == '"':
            return self._file_or_name()
        if self.next_word() == "loc":
            return cast(LocationAttr, self.location())
        kind = self.word_in(("unknown", "callsite", "fused"), "location")
        if kind == "unknown":
            return UNKNOWN_LOC
        if kind == "callsite":
            self.need("(")
            callee = self._location()
            self.need_word("at")
            caller = self._location()
            self.need(")")
            return CallSiteLoc(callee, caller)
        metadata: Attribute = NoneAttr()
        if self.accept("<"):
            metadata = self.attribute()
            self.need(">")
        return FusedLoc(ArrayAttr(self.listed("[", "]", self._location)), metadata)

    def _file_or_name(self) -> LocationAttr:
        name = self.string()
        if self.accept(":"):
            line = self._line_or_column()
            column = self._line_or_column() if self.accept(":") else 0
            if self.accept_word("to"):
                self._range_end()
            return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))
        if self.accept("("):
            inner = self._location()
            self.need(")")
            return NameLoc(StringAttr(name), inner)
        return NameLoc(StringAttr(name), NoneAttr())

    def _line_or_column(self) -> int:
        position = self.skip()
        number = self.integer()
        if not 0 <= number < 1 << 32:
            self.fail(f"{number} is not the number of a line or a column", position)
        return number

    def _range_end(self) -> None:
        """Reads the end of a range, ``12:5`` or ``:5``, which xDSL's locations cannot hold."""
        if not self.accept(":"):
            self.integer()
            self.need(":")
        self.integer()

    def _location_alias(self, name: str, position: int) -> LocationAttr:
        location = self.attribute_aliases.get("#" + name)
        if location is None and (start := self._late_locations.pop(name, None)) is not None:
            back, self.here = self.here, start
            location = self.attribute_aliases["#" + name] = cast(LocationAttr, self.location())
            self.here = back
        if location is None:
            self.fail(f"undefined location alias '#{name}'", position)
        if not isinstance(location, LocationAttr):
            self.fail(f"'#{name}' is not a location", position)
        return location

    def find_late_locations(self) -> None:
        """Notes where location aliases are defined: JAX writes them at the end, after their uses."""
        self._has_locations = "loc(" in self.text or "loc (" in self.text
        self._late_locations = {m.group(1): m.end() for m in _LOCATION_ALIAS.finditer(self.text)} if "= loc(" in self.text else {}

    def parse_optional_location(self) -> LocationAttr | None:
        """Reads ``loc(...)`` after an op that xDSL reads (called by xDSL)."""
        self.from_tokens()
        location = self.location()
        if location is not None:
            self.to_tokens()
        return location
