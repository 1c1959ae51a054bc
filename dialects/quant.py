"""MLIR's types of quantized elements: integers that stand for the numbers (q - zero point) * scale.

``!quant.uniform<i8:f32, 0.5:3>`` has one scale and zero point for all elements of a tensor; ``!quant.uniform<i8:f32:1, {0.5:3, 0.25}>``
has one for each index of dimension 1. Bounds of what is stored are written where they are not those of the integers: ``i8<-127:127>``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, Float64Type, FloatAttr, IntAttr, IntegerType, Signedness, TensorType
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from wengert.ir.printing.attributes import float_text
from wengert.ir.tensor_types import dtype_of, f64, is_float

WHOLE = -1
"""In place of an axis: one scale for all elements."""


def _bounds(storage: IntegerType) -> tuple[int, int]:
    """The least and greatest integer of the type."""
    width = storage.width.data
    return (0, 2**width - 1) if storage.signedness.data is Signedness.UNSIGNED else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


@irdl_attr_definition
class UniformQuantizedType(ParametrizedAttribute, TypeAttribute):
    """An integer q that stands for (q - zero point) * scale; scales and zero points are those of the indices along the axis."""

    name = "quant.uniform"
    storage: IntegerType = param_def()
    least: IntAttr = param_def()
    greatest: IntAttr = param_def()
    expressed: Attribute = param_def()
    axis_: IntAttr = param_def()
    scales_: ArrayAttr[FloatAttr[Float64Type]] = param_def()
    zero_points_: ArrayAttr[IntAttr] = param_def()

    @property
    def axis(self) -> int | None:
        """The dimension along which scales differ; None if there is one scale for all elements."""
        return None if self.axis_.data == WHOLE else self.axis_.data

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales: the factors of the stored integers."""
        return tuple(s.value.data for s in self.scales_)

    @property
    def zero_points(self) -> tuple[int, ...]:
        """The integers that stand for 0."""
        return tuple(z.data for z in self.zero_points_)

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest integer that is stored."""
        return self.least.data, self.greatest.data

    @property
    def bitwidth(self) -> int:
        """The bits of a stored integer."""
        return self.storage.width.data

    def alike(self, other: UniformQuantizedType) -> bool:
        """Whether values of both types may meet in an op: stored alike, one expressed type, both with an axis or both without."""
        return (
            self.storage == other.storage and self.bounds == other.bounds and self.expressed == other.expressed and (self.axis is None) == (other.axis is None)
        )

    def verify(self) -> None:
        """Scales are positive and finite in the expressed type; bounds are those of the stored integers or narrower."""
        low, high = _bounds(self.storage)
        if not low <= self.least.data < self.greatest.data <= high:
            raise VerifyException(f"the bounds of {self.storage} must lie between {low} and {high}, found {self.least.data} and {self.greatest.data}")
        if not is_float(self.expressed):
            raise VerifyException(f"quantized elements stand for floating-point numbers, found {self.expressed}")
        if self.axis_.data < WHOLE or len(self.scales) != len(self.zero_points) or not self.scales:
            raise VerifyException(f"the dimension of scales must not be negative, found {self.axis_.data}")
        dtype = dtype_of(self.expressed)
        for scale in self.scales:
            with np.errstate(over="ignore"):  # an infinite scale is refused
                rounded = float(np.asarray(scale).astype(dtype))
            if not (0 < scale < np.inf and 0 < rounded < np.inf):
                raise VerifyException(f"the scale {scale} is not a positive finite number of {self.expressed}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            storage = _parse_storage(parser)
            least, greatest = _bounds(storage)
            if parser.parse_optional_punctuation("<") is not None:
                least = parser.parse_integer(allow_boolean=False)
                parser.parse_punctuation(":")
                greatest = parser.parse_integer(allow_boolean=False)
                parser.parse_punctuation(">")
            parser.parse_punctuation(":")
            expressed = parser.parse_type()
            axis = WHOLE
            if parser.parse_optional_punctuation(":") is not None:
                position = parser.pos
                if parser.parse_optional_punctuation("{") is not None:
                    parser.raise_error("blocks of scales along several dimensions are not part of StableHLO", position)
                axis = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(",")
            pairs = [_parse_scale(parser)] if axis == WHOLE else parser.parse_comma_separated_list(parser.Delimiter.BRACES, lambda: _parse_scale(parser))
            if not pairs:
                parser.raise_error("there must be a scale for each index of the dimension")
        scales, zeros = ArrayAttr([FloatAttr(s, f64) for s, _ in pairs]), ArrayAttr([IntAttr(z) for _, z in pairs])
        return storage, IntAttr(least), IntAttr(greatest), expressed, IntAttr(axis), scales, zeros

    def print_parameters(self, printer: Printer) -> None:
        unsigned = self.storage.signedness.data is Signedness.UNSIGNED
        stored = f"{'u' if unsigned else 'i'}{self.bitwidth}"
        if self.bounds != _bounds(self.storage):
            stored += f"<{self.least.data}:{self.greatest.data}>"
        pairs = [f"{float_text(s, dtype_of(f64))}{f':{z}' if z else ''}" for s, z in zip(self.scales, self.zero_points, strict=True)]
        axis = "" if self.axis is None else f":{self.axis}"
        shown = pairs[0] if self.axis is None else f"{{{','.join(pairs)}}}"
        printer.print_string(f"<{stored}:{self.expressed}{axis}, {shown}>")


def _parse_storage(parser: AttrParser) -> IntegerType:
    position = parser.pos
    word = parser.parse_identifier("the type of stored integers")
    sign, digits = word.rstrip("0123456789"), word.lstrip("ui")
    if sign not in ("i", "u", "ui") or digits not in ("2", "4", "8", "16", "32"):
        parser.raise_error(f"quantized elements are stored as integers of 2, 4, 8, 16 or 32 bits, such as i8 or u8, found '{word}'", position)
    return IntegerType(int(digits), Signedness.SIGNLESS if sign == "i" else Signedness.UNSIGNED)


def _parse_scale(parser: AttrParser) -> tuple[float, int]:
    position = parser.pos
    scale = parser.parse_number()
    if isinstance(scale, int):
        parser.raise_error(f"a scale is a floating-point number, found {scale}; write {scale}.0", position)
    return scale, parser.parse_integer(allow_boolean=False) if parser.parse_optional_punctuation(":") is not None else 0


def quantized(type: Attribute) -> UniformQuantizedType | None:
    """The type of a tensor's elements if they are quantized."""
    element = cast("Any", type).element_type if hasattr(type, "element_type") else None
    return element if isinstance(element, UniformQuantizedType) else None


def is_plain(type: Attribute) -> bool:
    """Whether a type is that of a tensor of numbers that are not quantized; kept on it."""
    plain = type.__dict__.get("_plain")
    if plain is None:
        plain = type.name == TensorType.name and quantized(type) is None
        object.__setattr__(type, "_plain", plain)
    return plain


Quant = Dialect("quant", [], [UniformQuantizedType])
