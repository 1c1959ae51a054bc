"""``core.argreduce``: argmax and argmin, which StableHLO writes as a reduce of values and positions together.

Such a region only compares and selects, so what it returns depends on nothing but the order of its arguments: which value is
larger or NaN, which position is lower. There are 12 cases that a reduction from the left can meet, and trying them all decides
whether the region is an argmax or argmin, however it is written. JAX's (``jax.lax.argmax``) is what ``from-core`` writes.

Between a zero and a negative zero the value that comes out is not specified; the position is the lower one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Extreme, Kind
from wengert.dialects.stablehlo.attributes import ComparisonDirection, ComparisonType
from wengert.ir.attributes import int_array, int_of, ints
from wengert.ir.tensor_types import element, is_boolean, is_float, is_integer, shape, tensor
from wengert.transforms.core.kinds import constant_scalar, neutral, returned_values
from wengert.transforms.core.recognisers.numbering import numbers_along

_COMPARE: dict[ComparisonDirection, Callable[[Any, Any], bool]] = {
    ComparisonDirection.EQ: operator.eq,
    ComparisonDirection.NE: operator.ne,
    ComparisonDirection.LT: operator.lt,
    ComparisonDirection.LE: operator.le,
    ComparisonDirection.GT: operator.gt,
    ComparisonDirection.GE: operator.ge,
}
_LOGIC: dict[type[Operation], Callable[[Any, Any], Any]] = {
    stablehlo.AndOp: lambda x, y: x and y,
    stablehlo.OrOp: lambda x, y: x or y,
    stablehlo.XorOp: operator.ne,
}
_NAN = float("nan")


def recognise_argreduce(b: OpBuilder, op: stablehlo.ReduceOp) -> list[SSAValue] | None:
    """reduce((x, iota), (-inf, 0)) with a region that keeps the larger value and its lowest position = core.argreduce(x)."""
    dims = ints(op.dimensions)
    if len(op.inputs) != 2 or len(dims) != 1 or not numbers_along(op.inputs[1], dims[0]):
        return None
    x, element_type = op.inputs[0], element(op.inputs[0])
    if not (is_float(element_type) or is_integer(element_type)) or element(op.results[0]) != element_type:
        return None
    start = constant_scalar(op.init_values[1])
    if start is None or start != 0:
        return None
    for extreme, kind in ((Extreme.max, Kind.max), (Extreme.min, Kind.min)):
        initial = constant_scalar(op.init_values[0])
        if initial is not None and initial == neutral(kind, element_type) and _picks(op.body.block, extreme, element_type):
            return list(b.argreduce(extreme, x, dims[0], element(op.inputs[1])))
    return None


def _picks(block: Block, extreme: Extreme, element_type: Attribute) -> bool:
    """Whether the region, on every case of order, returns the extreme value and its lowest position."""
    low, high = (False, True) if is_boolean(element_type) else (1, 2)
    values: list[tuple[Any, Any]] = [(low, high), (high, low), (low, low), (high, high)]
    if is_float(element_type):
        values += [(low, _NAN), (_NAN, low), (_NAN, _NAN)]
    for x, y in values:
        # From the left, positions come in increasing order, or equal where the initial value meets position 0.
        for i, j in ((3, 4), (3, 3)):
            outcome = _outcome(block, (x, i, y, j))
            if outcome is None or not _same(outcome, _expected(extreme, x, i, y, j)):
                return False
        if x == y and not _same(_outcome(block, (x, 4, y, 3)), (x, 3)):
            return False
    return True


def _expected(extreme: Extreme, x: Any, i: int, y: Any, j: int) -> tuple[Any, int]:
    if x != x or y != y:
        return (x, i) if x != x else (y, j)
    if x == y:
        return x, min(i, j)
    return (x, i) if (x > y) == (extreme is Extreme.max) else (y, j)


def _same(outcome: tuple[Any, ...] | None, expected: tuple[Any, int]) -> bool:
    if outcome is None:
        return False
    return (outcome[0] == expected[0] or (outcome[0] != outcome[0] and expected[0] != expected[0])) and outcome[1] == expected[1]


def _outcome(block: Block, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Evaluates the region on these scalars; None if it does anything but compare, select and combine booleans."""
    values: dict[SSAValue, Any] = dict(zip(block.args, arguments, strict=True))
    for op in block.ops:
        if isinstance(op, stablehlo.ReturnOp):
            break
        result = _evaluate(op, [values.get(o) for o in op.operands])
        if result is None:
            return None
        values[op.results[0]] = result
    outcome = tuple(values.get(v) for v in returned_values(block))
    return outcome if len(outcome) == 2 and None not in outcome else None


def _evaluate(op: Operation, x: list[Any]) -> Any:
    if any(v is None for v in x):
        return None
    if isinstance(op, stablehlo.CompareOp):
        if op.compare_type is not None and op.compare_type.data is ComparisonType.TOTALORDER:
            return None
        return _COMPARE[op.comparison_direction.data](x[0], x[1])
    if isinstance(op, stablehlo.SelectOp):
        return x[1] if x[0] else x[2]
    if isinstance(op, stablehlo.NotOp) and isinstance(x[0], bool):
        return not x[0]
    if isinstance(op, stablehlo.MinimumOp | stablehlo.MaximumOp):
        return _extreme(x[0], x[1], largest=isinstance(op, stablehlo.MaximumOp))
    logic = _LOGIC.get(type(op))
    return logic(x[0], x[1]) if logic is not None and isinstance(x[0], bool) and isinstance(x[1], bool) else None


def _extreme(x: Any, y: Any, *, largest: bool) -> Any:
    if x != x or y != y:
        return _NAN
    return max(x, y) if largest else min(x, y)


def expand_argreduce(b: OpBuilder, op: core.ArgReduceOp) -> list[SSAValue]:
    """core.argreduce(x) = reduce of x and iota together, with the region that JAX writes."""
    dim, element_type, counted = int_of(op.dimension), element(op.operand), element(op.index)
    extreme = op.extreme.data
    positions = b.iota(dim, tensor(shape(op.operand), counted))
    first = b.scalar(neutral(Kind.max if extreme is Extreme.max else Kind.min, element_type), element_type)
    operands = (op.operand, positions, first, b.scalar(0, counted))
    region = _region(extreme, element_type, counted)
    return list(b.create(stablehlo.ReduceOp, operands, [r.type for r in op.results], {"dimensions": int_array((dim,))}, (region,)))


def _region(extreme: Extreme, element_type: Attribute, counted: Attribute) -> Region:
    value, position = tensor((), element_type), tensor((), counted)
    block = Block(arg_types=[value, position, value, position])
    b = OpBuilder(block)
    x, i, y, j = block.args
    wins = b.compare("GT" if extreme is Extreme.max else "LT", x, y)
    if is_float(element_type):
        wins = b.or_(wins, b.compare("NE", x, x))
    tie = b.and_(b.compare("EQ", x, y), b.compare("LT", i, j))
    results = (b.select(wins, x, y), b.select(b.or_(wins, tie), i, j))
    block.add_op(stablehlo.ReturnOp.create(operands=results))
    return Region([block])
