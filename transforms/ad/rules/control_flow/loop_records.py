"""Linearization of loops: a primal loop that also records the residuals of each iteration, and a linear loop that reads the record.

The record is a tape. With a constant trip count it has one place per iteration, and ``tapes-to-stacks`` turns it into a tensor; otherwise it grows.
A loop with a condition counts its iterations, and its linear part is a counted loop over the tape, so that reverse mode
runs exactly as many iterations.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i64, tensor
from wengert.transforms.ad.forward.lengths import Lengths
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.ad.replay.linearize import Body, linearize_with_slots, state_of
from wengert.transforms.ad.residuals.plan import prune, residuals_of
from wengert.transforms.ad.residuals.policies import Site, policy_of
from wengert.transforms.ad.rules.control_flow.active_loop import ActiveLoop, bind, create_loop, loop_block, set_results
from wengert.transforms.core.closing import copy_ops, take_ops
from wengert.transforms.core.counting import constant_integer


def linearize_loop(sweep: ForwardSweep, loop: ActiveLoop) -> None:
    """Emits a primal loop that records residuals, and a linear loop over the record."""
    body = loop_block(loop, [*loop.constants, *loop.initial])
    tangents = [*loop.constant_dots.values(), *loop.carried_dots.values()]
    linear = Block(arg_types=[t.type for t in tangents])
    inner = sweep.nested(body, linear, linear.args)
    arguments = body.args[loop.first :]
    constant_dots: dict[int, Value] = dict(zip(loop.constant_dots, linear.args))
    carried_dots: dict[int, Value] = dict(zip(loop.carried_dots, linear.args[len(constant_dots) :]))
    bind(inner, loop, body, arguments[: len(loop.constants)], arguments[len(loop.constants) :], constant_dots, carried_dots)
    inner.run(loop.ops)
    y_dots = [materialized(inner.lb, inner.tangent(loop.returned[i]), loop.returned[i].type) for i in loop.carried_dots]
    linear_ops = prune(linear, y_dots)
    residuals = residuals_of(linear_ops, y_dots, inner.lb.linear)
    returned = [inner.primal(v) for v in loop.returned]
    # the iteration and the constants are available in the linear loop anyway
    times = None if loop.trip_count is None else constant_integer(loop.trip_count)
    policy = policy_of(loop.op, sweep.policy)
    slots = policy.slots(times)
    swept = Body(body, returned, linear.args, linear_ops, y_dots, residuals)
    state = None if slots is None else state_of(loop, swept)
    if slots is not None and state is not None:
        primals, loop_results = linearize_with_slots(sweep, loop, swept, state, slots)
    else:
        residual_plan = policy.plan(Site(body, residuals, body.args[: loop.first + len(loop.constants)], "loop", times))
        record = _Record.of(loop, residual_plan.stored, sweep.lengths)
        primals, recorded, trip_count = _primal_loop(sweep, loop, body, returned, record)
        linear_loop = _LinearLoop(loop, body, linear, linear_ops, y_dots, residual_plan.recomputed, record)
        loop_results = linear_loop.emit(sweep, recorded, trip_count)
    for op in linear_ops:
        if op.parent is linear:
            op.drop_all_references()
    set_results(sweep, loop, primals, dict(zip(loop.carried_dots, loop_results)))


class _Record(Struct, frozen=True):
    """The recorded values: on tapes with one place per iteration if the trip count is a constant, else on tapes that grow."""

    values: list[Value]
    trip_count: int | None
    groups: list[int]
    """For each tape of an inner loop the place of its positions: tapes of equal length share them."""

    @staticmethod
    def of(loop: ActiveLoop, values: list[Value], lengths: Lengths) -> _Record:
        groups = lengths.groups([value for value in values if _grows(value.type)])
        return _Record(values, None if loop.trip_count is None else constant_integer(loop.trip_count), groups)

    @property
    def positions(self) -> int:
        """How many different lengths the tapes of inner loops have."""
        return 1 + max(self.groups, default=-1)

    def begin(self, b: OpBuilder, type: Attribute) -> Value:
        """An empty record of values of a type."""
        return b.create(core.TapeCreateOp, (), (type if _grows(type) else core.TapeType(type, self.trip_count),))[0]

    def write(self, b: OpBuilder, record: Value, value: Value, iteration: Value | None) -> Value:
        """The record with one more value."""
        if _grows(value.type):
            return b.create(core.TapeExtendOp, (record, value), (record.type,))[0]
        if self.trip_count is None:
            return b.create(core.TapePushOp, (record, value), (record.type,))[0]
        assert iteration is not None
        return b.create(core.TapeSetOp, (record, iteration, value), (record.type,))[0]

    def read(self, b: OpBuilder, record: Value, type: Attribute, iteration: Value) -> Value:
        """The value of an iteration."""
        return b.create(core.TapeReadOp, (record, iteration), (type,))[0]


def _grows(type: Attribute) -> bool:
    """Whether a value is a growing tape of an inner loop, which is appended to a tape of this loop."""
    return isinstance(type, core.TapeType) and type.static_length is None


def _split_tapes(record: _Record) -> tuple[list[Value], list[Value]]:
    """Splits the recorded values into tensors (or tapes of fixed size) and growing tapes of inner loops."""
    return [v for v in record.values if not _grows(v.type)], [v for v in record.values if _grows(v.type)]


def _primal_loop(sweep: ForwardSweep, loop: ActiveLoop, body: Block, returned: list[Value], record: _Record) -> tuple[Sequence[Value], list[Value], Value]:
    """Emits the primal loop with its records; returns its results, the complete records, and the trip count.

    The records are those of the tensors, then for the inner tapes of each length the positions at which the iterations begin on the outer tapes, then
    the outer tapes.
    """
    b, lengths = sweep.b, sweep.lengths
    inner = OpBuilder(body, location=b.location, pass_name=b.pass_name)
    tensors, tapes = _split_tapes(record)
    counting = loop.trip_count is None
    position = tensor((), i64)
    empty_records = [record.begin(b, type) for type in (*(v.type for v in tensors), *[position] * record.positions, *(v.type for v in tapes))]
    arguments = [body.insert_arg(r.type, len(body.args)) for r in empty_records]
    extra = [b.scalar(0, i64)] if counting else []
    count = body.insert_arg(position, len(body.args)) if counting else None
    iteration = body.args[0] if loop.first else count
    written = [record.write(inner, r, v, iteration) for r, v in zip(arguments, tensors, strict=False)]
    outer_tapes = arguments[len(tensors) + record.positions :]
    for group, r in enumerate(arguments[len(tensors) : len(tensors) + record.positions]):
        start = inner.create(core.TapeSizeOp, (outer_tapes[record.groups.index(group)],), (position,))[0]
        written.append(record.write(inner, r, start, iteration))
    written += [record.write(inner, r, v, iteration) for r, v in zip(outer_tapes, tapes, strict=True)]
    next_count = [inner.add(count, inner.scalar(1, i64))] if count is not None else []
    body.add_op(hlo.ReturnOp.create(operands=[*returned, *written, *next_count]))
    drop_dead_ops(body)
    loop_results = create_loop(b, loop, loop.constants, [*loop.initial, *empty_records, *extra], body)
    n = len(loop.initial)
    trip_count = loop.trip_count if loop.trip_count is not None else loop_results[-1]
    made = loop_results[n : n + len(empty_records)]
    appended = [None] * (len(tensors) + record.positions) + tapes
    for result, tape in zip(made, appended, strict=True):
        lengths.set(result, lengths.name(result.owner, None if tape is None else lengths.of(tape)))
    return loop_results[:n], list(loop_results[n : n + len(empty_records)]), trip_count


class _LinearLoop(Struct, frozen=True):
    """A linear loop under construction: the linear ops of its body, the ops that are recomputed for them, and the record."""

    loop: ActiveLoop
    body: Block
    linear: Block
    linear_ops: list[Operation]
    y_dots: list[Value]
    recomputed: list[Operation]
    record: _Record

    def emit(self, sweep: ForwardSweep, recorded: list[Value], trip_count: Value) -> Sequence[Value]:
        """Emits the linear loop; returns the tangents of the active carried values."""
        loop, used = self.loop, {operand for op in (*self.linear_ops, *self.recomputed) for operand in op.operands} | set(self.y_dots)
        used_constants = [(argument, value) for argument, value in zip(self.body.args[loop.first :], loop.constants, strict=False) if argument in used]
        dots = [(argument, x_dot) for argument, x_dot in zip(self.linear.args, loop.constant_dots.values(), strict=False) if argument in used]
        carried = list(loop.carried_dots.values())
        constants = [*(value for _, value in used_constants), *recorded, *(x_dot for _, x_dot in dots)]
        block = Block(arg_types=[tensor((), i64), *(v.type for v in (*constants, *carried))])
        iteration, *arguments = block.args
        env: dict[SSAValue, SSAValue] = {self.body.args[0]: iteration} if loop.first else {}
        env.update(zip((a for a, _ in used_constants), arguments, strict=False))
        arguments = arguments[len(used_constants) :]
        b = OpBuilder(block, location=sweep.lb.location, pass_name=sweep.b.pass_name)
        self._read(b, arguments[: len(recorded)], iteration, env)
        arguments = arguments[len(recorded) :]
        env.update(zip((a for a, _ in dots), arguments, strict=False))
        env.update(zip(self.linear.args[len(loop.constant_dots) :], arguments[len(dots) :], strict=True))
        copy_ops(b, self.recomputed, env)
        take_ops(b, self.linear_ops, env)
        block.add_op(hlo.ReturnOp.create(operands=[env[y_dot] for y_dot in self.y_dots]))
        properties = {"constants": int_attr(len(constants))}
        return sweep.lb.create(core.ForOp, [trip_count, *constants, *carried], [v.type for v in carried], properties, [Region([block])])

    def _read(self, b: OpBuilder, records: Sequence[Value], iteration: Value, env: dict[SSAValue, SSAValue]) -> None:
        tensors, tapes = _split_tapes(self.record)
        for value, record in zip(tensors, records, strict=False):
            env[value] = self.record.read(b, record, value.type, iteration)
        positions, outer_tapes = records[len(tensors) : len(tensors) + self.record.positions], records[len(tensors) + self.record.positions :]
        starts = [self.record.read(b, each, tensor((), i64), iteration) for each in positions]
        for value, group, tape in zip(tapes, self.record.groups, outer_tapes, strict=True):
            start = starts[group]
            env[value] = b.create(core.TapeFromOp, (tape, start), (value.type,))[0]
