"""Derivatives of loops.

Forward mode carries tangents beside the values they belong to, in the same loop. Linearization makes two loops: the primal
one, which also records the residuals of each trip, and a linear one that runs over the record. Where the number of trips is
a constant the record is a stack, a tensor with a leading dimension; else it is a tape, which grows. A loop with a condition
counts its trips on the way, and its linear part is a counted loop over the tape: reverse mode then runs exactly as often.

The transpose of a linear loop runs the transposed body backward. Cotangents of what the loop carries are carried; those of
its constants are accumulators, into which indexed reads add in place, so that a trip costs what it reads and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import i64, shape, tensor, type_of
from wengert.transforms.ad.activity import carried_activity
from wengert.transforms.ad.backward import copy_linear, transpose_ops
from wengert.transforms.ad.cotangents import Cotangents
from wengert.transforms.ad.forward import ForwardSweep
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.ad.linear import LinearBuilder
from wengert.transforms.ad.residuals import plan
from wengert.transforms.ad.rule import STEPS, TRANSPOSE_STEPS, Tangent
from wengert.transforms.ad.tangents import materialized
from wengert.transforms.core.closing import copy_ops
from wengert.transforms.core.counting import constant_integer

Loop = core.ForOp | core.WhileOp


@dataclass(frozen=True)
class _Active:
    """A loop with its operands in the new function, and which of them have tangents."""

    op: Loop
    body: Block
    first: int
    """Where the constants begin among the body's arguments: 1 if the iteration comes before them."""
    constants: list[Value]
    initial: list[Value]
    constant_dots: dict[int, Value]
    carried_dots: dict[int, Value]
    """Tangents of the constants and (made zero where they are missing) of the active carried values, by position."""
    trips: Value | None

    @staticmethod
    def of(sweep: ForwardSweep, op: Loop) -> _Active:
        first = 1 if isinstance(op, core.ForOp) else 0
        dots = {i: x_dot for i, operand in enumerate(op.constant_operands) if (x_dot := sweep.tangent(operand)) is not None}
        initial_dots = [sweep.tangent(operand) for operand in op.initial]
        constants_active = [i in dots for i in range(len(op.constant_operands))]
        flags = carried_activity(op.body.block, first, constants_active, [x_dot is not None for x_dot in initial_dots])
        carried = {i: materialized(sweep.lb, initial_dots[i], op.initial[i].type) for i, flag in enumerate(flags) if flag}
        trips = sweep.primal(op.trip_count) if isinstance(op, core.ForOp) else None
        constants = [sweep.primal(operand) for operand in op.constant_operands]
        return _Active(op, op.body.block, first, constants, [sweep.primal(operand) for operand in op.initial], dots, carried, trips)

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
        last = self.body.last_op
        assert last is not None
        return last.operands


def _step(sweep: ForwardSweep, op: Loop) -> None:
    if isinstance(op, core.ForOp) and (constant_integer(op.trip_count) or 0) < 1 and constant_integer(op.trip_count) is not None:
        sweep.bind(op.results, [sweep.primal(v) for v in op.initial], [sweep.tangent(v) for v in op.initial])  # no trip at all
        return
    loop = _Active.of(sweep, op)
    (_forward_mode if sweep.fused else _linearize)(sweep, loop)


STEPS[core.ForOp] = _step
STEPS[core.WhileOp] = _step


# -- forward mode


def _forward_mode(sweep: ForwardSweep, loop: _Active) -> None:
    """One loop that carries values and tangents."""
    constants = [*loop.constants, *loop.constant_dots.values()]
    carried = [*loop.initial, *loop.carried_dots.values()]
    block = _loop_block(loop, [*constants, *carried])
    arguments = block.args[loop.first :]
    new_constants, rest = arguments[: len(loop.constants)], arguments[len(loop.constants) :]
    constant_dots, rest = rest[: len(loop.constant_dots)], rest[len(loop.constant_dots) :]
    new_carried, carried_dots = rest[: len(loop.initial)], rest[len(loop.initial) :]
    inner = sweep.nested(block, block, [*constant_dots, *carried_dots])
    _bind(inner, loop, block, new_constants, new_carried, dict(zip(loop.constant_dots, constant_dots)), dict(zip(loop.carried_dots, carried_dots)))
    inner.run(loop.ops)
    y_dots = [materialized(inner.b, inner.tangent(loop.returned[i]), loop.returned[i].type) for i in loop.carried_dots]
    block.add_op(hlo.ReturnOp.create(operands=[*(inner.primal(v) for v in loop.returned), *y_dots]))
    drop_dead_ops(block)
    made = _create_loop(sweep.b, loop, constants, carried, block)
    n = len(loop.initial)
    _finish(sweep, loop, made[:n], dict(zip(loop.carried_dots, made[n:])))


