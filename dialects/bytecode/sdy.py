"""Bytecode encodings of Shardy's attributes: read into the text that Shardy writes for them, as which they are kept; written in MLIR's assembly format.

What only stands inside of another attribute (an axis, the sharding of a dimension) is read as a string of the text that it has there.
"""

# Tables of functions on the generic classes of xDSL, which have no types of their own here.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute

from wengert.ir.bytecode.fields import ATTRIBUTE, ATTRIBUTES, SIGNED, SIGNEDS, STRING, Encoding, EntryReader, Field, Layout
from wengert.ir.printing.attributes import escaped, symbol

_LETTERS = "ijklmnopqrstuvwxyz"


def _inner(attribute: Attribute) -> str:
    """The text of an attribute inside of another one."""
    return attribute.data if isinstance(attribute, StringAttr) else cast("Any", attribute).value.data


def _listed(attributes: Sequence[Attribute]) -> str:
    return ", ".join(map(_inner, attributes))


def _part(code: int, fields: tuple[Field, ...], text: Callable[..., str]) -> Layout:
    """What only stands inside of another attribute."""
    return Layout(code, Attribute, fields, lambda *values: StringAttr(text(*values)), _never)


def _never(_: Any) -> None:
    return None


def _whole(code: int, fields: tuple[Field, ...], text: Callable[..., str]) -> Layout:
    """An attribute that a program may have anywhere."""

    def read(reader: EntryReader) -> Attribute:
        return cast("Any", reader).written(text(*[field.read(reader) for field in fields]))

    return Layout(code, Attribute, (Field(read, lambda writer, value: None),), lambda attribute: attribute, _never)


def _read_optional(reader: EntryReader) -> Attribute | None:
    number = reader.varint()
    return cast("Any", reader).attribute_at(number >> 1) if number & 1 else None


_OPTIONAL = Field(_read_optional, lambda writer, value: None)
_FLAG = Field(lambda reader: reader.byte() != 0, lambda writer, value: None)
_NUMBER_OR_NONE = Field(lambda reader: number >> 1 if (number := reader.varint()) & 1 else None, lambda writer, value: None)


def _quoted(name: str) -> str:
    return escaped(name)


def _mesh(axes: list[Attribute], ids: list[int]) -> str:
    devices = f", device_ids={ids}" if ids else ""
    return f"#sdy.mesh<[{_listed(axes)}]{devices}>"


def _dimension(axes: list[Attribute], closed: bool, priority: int | None) -> str:
    shown = [*map(_inner, axes), *([] if closed else ["?"])]
    return f"{{{', '.join(shown)}}}" + ("" if priority is None else f"p{priority}")


def _sharding(mesh: Attribute, dimensions: list[Attribute], replicated: list[Attribute], unreduced: Sequence[Attribute] = ()) -> str:
    name = getattr(mesh, "root_reference", None)
    of = symbol(name.data) if name is not None else f"mesh<{_inner(mesh)}>"
    sets = [(word, axes) for word, axes in (("replicated", replicated), ("unreduced", unreduced)) if axes]
    return f"#sdy.sharding<{of}, [{_listed(dimensions)}]{''.join(f', {word}={{{_listed(axes)}}}' for word, axes in sets)}>"


def _factor(number: int) -> str:
    if number < 0:
        raise ValueError("there is no such factor")
    return _LETTERS[number] if number < len(_LETTERS) else f"z_{number - len(_LETTERS) + 1}"


def _rule(sizes: list[int], operands: list[Attribute], results: list[Attribute], *kinds: Any) -> str:
    *lists, custom = kinds
    names = ("reduction", "need_replication", "permutation", "blocked_propagation")
    shown = ", ".join(f"{_factor(number)}={size}" for number, size in enumerate(sizes))
    sets = [f" {name}={{{', '.join(map(_factor, factors))}}}" for name, factors in zip(names, lists, strict=True) if factors]
    return f"#sdy.op_sharding_rule<({_listed(operands)})->({_listed(results)}) {{{shown}}}{''.join(sets)}{', custom' if custom else ''}>"


_ATTRIBUTES = (
    _whole(0, (ATTRIBUTES,), lambda axes: f"#sdy<manual_axes{{{', '.join(_quoted(cast('StringAttr', axis).data) for axis in axes)}}}>"),
    _part(1, (STRING, SIGNED), lambda name, size: f"{_quoted(name)}={size}"),
    _whole(2, (ATTRIBUTES, SIGNEDS), _mesh),
    _part(3, (SIGNED, SIGNED), lambda before, size: f":({before}){size}"),
    _part(4, (STRING, _OPTIONAL), lambda name, part: _quoted(name) + ("" if part is None else _inner(part))),
    _part(5, (ATTRIBUTES, _FLAG, _NUMBER_OR_NONE), _dimension),
    _whole(6, (ATTRIBUTE, ATTRIBUTES, ATTRIBUTES), _sharding),
    _whole(7, (ATTRIBUTES,), lambda all: f"#sdy.sharding_per_value<[{', '.join(f'<{_inner(sharding)}>' for sharding in all)}]>"),
    _part(8, (SIGNEDS,), lambda factors: f"[{''.join(map(_factor, factors))}]"),
    _part(9, (ATTRIBUTES,), lambda dimensions: f"[{', '.join(_inner(d)[1:-1] for d in dimensions)}]"),
    _whole(10, (SIGNEDS, ATTRIBUTES, ATTRIBUTES, SIGNEDS, SIGNEDS, SIGNEDS, SIGNEDS, _FLAG), _rule),
    _whole(11, (ATTRIBUTES,), lambda axes: f"#sdy<axis_ref_list{{{_listed(axes)}}}>"),
    _whole(12, (ATTRIBUTES,), lambda lists: f"#sdy<list_of_axis_ref_lists[{_listed(lists)}]>"),
    _part(13, (ATTRIBUTES, SIGNED, SIGNED), lambda axes, source, target: f"{{{_listed(axes)}}}: {source}->{target}"),
    _whole(14, (ATTRIBUTES,), lambda moves: f"#sdy<all_to_all_param_list[{_listed(moves)}]>"),
    _whole(15, (ATTRIBUTE, ATTRIBUTES, ATTRIBUTES, ATTRIBUTES), _sharding),
)

ENCODING = Encoding(_ATTRIBUTES)
