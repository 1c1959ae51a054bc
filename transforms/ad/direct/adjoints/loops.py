"""Adjoints of loops: a reverse loop of as many trips.

The forward loop keeps of each trip what the adjoints of its body use. The reverse loop carries the cotangents of what the
loop carries, and running sums of the cotangents of its constants, into which reads add in place. A loop with a condition
counts its trips.
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
from wengert.transforms.ad.direct.activity import Loop, active_in, body_arguments, returned, useful_of_loop, varied_carried
from wengert.transforms.ad.direct.adjoint import Back, step
from wengert.transforms.ad.direct.record import INDEX, Slot, slot_for
from wengert.transforms.ad.direct.region import ReverseBody
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.residuals.plan import Plan
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.core.counting import constant_integer


@step(core.ForOp, core.WhileOp)
def loop(sweep: Sweep, op: Loop) -> Back:
    fixed = constant_integer(op.trip_count) if isinstance(op, core.ForOp) else None
    if fixed is not None and fixed < 1:
        return _no_trip(sweep, op)
    return _LoopSweep(sweep, op, fixed).run()


def _no_trip(sweep: Sweep, op: Loop) -> Back:
    """The results are the initial values, and so are their cotangents."""
    initial = [sweep.primal(v) for v in op.initial]
    sweep.bind(op.results, initial)

    def back(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        for value, y_bar in zip(initial, y_bars, strict=True):
            cotangents.add(value, y_bar)

    return back


class _Reverse(Struct, frozen=True):
    """The reverse loop's body, and what it takes: constants and records, then carried cotangents and sums."""

    block: Block
    given: list[Value]
    trips: Value
    results: list[int]
    """Which results of the loop have a carried cotangent."""
    initial: list[Value]
    shared: list[Value]
    """The constants that have a sum."""

    def emit(self, b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents, sweep: Sweep) -> None:
        bars = [materialized(b, y_bars[i], self.initial[i].type) for i in self.results]
        sums = [materialized(b, cotangents.take(value), value.type) for value in self.shared]
        carried = [*bars, *sums]
        properties = {"constants": int_attr(len(self.given))}
        made = b.create(core.ForOp, [self.trips, *self.given, *carried], [v.type for v in carried], properties, [Region([self.block])])
        for i, x_bar in zip(self.results, made, strict=False):
            if sweep.has_cotangent(self.initial[i]):
                cotangents.add(self.initial[i], x_bar)
        for value, total in zip(self.shared, made[len(bars) :], strict=True):
            cotangents.add(value, total)