def _loop_block(loop: _Active, values: Sequence[Value], extra: Sequence[Attribute] = ()) -> Block:
    iteration = [tensor((), i64)] if loop.first else []
    block = Block(arg_types=[*iteration, *(v.type for v in values), *extra])
    for old, new in zip(loop.body.args, block.args):
        new.name_hint = old.name_hint
    return block


def _bind(
    inner: ForwardSweep,
    loop: _Active,
    block: Block,
    constants: Sequence[Value],
    carried: Sequence[Value],
    constant_dots: dict[int, Value],
    carried_dots: dict[int, Value],
) -> None:
    inner.bind(loop.body.args[: loop.first], block.args[: loop.first], [None] * loop.first)
    inner.bind(loop.old_constants, constants, [constant_dots.get(i) for i in range(len(constants))])
    inner.bind(loop.old_carried, carried, [carried_dots.get(i) for i in range(len(carried))])


def _create_loop(b: OpBuilder, loop: _Active, constants: Sequence[Value], carried: Sequence[Value], body: Block) -> Sequence[Value]:
    properties = {"constants": int_attr(len(constants))}
    types = [v.type for v in carried]
    if loop.trips is not None:
        return b.create(core.ForOp, [loop.trips, *constants, *carried], types, properties, [Region([body])])
    assert isinstance(loop.op, core.WhileOp)
    condition = _condition(loop, loop.op, constants, carried)
    return b.create(core.WhileOp, [*constants, *carried], types, properties, [Region([condition]), Region([body])])


def _condition(loop: _Active, op: core.WhileOp, constants: Sequence[Value], carried: Sequence[Value]) -> Block:
    """The condition with arguments for whatever else the loop takes along now; its own come first in each group."""
    block = Block(arg_types=[v.type for v in (*constants, *carried)])
    old = op.condition.block
    mapped: dict[SSAValue, SSAValue] = dict(zip(old.args[: len(loop.constants)], block.args, strict=False))
    mapped.update(zip(old.args[len(loop.constants) :], block.args[len(constants) :], strict=False))
    for inner in old.ops:
        clone = inner.clone(value_mapper=dict(mapped))
        block.add_op(clone)
        mapped.update(zip(inner.results, clone.results, strict=True))
    return block


def _finish(sweep: ForwardSweep, loop: _Active, primals: Sequence[Value], dots: dict[int, Value]) -> None:
    sweep.set(loop.op.results, primals, [dots.get(i) for i in range(len(primals))])


# -- linearization


def _linearize(sweep: ForwardSweep, loop: _Active) -> None:
    """A primal loop that records residuals, and a linear loop over the record."""
    body = _loop_block(loop, [*loop.constants, *loop.initial])
    tangents = [*loop.constant_dots.values(), *loop.carried_dots.values()]
    linear = Block(arg_types=[t.type for t in tangents])
    inner = sweep.nested(body, linear, linear.args)
    arguments = body.args[loop.first :]
    constant_dots: dict[int, Value] = dict(zip(loop.constant_dots, linear.args))
    carried_dots: dict[int, Value] = dict(zip(loop.carried_dots, linear.args[len(constant_dots) :]))
    _bind(inner, loop, body, arguments[: len(loop.constants)], arguments[len(loop.constants) :], constant_dots, carried_dots)
    inner.run(loop.ops)
    y_dots = [materialized(inner.lb, inner.tangent(loop.returned[i]), loop.returned[i].type) for i in loop.carried_dots]
    linear_ops = prune(linear, y_dots)
    residuals = residuals_of(linear_ops, y_dots, inner.lb.linear)
    # the iteration and the constants are at hand in the linear loop as they are
    kept = plan(body, residuals, body.args[: loop.first + len(loop.constants)])
    record = _Record.of(sweep.b, loop, kept.kept)
    primals, recorded, trips = _primal_loop(sweep.b, loop, body, [inner.primal(v) for v in loop.returned], record)
    half = _LinearHalf(loop, body, linear, linear_ops, y_dots, kept.recomputed, record)
    made = half.emit(sweep, recorded, trips)
    for op in linear_ops:
        op.drop_all_references()
    _finish(sweep, loop, primals, dict(zip(loop.carried_dots, made)))


