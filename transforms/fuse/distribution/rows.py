"""Rows of stacks in counted loops: which row of a tensor an iteration reads or writes, if all iterations together go through all of its rows.

A loop over the first dimension of a tensor reads a *row* in every iteration, and puts together a *stack* of rows::

    %s = stablehlo.dynamic_slice %xs, %i, %c0, sizes = [1, 3]        %r = stablehlo.reshape %y : (tensor<3xf32>) -> tensor<1x3xf32>
    %x = stablehlo.reshape %s : (tensor<1x3xf32>) -> tensor<3xf32>   %new = stablehlo.dynamic_update_slice %stack, %r, %i, %c0

A reverse sweep goes through the rows from the last one to the first, at ``n - 1 - i``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import element, i32, i64, shape
from wengert.transforms.optimize.matching import is_zero, made_by, splat

LARGEST = 1 << 28
"""The largest number of iterations, and the largest part of an index that does not change, that rows are recognised with."""


@dataclass(frozen=True)
class Row:
    """The row ``i`` of iteration ``i``, or in reverse the row ``n - 1 - i`` of ``n``; ``index`` is a value of the loop's body that says it."""

    reverse: bool
    index: SSAValue

    def same(self, other: Row) -> bool:
        """Whether both go through rows in the same order."""
        return self.reverse == other.reverse


@dataclass(frozen=True)
class Written:
    """The value of an iteration that a stack gets as a row; ``added``: that is added to the row that the stack has from the beginning."""

    value: SSAValue
    row: Row
    added: bool


