"""``stablehlo.while``, ``case`` and ``if`` as core's closed loops and branches, and back.

On the way a loop is cleaned: what it carries without changing becomes a constant, what nobody reads is dropped, and where a
counter can be found the loop becomes a ``core.for`` whose induction variables are computed from the iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core.control import keep_policy
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.location.locations import rewritten
from wengert.ir.tensor_types import i32, i64, tensor
from wengert.ir.traversal import ops_in, ops_of
from wengert.transforms.core.closing import close_regions, dependencies, take_ops, take_regions
from wengert.transforms.core.counting import Counter, constant_integer, find_counter, induction_value, step_of, trip_count
from wengert.transforms.rewriter import Rewriter

_CONTROL = (hlo.WhileOp, hlo.CaseOp, hlo.IfOp)


def close_control(module: ModuleOp) -> None:
    """Replaces StableHLO's control flow by core's, in place, from the inside out."""
    for op in reversed(ops_of(module, *_CONTROL)):
        rewriter = Rewriter("to-core")  # a new one each time: going backward, nothing made before stands before
        rewriter.move_to(op)
        rewriter.replace(op, close_while(rewriter, op) if isinstance(op, hlo.WhileOp) else close_branches(rewriter, op))


def open_control(module: ModuleOp) -> None:
    """Writes core's control flow in StableHLO again, in place, from the inside out."""
    for op in reversed(ops_of(module, *_OPENINGS)):
        rewriter = Rewriter("from-core")
        rewriter.move_to(op)
        rewriter.replace(op, _OPENINGS[type(op)](rewriter, op))


# -- branches


def close_branches(b: OpBuilder, op: hlo.CaseOp | hlo.IfOp) -> Sequence[SSAValue]:
    """A case or if as a core.case, whose index is 0 for the branch taken if the predicate holds."""
    regions = take_regions(op)
    inputs = close_regions(regions)
    index = op.index if isinstance(op, hlo.CaseOp) else b.convert(b.not_(op.pred), i32)
    return b.create(core.CaseOp, [index, *inputs], [r.type for r in op.results], {}, regions)


def open_case(b: OpBuilder, op: core.CaseOp) -> Sequence[SSAValue]:
    """core.case as a case whose branches capture what they use."""
    regions = [_opened(region.block, op.inputs) for region in take_regions(op)]
    return b.create(hlo.CaseOp, [op.index], [r.type for r in op.results], {}, regions)


def _opened(block: Block, values: Sequence[SSAValue], arguments: Sequence[SSAValue] = ()) -> Region:
    """What is in a closed block, taken from it; its first arguments are values from outside, the others those of a new block."""
    opened = Block(arg_types=[argument.type for argument in arguments])
    env: dict[SSAValue, SSAValue] = dict(zip(block.args, [*values, *opened.args], strict=True))
    take_ops(OpBuilder(opened), ops_in(block), env)
    return Region([opened])


# -- loops


class _Loop:
    """A while with its regions, which are taken from it and closed, and what is known of each value that it carries."""

    def __init__(self, op: hlo.WhileOp):
        self.op = op
        regions = take_regions(op)
        self.captured = close_regions(regions)
        self.condition, self.body = regions[0].block, regions[1].block
        last = self.body.last_op
        assert last is not None
        self.returned = list(last.operands)
        self.fixed = len(self.captured)
        self.arguments = self.body.args[self.fixed :]
        self.invariant = {i for i, (value, argument) in enumerate(zip(self.returned, self.arguments, strict=True)) if value is argument}

    def read_positions(self, roots: set[int]) -> list[int]:
        """The carried values that the given ones depend on over the iterations, invariants left out."""
        needed = roots
        while True:
            reads = dependencies([self.returned[i] for i in needed])
            more = needed | {i for i, argument in enumerate(self.arguments) if argument in reads}
            if more == needed:
                return sorted(needed - self.invariant)
            needed = more

    def wanted(self) -> set[int]:
        """The carried values that are used after the loop."""
        return {i for i, result in enumerate(self.op.results) if result.first_use is not None}


