"""How the trips of instances that count differently are laid side by side.

A loop whose instance k makes t_k trips is run T = max t_k times. Instances may begin together, so that trip j of the loop is
iteration j of each; or end together, so that it is iteration j - T + t_k. What a program computes from the iteration then
is or is not the same for all instances: a reverse loop reads a tape at ``trips - 1 - iteration``, which is T - 1 - j if all end
together. So the positions that a body uses decide; they are found as sums ``a * iteration + b * trips + c``.
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
    """``a * iteration + b * trips + c``."""

    a: int
    b: int
    c: int

    def plus(self, other: Position, sign: int) -> Position:
        """The sum with, or the difference to, another."""
        return Position(self.a + sign * other.a, self.b + sign * other.b, self.c + sign * other.c)

    @property
    def from_end(self) -> bool:
        """Whether it depends on the trips that are left only."""
        return self.a != 0 and self.a + self.b == 0

    def emit(self, b: OpBuilder, trip: Value, count: Value) -> Value:
        """Its value in a trip, if it depends on those that are left only: ``a * (trip - count) + c``."""
        left = b.subtract(count, trip)
        if self.a != -1:
            left = b.multiply(left, b.scalar(-self.a, i64))
        return b.add(left, b.scalar(self.c, i64)) if self.c else left


def positions_from_end(op: core.ForOp) -> dict[SSAValue, Position]:
    """The values of the body that are the same for all instances if they end together; none if it is better that they begin
    together, because more positions depend on the iteration alone."""
    block = op.block
    if any(isinstance(inner, core.TapePushOp | core.TapeExtendOp) for inner in op.body.walk()):
        return {}
    found: dict[SSAValue, Position] = {block.args[0]: Position(1, 0, 0)}
    found.update((a, Position(0, 1, 0)) for a, operand in zip(block.args[1:], op.inputs, strict=False) if operand is op.trip_count)
    for inner in block.ops:
        if (position := _position(inner, found)) is not None:
            found[inner.results[0]] = position
    used = [found[operand] for operand in _used(block, found)]
    at_end, at_start = sum(p.from_end for p in used), sum(p.a != 0 and p.b == 0 for p in used)
    return {value: p for value, p in found.items() if p.from_end} if at_end > at_start else {}


def _position(op: Operation, found: dict[SSAValue, Position]) -> Position | None:
    if isinstance(op, hlo.ConstantOp) and op.output.type == tensor((), i64) and (value := constant_integer(op.output)) is not None:
        return Position(0, 0, value)
    if isinstance(op, hlo.AddOp | hlo.SubtractOp) and op.lhs in found and op.rhs in found:
        return found[op.lhs].plus(found[op.rhs], 1 if isinstance(op, hlo.AddOp) else -1)
    return None


def _used(block: Block, found: dict[SSAValue, Position]) -> list[SSAValue]:
    """The positions that ops use other than for computing others, once for each use."""
    return [operand for op in block.ops if not (op.results and op.results[0] in found) for operand in op.operands if operand in found]
