"""Loops under differentiation: which of their values have tangents, and construction of loops of the same form."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.construction import append, copy_op
from wengert.ir.tensor_types import i64, tensor
from wengert.transforms.ad.forward.activity import carried_activity
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import terminator_operands

Loop = core.ForOp | core.WhileOp


class ActiveLoop(Struct, frozen=True):
    """A loop with its operands in the new function, and which of them have tangents."""

    op: Loop
    body: Block
    first: int
    """The position of the first constant among the body's arguments: 1 in a counted loop, whose first argument is the iteration."""
    constants: list[Value]
    initial: list[Value]
    constant_dots: dict[int, Value]
    carried_dots: dict[int, Value]
    """Tangents of the constants and of the active carried values, by position; the latter have explicit zeros where the tangent is zero."""
    trip_count: Value | None

    @staticmethod
    def of(sweep: ForwardSweep, op: Loop) -> ActiveLoop:
        first = 1 if isinstance(op, core.ForOp) else 0
        dots = {i: x_dot for i, operand in enumerate(op.constant_operands) if (x_dot := sweep.tangent(operand)) is not None}
        initial_dots = [sweep.tangent(operand) for operand in op.initial]
        constants_active = [i in dots for i in range(len(op.constant_operands))]
        flags = carried_activity(op.body.block, first, constants_active, [x_dot is not None for x_dot in initial_dots], sweep.activity)
        carried = {i: materialized(sweep.lb, initial_dots[i], op.initial[i].type) for i, flag in enumerate(flags) if flag}
        trip_count = sweep.primal(op.trip_count) if isinstance(op, core.ForOp) else None
        constants = [sweep.primal(operand) for operand in op.constant_operands]
        return ActiveLoop(op, op.body.block, first, constants, [sweep.primal(operand) for operand in op.initial], dots, carried, trip_count)

    @property
    def old_constants(self) -> Sequence[SSAValue]:
        return self.body.args[self.first : self.first + len(self.constants)]

    @property
    def old_carried(self) -> Sequence[SSAValue]:
        return self.body.args[self.first + len(self.constants) :]

    @property
    def ops(self) -> list[Operation]:
        return list(self.body.ops)[:-1]

    @property
    def returned(self) -> Sequence[SSAValue]:
        return terminator_operands(self.body)


def loop_block(loop: ActiveLoop, values: Sequence[Value], extra: Sequence[Attribute] = ()) -> Block:
    """An empty body for a loop of the same form whose arguments are these values, after the iteration if there is one."""
    iteration = [tensor((), i64)] if loop.first else []
    block = Block(arg_types=[*iteration, *(v.type for v in values), *extra])
    for old, new in zip(loop.body.args, block.args):
        new.name_hint = old.name_hint
    return block


def bind(
    inner: ForwardSweep,
    loop: ActiveLoop,
    block: Block,
    constants: Sequence[Value],
    carried: Sequence[Value],
    constant_dots: dict[int, Value],
    carried_dots: dict[int, Value],
) -> None:
    """Binds the arguments of the old body in the sweep over it to new ones and their tangents."""
    inner.bind(loop.body.args[: loop.first], block.args[: loop.first], [None] * loop.first)
    inner.bind(loop.old_constants, constants, [constant_dots.get(i) for i in range(len(constants))])
    inner.bind(loop.old_carried, carried, [carried_dots.get(i) for i in range(len(carried))])


def create_loop(b: OpBuilder, loop: ActiveLoop, constants: Sequence[Value], carried: Sequence[Value], body: Block) -> Sequence[Value]:
    """Emits a loop with the trip count or condition of this one and another body."""
    properties = {"constants": int_attr(len(constants))}
    types = [v.type for v in carried]
    if loop.trip_count is not None:
        return b.create(core.ForOp, [loop.trip_count, *constants, *carried], types, properties, [Region([body])])
    assert isinstance(loop.op, core.WhileOp)
    condition = _condition(loop, loop.op, constants, carried)
    return b.create(core.WhileOp, [*constants, *carried], types, properties, [Region([condition]), Region([body])])


def _condition(loop: ActiveLoop, op: core.WhileOp, constants: Sequence[Value], carried: Sequence[Value]) -> Block:
    """The condition with additional arguments; its own come first among the constants and among the carried values."""
    block = Block(arg_types=[v.type for v in (*constants, *carried)])
    old = op.condition.block
    mapped: dict[SSAValue, SSAValue] = dict(zip(old.args[: len(loop.constants)], block.args, strict=False))
    mapped.update(zip(old.args[len(loop.constants) :], block.args[len(constants) :], strict=False))
    for inner in old.ops:
        append(block, copy_op(inner, mapped))
    return block


def set_results(sweep: ForwardSweep, loop: ActiveLoop, primals: Sequence[Value], dots: dict[int, Value]) -> None:
    """Binds the loop's results and the tangents of those that have one."""
    sweep.set(loop.op.results, primals, [dots.get(i) for i in range(len(primals))])
