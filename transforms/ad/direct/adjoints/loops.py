"""Adjoints of loops: a reverse loop with the same trip count.

The forward loop records in each iteration the residuals of its body. The reverse loop carries the cotangents of the carried
values, and running sums of the cotangents of the constants, to which reads add in place. A loop with a condition
counts its iterations.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.ir import Block, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import i64
from wengert.transforms.ad.direct.activity import Loop, active_in, body_arguments, useful_of_loop, varied_carried
from wengert.transforms.ad.direct.adjoint import Pullback, step
from wengert.transforms.ad.direct.record import INDEX, Slot, slot_for
from wengert.transforms.ad.direct.region import ReverseBody
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops, terminator_operands
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.residuals.plan import Plan
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.core.counting import constant_integer


@step(core.ForOp, core.WhileOp)
def loop(sweep: Sweep, op: Loop) -> Pullback:
    static_trip_count = constant_integer(op.trip_count) if isinstance(op, core.ForOp) else None
    if static_trip_count is not None and static_trip_count < 1:
        return _no_iteration(sweep, op)
    return _LoopSweep(sweep, op, static_trip_count).run()


def _no_iteration(sweep: Sweep, op: Loop) -> Pullback:
    """The results are the initial values, and so are their cotangents."""
    initial = [sweep.primal(v) for v in op.initial]
    sweep.bind(op.results, initial)

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        for value, y_bar in zip(initial, y_bars, strict=True):
            cotangents.add(value, y_bar)

    return pullback


class _Reverse(Struct, frozen=True):
    """The body of the reverse loop, and its operands: constants and records, then carried cotangents and sums."""

    block: Block
    loop_constants: list[Value]
    trip_count: Value
    results: list[int]
    """Which results of the loop have a carried cotangent."""
    initial: list[Value]
    shared: list[Value]
    """The constants whose cotangents are summed."""

    def emit(self, b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents, sweep: Sweep) -> None:
        bars = [materialized(b, y_bars[i], self.initial[i].type) for i in self.results]
        sums = [materialized(b, cotangents.take(value), value.type) for value in self.shared]
        carried = [*bars, *sums]
        properties = {"constants": int_attr(len(self.loop_constants))}
        loop_results = b.create(core.ForOp, [self.trip_count, *self.loop_constants, *carried], [v.type for v in carried], properties, [Region([self.block])])
        for i, x_bar in zip(self.results, loop_results, strict=False):
            if sweep.has_cotangent(self.initial[i]):
                cotangents.add(self.initial[i], x_bar)
        for value, total in zip(self.shared, loop_results[len(bars) :], strict=True):
            cotangents.add(value, total)


class _LoopSweep:
    """Both sweeps over the body of one loop."""

    def __init__(self, outer: Sweep, op: Loop, static_trip_count: int | None):
        self.outer, self.op, self.static_trip_count = outer, op, static_trip_count
        self.counted = isinstance(op, core.ForOp)
        self.constants = list(dict.fromkeys(outer.primal(v) for v in op.constant_operands))
        self.initial = [outer.primal(v) for v in op.initial]
        counter = [INDEX] if self.counted else []
        self.body = Block(arg_types=[*counter, *(v.type for v in (*self.constants, *self.initial))])
        for old, new in zip(self._old_arguments(), self._new_arguments(), strict=True):
            new.name_hint = old.name_hint

    @property
    def first(self) -> int:
        """The position of the first constant among the body's arguments."""
        return 1 if self.counted else 0

    @property
    def carried(self) -> Sequence[Value]:
        """The arguments for the carried values."""
        return self.body.args[self.first + len(self.constants) :][: len(self.initial)]

    def _old_arguments(self) -> Sequence[SSAValue]:
        return self.op.body.block.args

    def _new_arguments(self) -> list[SSAValue]:
        at = {value: self.body.args[self.first + i] for i, value in enumerate(self.constants)}
        return [*self.body.args[: self.first], *(at[self.outer.primal(v)] for v in self.op.constant_operands), *self.carried]

    def run(self) -> Pullback:
        """Emits the forward loop and builds the body of the reverse loop; returns the pullback, which emits the latter."""
        inner, active_carried, active_constants = self._forward()
        reverse = ReverseBody(inner.b, [*(self.initial[i] for i in active_carried), *(self.constants[i] for i in active_constants)])
        out_bars = self._reverse(inner, reverse, active_carried, active_constants)
        residual_plan = reverse.plan(self.body, out_bars, self.body.args[: self.first + len(self.constants)], self.static_trip_count)
        used = reverse.references(residual_plan, out_bars)
        used_constants = [i for i in range(len(self.constants)) if self.body.args[self.first + i] in used]
        slots = [slot_for(value, self.static_trip_count, self.outer.b.scalar(0, i64)) for value in residual_plan.stored]
        results = [inner.primal(v) for v in terminator_operands(self.op.body.block)]
        # moves the reverse ops, which then no longer refer to the forward body, so that dead ops can be dropped from it
        block = self._reverse_block(reverse, residual_plan, slots, used_constants, out_bars)
        loop_results, records, trip_count = self._emit(inner.b, residual_plan.stored, slots, results)
        self.outer.bind(self.op.results, loop_results)
        loop_constants = [*(self.constants[i] for i in used_constants), *records, *([trip_count] if self.static_trip_count is None else [])]
        loop = _Reverse(block, loop_constants, trip_count, active_carried, self.initial, [self.constants[i] for i in active_constants])
        return lambda b, y_bars, cotangents: loop.emit(b, y_bars, cotangents, self.outer)

    def _forward(self) -> tuple[Sweep, list[int], list[int]]:
        """Sweeps forward over the body; also returns which carried values and which constants are active."""
        op, active = self.op, self.outer.active
        n = int_of(op.constants)
        constant_flags, initial_flags = [v in active for v in op.constant_operands], [v in active for v in op.initial]
        varied = varied_carried(op, constant_flags, initial_flags)
        useful_constants, useful = useful_of_loop(op, constant_flags, initial_flags, [r in active for r in op.results])
        constants, carried_arguments = body_arguments(op)
        carried = [v and u for v, u in zip(varied, useful, strict=True)]
        arguments = [a for a, flag in zip((*constants, *carried_arguments), (*constant_flags, *varied), strict=True) if flag]
        results = [v for v, flag in zip(terminator_operands(op.body.block), useful, strict=True) if flag]
        b = OpBuilder(self.body, location=self.outer.b.location, pass_name=self.outer.b.pass_name)
        inner = Sweep(b, self.outer.module, active_in(op.body.block, arguments, results))
        inner.bind(self._old_arguments(), self._new_arguments())
        inner.forward(list(op.body.block.ops)[:-1])
        shared = {self.outer.primal(op.constant_operands[i]) for i in range(n) if constant_flags[i] and useful_constants[i]}
        return inner, [i for i, flag in enumerate(carried) if flag], [i for i, v in enumerate(self.constants) if v in shared]

    def _reverse(self, inner: Sweep, reverse: ReverseBody, active_carried: list[int], active_constants: list[int]) -> list[Value]:
        """Sweeps backward over the body; returns cotangents of the carried values before the iteration, and the sums after it."""
        cotangents = Cotangents(reverse.b, primal=True)
        sums = [self.body.args[self.first + i] for i in active_constants]
        for argument, total in zip(sums, reverse.block.args[len(active_carried) :], strict=True):
            cotangents.add(argument, total)
        last = terminator_operands(self.op.body.block)
        for i, y_bar in zip(active_carried, reverse.block.args, strict=False):
            value = inner.primal(last[i])
            if inner.has_cotangent(value):
                cotangents.add(value, y_bar)
        inner.reverse(reverse.b, cotangents)
        return [materialized(reverse.b, cotangents.take(v), v.type) for v in (*(self.carried[i] for i in active_carried), *sums)]

    def _reverse_block(self, reverse: ReverseBody, residual_plan: Plan, slots: list[Slot], used_constants: list[int], out_bars: list[Value]) -> Block:
        """Builds the body of the reverse loop: reads of the records, then the reverse ops."""
        kinds = [*(self.constants[i].type for i in used_constants), *(kind for slot in slots for kind in slot.types)]
        bound = [INDEX] if self.static_trip_count is None else []
        block = Block(arg_types=[INDEX, *kinds, *bound, *(a.type for a in reverse.block.args)])
        b = OpBuilder(block, location=self.outer.b.location, pass_name=self.outer.b.pass_name)
        reverse_iteration, *rest = block.args
        env: dict[SSAValue, SSAValue] = {self.body.args[self.first + i]: rest.pop(0) for i in used_constants}
        records = [[rest.pop(0) for _ in slot.types] for slot in slots]
        last = b.scalar(self.static_trip_count - 1, i64) if self.static_trip_count is not None else b.subtract(rest.pop(0), b.scalar(1, i64))
        iteration = b.subtract(last, reverse_iteration)
        if self.counted:
            env[self.body.args[0]] = iteration
        for value, slot, record in zip(residual_plan.stored, slots, records, strict=True):
            env[value] = slot.read(b, record, iteration)
        env.update(zip(reverse.block.args, rest, strict=True))
        block.add_op(hlo.ReturnOp.create(operands=reverse.move(b, residual_plan.recomputed, env, out_bars)))
        drop_dead_ops(block)
        return block

    def _emit(self, inner: OpBuilder, stored: list[Value], slots: list[Slot], results: list[Value]) -> tuple[Sequence[Value], list[Value], Value]:
        """Emits the forward loop with its records; returns its results, the records, and the trip count."""
        b, body = self.outer.b, self.body
        empty_records = [slot.empty(b) for slot in slots]
        storage = [[body.insert_arg(v.type, len(body.args)) for v in group] for group in empty_records]
        count = None if self.counted else body.insert_arg(INDEX, len(body.args))
        iteration = body.args[0] if count is None else count
        for slot, record, value in zip(slots, storage, stored, strict=True):
            results += slot.write(inner, record, value, iteration)
        if count is not None:
            results.append(inner.add(count, inner.scalar(1, i64)))
        body.add_op(hlo.ReturnOp.create(operands=results))
        drop_dead_ops(body)
        flat = [v for group in empty_records for v in group]
        carried = [*self.initial, *flat, *([] if count is None else [b.scalar(0, i64)])]
        types, properties = [v.type for v in carried], {"constants": int_attr(len(self.constants))}
        n = len(self.initial)
        if isinstance(self.op, core.ForOp):
            trip_count = self.outer.primal(self.op.trip_count)
            loop_results = b.create(core.ForOp, [trip_count, *self.constants, *carried], types, properties, [Region([body])])
        else:
            loop_results = b.create(core.WhileOp, [*self.constants, *carried], types, properties, [Region([self._condition(carried)]), Region([body])])
            trip_count = loop_results[-1]
        return loop_results[:n], list(loop_results[n : n + len(flat)]), trip_count

    def _condition(self, carried: Sequence[Value]) -> Block:
        """The condition of a while loop, with additional arguments for the records."""
        assert isinstance(self.op, core.WhileOp)
        old = self.op.condition.block
        block = Block(arg_types=[v.type for v in (*self.constants, *carried)])
        at = {value: block.args[i] for i, value in enumerate(self.constants)}
        own = [*(at[self.outer.primal(v)] for v in self.op.constant_operands), *block.args[len(self.constants) :][: len(self.initial)]]
        mapped: dict[SSAValue, SSAValue] = dict(zip(old.args, own, strict=True))
        for op in old.ops:
            clone = op.clone(value_mapper=mapped)
            block.add_op(clone)
            mapped.update(zip(op.results, clone.results, strict=True))
        return block