def close_while(b: OpBuilder, op: hlo.WhileOp) -> Sequence[SSAValue]:
    """A while as a core.for if it is counted, else as a core.while; the values that stand for its results."""
    loop = _Loop(op)
    counter = find_counter(loop.condition, loop.body, loop.fixed, loop.invariant)
    return _condition_loop(b, loop) if counter is None else _counted_loop(b, loop, counter)


def _condition_loop(b: OpBuilder, loop: _Loop) -> Sequence[SSAValue]:
    last = loop.condition.last_op
    assert last is not None
    reads = dependencies(list(last.operands))
    tested = {i for i, argument in enumerate(loop.condition.args[loop.fixed :]) if argument in reads}
    kept = loop.read_positions(loop.wanted() | tested)
    invariant = sorted(loop.invariant)
    constants = [*loop.captured, *(loop.op.operands[i] for i in invariant)]
    regions: list[Region] = []
    for block, roots in ((loop.condition, list(last.operands)), (loop.body, [loop.returned[i] for i in kept])):
        target = Block(arg_types=[v.type for v in (*constants, *(loop.arguments[i] for i in kept))])
        old = [*block.args[: loop.fixed], *(block.args[loop.fixed + i] for i in (*invariant, *kept))]
        regions.append(_rebuilt(target, dict(zip(old, target.args, strict=True)), block, roots))
    inputs = [*constants, *(loop.op.operands[i] for i in kept)]
    types = [loop.op.results[i].type for i in kept]
    made = keep_policy(loop.op, b.create(core.WhileOp, inputs, types, {"constants": int_attr(len(constants))}, regions))
    return _results(loop, dict(zip(kept, made, strict=True)))


def _counted_loop(b: OpBuilder, loop: _Loop, counter: Counter) -> Sequence[SSAValue]:
    steps = {i: step for i in range(len(loop.arguments)) if i not in loop.invariant and (step := step_of(loop.body, i, loop.fixed)) is not None}
    trips = trip_count(b, counter, loop.op.operands[counter.position], _outer(b, loop, counter.bound))
    kept = [i for i in loop.read_positions(loop.wanted()) if i not in steps]
    invariant = sorted(loop.invariant)
    starts = [i for i in steps if constant_integer(loop.op.operands[i]) is None]
    constants = [*loop.captured, *(loop.op.operands[i] for i in (*invariant, *starts))]
    target = Block(arg_types=[tensor((), i64), *(v.type for v in (*constants, *(loop.arguments[i] for i in kept)))])
    iteration, *rest = target.args
    iteration.name_hint = "i"
    old = [*loop.body.args[: loop.fixed], *(loop.arguments[i] for i in invariant)]
    env: dict[SSAValue, SSAValue] = dict(zip(old, rest, strict=False))
    start_values = dict(zip(starts, rest[len(old) :], strict=False))
    env.update(zip([loop.arguments[i] for i in kept], rest[len(constants) :], strict=True))
    inner = OpBuilder(target, location=rewritten(loop.op.location, loop.op.name, "to-core"))
    for i, step in steps.items():
        start = start_values[i] if i in start_values else _constant_again(inner, loop.op.operands[i])
        env[loop.arguments[i]] = induction_value(inner, start, step, iteration)
    body = _rebuilt(target, env, loop.body, [loop.returned[i] for i in kept], inner)
    inputs = [trips, *constants, *(loop.op.operands[i] for i in kept)]
    types = [loop.op.results[i].type for i in kept]
    made = keep_policy(loop.op, b.create(core.ForOp, inputs, types, {"constants": int_attr(len(constants))}, [body]))
    results = dict(zip(kept, made, strict=True))
    for i in steps.keys() & loop.wanted():
        results[i] = induction_value(b, loop.op.operands[i], steps[i], trips)
    return _results(loop, results)


def _constant_again(b: OpBuilder, value: SSAValue) -> SSAValue:
    owner = value.owner
    assert isinstance(owner, Operation)
    return b.copy(owner, [])[0]


