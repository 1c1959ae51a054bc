"""Bytecode encodings of StableHLO's attributes and types (the numbers are those of StableHLO's StablehloBytecode.cpp)."""

# Tables of functions on the generic classes of xDSL, which have no types of their own here.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, FloatAttr
from xdsl.ir import Attribute

from wengert.dialects.bytecode.records import integers, words
from wengert.dialects.stablehlo import attributes as a
from wengert.dialects.stablehlo.annotations import DotAlgorithmAttr, OutputOperandAliasAttr, ResultAccuracyAttr, ResultAccuracyModeAttr
from wengert.dialects.stablehlo.bounds import BoundsAttr
from wengert.ir.attributes import bool_attr, int_attr, int_of
from wengert.ir.bytecode.builtin_attributes import read_float, write_float
from wengert.ir.bytecode.fields import ATTRIBUTE, ATTRIBUTES, SIGNED, TYPE, TYPES, Encoding, EntryReader, Field, Layout
from wengert.ir.tensor_types import f64

DOUBLE = Field(lambda reader: read_float(reader, f64), lambda writer, value: write_float(writer, value, f64))
"""A number of 64 bits."""


def _algorithm(lhs: Attribute, rhs: Attribute, sums: Attribute, *counts: int) -> Attribute:
    *numbers, imprecise = counts
    return DotAlgorithmAttr.new([lhs, rhs, sums, *map(int_attr, numbers), bool_attr(bool(imprecise))])


def _algorithm_parts(algorithm: Any) -> list[Any]:
    types, counts = algorithm.parameters[:3], algorithm.parameters[3:]
    return [*types, *(int_of(count) for count in counts)]


def _accuracy(atol: float, rtol: float, ulps: int, mode: Attribute) -> Attribute:
    if not isinstance(mode, ResultAccuracyModeAttr):
        raise ValueError("the mode of an accuracy is none")
    return ResultAccuracyAttr.new([FloatAttr(atol, f64), FloatAttr(rtol, f64), int_attr(ulps), mode])


def _accuracy_parts(accuracy: Any) -> tuple[Any, ...]:
    return accuracy.atol.value.data, accuracy.rtol.value.data, int_of(accuracy.ulps), accuracy.mode


def _axis_part(reader: EntryReader) -> Attribute:
    return cast("Any", reader).written(f"#stablehlo.sub_axis_info<({reader.signed()}){reader.signed()}>")


def _axis(reader: EntryReader) -> Attribute:
    name = reader.string()
    part = f", sub_axis_info = {reader.attribute()}" if reader.byte() else ""
    return cast("Any", reader).written(f'#stablehlo.axis_ref<name = "{name}"{part}>')


def _as_text(read: Any) -> Field:
    """A field that is read as the text that stands for it; the attribute is written in MLIR's assembly format."""
    return Field(read, lambda writer, value: None)


def _never(_: Any) -> None:
    return None


def _same(attribute: Attribute) -> Attribute:
    return attribute


def _groups(mesh: Attribute, axes: list[Attribute]) -> Attribute:
    return a.ReplicaGroupMeshAxesAttr.new([mesh, ArrayAttr(axes)])


_ATTRIBUTES = (
    integers(1, a.ChannelHandleAttr, "ii"),
    words(2, a.ComparisonDirectionAttr),
    words(3, a.ComparisonTypeAttr),
    integers(4, a.ConvDimensionNumbersAttr, "iiliiliil"),
    integers(5, a.DotDimensionNumbersAttr, "llll"),
    words(6, a.FftTypeAttr),
    integers(7, a.GatherDimensionNumbersAttr, "llllli"),
    words(8, a.PrecisionAttr),
    words(9, a.RngAlgorithmAttr),
    words(10, a.RngDistributionAttr),
    integers(11, a.ScatterDimensionNumbersAttr, "llllli"),
    words(12, a.TransposeAttr),
    integers(13, BoundsAttr, "l"),
    integers(14, OutputOperandAliasAttr, "lil"),
    Layout(15, DotAlgorithmAttr, (TYPE, TYPE, TYPE, SIGNED, SIGNED, SIGNED, SIGNED), _algorithm, _algorithm_parts),
    words(16, ResultAccuracyModeAttr),
    Layout(17, ResultAccuracyAttr, (DOUBLE, DOUBLE, SIGNED, ATTRIBUTE), _accuracy, _accuracy_parts),
    Layout(18, a.ReplicaGroupMeshAxesAttr, (ATTRIBUTE, ATTRIBUTES), _groups, lambda g: (g.mesh, g.axes.data)),
    Layout(19, Attribute, (_as_text(_axis_part),), _same, _never),
    Layout(20, Attribute, (_as_text(_axis),), _same, _never),
)

_TYPES = (
    Layout(0, a.TokenType, (), a.TokenType, lambda _: ()),
    Layout(1, a.FutureType, (TYPES,), lambda types: a.FutureType.new([ArrayAttr(types)]), lambda t: (t.types.data,)),
)

ENCODING = Encoding(_ATTRIBUTES, _TYPES)