def prune(block: Block, results: Sequence[Value]) -> list[Operation]:
    """The linear ops that results depend on, in order; the others give up their operands."""
    needed: set[SSAValue] = set(results)
    found: list[Operation] = []
    for op in reversed(list(block.ops)):
        if needed.isdisjoint(op.results):
            op.drop_all_references()
        else:
            needed.update(op.operands)
            found.append(op)
    return found[::-1]


def residuals_of(ops: Sequence[Operation], results: Sequence[Value], linear: set[SSAValue]) -> list[SSAValue]:
    """The values that linear ops (and results) use and that are not linear themselves, in order of first use."""
    found: dict[SSAValue, None] = {}
    for value in [operand for op in ops for operand in op.operands] + list(results):
        if value not in linear:
            found[value] = None
    return list(found)


@dataclass(frozen=True)
class _Record:
    """Where residuals are kept: stacks if the number of trips is a constant, else tapes."""

    values: list[Value]
    trips: int | None

    @staticmethod
    def of(b: OpBuilder, loop: _Active, values: list[Value]) -> _Record:
        return _Record(values, None if loop.trips is None else constant_integer(loop.trips))

    def on_tape(self, value: Value) -> bool:
        """Whether a value is kept on a tape; an inner loop's tape always is (its values go to the end of one of ours)."""
        return self.trips is None or isinstance(value.type, core.TapeType)

    def begin(self, b: OpBuilder, value: Value) -> Value:
        """An empty record of a value."""
        if isinstance(value.type, core.TapeType):
            return b.create(core.TapeCreateOp, (), (value.type,))[0]
        if self.trips is None:
            return b.create(core.TapeCreateOp, (), (core.TapeType(type_of(value)),))[0]
        return b.zeros(tensor([self.trips, *shape(value)], type_of(value).element_type))

    def write(self, b: OpBuilder, record: Value, value: Value, iteration: Value | None) -> Value:
        """The record with one more value."""
        if isinstance(value.type, core.TapeType):
            return b.create(core.TapeExtendOp, (record, value), (record.type,))[0]
        if self.trips is None:
            return b.create(core.TapePushOp, (record, value), (record.type,))[0]
        assert iteration is not None
        row = b.reshape(value, [1, *shape(value)])
        return b.dynamic_update_slice(record, row, [iteration, *[b.scalar(0, i64)] * len(shape(value))])

    def read(self, b: OpBuilder, record: Value, value: Value, iteration: Value) -> Value:
        """The value of a trip."""
        if self.trips is None:
            return b.create(core.TapeReadOp, (record, iteration), (value.type,))[0]
        row = b.dynamic_slice(record, [iteration, *[b.scalar(0, i64)] * len(shape(value))], [1, *shape(value)])
        return b.reshape(row, shape(value))


def _split_tapes(record: _Record) -> tuple[list[Value], list[Value]]:
    """Residuals that are tensors, and residuals that are tapes of loops inside."""
    tensors = [v for v in record.values if not isinstance(v.type, core.TapeType)]
    return tensors, [v for v in record.values if isinstance(v.type, core.TapeType)]


def _primal_loop(b: OpBuilder, loop: _Active, body: Block, returned: list[Value], record: _Record) -> tuple[Sequence[Value], list[Value], Value]:
    """Emits the primal loop with its records; returns its results, the complete records, and the number of trips.

    The records are those of the tensors, then for each inner tape the position at which each trip begins on ours, then ours.
    """
    inner = OpBuilder(body, location=b.location, pass_name=b.pass_name)
    tensors, tapes = _split_tapes(record)
    counting = loop.trips is None
    begun = [record.begin(b, v) for v in tensors]
    position = tensor((), i64)
    begun += [_begin_positions(b, record, position) for _ in tapes] + [record.begin(b, v) for v in tapes]
    arguments = [body.insert_arg(r.type, len(body.args)) for r in begun]
    extra = [b.scalar(0, i64)] if counting else []
    count = body.insert_arg(position, len(body.args)) if counting else None
    iteration = body.args[0] if loop.first else count
    written = [record.write(inner, r, v, iteration) for r, v in zip(arguments, tensors, strict=False)]
    for r, tape in zip(arguments[len(tensors) : len(tensors) + len(tapes)], arguments[len(tensors) + len(tapes) :], strict=False):
        start = inner.create(core.TapeSizeOp, (tape,), (position,))[0]
        written.append(record.write(inner, r, start, iteration))
    written += [record.write(inner, r, v, iteration) for r, v in zip(arguments[len(tensors) + len(tapes) :], tapes, strict=True)]
    following = [inner.add(count, inner.scalar(1, i64))] if count is not None else []
    body.add_op(hlo.ReturnOp.create(operands=[*returned, *written, *following]))
    drop_dead_ops(body)
    made = _create_loop(b, loop, loop.constants, [*loop.initial, *begun, *extra], body)
    n = len(loop.initial)
    trips = loop.trips if loop.trips is not None else made[-1]
    return made[:n], list(made[n : n + len(begun)]), trips


