"""The iterations of loops as polynomials, where the text says them.

A counted loop's number of iterations is evaluated from the integers that it is computed from: constants, extents, and the indices of loops around it
(a triangular loop)::

    for i < n { for j < n - 1 - i { ... } }        # n - 1 - i iterations

A ``while`` is counted if its condition compares values that change by a constant in each iteration. One whose condition depends on constants alone in another
way (``i *= 2``) is followed, iteration by iteration. Of all others nothing is known here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.ir.tensor_types import element, is_integer, is_unsigned
from wengert.transforms.analysis.symbolic.extents import Extents
from wengert.transforms.analysis.symbolic.integers import Extent, Upper, ceil_quotient, is_nonnegative, larger, smaller
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.scalars import follow, is_index

Values = dict[SSAValue, "Extent | None"]
"""What is known of integers inside of a block; None for those of which nothing is."""


class Integers:
    """Evaluates integers of one element as polynomials. ``upper`` bounds the indices of the loops around."""

    def __init__(self, extents: Extents, values: Values, upper: Upper):
        self.extents, self.values, self.upper = extents, values, upper

    def of(self, value: SSAValue) -> Extent | None:
        """The value, if it is known."""
        waiting = [value]
        while waiting:
            last = waiting[-1]
            missing = [source for source in _sources(last) if source not in self.values] if last not in self.values else []
            if missing:
                waiting += missing
                continue
            if last not in self.values:
                self.values[last] = self._computed(last)
            waiting.pop()
        return self.values[value]

    def _computed(self, value: SSAValue) -> Extent | None:
        op = value.owner
        if isinstance(op, Block) or not is_index(value):
            return None
        if isinstance(op, stablehlo.ConstantOp):
            return self.extents.integer(value)
        combine = _COMBINATIONS.get(type(op))
        operands = [self.values.get(operand) for operand in op.operands]
        return None if combine is None or None in operands else _within(combine(operands, self.upper), value)


def _within(number: Extent | None, value: SSAValue) -> Extent | None:
    """The number, if the type of the value holds it."""
    if not isinstance(number, int):
        return number
    type = element(value)
    assert is_integer(type)
    bits, unsigned = type.width.data, is_unsigned(type)
    least, most = (0, 2**bits - 1) if unsigned or bits == 1 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return number if least <= number <= most else None


def _sources(value: SSAValue) -> Sequence[SSAValue]:
    """The values that an integer is computed from, if it is by an op of which the result is known for known operands."""
    op = value.owner
    return op.operands if not isinstance(op, Block) and type(op) in _COMBINATIONS and all(map(is_index, op.operands)) else ()


def _same(operands: Sequence[Any], upper: Upper) -> Extent:
    return operands[0]


def _quotient(operands: Sequence[Extent], upper: Upper) -> Extent | None:
    a, b = operands
    if isinstance(a, int) and isinstance(b, int):
        return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if not isinstance(b, int) or b <= 0 or not is_nonnegative(a, upper):
        return None
    return a if b == 1 else Polynomial.apply("floor_div", a, b)


_COMBINATIONS: dict[type[Operation], Callable[[Sequence[Any], Upper], Extent | None]] = {
    stablehlo.AddOp: lambda operands, upper: operands[0] + operands[1],
    stablehlo.SubtractOp: lambda operands, upper: operands[0] - operands[1],
    stablehlo.MultiplyOp: lambda operands, upper: operands[0] * operands[1],
    stablehlo.NegateOp: lambda operands, upper: -operands[0],
    stablehlo.MaximumOp: lambda operands, upper: larger(operands[0], operands[1], upper),
    stablehlo.MinimumOp: lambda operands, upper: smaller(operands[0], operands[1], upper),
    stablehlo.DivideOp: _quotient,
    stablehlo.ConvertOp: _same,
    stablehlo.ReshapeOp: _same,
    stablehlo.BroadcastInDimOp: _same,
}


def iterations(loop: Operation, integers: Integers) -> Extent | None:
    """The iterations of one execution of a loop; None where they depend on data or are written in another way."""
    if isinstance(loop, core.ForOp):
        count = integers.of(loop.trip_count)
        return None if count is None else larger(count, 0, integers.upper)
    counted = _compared(loop, integers)
    return follow(loop, _starts(loop, integers)) if counted is None else counted


def counters(loop: Operation, integers: Integers, index: str) -> Values:
    """The integers that are known in a loop's body, with the symbol for the index of its iteration: constants, and what each iteration changes by a
    constant."""
    body, known = loop.regions[-1].block, Values()
    offset = 0
    if isinstance(loop, core.ForOp):
        known[body.args[0]] = Polynomial.symbol(index)
        offset = 1
    arguments = body.args[offset:]
    fixed = len(arguments) - len(loop.results)
    for position, (operand, argument) in enumerate(zip(loop.operands[offset:], arguments, strict=True)):
        start = integers.of(operand)
        step = 0 if position < fixed else _step(body, position - fixed, argument, integers)
        if start is not None and step is not None:
            known[argument] = start + step * Polynomial.symbol(index) if step else start
    return known


def _step(body: Block, position: int, argument: SSAValue, integers: Integers) -> int | None:
    """The constant that an iteration adds to a carried integer."""
    last = body.last_op
    assert last is not None
    value = last.operands[position]
    if value is argument:
        return 0
    update = value.owner
    if not is_index(argument) or not isinstance(update, stablehlo.AddOp | stablehlo.SubtractOp):
        return None
    left, right = update.operands
    if isinstance(update, stablehlo.AddOp) and right is argument:
        left, right = right, left
    step = integers.of(right) if left is argument and not _is_of(right, body) else None
    return None if not isinstance(step, int) else -step if isinstance(update, stablehlo.SubtractOp) else step


def _is_of(value: SSAValue, block: Block) -> bool:
    return isinstance(value, BlockArgument) and value.block is block


def _starts(loop: Operation, integers: Integers) -> list[int | None]:
    """The integers that a loop starts with."""
    values = [integers.of(operand) for operand in loop.operands]
    return [value if isinstance(value, int) else None for value in values]


def _compared(loop: Operation, integers: Integers) -> Extent | None:
    """The iterations of a loop whose condition compares two values that change by constants."""
    condition = loop.regions[0].block
    last = condition.last_op
    compare = last.operands[0].owner if last is not None and last.operands else None
    if not isinstance(compare, stablehlo.CompareOp) or not is_index(compare.operands[0]):
        return None
    index = "i"  # stands in no other polynomial here
    known = counters(loop, integers, index)
    inside = dict(zip(condition.args, [known.get(argument) for argument in loop.regions[-1].block.args], strict=True))
    here = Integers(integers.extents, {**integers.values, **inside}, integers.upper)
    sides = [here.of(operand) for operand in compare.operands]
    if sides[0] is None or sides[1] is None:
        return None
    return _first_failure(str(compare.comparison_direction.data), sides[0], sides[1], index, integers.upper)


def _first_failure(direction: str, left: Extent, right: Extent, index: str, upper: Upper) -> Extent | None:
    """The first index from 0 at which a comparison of two values that are linear in it fails."""
    if direction in ("GT", "GE"):
        left, right = right, left
    distance = Polynomial.of(right - left)
    if distance.degree(index) > 1 or any(index in p.symbols for atom in distance.atoms for p in atom.arguments):
        return None
    parts = distance.coefficients(index)
    start, slope = parts.get(0, Polynomial({})), parts.get(1, Polynomial({})).constant
    if slope is None or not isinstance(slope, int):
        return None
    if direction == "NE":
        return _meeting(start, slope, upper)
    if direction not in ("LT", "LE", "GT", "GE"):
        return None
    reach = _plain(start + 1 if direction in ("LE", "GE") else start)
    if slope >= 0:  # holds for ever, or never
        return 0 if is_nonnegative(-Polynomial.of(reach), upper) else None
    return larger(ceil_quotient(reach, -slope), 0, upper)


def _meeting(start: Polynomial, slope: int, upper: Upper) -> Extent | None:
    """The index at which start + slope index is 0, if it ever is."""
    if slope == 0:
        return 0 if start == 0 else None
    distance = _plain(start if slope < 0 else -start)
    if isinstance(distance, int):
        return distance // abs(slope) if distance >= 0 and distance % slope == 0 else None
    return distance if abs(slope) == 1 and is_nonnegative(distance, upper) else None


def _plain(value: Polynomial) -> Extent:
    constant = value.constant
    return constant if isinstance(constant, int) else value
