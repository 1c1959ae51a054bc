"""Typing rules of elementwise ops: one type throughout, except where the element type itself changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from xdsl.dialects.builtin import ComplexType, UnrankedTensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects.facts import facts_of
from wengert.dialects.stablehlo.attributes import ComparisonType, ComparisonTypeAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.dialects.stablehlo.bounds import bounds_of
from wengert.dialects.stablehlo.elementwise import binary, conversion, selection, unary
from wengert.dialects.stablehlo.typing.checks import (
    Tensor,
    as_tensor,
    bit_width,
    boolean_result,
    class_names,
    common_bounds,
    compatible,
    difference_hint,
    element_class,
    expect_elements,
    expect_result,
    extents,
    fail,
    infer,
    int_property,
    merged,
    operand,
    result_name,
    same_element,
    same_shape,
)
from wengert.ir.element_classes import ANY, BOOLEAN, COMPLEX, FLOAT, INEXACT, QUANTIZED, REAL, SIGNED, UNSIGNED
from wengert.ir.tensor_types import DYNAMIC, f32, f64, i1, real_element
from wengert.ir.verification.typing_rules import INFERRED, TypingRule, typing_rule


def one_type(allowed: int, *, unranked: bool = False) -> TypingRule:
    """The rule that all operands and the result have one type whose elements are of these classes, with ``unranked`` also of no known rank."""

    def rule(op: Operation) -> None:
        operands = op.operands
        if unranked and any(isinstance(v.type, UnrankedTensorType) for v in (*operands, *op.results)):
            check_unranked(op, allowed)
            return
        first = as_tensor("operand", operands[0].type)
        if not element_class(first.element_type) & allowed:
            fail(f"{op.name} takes {class_names(allowed)}, found {first}")
        for value in operands[1:]:
            if value.type is not first and not compatible(value.type, first):
                fail(f"operands must have the same type, found {first} and {value.type}", difference_hint(first, value.type))
        if op.results[0].type is not first and not all(compatible(op.results[0].type, v.type) for v in operands):
            fail(f"result type {op.results[0].type} does not match the inferred {first}")
        if INFERRED.get() is not None:
            for value in operands:
                infer(0, value.type)

    return rule


def check_unranked(op: Operation, allowed: int, result: Attribute | None = None) -> None:
    """Types of one element type, or one of operands and one of results, some of them of no known rank."""
    first = cast(Attribute, cast(Any, op.operands[0].type).element_type)
    if not element_class(first) & allowed:
        fail(f"{op.name} takes {class_names(allowed)}, found {op.operands[0].type}")
    for value in (*op.operands, *op.results):
        expected = result if result is not None and value in op.results else first
        if cast(Any, value.type).element_type != expected:
            fail(f"{op.name} has an element type {expected}, found {value.type}")
    if len(op.operands) == 1 and not all(isinstance(v.type, UnrankedTensorType) for v in (*op.operands, *op.results)):
        fail(f"operand and result must both be of known rank or both of none, found {op.operands[0].type} and {op.results[0].type}")


def declare_one_type(classes: Iterable[type[Operation]], *, unranked: bool = False) -> None:
    """Registers that rule for those op classes whose facts say so."""
    for cls in classes:
        if facts_of(cls).one_type:
            typing_rule(cls)(one_type(facts_of(cls).takes, unranked=unranked))


for _family in (unary, binary, conversion, selection):
    declare_one_type(cls for cls in vars(_family).values() if isinstance(cls, type) and issubclass(cls, TensorOp) and cls.FACTS is not None)


@typing_rule(unary.AbsOp)
def check_abs(op: unary.AbsOp) -> None:
    """Result elements are real."""
    x = operand(op, 0, "operand")
    expect_elements("operand", x, SIGNED | INEXACT)
    expect_result(op, x.get_shape(), real_element(x.element_type), bounds=bounds_of(x))


@typing_rule(unary.RealOp, unary.ImagOp)
def check_real_or_imaginary_part(op: Operation) -> None:
    """Result elements are real; a float is its own real part."""
    x = operand(op, 0, "operand")
    expect_elements("operand", x, FLOAT | COMPLEX)
    expect_result(op, x.get_shape(), real_element(x.element_type), bounds=bounds_of(x))


@typing_rule(unary.IsFiniteOp)
def check_is_finite(op: unary.IsFiniteOp) -> None:
    """Floats to booleans."""
    x = operand(op, 0, "operand")
    expect_elements("operand", x, REAL)
    boolean_result(op, x.get_shape(), bounds_of(x))


def same_operands(op: Operation) -> Tensor:
    """The common type of lhs and rhs."""
    lhs, rhs = operand(op, 0, "lhs"), operand(op, 1, "rhs")
    if not compatible(lhs, rhs):
        fail(f"lhs and rhs must have the same type, found {lhs} and {rhs}", difference_hint(lhs, rhs))
    return merged(lhs, rhs)


@typing_rule(binary.ComplexOp)
def check_complex(op: binary.ComplexOp) -> None:
    """Two f32 or f64 parts make complex numbers of that part."""
    part = same_operands(op)
    if part.element_type not in (f32, f64):
        fail(f"the parts of a complex number must hold f32 or f64, found {part}")
    expect_result(op, part.get_shape(), ComplexType(part.element_type), bounds=common_bounds(operand(op, 0, "lhs"), operand(op, 1, "rhs")))


ORDERS = {
    ComparisonType.FLOAT: FLOAT | COMPLEX | QUANTIZED,
    ComparisonType.TOTALORDER: FLOAT | QUANTIZED,
    ComparisonType.SIGNED: SIGNED,
    ComparisonType.UNSIGNED: UNSIGNED | BOOLEAN,
}
"""The element classes that each order of ``compare`` is for."""


@typing_rule(selection.CompareOp)
def check_compare(op: selection.CompareOp) -> None:
    """Booleans; the order must be one for the operands' elements."""
    lhs = same_operands(op)
    order = op.properties.get("compare_type")
    if order is not None:
        allowed = ORDERS.get(cast(ComparisonTypeAttr, order).data, ANY)
        if not element_class(lhs.element_type) & allowed:
            fail(f"compare_type {cast(ComparisonTypeAttr, order).data} is for {class_names(allowed)}, found {lhs}")
    boolean_result(op, lhs.get_shape(), common_bounds(operand(op, 0, "lhs"), operand(op, 1, "rhs")))