def _begin_positions(b: OpBuilder, record: _Record, position: TensorType) -> Value:
    if record.trips is None:
        return b.create(core.TapeCreateOp, (), (core.TapeType(position),))[0]
    return b.zeros(tensor([record.trips], i64))


@dataclass(frozen=True)
class _LinearHalf:
    """The linear loop in the making: linear ops of the body, what they need, and where that is recorded."""

    loop: _Active
    body: Block
    linear: Block
    linear_ops: list[Operation]
    y_dots: list[Value]
    recomputed: list[Operation]
    record: _Record

    def emit(self, sweep: ForwardSweep, recorded: list[Value], trips: Value) -> Sequence[Value]:
        """Emits the linear loop; the tangents of the active carried values after it."""
        loop, used = self.loop, {operand for op in (*self.linear_ops, *self.recomputed) for operand in op.operands} | set(self.y_dots)
        at_hand = [(argument, value) for argument, value in zip(self.body.args[loop.first :], loop.constants, strict=False) if argument in used]
        dots = [(argument, x_dot) for argument, x_dot in zip(self.linear.args, loop.constant_dots.values(), strict=False) if argument in used]
        carried = list(loop.carried_dots.values())
        constants = [*(value for _, value in at_hand), *recorded, *(x_dot for _, x_dot in dots)]
        block = Block(arg_types=[tensor((), i64), *(v.type for v in (*constants, *carried))])
        iteration, *arguments = block.args
        env: dict[SSAValue, SSAValue] = {self.body.args[0]: iteration} if loop.first else {}
        env.update(zip((a for a, _ in at_hand), arguments, strict=False))
        arguments = arguments[len(at_hand) :]
        b = OpBuilder(block, location=sweep.lb.location, pass_name=sweep.b.pass_name)
        self._read(b, arguments[: len(recorded)], iteration, env)
        arguments = arguments[len(recorded) :]
        env.update(zip((a for a, _ in dots), arguments, strict=False))
        env.update(zip(self.linear.args[len(loop.constant_dots) :], arguments[len(dots) :], strict=True))
        copy_ops(b, [*self.recomputed, *self.linear_ops], env)
        block.add_op(hlo.ReturnOp.create(operands=[env[y_dot] for y_dot in self.y_dots]))
        properties = {"constants": int_attr(len(constants))}
        return sweep.lb.create(core.ForOp, [trips, *constants, *carried], [v.type for v in carried], properties, [Region([block])])

    def _read(self, b: OpBuilder, records: Sequence[Value], iteration: Value, env: dict[SSAValue, SSAValue]) -> None:
        tensors, tapes = _split_tapes(self.record)
        for value, record in zip(tensors, records, strict=False):
            env[value] = self.record.read(b, record, value, iteration)
        positions, ours = records[len(tensors) : len(tensors) + len(tapes)], records[len(tensors) + len(tapes) :]
        for value, where, tape in zip(tapes, positions, ours, strict=True):
            if self.record.trips is None:
                start = b.create(core.TapeReadOp, (where, iteration), (tensor((), i64),))[0]
            else:
                start = b.reshape(b.dynamic_slice(where, [iteration], [1]), [])
            env[value] = b.create(core.TapeFromOp, (tape, start), (value.type,))[0]


# -- transposition


