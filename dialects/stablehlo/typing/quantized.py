"""The rules of the specification for quantized tensors, beside those for all tensors: scales that fit the shape, and which ops
may change them or have a scale for each index of a dimension.

Where a rule compares element types, quantized ones count as equal if values of both may meet (:meth:`UniformQuantizedType.alike`);
ops that only move elements ask for more. All of this is looked at for ops with a quantized operand or result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import TensorType, TupleType
from xdsl.ir import Attribute, Operation

from wengert.dialects.quant import UniformQuantizedType, is_plain, quantized
from wengert.dialects.stablehlo import quantization as ops
from wengert.dialects.stablehlo.typing.checks import (
    Tensor,
    element_class,
    expect_result,
    extents,
    fail,
    int_list,
    operand,
    result_name,
    same_extent,
    same_shape,
)
from wengert.ir.element_classes import FLOAT, QUANTIZED
from wengert.ir.tensor_types import DYNAMIC
from wengert.ir.traversal import operands_of
from wengert.ir.verification.typing_rules import TYPING_RULES, TypingRule, typing_rule

_ANYWHERE = (
    "add bitcast_convert broadcast_in_dim case composite custom_call dynamic_broadcast_in_dim dynamic_reshape get_dimension_size"
    " get_tuple_element if infeed outfeed recv reshape return send transpose tuple uniform_dequantize uniform_quantize while"
)
SCALES_ALONG_A_DIMENSION = {
    **{f"stablehlo.{name}": None for name in _ANYWHERE.split()},
    "chlo.constant_like": None,
    "chlo.ragged_dot": None,
    "chlo.scan": None,
    **{f"stablehlo.{name}": (1,) for name in ("convolution", "dot", "dot_general", "dynamic_conv")},
}
"""Ops that take and give tensors with a scale for each index of a dimension, and which operands those may be (None: all of them)."""

_MOVING = (
    "all_gather all_to_all collective_broadcast collective_permute concatenate dynamic_pad dynamic_slice dynamic_update_slice"
    " gather optimization_barrier pad real_dynamic_slice reverse slice"
)
MOVING = {f"stablehlo.{name}" for name in _MOVING.split()}
"""Ops whose quantized operands and results have one and the same element type."""

RESHAPING = {"stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim", "stablehlo.dynamic_reshape", "stablehlo.reshape", "stablehlo.transpose"}
"""Ops that keep scales, if perhaps along another dimension."""


def check_scales(role: str, type: Attribute, element: UniformQuantizedType) -> None:
    """Zero points are numbers that can be stored, and there is a scale for each index."""
    low, high = element.bounds
    if any(not low <= z <= high for z in element.zero_points):
        fail(f"{role}: the zero points of {element} must lie between {low} and {high}")
    if element.axis is None or not isinstance(type, TensorType):  # an unranked tensor may have any extents
        return
    shape = cast(Tensor, type).get_shape()
    if element.axis >= len(shape):
        fail(f"{role}: {element} has scales along dimension {element.axis}, but the tensor's rank is {len(shape)}")
    if not same_extent(shape[element.axis], len(element.scales)):
        fail(f"{role}: there must be {shape[element.axis]} scales, one for each index of dimension {element.axis}, found {len(element.scales)}")


def check_quantized(op: Operation, operands: list[UniformQuantizedType | None], results: list[UniformQuantizedType | None]) -> None:
    """Checks what holds for quantized operands and results of any op."""
    along = SCALES_ALONG_A_DIMENSION.get(op.name, ())
    for role, values, elements in (("operand", op.operands, operands), ("result", op.results, results)):
        for i, (value, element) in enumerate(zip(values, elements, strict=True)):
            if element is None:
                continue
            name = f"operand #{i}" if role == "operand" else result_name(op, i)
            check_scales(name, value.type, element)
            if element.axis is not None and along is not None and i not in along and not (along and role == "result"):
                fail(f"{name} of {op.name} must have one scale for all elements, found {value.type}")
    used = [e for e in (*operands, *results) if e is not None]
    if op.name in MOVING and any(e != used[0] for e in used):
        fail(
            f"{op.name} keeps scales and zero points, but its operands and results have the element types {used[0]} and {next(e for e in used if e != used[0])}"
        )
    axes = {e.axis for e in used}
    if op.name == "stablehlo.add" and len(axes) > 1:
        fail(f"the scales of operands and result must be along the same dimension, found {', '.join(map(str, used))}")
    if op.name in RESHAPING and operands[0] is not None and results[0] is not None:
        check_kept_scales(op, operands[0], results[0])


def check_kept_scales(op: Operation, x: UniformQuantizedType, result: UniformQuantizedType) -> None:
    """The result has the operand's scales, along the dimension to which the op moves the operand's."""
    broadcast = op.name.endswith("broadcast_in_dim")
    if op.name == "stablehlo.dynamic_broadcast_in_dim" and x.axis is None:
        return
    repeated = broadcast and x.axis is not None and len(x.scales) == 1
    ranked = all(isinstance(value.type, TensorType) for value in (op.operands[0], op.results[0]))
    shape = cast(Tensor, op.results[0].type).get_shape() if ranked else ()
    if repeated and result.axis is not None and result.axis < len(shape) and shape[result.axis] == DYNAMIC:
        fail(f"how often the scale of {x} is repeated is not known from {op.results[0].type}")
    pairs, kept = list(zip(x.scales, x.zero_points, strict=True)), list(zip(result.scales, result.zero_points, strict=True))
    if kept != (pairs * len(kept) if repeated else pairs):
        fail(f"{op.name} keeps scales and zero points, found {x} and {result}")
    if x.axis is None or result.axis is None or not ranked:
        return
    if op.name.endswith("reshape"):
        before = [prod(cast(Tensor, v.type).get_shape()[:axis]) for v, axis in ((op.operands[0], x.axis), (op.results[0], result.axis))]
        if before[0] != before[1] and all(n >= 0 for n in before) and op.name == "stablehlo.reshape":
            fail(f"as many elements must be before the dimension of the scales as there were, found {before[0]} and {before[1]}")
        return
    if op.name == "stablehlo.transpose":
        permutation = int_list(op, "permutation")
        moved = permutation.index(x.axis) if x.axis in permutation else None
    else:
        dims = int_list(op, "broadcast_dimensions")
        moved = dims[x.axis] if x.axis < len(dims) else None
    if moved != result.axis:
        fail(f"the scales of the operand are along its dimension {x.axis}, which is dimension {moved} of the result, found {result}")


def check_parts(type: TupleType) -> None:
    """The scales of a tuple's parts fit their shapes."""
    for part in cast("Sequence[Attribute]", type.types):
        if isinstance(part, TupleType):
            check_parts(part)
        elif (element := quantized(part)) is not None:
            check_scales(f"a part of {type}", part, element)


