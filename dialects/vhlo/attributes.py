"""VHLO's attributes and types: each stands for one of StableHLO or of MLIR itself, and is written as VHLO writes it.

``#vhlo.string_v1<"x">`` stands for ``"x"``, ``!vhlo.tensor_v1<2x!vhlo.f32_v1>`` for ``tensor<2xf32>``. So one class holds all attributes and one all types, and
what is inside of one is held as what it stands for.
"""

# Tables of functions on the generic classes of xDSL, which have no types of their own here.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    ComplexType,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FloatAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    NoneAttr,
    NoneType,
    Signedness,
    StringAttr,
    TensorType,
    TupleType,
    UnrankedTensorType,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

from wengert.dialects.quant import UniformQuantizedType
from wengert.dialects.stablehlo.annotations import OutputOperandAliasAttr, ResultAccuracyAttr
from wengert.dialects.stablehlo.attributes import TokenType
from wengert.dialects.stablehlo.bounds import BoundsAttr, TypeExtensionsAttr
from wengert.ir.attributes import int_of
from wengert.ir.printing.attributes import AttributeWriter, escaped
from wengert.ir.tensor_types import DYNAMIC, i1, is_boolean, is_float

_WRITER = AttributeWriter()


class CustomCallApiVersion(StrEnum):
    """The convention by which a custom call is called."""

    API_VERSION_UNSPECIFIED = "API_VERSION_UNSPECIFIED"
    API_VERSION_ORIGINAL = "API_VERSION_ORIGINAL"
    API_VERSION_STATUS_RETURNING = "API_VERSION_STATUS_RETURNING"
    API_VERSION_STATUS_RETURNING_UNIFIED = "API_VERSION_STATUS_RETURNING_UNIFIED"
    API_VERSION_TYPED_FFI = "API_VERSION_TYPED_FFI"


@irdl_attr_definition
class CustomCallApiVersionAttr(EnumAttribute[CustomCallApiVersion]):
    """StableHLO has a number for it, VHLO a word."""

    name = "vhlo.api_version"


@irdl_attr_definition
class VhloType(ParametrizedAttribute, TypeAttribute):
    """A type of VHLO: ``of`` is what it stands for."""

    name = "vhlo.type"
    of: Attribute = param_def()

    def own_text(self) -> str:
        """As VHLO writes it."""
        return f"!vhlo.{type_text(self.of)}"

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{type_text(self.of)}>")


@irdl_attr_definition
class VhloAttribute(ParametrizedAttribute):
    """An attribute of VHLO: ``of`` is what it stands for."""

    name = "vhlo.attribute"
    of: Attribute = param_def()

    def own_text(self) -> str:
        """As VHLO writes it."""
        return written(self.of)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{attribute_text(self.of)}>")


@lru_cache(maxsize=4096)
def vhlo_type(of: Attribute) -> VhloType:
    """The type of VHLO that stands for one of StableHLO; ValueError where there is none."""
    unconvertible = _unconvertible(of)
    if unconvertible is not None:
        raise ValueError(f"portable artifacts have no type {unconvertible}")
    return VhloType(of)


_FLOAT_WIDTHS = ("f80", "f128")
_INTEGERS = (2, 4, 8, 16, 32, 64)


def _unconvertible(of: Attribute) -> Attribute | None:
    """The part of a type that VHLO has none for, or None."""
    if isinstance(of, IntegerType):
        return None if of == i1 or (of.width.data in _INTEGERS and of.signedness.data is not Signedness.SIGNED) else of
    if isinstance(of, IndexType | NoneType | TokenType | UniformQuantizedType):
        return None
    if is_float(of):
        return of if str(of) in _FLOAT_WIDTHS else None
    return next((inner for part in _parts(of) if (inner := _unconvertible(part)) is not None), None) if _is_made_of_parts(of) else of


def _is_made_of_parts(of: Attribute) -> bool:
    if isinstance(of, TensorType):
        return isinstance(of.encoding, NoneAttr | BoundsAttr)
    return isinstance(of, ComplexType | FunctionType | TupleType | UnrankedTensorType)


def _parts(of: Any) -> tuple[Attribute, ...]:
    if isinstance(of, FunctionType):
        return (*of.inputs.data, *of.outputs.data)
    if isinstance(of, TupleType):
        return tuple(cast("Any", of).types.data)
    return (of.element_type,)