def _transpose_for(b: OpBuilder, op: core.ForOp, linear: Sequence[bool], y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
    fixed = int_of(op.constants)
    constant_flags, initial_flags = linear[1 : 1 + fixed], linear[1 + fixed :]
    plain = [operand for operand, flag in zip(op.constant_operands, constant_flags, strict=True) if not flag]
    shared = list(dict.fromkeys(operand for operand, flag in zip(op.constant_operands, constant_flags, strict=True) if flag))
    carried_bars = [materialized(b, y_bar, result.type) for y_bar, result in zip(y_bars, op.results, strict=True)]
    held = [cotangents.take(operand) for operand in shared]
    sums = [materialized(b, total, operand.type) for total, operand in zip(held, shared, strict=True)]
    trips = constant_integer(op.trip_count)
    given = [*plain, *([] if trips is not None else [op.trip_count])]
    block = Block(arg_types=[tensor((), i64), *(v.type for v in (*given, *carried_bars, *sums))])
    arguments = block.args[1:]
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    last = inner.subtract(arguments[len(given) - 1], inner.scalar(1, i64)) if trips is None else inner.scalar(trips - 1, i64)
    iteration = inner.subtract(last, block.args[0])
    x_bars, totals = _transpose_body(inner, op, constant_flags, shared, iteration, arguments[: len(plain)], arguments[len(given) :])
    starts = arguments[len(given) + len(carried_bars) :]
    for k, (total, start) in enumerate(zip(totals, starts, strict=True)):
        if held[k] is None:
            totals[k] = written_once(inner, iteration, trips, total, start)
    block.add_op(hlo.ReturnOp.create(operands=[*x_bars, *totals]))
    drop_dead_ops(block)
    carried = [*carried_bars, *sums]
    properties = {"constants": int_attr(len(given))}
    made = b.create(core.ForOp, [op.trip_count, *given, *carried], [v.type for v in carried], properties, [Region([block])])
    for operand, flag, x_bar in zip(op.initial, initial_flags, made, strict=False):
        if flag:
            cotangents.add(operand, x_bar)
    for operand, total in zip(shared, made[len(carried_bars) :], strict=True):
        cotangents.add(operand, total)


def _transpose_body(
    inner: OpBuilder, op: core.ForOp, flags: Sequence[bool], shared: list[SSAValue], iteration: Value, plain: Sequence[Value], bars: Sequence[Value]
) -> tuple[list[Value], list[Value]]:
    """Emits the transposed body: cotangents of the carried values before the trip, and of the constants so far."""
    old = op.block
    old_constants, old_carried = old.args[1 : 1 + len(flags)], old.args[1 + len(flags) :]
    scratch = Block(arg_types=[v.type for v in (*shared, *old_carried)])
    lb = LinearBuilder(scratch, inner, scratch.args)
    env: dict[SSAValue, SSAValue] = {old.args[0]: iteration}
    rest = iter(plain)
    for argument, operand, flag in zip(old_constants, op.constant_operands, flags, strict=True):
        env[argument] = scratch.args[shared.index(operand)] if flag else next(rest)
    env.update(zip(old_carried, scratch.args[len(shared) :], strict=True))
    ops = list(old.ops)
    copy_linear(ops[:-1], env, lb)
    cotangents = Cotangents(inner)
    for argument, total in zip(scratch.args, bars[len(old_carried) :], strict=False):
        cotangents.add(argument, total)
    for value, y_bar in zip(ops[-1].operands, bars, strict=False):
        if env[value] in lb.linear:
            cotangents.add(env[value], y_bar)
    transpose_ops(inner, reversed(list(scratch.ops)), lb.linear, cotangents)
    taken = [materialized(inner, cotangents.take(argument), argument.type) for argument in scratch.args]
    for scratch_op in scratch.ops:
        scratch_op.drop_all_references()
    return taken[len(shared) :], taken[: len(shared)]


def written_once(b: OpBuilder, iteration: Value, trips: int | None, total: Value, start: Value) -> Value:
    """An accumulator that begins at zero and to which each trip adds in a place of its own may as well be written.

    This is what reading the rows of a constant one after the other transposes to: ``total[i] += row`` becomes ``total[i] = row``.
    """
    update = total.owner
    if not isinstance(update, hlo.DynamicUpdateSliceOp) or update.operand is not start or trips is None:
        return total
    added = update.update.owner
    if not isinstance(added, hlo.AddOp) or not isinstance(added.lhs.owner, hlo.DynamicSliceOp) or added.lhs.owner.operand is not start:
        return total
    read = added.lhs.owner
    users = {use.operation for use in start.uses}
    own_place = any(
        index is iteration and size == 1 and extent >= trips
        for index, size, extent in zip(update.start_indices, shape(update.update), shape(start), strict=True)
    )
    if users != {update, read} or list(read.start_indices) != list(update.start_indices) or len(list(added.lhs.uses)) != 1 or not own_place:
        return total
    return b.dynamic_update_slice(start, added.rhs, update.start_indices)


TRANSPOSE_STEPS[core.ForOp] = _transpose_for
