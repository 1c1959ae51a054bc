"""Transposition: walks a linear program backward, from cotangents of its results to cotangents of its inputs.

Each linear op is replaced by its transpose; a value used several times receives the sum of its users' contributions. An
op whose results have no cotangent is skipped: structural zeros flow backward as they flow forward.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.locations import Role, with_role
from wengert.ir.tensor_types import element, shape
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.linear import LinearBuilder
from wengert.transforms.ad.rule import TRANSPOSE_STEPS, TRANSPOSES, Into, Tangent


class Cotangents:
    """Cotangents of linear values, summed as they arrive."""

    def __init__(self, b: OpBuilder):
        self.b = b
        self._held: dict[SSAValue, Value] = {}

    def add(self, value: SSAValue, x_bar: Tangent | Into) -> None:
        """Adds a contribution to a value's cotangent."""
        if x_bar is None:
            return
        held = self._held.get(value)
        if isinstance(x_bar, Into):
            x_bar = x_bar.accumulate(held)
        elif held is not None:
            with self.b.at(with_role(self.b.location, Role.ACCUMULATION)):
                x_bar = joined(self.b, held, x_bar) or self.b.add(held, x_bar)
        self._held[value] = x_bar

    def take(self, value: SSAValue) -> Tangent:
        """A value's cotangent, complete once all of its users were transposed."""
        return self._held.pop(value, None)


def joined(b: OpBuilder, x: Value, y: Value) -> Value | None:
    """The sum of two slices' cotangents, each one zero where the other is not: one after the other, with no addition.

    Slices of one tensor along one dimension (a split into heads, gates or halves) transpose to zero paddings; where they are
    neighbours their sum is a concatenation, padded if something is left at the ends.
    """
    first, second = (_padding(v) for v in (x, y))
    if first is None or second is None or first[1] != second[1]:
        return None
    (inner, dim, low, high), (other, _, other_low, other_high) = first, second
    extent = shape(x)[dim]
    if extent - high == other_low:
        parts, edges = [inner, other], (low, other_high)
    elif extent - other_high == low:
        parts, edges = [other, inner], (other_low, high)
    else:
        return None
    whole = b.concatenate([piece for part in parts for piece in _pieces(part, dim)], dim)
    if edges == (0, 0):
        return whole
    padding = [[0] * len(shape(x)), [0] * len(shape(x))]
    padding[0][dim], padding[1][dim] = edges
    return b.pad(whole, b.scalar(0, element(x)), *padding)


def _padding(value: Value) -> tuple[Value, int, int, int] | None:
    """What a zero padding along one dimension pads, which dimension, and by how much on either side."""
    op = value.owner
    if not isinstance(op, hlo.PadOp) or any(ints(op.interior_padding)) or min((*ints(op.edge_padding_low), *ints(op.edge_padding_high)), default=0) < 0:
        return None
    zero = op.padding_value.owner
    padded = [d for d, edges in enumerate(zip(ints(op.edge_padding_low), ints(op.edge_padding_high), strict=True)) if any(edges)]
    if len(padded) != 1 or not isinstance(zero, hlo.ConstantOp) or elements.to_numpy(zero.value).any():
        return None
    (dim,) = padded
    return op.operand, dim, ints(op.edge_padding_low)[dim], ints(op.edge_padding_high)[dim]


def _pieces(value: Value, dim: int) -> list[Value]:
    """The parts of a concatenation along a dimension, or the value itself."""
    op = value.owner
    return list(op.inputs) if isinstance(op, hlo.ConcatenateOp) and int_of(op.dimension) == dim else [value]


def copy_linear(ops: Iterable[Operation], env: dict[SSAValue, SSAValue], lb: LinearBuilder) -> None:
    """Copies the body of a linear function, renaming by ``env``: linear ops through ``lb``, all others through its primal
    builder, so that the coefficients stand where the transposes of the linear ops will."""
    for op in ops:
        operands = [env[operand] for operand in op.operands]
        target = lb.primal if lb.linear.isdisjoint(operands) else lb
        if op.regions:
            regions = [region.clone() for region in op.regions]  # closed, so there is nothing to rename inside
            with target.at(op.location):
                results = target.create(type(op), operands, [r.type for r in op.results], op.properties, regions)
        else:
            results = target.copy(op, operands)
        env.update(zip(op.results, results, strict=True))


_ONE_OF = (hlo.MultiplyOp, hlo.DotGeneralOp, hlo.ConvolutionOp)
"""Ops that are linear in each of their first two operands, but not in both."""
_NEVER: dict[type[Operation], int] = {hlo.DivideOp: 1, hlo.TriangularSolveOp: 0}
"""Operands that an op with a transpose is not linear in."""


def _is_linear(op: Operation, flags: Sequence[bool]) -> bool:
    """Whether an op is linear in the flagged operands jointly; an op without a transpose is refused elsewhere."""
    if isinstance(op, _ONE_OF):
        return not (flags[0] and flags[1])
    never = _NEVER.get(type(op))
    return never is None or not flags[never]


def transpose_ops(b: OpBuilder, ops: Iterable[Operation], linear: set[SSAValue], cotangents: Cotangents) -> None:
    """Transposes linear ops, given from the last to the first; ``linear`` holds every value that depends on a tangent."""
    for op in ops:
        y_bars = [cotangents.take(result) for result in op.results]
        if all(y_bar is None for y_bar in y_bars):
            continue
        is_linear = [operand in linear for operand in op.operands]
        step = TRANSPOSE_STEPS.get(type(op))
        rule: Any = TRANSPOSES.get(type(op))
        if step is None and rule is None:
            raise refuse(op, "is not a linear op: it has no transpose")
        if not _is_linear(op, is_linear):
            raise refuse(op, "is not linear in its operands that depend on a tangent, so it has no transpose")
        with b.at(with_role(op.location, Role.COTANGENT)):
            if step is not None:
                step(b, op, is_linear, y_bars, cotangents)
                continue
            x_bars = rule(b, op, is_linear, y_bars)
            for operand, flag, x_bar in zip(op.operands, is_linear, x_bars, strict=True):
                if flag:
                    cotangents.add(operand, x_bar)