@typing_rule(selection.SelectOp)
def check_select(op: selection.SelectOp) -> None:
    """A predicate for each element or one for all."""
    pred, on_true, on_false = operand(op, 0, "pred"), operand(op, 1, "on_true"), operand(op, 2, "on_false")
    if not compatible(on_true, on_false):
        fail(f"on_true and on_false must have the same type, found {on_true} and {on_false}", difference_hint(on_true, on_false))
    value = merged(on_true, on_false)
    if pred.element_type != i1:
        fail(f"pred must hold booleans (i1), found {pred}")
    if pred.get_shape() and not same_shape(pred.get_shape(), value.get_shape()):
        fail(f"pred must be of rank 0 or have the shape {extents(value.get_shape())} of on_true, found {pred}")
    expect_result(op, value.get_shape(), value.element_type, bounds=common_bounds(on_true, on_false))


@typing_rule(selection.ClampOp)
def check_clamp(op: selection.ClampOp) -> None:
    """Bounds for each element or one for all."""
    low, x, high = operand(op, 0, "min"), operand(op, 1, "operand"), operand(op, 2, "max")
    for role, bound in (("min", low), ("max", high)):
        same_element(role, bound, "operand", x)
        if bound.get_shape() and not same_shape(bound.get_shape(), x.get_shape()):
            fail(f"{role} must be of rank 0 or have the shape {extents(x.get_shape())} of the operand, found {bound}")
    expect_result(op, x.get_shape(), x.element_type)


def result_tensor(op: Operation) -> Tensor:
    """The type of the only result."""
    return as_tensor(result_name(op, 0), op.results[0].type)


@typing_rule(conversion.ConvertOp)
def check_convert(op: conversion.ConvertOp) -> None:
    """Any element type to any other; the shape stays."""
    x, result = operand(op, 0, "operand"), result_tensor(op)
    for role, type in (("operand", x), ("result", result)):
        if element_class(type.element_type) == QUANTIZED:
            fail(f"{role} must not be quantized, found {type}", "stablehlo.uniform_quantize and uniform_dequantize convert quantized numbers")
    expect_result(op, x.get_shape(), result.element_type)


@typing_rule(conversion.BitcastConvertOp)
def check_bitcast_convert(op: conversion.BitcastConvertOp) -> None:
    """A wider element becomes a row of narrower ones, a new last dimension, and back."""
    x, result = operand(op, 0, "operand"), result_tensor(op)
    source, target = x.element_type, result.element_type
    if isinstance(source, ComplexType) != isinstance(target, ComplexType):
        fail(f"complex numbers can only be bitcast to complex numbers, found {x} and {result}")
    wide, narrow = bit_width(source), bit_width(target)
    shape = list(x.get_shape())
    if wide > narrow:
        expect_divisible(source, target)
        shape.append(wide // narrow)
    elif wide < narrow:
        expect_divisible(target, source)
        if not shape or shape.pop() not in (narrow // wide, DYNAMIC):
            fail(f"bitcasting {source} to {target} needs an operand whose last dimension has the extent {narrow // wide}, found {x}")
    expect_result(op, shape, target)


def expect_divisible(wide: Attribute, narrow: Attribute) -> None:
    """The wider element is a whole number of narrower ones."""
    if bit_width(wide) % bit_width(narrow):
        fail(f"{wide} of {bit_width(wide)} bits is not a whole number of {narrow} of {bit_width(narrow)} bits")


@typing_rule(conversion.ReducePrecisionOp)
def check_reduce_precision(op: conversion.ReducePrecisionOp) -> None:
    """The operand's type."""
    x = operand(op, 0, "operand")
    expect_elements("operand", x, REAL)
    if (bits := int_property(op, "exponent_bits")) < 1:
        fail(f"exponent_bits must be at least 1, found {bits}")
    if (bits := int_property(op, "mantissa_bits")) < 0:
        fail(f"mantissa_bits must not be negative, found {bits}")
    expect_result(op, x.get_shape(), x.element_type, bounds=bounds_of(x))