def _outer(b: OpBuilder, loop: _Loop, bound: SSAValue) -> SSAValue:
    """The bound of the condition as a value outside of the loop."""
    if constant_integer(bound) is not None:
        return _constant_again(b, bound)
    position = list(loop.condition.args).index(bound)  # pyright: ignore[reportArgumentType]
    return loop.captured[position] if position < loop.fixed else loop.op.operands[position - loop.fixed]


def _rebuilt(target: Block, env: dict[SSAValue, SSAValue], block: Block, roots: list[SSAValue], builder: OpBuilder | None = None) -> Region:
    """The part of a block that its roots depend on, with the roots returned. Takes over what is in the block."""
    effects = [op for op in list(block.ops)[:-1] if _only_acts(op)]
    reads = dependencies([*roots, *(operand for op in effects for inner in op.walk() for operand in inner.operands)])
    b = builder or OpBuilder(target)
    take_ops(b, [op for op in list(block.ops)[:-1] if op in effects or not reads.isdisjoint(op.results)], env)
    last = block.last_op
    assert last is not None
    target.add_op(hlo.ReturnOp.create(operands=[env[root] for root in roots], location=last.location))
    for op in ops_in(block):
        op.drop_all_references()  # what is left uses nothing of what was moved
    return Region([target])


def _only_acts(op: Operation) -> bool:
    """Whether an op is there for an effect: it has no results, and is no loop or branch of which none is left and that does nothing."""
    if op.results:
        return False
    if not isinstance(op, core.ForOp | core.WhileOp | core.CaseOp):
        return True
    return any(_only_acts(inner) for region in op.regions for inner in list(region.block.ops)[:-1])


def _results(loop: _Loop, known: dict[int, SSAValue]) -> list[SSAValue]:
    """The value that replaces each result; an initial value where it never changes, or is not read at all."""
    return [known.get(i, initial) for i, initial in enumerate(loop.op.operands)]


# -- back to StableHLO


def open_for(b: OpBuilder, op: core.ForOp) -> Sequence[SSAValue]:
    """core.for as a while that carries the iteration in front."""
    fixed = int_of(op.constants)
    zero = b.scalar(0, i64)
    carried = [zero, *op.initial]
    condition = Block(arg_types=[v.type for v in carried])
    test = OpBuilder(condition, location=rewritten(op.location, op.name, "from-core"))
    limit = _constant_again(test, op.trip_count) if constant_integer(op.trip_count) is not None else op.trip_count
    condition.add_op(hlo.ReturnOp.create(operands=[test.compare("LT", condition.args[0], limit)]))
    body = Block(arg_types=[v.type for v in carried])
    inner = OpBuilder(body, location=rewritten(op.location, op.name, "from-core"))
    (taken,) = take_regions(op)
    block = taken.block
    env: dict[SSAValue, SSAValue] = {block.args[0]: body.args[0]}
    env.update(zip(block.args[1:], [*op.inputs[:fixed], *body.args[1:]], strict=True))
    *ops, end = ops_in(block)
    returned = list(end.operands)
    end.drop_all_references()
    take_ops(inner, ops, env)
    following = inner.add(body.args[0], inner.scalar(1, i64))
    body.add_op(hlo.ReturnOp.create(operands=[following, *(env[value] for value in returned)]))
    return b.create(hlo.WhileOp, carried, [v.type for v in carried], {}, [Region([condition]), Region([body])])[1:]


def open_while(b: OpBuilder, op: core.WhileOp) -> Sequence[SSAValue]:
    """core.while as a while whose regions capture the constants."""
    fixed = int_of(op.constants)
    regions = [_opened(region.block, op.inputs[:fixed], op.initial) for region in take_regions(op)]
    return b.create(hlo.WhileOp, op.initial, [r.type for r in op.results], {}, regions)


_OPENINGS: dict[type[Operation], Callable[[OpBuilder, Any], Sequence[SSAValue]]] = {
    core.ForOp: open_for,
    core.WhileOp: open_while,
    core.CaseOp: open_case,
}
