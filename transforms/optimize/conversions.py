"""Laws of conversion between element types."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Attribute

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.tensor_types import dtype_of, element, float_limits, is_boolean, is_complex, is_float, is_integer, is_unsigned
from wengert.transforms.optimize.matching import made_by
from wengert.transforms.optimize.rewrites import Rewritten, rewrite


def is_lossless(source: Attribute, target: Attribute) -> bool:
    """Whether every element of the source type is one of the target type too."""
    if source == target or is_boolean(source):
        return source == target or not is_complex(target)
    if is_complex(source) or is_complex(target) or is_boolean(target):
        return False
    if is_float(source):
        return is_float(target) and _covers(dtype_of(target), dtype_of(source))
    bits = 8 * dtype_of(source).itemsize - (0 if is_unsigned(source) else 1)
    if is_float(target):
        limits = float_limits(dtype_of(target))
        return bits <= limits.nmant + 1 and 2.0**bits <= float(limits.max)
    room = 8 * dtype_of(target).itemsize - (0 if is_unsigned(target) else 1)
    return bits <= room and (is_unsigned(source) or not is_unsigned(target))


def _covers(wide: np.dtype[Any], narrow: np.dtype[Any]) -> bool:
    w, n = float_limits(wide), float_limits(narrow)
    return bool(w.nmant >= n.nmant and w.maxexp >= n.maxexp and w.minexp <= n.minexp)


@rewrite(stablehlo.ConvertOp, stablehlo.BitcastConvertOp)
def convert_to_same_type(b: OpBuilder, op: Any) -> Rewritten:
    """convert(x) to the type of x = x, unless it carries a mark (a stopped gradient in plain text)"""
    return op.operand if op.operand.type == op.result.type and not op.attributes else None


@rewrite(stablehlo.ConvertOp, given=[stablehlo.ConvertOp])
def convert_of_lossless(b: OpBuilder, op: stablehlo.ConvertOp) -> Rewritten:
    """convert(convert(x)) = convert(x) where the inner conversion loses nothing"""
    inner = made_by(op.operand, stablehlo.ConvertOp)
    if inner is None or inner.attributes or op.attributes or is_complex(element(op.result)) or not is_lossless(element(inner.operand), element(op.operand)):
        return None
    source, target = element(inner.operand), element(op.result)
    if is_float(element(op.operand)) and is_integer(source) and is_integer(target) and not is_lossless(source, target):
        return None  # out of range, a conversion from floating point is left open and one between integers wraps
    return b.convert(inner.operand, target)


@rewrite(stablehlo.ConvertOp, given=[stablehlo.ConvertOp])
def convert_of_wrapping(b: OpBuilder, op: stablehlo.ConvertOp) -> Rewritten:
    """convert(convert(x)) = convert(x) for integers that get narrower each time, since bits are cut off"""
    inner = made_by(op.operand, stablehlo.ConvertOp)
    if inner is None:
        return None
    element_types = [element(inner.operand), element(op.operand), element(op.result)]
    if not all(is_integer(h) and not is_boolean(h) for h in element_types):
        return None
    widths = [dtype_of(h).itemsize for h in element_types]
    return b.convert(inner.operand, element_types[2]) if widths[0] >= widths[1] >= widths[2] else None


@rewrite(stablehlo.BitcastConvertOp, given=[stablehlo.BitcastConvertOp])
def bitcast_of_bitcast(b: OpBuilder, op: stablehlo.BitcastConvertOp) -> Rewritten:
    """bitcast(bitcast(x)) = x where the types are the same integer again; through the bits of a float no derivative passes,
    and programs are simplified before they are differentiated"""
    inner = made_by(op.operand, stablehlo.BitcastConvertOp)
    return inner.operand if inner is not None and inner.operand.type == op.result.type and is_integer(element(op.result)) else None
