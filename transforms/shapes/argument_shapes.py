"""Shapes of arguments as options hold them, and as types of arguments that leave extents open."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects.builtin import LocationAttr, TensorType
from xdsl.ir import Attribute

from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import DYNAMIC, shape_of_type, tensor

Shape = tuple[int, ...]
KEEP = "keep"
"""Stands for the shape of an argument whose type says it."""

_SHAPE = re.compile(r"(?:\d+(?:x\d+)*)?")
_BOUNDS = re.compile(r"bounds<([^>]*)>")


def read_shape(text: str) -> Shape | None:
    """``2x3`` as (2, 3), nothing as (), and None for ``keep``; a DiagnosticError for any other text."""
    text = text.strip()
    if text == KEEP:
        return None
    if _SHAPE.fullmatch(text) is None:
        raise DiagnosticError(Diagnostic(f"'{text}' is no shape", "<shapes>", hint="a shape is written 2x3, and 'keep' stands for what the type says"))
    return tuple(int(n) for n in text.split("x")) if text else ()


def shape_text(shape: Iterable[int] | None) -> str:
    """The shape as :func:`read_shape` reads it."""
    return KEEP if shape is None else "x".join(str(n) for n in shape)


def fitted(type: Attribute, shape: Shape, location: LocationAttr, what: str) -> Attribute:
    """The type with this shape; a DiagnosticError where it says otherwise."""
    if not isinstance(type, TensorType):
        raise error_at(location, f"{what} has the type {type}, which has no shape")
    type = cast("TensorType[Any]", type)
    known = shape_of_type(type)
    if len(known) != len(shape) or any(m not in (n, DYNAMIC) for m, n in zip(known, shape, strict=True)):
        raise error_at(location, f"{what} has the type {type}, which the shape {shape_text(shape) or 'of rank 0'} does not fit")
    for d, (bound, n) in enumerate(zip(bounds_of(type), shape, strict=False)):
        if bound is not None and n > bound:
            raise error_at(location, f"{what} has the type {type}, by which the extent of dimension {d} is at most {bound}, found {n}")
    return tensor(shape, type.element_type)


def bounds_of(type: TensorType[Any]) -> list[int | None]:
    """The largest extents that ``#stablehlo.bounds`` allows, None where it says nothing."""
    match = _BOUNDS.search(str(type.encoding))
    return [int(part) if part.strip().isdigit() else None for part in match[1].split(",")] if match else []
