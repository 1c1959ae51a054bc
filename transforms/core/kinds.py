"""The kinds of combination: how a region says one, its neutral element, and the region that says it again.

The neutral element of a floating-point sum is +0, as JAX writes it: a sum of negative zeros is +0, also where the program
started it from -0 (StableHLO leaves open how often a reduction uses its initial value, so only this sign is at stake).
Booleans know ``and`` and ``or`` only; add, maximum and multiply, minimum of booleans are the same two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import Float8E8M0FNUType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.ir import elements
from wengert.ir.tensor_types import dtype_of, element, is_boolean, is_complex, is_float, is_unsigned, tensor, type_of

COMBINERS: dict[Kind, type[Operation]] = {
    Kind.add: stablehlo.AddOp,
    Kind.mul: stablehlo.MultiplyOp,
    Kind.max: stablehlo.MaximumOp,
    Kind.min: stablehlo.MinimumOp,
    Kind.and_: stablehlo.AndOp,
    Kind.or_: stablehlo.OrOp,
}
_KINDS = {op: kind for kind, op in COMBINERS.items()}
_BOOLEAN = {Kind.add: Kind.or_, Kind.max: Kind.or_, Kind.mul: Kind.and_, Kind.min: Kind.and_}


def combiner_kinds(block: Block, count: int) -> list[Kind] | None:
    """The kind of each of ``count`` independent combinations in a region of arguments ``a0.. b0..``.

    Each returned value must be one op on exactly its own two arguments, in either order; else None.
    """
    returned = returned_values(block)
    if len(block.args) != 2 * count or len(returned) != count or len(block.ops) != count + 1:
        return None
    kinds = [_combination(value, block.args[i], block.args[count + i]) for i, value in enumerate(returned)]
    return [k for k in kinds if k is not None] if None not in kinds else None


def returned_values(block: Block) -> Sequence[SSAValue]:
    """The values that the region's terminator returns."""
    return block.last_op.operands if isinstance(block.last_op, stablehlo.ReturnOp) else ()


def _combination(value: SSAValue, first: BlockArgument, second: BlockArgument) -> Kind | None:
    op = value.owner
    if not isinstance(op, Operation) or (kind := _KINDS.get(type(op))) is None:
        return None
    if tuple(op.operands) not in ((first, second), (second, first)):
        return None
    element_type = element(value)
    if is_complex(element_type) and kind in (Kind.max, Kind.min):
        return None
    if kind is Kind.add and element_type == Float8E8M0FNUType():
        return None  # no number of this format changes nothing when it is added, so a sum could not be separated from its initial value
    return _BOOLEAN.get(kind, kind) if is_boolean(element_type) else kind


def neutral(kind: Kind, element_type: Attribute) -> Any:
    """The element that changes nothing when combined, as a NumPy scalar of this element type."""
    dtype = dtype_of(element_type)
    if kind in (Kind.max, Kind.min):
        lowest = kind is Kind.max
        if is_float(element_type):
            limit = np.asarray(-np.inf if lowest else np.inf).astype(dtype)[()]
            if not np.isnan(float(limit)):
                return limit
            ends = cast(Any, ml_dtypes.finfo(dtype))  # of a format without infinities
            return dtype.type(ends.min if lowest else ends.max)
        if is_complex(element_type):
            return dtype.type(complex(-np.inf if lowest else np.inf, 0))
        if is_boolean(element_type):
            return np.bool_(not lowest)
        limits = ml_dtypes.iinfo(dtype)
        return dtype.type(limits.min if lowest else limits.max)
    if kind is Kind.and_:
        return np.bool_(True) if is_boolean(element_type) else dtype.type(ml_dtypes.iinfo(dtype).max if is_unsigned(element_type) else -1)
    return np.asarray(1 if kind is Kind.mul else 0).astype(dtype)[()]


def constant_scalar(value: SSAValue) -> Any:
    """The NumPy scalar that a value is known to be filled with (through broadcasts and converts), or None."""
    op = value.owner
    while isinstance(op, stablehlo.BroadcastInDimOp | stablehlo.ReshapeOp):
        op = op.operand.owner
    if isinstance(op, stablehlo.ConvertOp):
        inner = constant_scalar(op.operand)
        if inner is None or is_complex(element(op.operand)):
            return None
        with np.errstate(all="ignore"):
            return np.asarray(inner).astype(dtype_of(element(value)))[()]
    return elements.splat_value(op.value) if isinstance(op, stablehlo.ConstantOp) else None  # pyright: ignore[reportUnknownArgumentType]


def is_neutral(value: SSAValue, kind: Kind) -> bool:
    """Whether a value is a constant that changes nothing in a combination of this kind (of either sign where it is 0)."""
    number = constant_scalar(value)
    return number is not None and bool(number == neutral(kind, element(value)))


def combine(b: OpBuilder, kind: Kind, x: SSAValue, y: SSAValue) -> SSAValue:
    """Combines two tensors of one type elementwise."""
    return b.like(COMBINERS[kind], x, y)


def combine_with_scalar(b: OpBuilder, kind: Kind, x: SSAValue, initial: SSAValue) -> SSAValue:
    """Combines every element of x with a rank-0 value; x itself where that changes nothing."""
    if is_neutral(initial, kind):
        return x
    return combine(b, kind, x, b.broadcast_in_dim(initial, (), type_of(x).get_shape()))


def region_of(kind: Kind, element_type: Attribute) -> Region:
    """The region ``(a, b) -> a (kind) b`` of rank-0 tensors; for ``set`` it is ``(a, b) -> b``."""
    scalar = tensor((), element_type)
    block = Block(arg_types=[scalar, scalar])
    b = OpBuilder(block)
    result = block.args[1] if kind is Kind.set else combine(b, kind, *block.args)
    block.add_op(stablehlo.ReturnOp.create(operands=[result]))
    return Region([block])