def type_text(of: Any) -> str:
    """``tensor_v1<2x!vhlo.f32_v1>``: a type as VHLO writes it, without the name of the dialect."""
    if isinstance(of, TensorType):
        extents = "".join(f"{'?' if n == DYNAMIC else n}x" for n in of.get_shape())
        encoding = "" if isinstance(of.encoding, NoneAttr) else f", #vhlo.{attribute_text(of.encoding)}"
        return f"tensor_v1<{extents}!vhlo.{type_text(of.element_type)}{encoding}>"
    if isinstance(of, FunctionType):
        inputs, outputs = (", ".join(f"!vhlo.{type_text(t)}" for t in types) for types in (of.inputs.data, of.outputs.data))
        return f"func_v1<({inputs}) -> ({outputs})>"
    if isinstance(of, TupleType):
        return f"tuple_v1<{', '.join(f'!vhlo.{type_text(t)}' for t in cast('Any', of).types.data)}>"
    if isinstance(of, ComplexType | UnrankedTensorType):
        word = "complex_v1" if isinstance(of, ComplexType) else "unranked_tensor_v1"
        return f"{word}<!vhlo.{type_text(cast('Any', of).element_type)}>"
    if isinstance(of, UniformQuantizedType):
        return _quantized_text(of)
    if isinstance(of, TokenType):
        return "token_v1"
    return f"{'bool' if is_boolean(of) else _WRITER.attribute_text(of)}_v1"


def _quantized_text(of: UniformQuantizedType) -> str:
    numbers = ", ".join(f"{scale!r}:{zero}" for scale, zero in zip(of.scales, of.zero_points, strict=True))
    word, axis = ("quant_v1", "") if of.axis is None else ("quant_per_axis_v1", f":{of.axis}")
    return f"{word}<!vhlo.{type_text(of.storage)}:!vhlo.{type_text(of.expressed)}{axis}, {numbers}, {of.least.data}:{of.greatest.data}>"


def attribute_text(of: Any) -> str:
    """``string_v1<"x">``: an attribute as VHLO writes it, without the name of the dialect."""
    if isinstance(of, StringAttr):
        return f"string_v1<{escaped(of.data)}>"
    if isinstance(of, IntegerAttr) and of.type == i1:
        return f"bool_v1<{'true' if int_of(of) else 'false'}>"
    if isinstance(of, IntegerAttr):
        return f"integer_v1<{_WRITER.attribute_text(of)}>"
    if isinstance(of, FloatAttr):
        number = _WRITER.attribute_text(of).partition(" : ")[0]
        return f"float_v1<{number} : !vhlo.{type_text(of.type)}>"
    if isinstance(of, ArrayAttr):
        return f"array_v1<[{', '.join(written(item) for item in of.data)}]>"
    if isinstance(of, DictionaryAttr):
        return f"dict_v1<{{{', '.join(f'#vhlo.string_v1<{escaped(key)}> = {written(value)}' for key, value in of.data.items())}}}>"
    if isinstance(of, DenseIntOrFPElementsAttr):
        return f"tensor_v1<{_WRITER.attribute_text(of)}>"
    if isinstance(of, TypeAttribute):
        return f"type_v1<!vhlo.{type_text(of)}>"
    if isinstance(of, BoundsAttr | TypeExtensionsAttr):
        bounds = ", ".join("?" if int_of(b) == DYNAMIC else str(int_of(b)) for b in of.bounds)
        return f"type_extensions_v1<bounds = [{bounds}]>"
    if isinstance(of, OutputOperandAliasAttr):
        return f"output_operand_alias_v1<{_inner(of)}>"
    if isinstance(of, ResultAccuracyAttr):
        atol, rtol = (_WRITER.attribute_text(number).partition(" : ")[0] for number in (of.atol, of.rtol))
        return f"result_accuracy_v1<atol = {atol}, rtol = {rtol}, ulps = {int_of(of.ulps)}, mode = #vhlo<result_accuracy_mode_v1 {of.mode.data}>>"
    return f"attribute<{_WRITER.attribute_text(of)}>"


def written(of: Attribute) -> str:
    """``#vhlo.string_v1<"x">``, ``#vhlo<precision_v1 HIGH>``: an attribute as VHLO writes it."""
    if isinstance(of, EnumAttribute):
        word = cast("EnumAttribute[Any]", of)
        return f"#vhlo<{word.name.partition('.')[2]}_v1 {word.data}>"
    return f"#vhlo.{attribute_text(of)}"


def _inner(of: Attribute) -> str:
    return _WRITER.attribute_text(of).partition("<")[2][:-1]
