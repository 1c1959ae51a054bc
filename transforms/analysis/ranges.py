"""Between which bounds the elements of an integer tensor lie, as far as the ops that made it show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from wengert.dialects import chlo, core
from wengert.dialects import stablehlo as hlo
from wengert.ir.attributes import int_of
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import dtype_of, element, is_boolean, is_integer, shape, size

Interval = tuple[int, int]
"""Lowest and highest value, both inclusive."""

_DEPTH = 24
_LARGEST_CONSTANT = 65_536


def interval(value: SSAValue, depth: int = _DEPTH) -> Interval | None:
    """Bounds on the elements of an integer value, or None where nothing is known.

    Arithmetic that might wrap around gives None; so does what comes from a function's arguments.
    """
    if not is_integer(element(value)) or depth == 0:
        return None
    bounds = _iteration(value) if isinstance(value, BlockArgument) else _of_result(value, depth - 1)
    return bounds if bounds is not None and _fits(bounds, value) else None


def _fits(bounds: Interval, value: SSAValue) -> bool:
    if is_boolean(element(value)):
        return bounds[0] >= 0 and bounds[1] <= 1
    info = dtype_of(element(value))
    bits = info.itemsize * 8
    low, high = (0, 2**bits - 1) if info.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return low <= bounds[0] and bounds[1] <= high


def _iteration(argument: BlockArgument) -> Interval | None:
    """The iteration of a counted loop."""
    loop = argument.block.parent_op()
    if not isinstance(loop, core.ForOp) or argument.index != 0 or not isinstance(loop.trip_count.owner, hlo.ConstantOp):
        return None
    trips = int(to_numpy(cast("DenseIntOrFPElementsAttr[Any]", loop.trip_count.owner.value)))
    return (0, max(trips - 1, 0))


def _of_result(value: SSAValue, depth: int) -> Interval | None:
    op = value.owner
    assert isinstance(op, Operation)
    rule = _RULES.get(type(op))
    return rule(op, value, depth) if rule is not None else None


def _constant(op: hlo.ConstantOp, value: SSAValue, depth: int) -> Interval | None:
    array = to_numpy(cast("DenseIntOrFPElementsAttr[Any]", op.value))
    if array.size == 0 or (size(value) > _LARGEST_CONSTANT and any(array.strides)):
        return None
    return int(array.min()), int(array.max())


def _iota(op: hlo.IotaOp, value: SSAValue, depth: int) -> Interval:
    return (0, max(shape(value)[int_of(op.iota_dimension)] - 1, 0))


def _first(op: Operation, value: SSAValue, depth: int) -> Interval | None:
    return interval(op.operands[0], depth)


def _same_operand(op: hlo.SortOp, value: SSAValue, depth: int) -> Interval | None:
    return interval(op.inputs[list(op.results).index(value)], depth)  # pyright: ignore[reportArgumentType]


def _union(*parts: Interval | None) -> Interval | None:
    known = [p for p in parts if p is not None]
    return None if len(known) < len(parts) or not known else (min(p[0] for p in known), max(p[1] for p in known))


def _concatenate(op: hlo.ConcatenateOp, value: SSAValue, depth: int) -> Interval | None:
    return _union(*(interval(part, depth) for part in op.inputs))


def _select(op: hlo.SelectOp, value: SSAValue, depth: int) -> Interval | None:
    return _union(interval(op.on_true, depth), interval(op.on_false, depth))


def _pad(op: hlo.PadOp, value: SSAValue, depth: int) -> Interval | None:
    return _union(interval(op.operand, depth), interval(op.padding_value, depth))


def _arithmetic(combine: Callable[[Interval, Interval], Interval]) -> Any:
    def rule(op: Operation, value: SSAValue, depth: int) -> Interval | None:
        left, right = (interval(operand, depth) for operand in op.operands)
        return None if left is None or right is None else combine(left, right)

    return rule


def _product(x: Interval, y: Interval) -> Interval:
    corners = [a * b for a in x for b in y]
    return min(corners), max(corners)


def _bounded(op: Operation, value: SSAValue, depth: int) -> Interval | None:
    """maximum and minimum bound their result on one side even if one operand is unknown; two of them on both."""
    if isinstance(op, hlo.ClampOp):
        low, high = interval(op.min, depth), interval(op.max, depth)
        return None if low is None or high is None else (min(low[0], high[0]), max(low[1], high[1]))
    outer = [interval(operand, depth) for operand in op.operands]
    if all(x is not None for x in outer):
        (a, b), (c, d) = cast("list[Interval]", outer)
        return (max(a, c), max(b, d)) if isinstance(op, hlo.MaximumOp) else (min(a, c), min(b, d))
    return _two_sided(op, outer, depth)


def _two_sided(op: Operation, outer: list[Interval | None], depth: int) -> Interval | None:
    """min(max(x, low), high), or the other way around, with x unknown."""
    bound = next((x for x in outer if x is not None), None)
    inner = next((operand for operand, x in zip(op.operands, outer, strict=True) if x is None), None)
    if bound is None or inner is None or not isinstance(inner.owner, hlo.MinimumOp if isinstance(op, hlo.MaximumOp) else hlo.MaximumOp):
        return None
    other = next((x for operand in inner.owner.operands if (x := interval(operand, depth)) is not None), None)
    if other is None:
        return None
    return (bound[0], max(bound[1], other[1])) if isinstance(op, hlo.MaximumOp) else (min(bound[0], other[0]), bound[1])


def _remainder(op: hlo.RemainderOp, value: SSAValue, depth: int) -> Interval | None:
    divisor, dividend = interval(op.rhs, depth), interval(op.lhs, depth)
    if divisor is None or divisor[0] <= 0:
        return None
    reach = divisor[1] - 1
    return (0 if dividend is not None and dividend[0] >= 0 else -reach, reach)


def _position(op: core.ArgReduceOp, value: SSAValue, depth: int) -> Interval | None:
    return (0, max(shape(op.operand)[int_of(op.dimension)] - 1, 0)) if value is op.index else interval(op.operand, depth)


def _top(op: chlo.TopKOp, value: SSAValue, depth: int) -> Interval | None:
    return (0, max(shape(op.operand)[-1] - 1, 0)) if value is op.indices else interval(op.operand, depth)


_RULES: dict[type[Operation], Callable[[Any, SSAValue, int], Interval | None]] = {
    hlo.ConstantOp: _constant,
    hlo.IotaOp: _iota,
    hlo.BroadcastInDimOp: _first,
    hlo.ReshapeOp: _first,
    hlo.TransposeOp: _first,
    hlo.SliceOp: _first,
    hlo.ReverseOp: _first,
    hlo.ConvertOp: _first,
    hlo.DynamicSliceOp: _first,
    hlo.GatherOp: _first,
    hlo.SortOp: _same_operand,
    hlo.ConcatenateOp: _concatenate,
    hlo.SelectOp: _select,
    hlo.PadOp: _pad,
    hlo.AddOp: _arithmetic(lambda x, y: (x[0] + y[0], x[1] + y[1])),
    hlo.SubtractOp: _arithmetic(lambda x, y: (x[0] - y[1], x[1] - y[0])),
    hlo.MultiplyOp: _arithmetic(_product),
    hlo.MaximumOp: _bounded,
    hlo.MinimumOp: _bounded,
    hlo.ClampOp: _bounded,
    hlo.RemainderOp: _remainder,
    core.ArgReduceOp: _position,
    chlo.TopKOp: _top,
}
