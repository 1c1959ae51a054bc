"""Upper bounds of dynamic extents: ``tensor<?x3xf32, #stablehlo.bounds<4, ?>>`` has at most 4 rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from wengert.dialects.stablehlo.attributes import Dimensions, dimensions
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import DYNAMIC, encoding_check, tensor


def _entry(parser: AttrParser) -> int:
    return DYNAMIC if parser.parse_optional_punctuation("?") is not None else parser.parse_integer(allow_boolean=False)


@irdl_attr_definition
class BoundsAttr(ParametrizedAttribute):
    """A bound for each dimension, ``?`` for one that has none."""

    name = "stablehlo.bounds"
    bounds: Dimensions = param_def()

    @property
    def values(self) -> tuple[int, ...]:
        """The bounds; ``DYNAMIC`` for none."""
        return tuple(int_of(b) for b in self.bounds)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return (dimensions(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, lambda: _entry(parser))),)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{', '.join('?' if b == DYNAMIC else str(b) for b in self.values)}>")


@irdl_attr_definition
class TypeExtensionsAttr(ParametrizedAttribute):
    """The same in an older spelling, ``#stablehlo.type_extensions<bounds = [4, ?]>``; it is printed as the newer one."""

    name = "stablehlo.type_extensions"
    bounds: Dimensions = param_def()

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("bounds")
            parser.parse_punctuation("=")
            return (dimensions(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: _entry(parser))),)

    def print_parameters(self, printer: Printer) -> None:
        shown = ", ".join("?" if b == DYNAMIC else str(b) for b in (int_of(b) for b in self.bounds))
        printer.print_string(f"<bounds = [{shown}]>")


def bounds_of(type: TensorType[Any]) -> tuple[int, ...] | None:
    """The bounds of a tensor type, None where it has none."""
    encoding = type.encoding
    return encoding.values if isinstance(encoding, BoundsAttr) else None


def bounded(shape: Sequence[int], element: Attribute, bounds: Sequence[int] | None) -> TensorType[Any]:
    """The tensor type with these bounds of its dynamic extents (None: without any)."""
    if bounds is None:
        return tensor(shape, element)
    kept = [b if n == DYNAMIC else DYNAMIC for n, b in zip(shape, bounds, strict=True)]
    return tensor(shape, element) if all(b == DYNAMIC for b in kept) else TensorType(element, shape, BoundsAttr(dimensions(kept)))


@encoding_check(BoundsAttr, TypeExtensionsAttr)
def check_bounds(encoding: Attribute, shape: Sequence[int]) -> tuple[str, Attribute]:
    """Checks bounds of a tensor of this shape: what is wrong with them, and the bounds in the newer spelling."""
    values = tuple(int_of(b) for b in cast(Any, encoding).bounds)
    if len(values) != len(shape):
        return f"there must be {len(shape)} bounds, one for each dimension, found {len(values)}", encoding
    for d, (n, bound) in enumerate(zip(shape, values, strict=True)):
        if n != DYNAMIC and bound != DYNAMIC:
            return f"dimension {d} has the extent {n} and can have no bound, found {bound}", encoding
    return "", BoundsAttr(cast(Any, encoding).bounds)


ALL = (BoundsAttr, TypeExtensionsAttr)
