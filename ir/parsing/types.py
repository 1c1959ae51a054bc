"""Reading types: tensors by a regular expression and a table, everything else by xDSL; every text is read once."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import ComplexType, IndexType, IntegerType, NoneAttr, NoneType, Signedness, TensorType
from xdsl.ir import Attribute
from xdsl.parser import Parser

from wengert.ir.diagnostics import did_you_mean
from wengert.ir.parsing.cursor import DEPTH, SPACE
from wengert.ir.parsing.dialect_names import DialectReader
from wengert.ir.tensor_types import DYNAMIC, checked_encoding, tensor

_ELEMENT = r"[a-z][\w]*|complex<\s*[a-z]\w*\s*>"
_TENSOR = rf"tensor<((?:(?:\d+|\?)x)*)({_ELEMENT})>"
_TYPE = re.compile(rf"{SPACE}({_TENSOR})(?![\w])", re.ASCII)
_SPACED_TENSOR = re.compile(rf"{SPACE}tensor\s*<\s*((?:(?:\d+|\?)\s*x\s*)*)({_ELEMENT})\s*>", re.ASCII)
_COLON = re.compile(rf"{SPACE}:{SPACE}")
_FUNCTION = re.compile(rf"{SPACE}(\(([^()]*)\)\s*->\s*(?:\(([^()]*)\)|{_TENSOR}))", re.ASCII)
_INTEGER = re.compile(r"(s|u)?i(0|[1-9][0-9]{0,7})")
_WIDEST = (1 << 24) - 1
_HIGHEST_RANK = 256
_SIGNS = {None: Signedness.SIGNLESS, "s": Signedness.SIGNED, "u": Signedness.UNSIGNED}
_FLOATS = Parser._builtin_float_types  # pyright: ignore[reportPrivateUsage]

_KINDS = ("tensor", "memref", "vector", "complex", "tuple", "none", "index")
_ELEMENTS = ("f64", "f32", "f16", "bf16", "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "complex<f32>", "complex<f64>", *_FLOATS)

Types = tuple[Attribute, ...]


@lru_cache(maxsize=256)
def element_named(name: str) -> Attribute | None:
    """The element type of this name (``f32``, ``ui8``, ``complex<f64>``, ``index``), or None."""
    if name in _FLOATS:
        return _FLOATS[name]
    if name.startswith("complex<"):
        element = element_named(name[8:-1].strip())
        return None if element is None or isinstance(element, ComplexType) else ComplexType(element)  # pyright: ignore[reportArgumentType]
    if (match := _INTEGER.fullmatch(name)) is not None and int(match.group(2)) <= _WIDEST:
        return IntegerType(int(match.group(2)), _SIGNS[match.group(1)])
    return {"index": IndexType(), "none": NoneType()}.get(name)


@lru_cache(maxsize=8192)
def _tensor_named(shape: str, element: str) -> Attribute | None:
    element_type = element_named(element)
    if element_type is None or isinstance(element_type, NoneType):
        return None
    return tensor(tuple(DYNAMIC if extent == "?" else int(extent) for extent in shape.split("x")[:-1]), element_type)


class TypeReader(DialectReader):
    """Reads types and lists of types."""

    _types: dict[str, Attribute]
    _type_nesting = 0
    _outermost_type = 0
    _functions: dict[str, tuple[Types, Types]]

    def type(self) -> Attribute:
        """Reads a type."""
        match = _TYPE.match(self.text, self.here)
        if match is not None:
            key = match.group(1)
            type = self._types.get(key)
            if type is None and (type := self._tensor(match)) is not None:
                self._types[key] = type
            if type is not None:
                self.here = match.end()
                return type
            self.fail(f"unknown element type '{match.group(3)}'", match.start(3), hint=did_you_mean(match.group(3), _ELEMENTS))
        return self._other_type()

    def _tensor(self, match: re.Match[str]) -> Attribute | None:
        shape, element = match.group(2), match.group(3)
        if len(shape) > 18:
            self._check_extents(shape, match.start(2))
        return _tensor_named(shape, element)

    def _check_extents(self, shape: str, position: int) -> None:
        extents = shape.split("x")[:-1]
        if len(extents) > _HIGHEST_RANK:
            self.fail(f"a tensor of {len(extents)} dimensions is not supported, at most {_HIGHEST_RANK} are", position)
        for extent in extents:
            if extent != "?" and (len(extent) > 19 or int(extent) >= 1 << 63):
                self.fail(f"the dimension {extent[:20]}{'...' * (len(extent) > 20)} does not fit i64", position)
            position += len(extent) + 1

    def _other_type(self) -> Attribute:
        spaced = _SPACED_TENSOR.match(self.text, self.here)
        if spaced is not None:
            shape = "".join(spaced.group(1).split())
            self._check_extents(shape, spaced.start(1))
            if (type := _tensor_named(shape, "".join(spaced.group(2).split()))) is not None:
                self.here = spaced.end()
                return type
        word = self.next_word()
        if word and word not in _KINDS and element_named(word) is None:
            self.fail(f"expected a type, found '{word}'", hint=did_you_mean(word, (*_KINDS, *_ELEMENTS)))
        if not word and self.peek() not in ("!", "("):
            self.unexpected("a type")
        if not word:
            if (own := self.own_text()) is not None:
                return self._nested_type(own.type)
            self.check_dialect_name("!")
        return self._nested_type(self._foreign_type)

    def _nested_type(self, read: Callable[[], Attribute]) -> Attribute:
        """Reads a type that may hold others."""
        if not self._type_nesting:
            self._outermost_type = self.skip()
        self._type_nesting += 1
        if self._type_nesting > DEPTH:
            self.too_deep(self._outermost_type)
        type = read()
        self._type_nesting -= 1
        return type

    def _foreign_type(self) -> Attribute:
        with self.foreign("type"):
            type = super().parse_optional_type()
        if type is None:
            self.unexpected("a type")
        return type

    def parse_optional_type(self) -> Any:
        """Reads a type inside of what xDSL reads (called by xDSL)."""
        self.from_tokens()
        word = self.next_word()
        if self.peek() not in ("!", "(") and word not in _KINDS and element_named(word) is None:
            return None
        type = self.type()
        self.to_tokens()
        return type

    def _parse_tensor_attrs(self) -> Any:
        """Reads the inside of a tensor type (called by xDSL)."""
        position = self._current_token.span.start
        type = super()._parse_tensor_attrs()
        if isinstance(type, TensorType) and not isinstance(type.encoding, NoneAttr):
            problem, encoding = checked_encoding(type.encoding, type.get_shape())
            if problem:
                self.fail(problem, position)
            return TensorType(type.element_type, type.get_shape(), encoding)
        return type

    def colon(self) -> bool:
        """Moves past a colon and the space after it if it comes next."""
        match = _COLON.match(self.text, self.here)
        if match is None:
            return False
        self.here = match.end()
        return True

    def type_if_tensor(self) -> Attribute | None:
        """Reads a tensor type if one comes next."""
        return self.type() if self.text.startswith("tensor<", self.here) else None

    def types(self) -> list[Attribute]:
        """Reads types separated by commas."""
        types = [self.type()]
        while self.accept(","):
            types.append(self.type())
        return types

    def function_type(self) -> tuple[Types, Types]:
        """Reads ``(T, T) -> T`` or ``(T, T) -> (T, T)``: the types of operands and of results."""
        match = _FUNCTION.match(self.text, self.here)
        if match is not None:
            key = match.group(1)
            types = self._functions.get(key)
            if types is None:
                types = self._read_function_type()
                if self.here == match.end() and len(key) < 4096:
                    self._functions[key] = types
            self.here = match.end()
            return types
        return self._read_function_type()

    def _read_function_type(self) -> tuple[Types, Types]:
        inputs = tuple(self.listed("(", ")", self.type))
        self.need("->")
        if self.peek() == "(":
            return inputs, tuple(self.listed("(", ")", self.type))
        return inputs, (self.type(),)