def with_quantized(rule: TypingRule) -> TypingRule:
    """The rule of an op, after what is said of quantized operands and results where there are any."""

    def check(op: Operation) -> None:
        if not all(is_plain(value.type) for value in (*operands_of(op), *op.results)):
            _check_parts_and_scales(op)
        rule(op)

    return check


def _check_parts_and_scales(op: Operation) -> None:
    for value in (*op.operands, *op.results):
        if isinstance(value.type, TupleType):
            check_parts(value.type)
    operands, results = [quantized(v.type) for v in op.operands], [quantized(r.type) for r in op.results]
    if any(e is not None for e in operands) or any(e is not None for e in results):
        check_quantized(op, operands, results)


@typing_rule(ops.UniformQuantizeOp)
def check_uniform_quantize(op: ops.UniformQuantizeOp) -> None:
    """Numbers of the expressed type, or quantized ones that stand for such; the shape stays."""
    x, result = operand(op, 0, "operand"), op.results[0].type
    to, source = quantized(result), quantized(x)
    if not element_class(x.element_type) & (FLOAT | QUANTIZED):
        fail(f"operand must hold floats or quantized numbers, found {x}")
    if to is None:
        fail(f"result must hold quantized numbers, found {result}")
    expressed = x.element_type if source is None else source.expressed
    if to.expressed != expressed:
        fail(f"the result's elements must stand for numbers of {expressed}, as the operand's do, found {result}")
    same_shape_as(x, result)


@typing_rule(ops.UniformDequantizeOp)
def check_uniform_dequantize(op: ops.UniformDequantizeOp) -> None:
    """Numbers of the expressed type; the shape stays."""
    x = operand(op, 0, "operand")
    element = quantized(x)
    if element is None:
        fail(f"operand must hold quantized numbers, found {x}")
    expect_result(op, x.get_shape(), element.expressed)


def same_shape_as(x: Tensor, result: Attribute) -> None:
    """The result has the operand's shape, which may be left open, as its rank may be."""
    if isinstance(result, TensorType) and not same_shape(x.get_shape(), cast(Tensor, result).get_shape()):
        fail(f"result must have the shape {extents(x.get_shape())} of the operand, found {result}")


def product_result(op: Operation, lhs: Tensor, rhs: Tensor, summed: tuple[int, ...], kept: Mapping[int, int]) -> Attribute | None:
    """The result's element type of a contraction with quantized operands, None if there are none.

    ``summed`` are the dimensions of rhs that the contraction sums over, ``kept`` says which dimension of the result each other one is.
    """
    x, y, z = quantized(lhs), quantized(rhs), quantized(op.results[0].type)
    if x is None and y is None and z is None:
        return None
    if y is None or (x is None) != (z is None):
        fail(f"lhs, rhs and result must all be quantized, or rhs alone, found {lhs}, {rhs} and {op.results[0].type}")
    if op.name == "stablehlo.dot_general" and any(y.zero_points):
        fail(f"the zero points of rhs must be 0, found {rhs}")
    if y.axis is not None and y.axis in summed:
        fail(f"the scales of rhs must not be along dimension {y.axis}, which is summed over, found {rhs}")
    if x is None or z is None:
        result = cast(Tensor, op.results[0].type)
        if not lhs.element_type == y.expressed == result.element_type:
            fail(f"lhs and result must hold numbers of {y.expressed}, as rhs stands for, found {lhs} and {result}")
        return result.element_type
    if x.bitwidth != y.bitwidth or not x.expressed == y.expressed == z.expressed:
        fail(f"lhs, rhs and result must stand for numbers of one type, and lhs and rhs be stored alike, found {lhs}, {rhs} and {op.results[0].type}")
    if y.axis is None and z.axis is not None:
        fail(f"result must have one scale for all elements, as rhs has, found {op.results[0].type}")
    if op.name != "stablehlo.dot_general" and y.axis is not None and z.axis is not None and kept.get(y.axis) != z.axis:
        fail(f"the scales of rhs are along its dimension {y.axis}, which is dimension {kept.get(y.axis)} of the result, found {op.results[0].type}")
    return z


def wrap_rules(*prefixes: str) -> None:
    """Adds what is said of quantized tensors to the rules of all ops of these dialects."""
    for cls, rule in list(TYPING_RULES.items()):
        if cls.name.startswith(prefixes) and not hasattr(rule, "quantized"):
            wrapped = with_quantized(rule)
            cast(Any, wrapped).quantized = True
            TYPING_RULES[cls] = wrapped
