"""Shift invariance: values that a program subtracts for numerical stability, and that its results do not depend on.

A softmax subtracts the maximum before it exponentiates, and the maximum cancels: ``exp(x - m) / sum(exp(x - m))``. So do
``log(sum(exp(x - m))) + m`` and what is built from them. The derivative in m is zero; computing it would cost a reduction's derivative, its
transpose and a sum, and add rounding errors to the result.

The analysis follows a value m forward through the program. Every value that it reaches depends on m in one of two ways,
or the analysis gives up:

- *additively*, ``v(m + t) = v(m) + a t``, with a number a;
- *multiplicatively*, ``v(m + t) = v(m) exp(b t)``, with a number b.

On many devices m may be the result of an ``all_reduce``, so that it is the same on all devices of a group. A sum of multiplicative dependences over the same
group then depends on it as each term does; over other groups, or of an m that may differ, the analysis gives up.

Where a or b becomes 0 the dependence has cancelled. If it does on every path, the results are invariant in m, and the forward sweep gives m
no tangent. This holds for real numbers and any finite m; it does not hold for rounding errors.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from xdsl.ir import Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.core import Kind
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import element, is_float, rank, shape


class _Dependence(Struct, frozen=True):
    """The dependence of a value on m: additive or multiplicative, with its coefficient, and the dimensions of the
    value along which m varies (along all others it has the same element of m)."""

    additive: bool
    coefficient: float
    varies: frozenset[int]


def invariant_values(ops: Iterable[Operation]) -> set[SSAValue]:
    """The values of a straight-line program that are subtracted before an exponential and whose dependence cancels."""
    invariant: set[SSAValue] = set()
    for op in ops:
        if isinstance(op, hlo.ExponentialOp) and isinstance(op.operand.owner, hlo.SubtractOp):
            source = _unbroadcast(op.operand.owner.rhs)
            if source not in invariant and is_float(element(source)) and _cancels(source):
                invariant.add(source)
    return invariant


def _unbroadcast(value: SSAValue) -> SSAValue:
    while isinstance(value.owner, hlo.BroadcastInDimOp | hlo.ReshapeOp):
        value = value.owner.operand
    return value


def _cancels(source: SSAValue) -> bool:
    """Whether the dependence on the source cancels on every path from it."""
    reached = {source: _Dependence(True, 1.0, frozenset(d for d, n in enumerate(shape(source)) if n != 1))}
    pending: list[Operation] = [use.operation for use in source.uses]
    block = pending[0].parent if pending else None
    if block is None or any(op.parent is not block for op in pending):
        return False
    order = [op for op in block.ops if op.results]
    for op in order:
        touched = [operand for operand in op.operands if operand in reached]
        if not touched:
            if op.regions and any(operand in reached for inner in op.walk() for operand in inner.operands):
                return False
            continue
        dependence = _over_devices(op, source, reached) if isinstance(op, core.AllReduceOp) else _dependence_of_result(op, reached)
        if dependence is None:
            return False
        if dependence.coefficient != 0:
            reached[op.results[0]] = dependence
    last = block.last_op
    return last is not None and not any(operand in reached for operand in last.operands)


def _over_devices(op: core.AllReduceOp, source: SSAValue, reached: dict[SSAValue, _Dependence]) -> _Dependence | None:
    """The dependence of what a group of devices combines, where all of them have the same value of the source."""
    x, owner = reached[op.operand], source.owner
    if not isinstance(owner, core.AllReduceOp) or _groups(owner) != _groups(op):
        return None
    alike = op.kind.data in (Kind.max, Kind.min) or (op.kind.data is Kind.add and not x.additive)
    return x if alike else None


def _groups(op: core.AllReduceOp) -> tuple[object, ...]:
    """What says which devices meet; of a channel it is whether it has a number, which only tells collectives apart."""
    channel = op.channel_handle
    return op.replica_groups, channel is not None and int_of(channel.handle) > 0, op.use_global_device_ids


def _dependence_of_result(op: Operation, reached: dict[SSAValue, _Dependence]) -> _Dependence | None:
    """The dependence of an op's result, or None if it is of neither kind."""
    operands = [reached.get(operand) for operand in op.operands]
    if isinstance(op, hlo.AddOp | hlo.SubtractOp):
        return _sum(operands, -1.0 if isinstance(op, hlo.SubtractOp) else 1.0)
    if isinstance(op, hlo.MultiplyOp | hlo.DivideOp):
        return _product(operands, -1.0 if isinstance(op, hlo.DivideOp) else 1.0)
    if isinstance(op, hlo.SelectOp) and operands[0] is None:
        return operands[1] if operands[1] == operands[2] else None
    (x, *others) = operands
    if x is None or any(o is not None for o in others):
        return None
    if isinstance(op, hlo.NegateOp) and x.additive:
        return _Dependence(True, -x.coefficient, x.varies)
    if isinstance(op, hlo.NegateOp | hlo.AbsOp) and not x.additive:
        return x
    if isinstance(op, hlo.SignOp) and not x.additive:
        return _Dependence(False, 0.0, x.varies)  # a positive factor does not change the sign
    if isinstance(op, hlo.ExponentialOp) and x.additive:
        return _Dependence(False, x.coefficient, x.varies)
    if isinstance(op, hlo.LogOp) and not x.additive:
        return _Dependence(True, x.coefficient, x.varies)
    if isinstance(op, hlo.ConvertOp) and is_float(element(op.result)):
        return x
    return _through_movement(op, x)


