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
from wengert.ir.tensor_types import element, shape
from wengert.transforms.optimize.matching import is_zero, made_by, splat


@dataclass(frozen=True)
class Row:
    """The row ``i`` of iteration ``i``, or in reverse the row ``n - 1 - i`` of ``n``; ``index`` is a value of the loop's body that says it."""

    reverse: bool
    index: SSAValue

    def same(self, other: Row) -> bool:
        """Whether both go through rows in the same order."""
        return self.reverse == other.reverse


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
        if not extents or extents[0] != self.trips or not all(is_zero(index) for index in indices[1:]):
            return None
        index = indices[0]
        moved, reverse = self._affine(index)
        if moved != (self.trips - 1 if reverse else 0):
            return None
        return Row(reverse, index)

    def _affine(self, index: SSAValue) -> tuple[int | None, bool]:
        """``c + i`` as ``(c, False)``, ``c - i`` as ``(c, True)``; None where it is neither."""
        converted = made_by(index, hlo.ConvertOp)
        if converted is not None:
            index = converted.operand
        if index is self.iteration:
            return 0, False
        difference, total = made_by(index, hlo.SubtractOp), made_by(index, hlo.AddOp)
        if difference is not None and difference.rhs is self.iteration:
            return self._number(difference.lhs), True
        if difference is not None and difference.lhs is self.iteration:
            return None if (number := self._number(difference.rhs)) is None else -number, False
        if total is not None and self.iteration in (total.lhs, total.rhs):
            return self._number(total.rhs if total.lhs is self.iteration else total.lhs), False
        return None, False

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

    def written(self, position: int) -> tuple[SSAValue, Row] | None:
        """What the carried value at this position is a stack of, if it is nothing but that and nothing in the loop reads it."""
        argument = self.carried[position]
        update = made_by(self.end.operands[position], hlo.DynamicUpdateSliceOp)
        reshaped = None if update is None else made_by(update.update, hlo.ReshapeOp)
        if update is None or reshaped is None or update.operand is not argument or not argument.has_one_use() or not update.result.has_one_use():
            return None
        value = reshaped.operand
        if shape(reshaped.result) != (1, *shape(value)) or shape(argument)[1:] != shape(value):
            return None
        row = self.row(update.start_indices, shape(argument))
        return None if row is None else (value, row)


def row_of(b: OpBuilder, stack: Value, row: Row) -> Value:
    """Reads a row of a stack."""
    starts = [row.index, *[b.scalar(0, element(row.index))] * (len(shape(stack)) - 1)]
    return b.reshape(b.dynamic_slice(stack, starts, [1, *shape(stack)[1:]]), shape(stack)[1:])


def with_row(b: OpBuilder, stack: Value, row: Row, value: Value) -> Value:
    """Writes a row of a stack."""
    starts = [row.index, *[b.scalar(0, element(row.index))] * (len(shape(stack)) - 1)]
    return b.dynamic_update_slice(stack, b.reshape(value, [1, *shape(value)]), starts)
