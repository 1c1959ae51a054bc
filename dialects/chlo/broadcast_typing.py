"""Typing rules of CHLO's broadcasting ops: the elements are those of the op without broadcasting, the shape is the common one."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Operation

from wengert.dialects.chlo import broadcast as ops
from wengert.dialects.quant import quantized
from wengert.dialects.stablehlo.bounds import bounds_of
from wengert.dialects.stablehlo.typing.checks import (
    Shape,
    Tensor,
    class_names,
    element_class,
    expect_in_range,
    expect_result,
    expect_unique,
    extents,
    fail,
    int_list,
    operand,
    same_element,
)
from wengert.ir.element_classes import ANY, BOOLEAN, FLOAT, INEXACT, INTEGER, LOGICAL, NUMBER
from wengert.ir.tensor_types import DYNAMIC, f32, f64, i1
from wengert.ir.verification.typing_rules import typing_rule

ELEMENTS: dict[type[Operation], int] = {
    ops.BroadcastAddOp: ANY,
    ops.BroadcastAndOp: LOGICAL,
    ops.BroadcastAtan2Op: INEXACT,
    ops.BroadcastDivideOp: NUMBER,
    ops.BroadcastMaximumOp: ANY,
    ops.BroadcastMinimumOp: ANY,
    ops.BroadcastMultiplyOp: ANY,
    ops.BroadcastNextAfterOp: FLOAT,
    ops.BroadcastOrOp: LOGICAL,
    ops.BroadcastPolygammaOp: FLOAT,
    ops.BroadcastPowerOp: NUMBER,
    ops.BroadcastRemainderOp: NUMBER,
    ops.BroadcastShiftLeftOp: INTEGER,
    ops.BroadcastShiftRightArithmeticOp: INTEGER,
    ops.BroadcastShiftRightLogicalOp: INTEGER,
    ops.BroadcastSubtractOp: NUMBER,
    ops.BroadcastXorOp: LOGICAL,
    ops.BroadcastZetaOp: FLOAT,
}
"""The element classes of the ops whose result has the operands' elements."""


RESCALING = (ops.BroadcastAddOp, ops.BroadcastMaximumOp, ops.BroadcastMinimumOp)
"""The ops whose quantized operands and result may differ in scales and zero points."""


def common_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape that shapes are broadcast to as NumPy does: aligned at their ends, extents of 1 repeated. A ValueError names two that differ."""
    rank = max(map(len, shapes))
    extents: list[int] = []
    for d in range(rank):
        column = [s[d - rank + len(s)] for s in shapes if d - rank + len(s) >= 0]
        extents.append(_common_extent(column, shapes))
    return tuple(extents)


def _common_extent(column: Sequence[int], shapes: Sequence[Shape]) -> int:
    known = {n for n in column if n not in (1, DYNAMIC)}
    if len(known) > 1:
        raise ValueError(f"operands must have shapes that broadcast together, found {' and '.join(map(extents, shapes))}")
    return known.pop() if known else DYNAMIC if DYNAMIC in column else 1


def placed(small: Shape, dims: Sequence[int], rank: int) -> Shape:
    """A shape whose dimension i stands at dims[i] of one of this rank, with extents of 1 elsewhere."""
    extents = [1] * rank
    for n, d in zip(small, dims, strict=True):
        extents[d] = n
    return tuple(extents)


def check_broadcast(op: Operation, lhs: Tensor, rhs: Tensor) -> Shape:
    """The common shape of two operands, by broadcast_dimensions if they are given."""
    same_element("lhs", lhs, "rhs", rhs)
    shapes = [lhs.get_shape(), rhs.get_shape()]
    if op.properties.get("broadcast_dimensions") is not None:
        small = 1 if len(shapes[0]) > len(shapes[1]) else 0
        rank = len(shapes[1 - small])
        dims = int_list(op, "broadcast_dimensions", len(shapes[small]), meaning="the rank of the smaller operand")
        expect_in_range("broadcast_dimensions", dims, rank, "the rank of the larger operand")
        expect_unique("broadcast_dimensions", dims)
        shapes[small] = placed(shapes[small], dims, rank)
    try:
        return common_shape(shapes)
    except ValueError as error:
        fail(str(error))


def broadcast_bounds(op: Operation, *operands: Tensor) -> Shape | None:
    """The bounds of the common shape: those of a dimension in which all operands but those of the extent 1 have the same."""
    if op.properties.get("broadcast_dimensions") is not None or all(bounds_of(x) is None for x in operands):
        return None
    rank = max(len(x.get_shape()) for x in operands)
    bounds: list[int] = []
    for d in range(-rank, 0):
        column = [(x.get_shape()[d], (bounds_of(x) or x.get_shape())[d]) for x in operands if d >= -len(x.get_shape())]
        wide = {bound for n, bound in column if n != 1}
        bounds.append(wide.pop() if len(wide) == 1 else DYNAMIC)
    return tuple(bounds)


@typing_rule(*ELEMENTS)
def check_arithmetic(op: ops.BroadcastingOp) -> None:
    """The common shape; elements of the operands."""
    lhs, rhs = operand(op, 0, "lhs"), operand(op, 1, "rhs")
    if not element_class(lhs.element_type) & ELEMENTS[type(op)]:
        fail(f"{op.name} takes {class_names(ELEMENTS[type(op)])}, found {lhs}")
    if type(op) not in RESCALING and (quantized(lhs) or quantized(rhs)) and lhs.element_type != rhs.element_type:
        fail(f"{op.name} takes quantized numbers of one type, found {lhs} and {rhs}")
    expect_result(op, check_broadcast(op, lhs, rhs), lhs.element_type, bounds=broadcast_bounds(op, lhs, rhs))


@typing_rule(ops.BroadcastComplexOp)
def check_complex(op: ops.BroadcastComplexOp) -> None:
    """Two f32 or f64 parts make complex numbers of that part."""
    lhs, rhs = operand(op, 0, "lhs"), operand(op, 1, "rhs")
    if lhs.element_type not in (f32, f64):
        fail(f"the parts of a complex number must hold f32 or f64, found {lhs}")
    expect_result(op, check_broadcast(op, lhs, rhs), ComplexType(lhs.element_type), bounds=broadcast_bounds(op, lhs, rhs))


@typing_rule(ops.BroadcastCompareOp)
def check_compare(op: ops.BroadcastCompareOp) -> None:
    """Booleans."""
    lhs, rhs = operand(op, 0, "lhs"), operand(op, 1, "rhs")
    expect_result(op, check_broadcast(op, lhs, rhs), i1, bounds=broadcast_bounds(op, lhs, rhs))


@typing_rule(ops.BroadcastSelectOp)
def check_select(op: ops.BroadcastSelectOp) -> None:
    """The common shape of the predicate and the values."""
    pred, on_true, on_false = operand(op, 0, "pred"), operand(op, 1, "on_true"), operand(op, 2, "on_false")
    if not element_class(pred.element_type) & BOOLEAN:
        fail(f"pred must hold booleans (i1), found {pred}")
    same_element("on_true", on_true, "on_false", on_false)
    try:
        shape = common_shape([pred.get_shape(), on_true.get_shape(), on_false.get_shape()])
    except ValueError as error:
        fail(str(error))
    expect_result(op, shape, on_true.element_type, bounds=broadcast_bounds(op, pred, on_true, on_false))