class _LoopSweep:
    """Both sweeps over the body of one loop."""

    def __init__(self, outer: Sweep, op: Loop, fixed_trips: int | None):
        self.outer, self.op, self.fixed_trips = outer, op, fixed_trips
        self.counted = isinstance(op, core.ForOp)
        self.constants = list(dict.fromkeys(outer.primal(v) for v in op.constant_operands))
        self.initial = [outer.primal(v) for v in op.initial]
        counter = [INDEX] if self.counted else []
        self.body = Block(arg_types=[*counter, *(v.type for v in (*self.constants, *self.initial))])
        for old, new in zip(self._old_arguments(), self._new_arguments(), strict=True):
            new.name_hint = old.name_hint

    @property
    def first(self) -> int:
        """Where the constants begin among the body's arguments."""
        return 1 if self.counted else 0

    @property
    def carried(self) -> Sequence[Value]:
        """The arguments that hold what the loop carries."""
        return self.body.args[self.first + len(self.constants) :][: len(self.initial)]

    def _old_arguments(self) -> Sequence[SSAValue]:
        return self.op.body.block.args

    def _new_arguments(self) -> list[SSAValue]:
        at = {value: self.body.args[self.first + i] for i, value in enumerate(self.constants)}
        return [*self.body.args[: self.first], *(at[self.outer.primal(v)] for v in self.op.constant_operands), *self.carried]

    def run(self) -> Back:
        """Emits the forward loop; the reverse loop's body is made along with it."""
        inner, moving, fixed = self._forward()
        reverse = ReverseBody(inner.b, [*(self.initial[i] for i in moving), *(self.constants[i] for i in fixed)])
        outs = self._reverse(inner, reverse, moving, fixed)
        kept = reverse.plan(self.body, outs, self.body.args[: self.first + len(self.constants)])
        used = reverse.uses(kept, outs)
        at_hand = [i for i in range(len(self.constants)) if self.body.args[self.first + i] in used]
        slots = [slot_for(value, self.fixed_trips, self.outer.b.scalar(0, i64)) for value in kept.kept]
        results = [inner.primal(v) for v in returned(self.op.body.block)]
        # the reverse ops let go of the forward body here; dead ops are dropped from that afterwards
        block = self._reverse_block(reverse, kept, slots, at_hand, outs)
        made, records, trips = self._emit(inner.b, kept.kept, slots, results)
        self.outer.bind(self.op.results, made)
        given = [*(self.constants[i] for i in at_hand), *records, *([trips] if self.fixed_trips is None else [])]
        loop = _Reverse(block, given, trips, moving, self.initial, [self.constants[i] for i in fixed])
        return lambda b, y_bars, cotangents: loop.emit(b, y_bars, cotangents, self.outer)

    def _forward(self) -> tuple[Sweep, list[int], list[int]]:
        """The forward sweep over the body; which carried values and which constants are active."""
        op, active = self.op, self.outer.active
        n = int_of(op.constants)
        fixed_flags, initial_flags = [v in active for v in op.constant_operands], [v in active for v in op.initial]
        varied = varied_carried(op, fixed_flags, initial_flags)
        useful_constants, useful = useful_of_loop(op, fixed_flags, initial_flags, [r in active for r in op.results])
        constants, moving = body_arguments(op)
        carried = [v and u for v, u in zip(varied, useful, strict=True)]
        arguments = [a for a, flag in zip((*constants, *moving), (*fixed_flags, *varied), strict=True) if flag]
        results = [v for v, flag in zip(returned(op.body.block), useful, strict=True) if flag]
        b = OpBuilder(self.body, location=self.outer.b.location, pass_name=self.outer.b.pass_name)
        inner = Sweep(b, self.outer.module, active_in(op.body.block, arguments, results))
        inner.bind(self._old_arguments(), self._new_arguments())
        inner.forward(list(op.body.block.ops)[:-1])
        shared = {self.outer.primal(op.constant_operands[i]) for i in range(n) if fixed_flags[i] and useful_constants[i]}
        return inner, [i for i, flag in enumerate(carried) if flag], [i for i, v in enumerate(self.constants) if v in shared]

    def _reverse(self, inner: Sweep, reverse: ReverseBody, moving: list[int], fixed: list[int]) -> list[Value]:
        """The reverse sweep over the body; cotangents of the carried values before the trip, and the sums after it."""
        cotangents = Cotangents(reverse.b)
        sums = [self.body.args[self.first + i] for i in fixed]
        for argument, total in zip(sums, reverse.block.args[len(moving) :], strict=True):
            cotangents.add(argument, total)
        last = returned(self.op.body.block)
        for i, y_bar in zip(moving, reverse.block.args, strict=False):
            value = inner.primal(last[i])
            if inner.has_cotangent(value):
                cotangents.add(value, y_bar)
        inner.reverse(reverse.b, cotangents)
        return [materialized(reverse.b, cotangents.take(v), v.type) for v in (*(self.carried[i] for i in moving), *sums)]

    def _reverse_block(self, reverse: ReverseBody, kept: Plan, slots: list[Slot], at_hand: list[int], outs: list[Value]) -> Block:
        """The reverse loop's body: reads what was kept, and then does what the reverse ops do."""
        kinds = [*(self.constants[i].type for i in at_hand), *(kind for slot in slots for kind in slot.types)]
        bound = [INDEX] if self.fixed_trips is None else []
        block = Block(arg_types=[INDEX, *kinds, *bound, *(a.type for a in reverse.block.args)])
        b = OpBuilder(block, location=self.outer.b.location, pass_name=self.outer.b.pass_name)
        back, *rest = block.args
        env: dict[SSAValue, SSAValue] = {self.body.args[self.first + i]: rest.pop(0) for i in at_hand}
        records = [[rest.pop(0) for _ in slot.types] for slot in slots]
        last = b.scalar(self.fixed_trips - 1, i64) if self.fixed_trips is not None else b.subtract(rest.pop(0), b.scalar(1, i64))
        trip = b.subtract(last, back)
        if self.counted:
            env[self.body.args[0]] = trip
        for value, slot, record in zip(kept.kept, slots, records, strict=True):
            env[value] = slot.read(b, record, trip)
        env.update(zip(reverse.block.args, rest, strict=True))
        block.add_op(hlo.ReturnOp.create(operands=reverse.move(b, kept.recomputed, env, outs)))
        drop_dead_ops(block)
        return block

    def _emit(self, inner: OpBuilder, kept: list[Value], slots: list[Slot], results: list[Value]) -> tuple[Sequence[Value], list[Value], Value]:
        """The forward loop with its records; its results, the records, and the number of trips."""
        b, body = self.outer.b, self.body
        begun = [slot.empty(b) for slot in slots]
        held = [[body.insert_arg(v.type, len(body.args)) for v in group] for group in begun]
        count = None if self.counted else body.insert_arg(INDEX, len(body.args))
        trip = body.args[0] if count is None else count
        for slot, record, value in zip(slots, held, kept, strict=True):
            results += slot.write(inner, record, value, trip)
        if count is not None:
            results.append(inner.add(count, inner.scalar(1, i64)))
        body.add_op(hlo.ReturnOp.create(operands=results))
        drop_dead_ops(body)
        flat = [v for group in begun for v in group]
        carried = [*self.initial, *flat, *([] if count is None else [b.scalar(0, i64)])]
        types, properties = [v.type for v in carried], {"constants": int_attr(len(self.constants))}
        n = len(self.initial)
        if isinstance(self.op, core.ForOp):
            trips = self.outer.primal(self.op.trip_count)
            made = b.create(core.ForOp, [trips, *self.constants, *carried], types, properties, [Region([body])])
        else:
            made = b.create(core.WhileOp, [*self.constants, *carried], types, properties, [Region([self._condition(carried)]), Region([body])])
            trips = made[-1]
        return made[:n], list(made[n : n + len(flat)]), trips

    def _condition(self, carried: Sequence[Value]) -> Block:
        """The condition of a while, with arguments for all that the loop takes along now."""
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
