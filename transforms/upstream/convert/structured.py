"""Structured ops: a body over an iteration space, and how it combines its accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.affine import AffineMap

from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.dialects.upstream import UpstreamOp
from wengert.transforms.core.kinds import constant_scalar
from wengert.transforms.upstream.convert.converter import Value


class Structured(Struct, frozen=True):
    """A body over an iteration space.

    Attributes:
        op: the op that it comes from.
        ins, outs: operands that are read, and those that are read and written.
        maps: where each of them is indexed, for a point of the space.
        parallel: for each dimension of the space, whether its iterations are independent.
        block: the body: elements of ``ins`` and ``outs`` in, elements of ``outs`` out.
    """

    op: Operation
    ins: list[Value]
    outs: list[Value]
    maps: list[AffineMap]
    parallel: list[bool]
    block: Block

    @property
    def reduced(self) -> list[int]:
        """The dimensions that are reduced."""
        return [d for d, is_parallel in enumerate(self.parallel) if not is_parallel]

    @property
    def kept(self) -> list[int]:
        """The dimensions that are not."""
        return [d for d, is_parallel in enumerate(self.parallel) if is_parallel]

    @property
    def results(self) -> Sequence[SSAValue]:
        """What the body passes on."""
        last = self.block.last_op
        return last.operands if last is not None else ()

    @property
    def accumulators(self) -> Sequence[SSAValue]:
        """The arguments of the body that are elements of ``outs``."""
        return self.block.args[len(self.ins) :]


_KINDS: dict[str, tuple[Kind, Callable[[OpBuilder, Value, Value], Value]]] = {
    "arith.addf": (Kind.add, OpBuilder.add),
    "arith.addi": (Kind.add, OpBuilder.add),
    "complex.add": (Kind.add, OpBuilder.add),
    "arith.mulf": (Kind.mul, OpBuilder.multiply),
    "arith.muli": (Kind.mul, OpBuilder.multiply),
    "complex.mul": (Kind.mul, OpBuilder.multiply),
    "arith.maximumf": (Kind.max, OpBuilder.maximum),
    "arith.maxsi": (Kind.max, OpBuilder.maximum),
    "arith.minimumf": (Kind.min, OpBuilder.minimum),
    "arith.minsi": (Kind.min, OpBuilder.minimum),
    "arith.andi": (Kind.and_, OpBuilder.and_),
    "arith.ori": (Kind.or_, OpBuilder.or_),
}
"""Ops that combine elements in any order, as the kind of a reduction and as an op."""


class Combination(Struct, frozen=True):
    """An op of a body that combines the accumulator with a value that does not depend on it."""

    op: Operation
    value: SSAValue
    kind: Kind
    combine: Callable[[OpBuilder, Value, Value], Value]
    is_negated: bool = False


def combination(s: Structured, k: int) -> Combination | None:
    """How the body combines its k-th accumulator, if it does nothing else with it."""
    result, accumulator = s.results[k], s.accumulators[k]
    op = result.owner
    if not isinstance(op, UpstreamOp) or op.parent is not s.block or [use.operation for use in accumulator.uses] != [op]:
        return None
    first, *rest = op.operands
    if op.name == "arith.subf" and first is accumulator:
        return Combination(op, rest[0], Kind.add, _KINDS["arith.addf"][1], is_negated=True)
    row = _KINDS.get(op.name)
    if row is None or _is_boolean_sum(op):
        return None
    return Combination(op, rest[0] if first is accumulator else first, *row)


def _is_boolean_sum(op: Operation) -> bool:
    return op.name in ("arith.addi", "arith.muli", "arith.maxsi", "arith.minsi") and str(op.results[0].type) == "i1"


def is_zero(value: Value) -> bool:
    """Whether a value is a constant of zeros."""
    number = constant_scalar(value)
    return number is not None and number == 0
