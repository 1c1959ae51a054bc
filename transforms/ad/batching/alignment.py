"""Alignment of the iterations of batch elements with different trip counts.

A loop in which batch element k has trip count t_k runs T = max t_k times. Batch elements may begin together, so that iteration j of the loop is
iteration j of each; or end together, so that it is iteration j - T + t_k. An index computed from the iteration is the same for all batch
elements under one of the two only: a reverse loop reads a tape at ``trip_count - 1 - iteration``, which is T - 1 - j if all end
together. So the indices that a body uses decide; they are analysed as sums ``a * iteration + b * trip_count + c``.
"""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i64, tensor
from wengert.transforms.core.counting import constant_integer


class Position(Struct, frozen=True):
    """An index ``a * iteration + b * trip_count + c``."""

    a: int
    b: int
    c: int

    def plus(self, other: Position, sign: int) -> Position:
        """The sum with, or the difference to, another."""
        return Position(self.a + sign * other.a, self.b + sign * other.b, self.c + sign * other.c)

    @property
    def from_end(self) -> bool:
        """Whether it depends only on the number of remaining iterations."""
        return self.a != 0 and self.a + self.b == 0

    def emit(self, b: OpBuilder, iteration: Value, max_count: Value) -> Value:
        """Emits its value, if it depends only on the remaining iterations: ``a * (iteration - max_count) + c``."""
        remaining = b.subtract(max_count, iteration)
        if self.a != -1:
            remaining = b.multiply(remaining, b.scalar(-self.a, i64))
        return b.add(remaining, b.scalar(self.c, i64)) if self.c else remaining


def positions_from_end(op: core.ForOp) -> dict[SSAValue, Position]:
    """The values of the body that are the same for all batch elements if these end together. None if they had better begin
    together, because more indices depend on the iteration alone."""
    block = op.block
    if any(isinstance(inner, core.TapePushOp | core.TapeExtendOp) for inner in op.body.walk()):
        return {}
    positions: dict[SSAValue, Position] = {block.args[0]: Position(1, 0, 0)}
    positions.update((a, Position(0, 1, 0)) for a, operand in zip(block.args[1:], op.inputs, strict=False) if operand is op.trip_count)
    for inner in block.ops:
        if (position := _position(inner, positions)) is not None:
            positions[inner.results[0]] = position
    used = [positions[operand] for operand in _used_positions(block, positions)]
    at_end, at_start = sum(p.from_end for p in used), sum(p.a != 0 and p.b == 0 for p in used)
    return {value: p for value, p in positions.items() if p.from_end} if at_end > at_start else {}


def _position(op: Operation, positions: dict[SSAValue, Position]) -> Position | None:
    if isinstance(op, hlo.ConstantOp) and op.output.type == tensor((), i64) and (value := constant_integer(op.output)) is not None:
        return Position(0, 0, value)
    if isinstance(op, hlo.AddOp | hlo.SubtractOp) and op.lhs in positions and op.rhs in positions:
        return positions[op.lhs].plus(positions[op.rhs], 1 if isinstance(op, hlo.AddOp) else -1)
    return None


def _used_positions(block: Block, positions: dict[SSAValue, Position]) -> list[SSAValue]:
    """The analysed values that are operands of other ops, once for each use."""
    return [operand for op in block.ops if not (op.results and op.results[0] in positions) for operand in op.operands if operand in positions]
