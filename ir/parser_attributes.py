"""Reading attributes, attribute dictionaries and locations.

Attributes are read by xDSL, except dense constants (ours are exact and fast) and locations. An attribute or a dictionary whose
text was seen before is not read again.
"""

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
    UnitAttr,
)
from xdsl.ir import Attribute

from wengert.ir.parser_constants import ConstantReader
from wengert.ir.parser_cursor import SPACE

_FLAT_DICTIONARY = re.compile(SPACE + r"(\{[^{}\"]{0,2000}\})")
_FLAT_PROPERTIES = re.compile(SPACE + r"<(\{[^{}\"]{0,2000}\})>")
_DENSE = re.compile(SPACE + r"dense(?=\s*<)")
_ALIAS_USE = re.compile(SPACE + r"#([A-Za-z_][\w$]*)(?![\w.<$])")
_LOCATION_ALIAS = re.compile(r"^[ \t]*#([A-Za-z_][\w$]*)[ \t]*=[ \t]*(?=loc\()", re.MULTILINE)
_LOC = re.compile(SPACE + r"loc(?=\s*\()")

_NO_ATTRIBUTE = ("", "}", "]", ")", ">", ",", "=", ":")

Attributes = dict[str, Attribute]
_UNIT = UnitAttr()


class AttributeReader(ConstantReader):
    """Reads attributes and locations."""

    _dictionaries: dict[str, Mapping[str, Attribute]]
    _late_locations: dict[str, int]
    _has_locations = True

    # -- attributes

    def attribute(self) -> Attribute:
        """Reads an attribute."""
        match = _DENSE.match(self.text, self.here)
        if match is not None:
            self.here = match.end()
            return self.dense()
        if self.peek() in _NO_ATTRIBUTE:
            self.unexpected("an attribute")
        with self.foreign("attribute"):
            return self.parse_attribute()

    def dictionary(self) -> Attributes:
        """Reads ``{a = 1, b}`` if it comes next, else an empty dictionary."""
        if self.peek() != "{":
            return {}
        match = _FLAT_DICTIONARY.match(self.text, self.here)
        if match is not None:
            key = match.group(1)
            found = self._dictionaries.get(key)
            if found is None:
                found = self._dictionaries[key] = self._read_dictionary()
            self.here = match.end()
            return dict(found)
        return self._read_dictionary()

    def properties(self) -> Attributes:
        """Reads ``<{a = 1, b}>`` if it comes next, else an empty dictionary."""
        match = _FLAT_PROPERTIES.match(self.text, self.here)
        if match is not None:
            key = match.group(1)
            found = self._dictionaries.get(key)
            if found is None:
                self.here = match.start(1)
                found = self._dictionaries[key] = self._read_dictionary()
            self.here = match.end()
            return dict(found)
        if self.peek() != "<":
            return {}
        self.need("<")
        found = self._read_dictionary()
        self.need(">")
        return found

    def _read_dictionary(self) -> Attributes:
        found: Attributes = {}

        def entry() -> None:
            position = self.skip()
            key = self.string() if self.peek() == '"' else self.word("an attribute name")
            if key in found:
                self.fail(f"attribute '{key}' is given twice", position)
            found[key] = self.attribute() if self.accept("=") else _UNIT

        self.listed("{", "}", entry)
        return found

    def parse_dense_int_or_fp_elements_attr(self, type: RankedStructure[Any] | None) -> DenseIntOrFPElementsAttr[Any]:
        """What xDSL calls for a dense constant inside another attribute."""
        self.from_tokens()
        found = self.dense(type)
        self.to_tokens()
        return found

    def unregistered(self, name: str, body: str, opaque: bool = False) -> Attribute:
        """An attribute of which only the name is known, with its raw text."""
        cls: Any = self.ctx.get_optional_attr(name)
        return cls(name, False, opaque, body)

    # -- locations

    def location(self) -> LocationAttr | None:
        """Reads ``loc(...)`` if it comes next."""
        match = _LOC.match(self.text, self.here)
        if match is None:
            return None
        self.here = match.end()
        self.need("(")
        found = self._location()
        self.need(")")
        return found

    def _location(self) -> LocationAttr:
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
            line = self.integer()
            self.need(":")
            column = self.integer()
            if self.accept_word("to"):
                self._range_end()
            return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))
        if self.accept("("):
            inner = self._location()
            self.need(")")
            return NameLoc(StringAttr(name), inner)
        return NameLoc(StringAttr(name), NoneAttr())

    def _range_end(self) -> None:
        """Reads the end of a range, ``12:5`` or ``:5``, which xDSL's locations cannot hold."""
        if not self.accept(":"):
            self.integer()
            self.need(":")
        self.integer()

    def _location_alias(self, name: str, position: int) -> LocationAttr:
        found = self.attribute_aliases.get("#" + name)
        if found is None and (start := self._late_locations.pop(name, None)) is not None:
            back, self.here = self.here, start
            found = self.attribute_aliases["#" + name] = cast(LocationAttr, self.location())
            self.here = back
        if found is None:
            self.fail(f"undefined location alias '#{name}'", position)
        if not isinstance(found, LocationAttr):
            self.fail(f"'#{name}' is not a location", position)
        return found

    def find_late_locations(self) -> None:
        """Notes where location aliases are defined: JAX writes them at the end, after their uses."""
        self._has_locations = "loc(" in self.text or "loc (" in self.text
        self._late_locations = {m.group(1): m.end() for m in _LOCATION_ALIAS.finditer(self.text)} if "= loc(" in self.text else {}

    def parse_optional_location(self) -> LocationAttr | None:
        """What xDSL calls for ``loc(...)`` after an op that it reads."""
        self.from_tokens()
        found = self.location()
        if found is not None:
            self.to_tokens()
        return found