class CountedLoop:
    """A loop with a known number of iterations, with names for its parts as it is now.

    Attributes:
        op: the loop.
        trips: the number of its iterations.
    """

    def __init__(self, op: core.ForOp, trips: int):
        self.op, self.trips = op, trips

    @property
    def fixed(self) -> int:
        return int_of(self.op.constants)

    @property
    def block(self) -> Block:
        return self.op.body.block

    @property
    def iteration(self) -> SSAValue:
        return self.block.args[0]

    @property
    def constants(self) -> Sequence[BlockArgument]:
        return self.block.args[1 : 1 + self.fixed]

    @property
    def carried(self) -> Sequence[BlockArgument]:
        return self.block.args[1 + self.fixed :]

    @property
    def end(self) -> Operation:
        end = self.block.last_op
        assert end is not None
        return end

    def is_constant(self, value: SSAValue) -> bool:
        """Whether a value of the body is one of the loop's constants."""
        return isinstance(value, BlockArgument) and value.owner is self.block and 1 <= value.index <= self.fixed

    def outside(self, constant: SSAValue) -> SSAValue:
        """What a constant is in front of the loop."""
        assert isinstance(constant, BlockArgument)
        return self.op.constant_operands[constant.index - 1]

    def add_constant(self, value: SSAValue) -> SSAValue:
        """The argument by which the body sees one more value from outside."""
        fixed, inputs = self.fixed, list(self.op.inputs)
        self.op.operands = [self.op.trip_count, *inputs[:fixed], value, *inputs[fixed:]]
        self.op.properties["constants"] = int_attr(fixed + 1)
        return self.block.insert_arg(value.type, 1 + fixed)

    def add_carried(self, initial: SSAValue) -> SSAValue:
        """The argument of one more carried value, which the body gives back as it is; the loop has no result for it yet."""
        self.op.operands = [*self.op.operands, initial]
        argument = self.block.insert_arg(initial.type, len(self.block.args))
        self.end.operands = [*self.end.operands, argument]
        return argument

    def give_back(self, position: int, value: SSAValue) -> None:
        """Has the body return this for a carried value."""
        returned = list(self.end.operands)
        returned[position] = value
        self.end.operands = returned

    def row(self, indices: Sequence[SSAValue], extents: Sequence[int]) -> Row | None:
        """The row that a slice or an update begins at, if it is all of one and the loop goes through all; ``extents`` are those of the stack."""
        if not extents or extents[0] != self.trips or self.trips > LARGEST or not all(is_zero(index) for index in indices[1:]):
            return None
        index = indices[0]
        moved = self._moved(_counted_from_the_front(index))
        if moved is None or moved != ((True, self.trips - 1) if moved[0] else (False, 0)):
            return None
        return Row(moved[0], index)

    def _moved(self, index: SSAValue) -> tuple[bool, int] | None:
        """``c + i`` as ``(False, c)``, ``c - i`` as ``(True, c)``, through conversions and sums; None where it is neither.

        All numbers on the way are of signed types that hold them: ``LARGEST`` is far from their limits.
        """
        if element(index) not in (i32, i64):
            return None
        if index is self.iteration:
            return False, 0
        match index.owner:
            case hlo.ConvertOp() as op:
                return self._moved(op.operand)
            case hlo.AddOp() as op:
                return self._plus(self._moved(op.lhs), self._number(op.rhs)) or self._plus(self._moved(op.rhs), self._number(op.lhs))
            case hlo.SubtractOp() as op:
                subtracted = self._number(op.rhs)
                if subtracted is not None:
                    return self._plus(self._moved(op.lhs), -subtracted)
                moved = self._moved(op.rhs)
                return None if moved is None else self._plus((not moved[0], -moved[1]), self._number(op.lhs))
            case _:
                return None

    @staticmethod
    def _plus(moved: tuple[bool, int] | None, number: int | None) -> tuple[bool, int] | None:
        total = None if moved is None or number is None else moved[1] + number
        return None if moved is None or total is None or abs(total) > LARGEST else (moved[0], total)

    def _number(self, value: SSAValue) -> int | None:
        number = splat(self.outside(value) if self.is_constant(value) else value)
        return None if number is None else int(number)

    def read(self, value: SSAValue) -> tuple[SSAValue, Row] | None:
        """The constant whose row a value is."""
        reshaped = made_by(value, hlo.ReshapeOp)
        part = None if reshaped is None else made_by(reshaped.operand, hlo.DynamicSliceOp)
        if part is None or not self.is_constant(part.operand) or shape(part.result) != (1, *shape(value)):
            return None
        row = self.row(part.start_indices, shape(part.operand)) if shape(part.operand)[1:] == shape(value) else None
        return None if row is None else (part.operand, row)

    def written(self, position: int) -> Written | None:
        """What the carried value at this position is a stack of, if it is nothing but that and nothing else in the loop reads it."""
        argument = self.carried[position]
        update = made_by(self.end.operands[position], hlo.DynamicUpdateSliceOp)
        if update is None or update.operand is not argument or not update.result.has_one_use() or shape(update.update) != (1, *shape(argument)[1:]):
            return None
        row, value = self.row(update.start_indices, shape(argument)), update.update
        total = made_by(value, hlo.AddOp)
        added = total is not None and any(self._is_row_of(side, argument, update) for side in (total.lhs, total.rhs))
        if total is not None and added:
            value = total.rhs if self._is_row_of(total.lhs, argument, update) else total.lhs
        reshaped = made_by(value, hlo.ReshapeOp)
        if row is None or reshaped is None or shape(reshaped.operand) != shape(argument)[1:] or sum(1 for _ in argument.uses) != 1 + added:
            return None
        return Written(reshaped.operand, row, added)

    @staticmethod
    def _is_row_of(value: SSAValue, stack: SSAValue, update: hlo.DynamicUpdateSliceOp) -> bool:
        """Whether a value is the row of a stack that an update writes."""
        part = made_by(value, hlo.DynamicSliceOp)
        return part is not None and part.operand is stack and tuple(part.start_indices) == tuple(update.start_indices)


def _counted_from_the_front(index: SSAValue) -> SSAValue:
    """``x`` for ``x < 0 ? x + n : x``, by which array libraries count from the end.

    Right where ``x`` goes through all rows, so that it is never negative; so it is asked of the whole index only, not of its parts.
    """
    chosen = made_by(index, hlo.SelectOp)
    below = None if chosen is None else made_by(chosen.pred, hlo.CompareOp)
    if chosen is None or below is None or below.comparison_direction.data != "LT" or below.lhs is not chosen.on_false or not is_zero(below.rhs):
        return index
    return chosen.on_false


def row_of(b: OpBuilder, stack: Value, row: Row) -> Value:
    """Reads a row of a stack."""
    starts = [row.index, *[b.scalar(0, element(row.index))] * (len(shape(stack)) - 1)]
    return b.reshape(b.dynamic_slice(stack, starts, [1, *shape(stack)[1:]]), shape(stack)[1:])


def with_row(b: OpBuilder, stack: Value, row: Row, value: Value) -> Value:
    """Writes a row of a stack."""
    starts = [row.index, *[b.scalar(0, element(row.index))] * (len(shape(stack)) - 1)]
    return b.dynamic_update_slice(stack, b.reshape(value, [1, *shape(value)]), starts)
