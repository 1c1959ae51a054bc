"""StableHLO's attributes that ask for an accuracy or an algorithm, name a channel, or declare that buffers are shared.

Each is a list of ``key = value`` between angle brackets. What an attribute may hold is checked when it is read, since no op
gives it another meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import (
    I64,
    BFloat16Type,
    BoolAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    FloatTF32Type,
    IntegerAttr,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from wengert.dialects.stablehlo.attributes import Dimensions, dimensions, whole_number
from wengert.ir.attributes import bool_attr, int_attr, int_of
from wengert.ir.printing.attributes import float_text
from wengert.ir.tensor_types import EIGHT_BITS, dtype_of, f64


class ResultAccuracyMode(StrEnum):
    """The accuracy that ``result_accuracy`` asks for."""

    DEFAULT = "DEFAULT"
    HIGHEST = "HIGHEST"
    TOLERANCE = "TOLERANCE"


@irdl_attr_definition
class ResultAccuracyModeAttr(EnumAttribute[ResultAccuracyMode]):
    name = "stablehlo.result_accuracy_mode"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ResultAccuracyMode:
        with parser.in_angle_brackets():
            return parser.parse_str_enum(ResultAccuracyMode)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")


class _Record(ParametrizedAttribute):
    """``<key = value, ...>`` with one key for each parameter, in order. ``OMITTED`` maps keys that may be left out to their defaults.

    ``ANY_ORDER`` says whether keys may come in any order when read.
    """

    OMITTED: ClassVar[dict[str, Attribute]] = {}
    ANY_ORDER: ClassVar[bool] = False

    @classmethod
    def read_value(cls, parser: AttrParser, key: str) -> Attribute:
        """Reads the value of a key; most are integers."""
        return int_attr(whole_number(parser))

    def value_text(self, key: str, printer: Printer) -> str | None:
        """The value of a key; None for one that is left out."""
        return str(int_of(getattr(self, key)))

    @classmethod
    def keys(cls) -> tuple[str, ...]:
        """The parameters' names."""
        return tuple(name for name, _ in cls.get_irdl_definition().parameters)  # pyright: ignore

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        keys, given = cls.keys(), dict[str, Attribute]()
        with parser.in_angle_brackets():
            for i, expected in enumerate(keys):
                if expected in cls.OMITTED and parser.parse_optional_keyword(expected) is None:
                    continue
                key = expected
                if cls.ANY_ORDER:
                    position = parser.pos
                    key = parser.parse_identifier()
                    if key not in keys or key in given:
                        parser.raise_error(f"expected one of {', '.join(k for k in keys if k not in given)} in #{cls.name}, found '{key}'", position)
                elif expected not in cls.OMITTED:
                    parser.parse_keyword(expected)
                parser.parse_punctuation("=")
                given[key] = cls.read_value(parser, key)
                if i + 1 < len(keys):
                    parser.parse_punctuation(",")
        return [given[key] if key in given else cls.OMITTED[key] for key in keys]

    def print_parameters(self, printer: Printer) -> None:
        texts = [(key, self.value_text(key, printer)) for key in self.keys()]
        printer.print_string(f"<{', '.join(f'{key} = {text}' for key, text in texts if text is not None)}>")


_ZERO = FloatAttr(0.0, f64)


@irdl_attr_definition
class ResultAccuracyAttr(_Record):
    """A bound on a result's distance from the true value: |computed - true| <= atol + rtol |true|, or so many units in the last place."""

    name = "stablehlo.result_accuracy"
    OMITTED: ClassVar[dict[str, Attribute]] = {"atol": _ZERO, "rtol": _ZERO, "ulps": int_attr(0)}
    atol: FloatAttr[Float64Type] = param_def()
    rtol: FloatAttr[Float64Type] = param_def()
    ulps: IntegerAttr[I64] = param_def()
    mode: ResultAccuracyModeAttr = param_def()

    @classmethod
    def read_value(cls, parser: AttrParser, key: str) -> Attribute:
        if key == "mode":
            return parser.parse_attribute()
        if key == "ulps":
            return int_attr(whole_number(parser))
        position = parser.pos
        number = parser.parse_number()
        if isinstance(number, int) and parser.lexer.input.content.startswith("0x", position):
            number = float(np.uint64(number).view(np.float64))
        if isinstance(number, int):
            parser.raise_error(f"{key} is a floating-point number, found {number}; write {number}.0", position)
        return FloatAttr(number, f64)

    def value_text(self, key: str, printer: Printer) -> str | None:
        value = getattr(self, key)
        if value == self.OMITTED.get(key):
            return None
        if isinstance(value, FloatAttr):
            return float_text(cast("FloatAttr[Any]", value).value.data, dtype_of(f64))
        return f"#{self.mode.name}<{self.mode.data}>" if key == "mode" else str(int_of(value))

    def verify(self) -> None:
        """No tolerance is negative, and none is given but in the mode that is for them."""
        tolerances = (self.atol.value.data, self.rtol.value.data, int_of(self.ulps))
        if any(t < 0 for t in tolerances):
            raise VerifyException(f"the tolerances of #{self.name} must not be negative, found {list(tolerances)}")
        if self.mode.data is not ResultAccuracyMode.TOLERANCE and any(t != 0 for t in tolerances):
            raise VerifyException(f"#{self.name} of mode {self.mode.data} takes no tolerances, found {list(tolerances)}; mode TOLERANCE does")


