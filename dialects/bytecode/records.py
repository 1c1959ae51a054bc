"""Layouts that several dialects share: enumerations, and records of integers and lists of integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute

from wengert.dialects.stablehlo.attributes import dimensions
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.bytecode.fields import SIGNED, SIGNEDS, VARINT, Layout


def words(code: int, cls: type[EnumAttribute[Any]]) -> Layout:
    """An enumeration: the number of the word."""
    members = list(cls.enum_type)
    attributes = [cls(member) for member in members]

    def make(number: int) -> Attribute:
        if number >= len(attributes):
            raise ValueError(f"there is no word {number} in {cls.name}")
        return attributes[number]

    return Layout(code, cls, (VARINT,), make, lambda a: (members.index(a.data),))


def integers(code: int, cls: type[ParametrizedAttribute], kinds: str) -> Layout:
    """A record: ``i`` for a parameter that is an integer, ``l`` for one that is a list of integers."""

    def make(*values: Any) -> Attribute:
        return cls.new([dimensions(v) if kind == "l" else int_attr(v) for kind, v in zip(kinds, values, strict=True)])

    return Layout(code, cls, tuple(SIGNEDS if kind == "l" else SIGNED for kind in kinds), make, lambda a: [_value(p) for p in a.parameters])


def _value(parameter: Attribute) -> int | Sequence[int]:
    if isinstance(parameter, ArrayAttr):
        return [int_of(item) for item in cast("ArrayAttr[Attribute]", parameter)]
    return int_of(parameter)