def _sum(operands: list[_Dependence | None], sign: float) -> _Dependence | None:
    left, right = operands
    if any(x is not None and not x.additive for x in operands):
        # terms of a sum must scale alike
        same = left is not None and right is not None and left == right
        return left if same else None
    return _combined(left, right, sign, additive=True)


def _product(operands: list[_Dependence | None], sign: float) -> _Dependence | None:
    left, right = operands
    if any(x is not None and x.additive for x in operands):
        return None
    return _combined(left, right, sign, additive=False)


def _combined(left: _Dependence | None, right: _Dependence | None, sign: float, *, additive: bool) -> _Dependence | None:
    if left is not None and right is not None and left.varies != right.varies:
        return None
    first = left.coefficient if left is not None else 0.0
    second = right.coefficient if right is not None else 0.0
    varies = (left or right or _Dependence(True, 0.0, frozenset())).varies
    return _Dependence(additive, first + sign * second, varies)


def _through_movement(op: Operation, x: _Dependence) -> _Dependence | None:
    """The dependence after an op that moves elements, or reduces elements with equal dependence."""
    if isinstance(op, hlo.BroadcastInDimOp):
        dims, extents = ints(op.broadcast_dimensions), shape(op.operand)
        return _Dependence(x.additive, x.coefficient, frozenset(dims[d] for d in x.varies if extents[d] != 1))
    if isinstance(op, hlo.ReshapeOp):
        return _reshaped(op, x)
    if isinstance(op, hlo.TransposeOp):
        order = ints(op.permutation)
        return _Dependence(x.additive, x.coefficient, frozenset(order.index(d) for d in x.varies))
    if isinstance(op, core.ReduceOp):
        dims = set(ints(op.dimensions))
        alike = op.kind.data in (Kind.max, Kind.min) or (op.kind.data is Kind.add and not x.additive)
        if not alike or any(d in dims and shape(op.operand)[d] != 1 for d in x.varies):
            return None
        kept = [d for d in range(rank(op.operand)) if d not in dims]
        return _Dependence(x.additive, x.coefficient, frozenset(kept.index(d) for d in x.varies if d in kept))
    return None


def _reshaped(op: hlo.ReshapeOp, x: _Dependence) -> _Dependence | None:
    """The dependence after a reshape that only adds and removes dimensions of extent 1; None after another one."""
    before = [d for d, n in enumerate(shape(op.operand)) if n != 1]
    after = [d for d, n in enumerate(shape(op.result)) if n != 1]
    if [shape(op.operand)[d] for d in before] != [shape(op.result)[d] for d in after]:
        return None
    place = dict(zip(before, after, strict=True))
    return _Dependence(x.additive, x.coefficient, frozenset(place[d] for d in x.varies if d in place))