def _known_algorithms() -> frozenset[tuple[Attribute, Attribute, Attribute, int, int, int, bool]]:
    """(lhs, rhs, accumulation, components of lhs and rhs, primitive operations, imprecise accumulation) of every algorithm there is."""
    bf16, f16, f32, tf32 = BFloat16Type(), Float16Type(), Float32Type(), FloatTF32Type()
    algorithms = {(p, p, a, 1, 1, 1, False) for p, a in ((f16, f16), (f16, f32), (bf16, bf16), (bf16, f32), (tf32, f32), (f32, f32), (f64, f64))}
    algorithms |= {(x, y, f32, 1, 1, 1, imprecise) for x in EIGHT_BITS for y in EIGHT_BITS for imprecise in (False, True)}
    algorithms |= {(bf16, bf16, f32, 1, 1, n, False) for n in (3, 6, 9)} | {(tf32, tf32, f32, 1, 1, 3, False)}
    return frozenset(cast(Any, algorithms))


DOT_ALGORITHMS = _known_algorithms()


@irdl_attr_definition
class DotAlgorithmAttr(_Record):
    """In which types a contraction multiplies and sums, and in how many products of parts each product is made."""

    name = "stablehlo.dot_algorithm"
    lhs_precision_type: Attribute = param_def()
    rhs_precision_type: Attribute = param_def()
    accumulation_type: Attribute = param_def()
    lhs_component_count: IntegerAttr[I64] = param_def()
    rhs_component_count: IntegerAttr[I64] = param_def()
    num_primitive_operations: IntegerAttr[I64] = param_def()
    allow_imprecise_accumulation: BoolAttr = param_def()

    @classmethod
    def read_value(cls, parser: AttrParser, key: str) -> Attribute:
        if key.endswith("_type"):
            return parser.parse_type()
        if key == "allow_imprecise_accumulation":
            return bool_attr(parser.parse_boolean())
        return int_attr(whole_number(parser))

    def value_text(self, key: str, printer: Printer) -> str | None:
        value = cast(Attribute, getattr(self, key))
        if key.endswith("_type"):
            return str(value)
        return ("true" if int_of(value) else "false") if key == "allow_imprecise_accumulation" else str(int_of(value))

    def verify(self) -> None:
        """It is one of the algorithms that the specification lists."""
        numbers = [int_of(getattr(self, key)) for key in ("lhs_component_count", "rhs_component_count", "num_primitive_operations")]
        types = (self.lhs_precision_type, self.rhs_precision_type, self.accumulation_type)
        if (*types, *numbers, bool(int_of(self.allow_imprecise_accumulation))) not in DOT_ALGORITHMS:
            raise VerifyException(
                f"there is no dot algorithm of {types[0]} by {types[1]}, summed in {types[2]}, with {numbers[0]} and {numbers[1]} components "
                f"and {numbers[2]} primitive operations" + (", accumulating imprecisely" if int_of(self.allow_imprecise_accumulation) else "")
            )


@irdl_attr_definition
class OutputOperandAliasAttr(_Record):
    """An output of a custom call that is written over an operand; indices lead into nested tuples."""

    name = "stablehlo.output_operand_alias"
    output_tuple_indices: Dimensions = param_def()
    operand_index: IntegerAttr[I64] = param_def()
    operand_tuple_indices: Dimensions = param_def()

    @classmethod
    def read_value(cls, parser: AttrParser, key: str) -> Attribute:
        if key == "operand_index":
            return int_attr(whole_number(parser))
        return dimensions(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: whole_number(parser)))

    def value_text(self, key: str, printer: Printer) -> str | None:
        value = getattr(self, key)
        return str(int_of(value)) if key == "operand_index" else str([int_of(v) for v in value])


ALL = (ResultAccuracyModeAttr, ResultAccuracyAttr, DotAlgorithmAttr, OutputOperandAliasAttr)
