"""``stablehlo.while``, ``case`` and ``if`` as core's closed loops and branches, and back.

On the way a loop is cleaned: what it carries without changing becomes a constant, what nobody reads is dropped, and where a
counter can be found the loop becomes a ``core.for`` whose induction variables are computed from the iteration.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.attributes import int_attr, int_of
from wengert.ir.tensor_types import i32, i64, tensor
from wengert.transforms.core.closing import close_regions, open_region
from wengert.transforms.core.counting import Counter, constant_integer, find_counter, induction_value, step_of, trip_count
from wengert.transforms.rewriter import Rewriter

_CONTROL = (hlo.WhileOp, hlo.CaseOp, hlo.IfOp)


def close_control(module: ModuleOp) -> None:
    """Replaces StableHLO's control flow by core's, in place, from the inside out."""
    rewriter = Rewriter("to-core")
    for op in reversed([op for op in module.walk() if isinstance(op, _CONTROL)]):
        rewriter.move_to(op)
        if isinstance(op, hlo.WhileOp):
            rewriter.replace(op, close_while(rewriter, op))
        else:
            rewriter.replace(op, close_branches(rewriter, op))


# -- branches


def close_branches(b: OpBuilder, op: hlo.CaseOp | hlo.IfOp) -> Sequence[SSAValue]:
    """A case or if as a core.case, whose index is 0 for the branch taken if the predicate holds."""
    regions = [region.clone() for region in op.regions]
    inputs = close_regions(regions)
    index = op.index if isinstance(op, hlo.CaseOp) else b.convert(b.not_(op.pred), i32)
    return b.create(core.CaseOp, [index, *inputs], [r.type for r in op.results], {}, regions)


# -- loops


class _Loop:
    """A while being rewritten: its regions are copies, closed, with constants in front."""

    def __init__(self, op: hlo.WhileOp):
        self.op = op
        self.condition, self.body = (region.clone() for region in op.regions)
        self.constants: list[SSAValue] = close_regions([self.condition, self.body])
        self.carried: list[SSAValue] = list(op.operands)
        self.results: list[SSAValue | None] = [None] * len(op.results)
        """Values that stand for results which are no longer carried."""
        self.positions = list(range(len(op.results)))
        """Which result each carried value is."""

    @property
    def fixed(self) -> int:
        return len(self.constants)

    def returned(self) -> list[SSAValue]:
        last = self.body.block.last_op
        assert last is not None
        return list(last.operands)

    def drop(self, position: int) -> None:
        """Stops carrying a value whose argument nothing uses any more."""
        last = self.body.block.last_op
        assert last is not None
        last.operands = [o for i, o in enumerate(last.operands) if i != position]
        for region in (self.condition, self.body):
            region.block.erase_arg(region.block.args[self.fixed + position])
        del self.carried[position]
        del self.positions[position]

    def make_constant(self, position: int) -> None:
        """Turns a carried value that no trip changes into a constant."""
        value = self.carried[position]
        for region in (self.condition, self.body):
            block = region.block
            old = block.args[self.fixed + position]
            new = block.insert_arg(old.type, self.fixed)
            new.name_hint = old.name_hint
            old.replace_all_uses_with(new)
        self.constants.append(value)
        self.results[self.positions[position]] = value
        self.drop(position)


def close_while(b: OpBuilder, op: hlo.WhileOp) -> Sequence[SSAValue]:
    """A while as a core.for if it is counted, else as a core.while."""
    loop = _Loop(op)
    _hoist_invariants(loop)
    counter = find_counter(loop.condition.block, loop.body.block, loop.fixed)
    if counter is None:
        _drop_unread(loop, keep_condition=True)
        properties = {"constants": int_attr(loop.fixed)}
        types = [value.type for value in loop.carried]
        made = b.create(core.WhileOp, [*loop.constants, *loop.carried], types, properties, [loop.condition, loop.body])
    else:
        made = _counted(b, loop, counter)
    for position, value in zip(loop.positions, made, strict=True):
        loop.results[position] = value
    unread = [value if value is not None else initial for value, initial in zip(loop.results, op.operands, strict=True)]
    return unread


def _hoist_invariants(loop: _Loop) -> None:
    for position in reversed(range(len(loop.carried))):
        argument = loop.body.block.args[loop.fixed + position]
        if loop.returned()[position] is argument:
            loop.make_constant(position)


def _counted(b: OpBuilder, loop: _Loop, counter: Counter) -> Sequence[SSAValue]:
    bound = counter.bound
    if constant_integer(bound) is not None:
        owner = bound.owner
        assert isinstance(owner, Operation)
        outer_bound = b.insert(owner.clone()).results[0]
    else:
        outer_bound = loop.constants[loop.condition.block.args.index(bound)]  # pyright: ignore[reportArgumentType]
    trips = trip_count(b, counter, loop.carried[counter.position], outer_bound)
    iteration = loop.body.block.insert_arg(tensor((), i64), 0)
    iteration.name_hint = "i"
    _replace_inductions(b, loop, trips, iteration)
    _drop_unread(loop, keep_condition=False, first=1)
    properties = {"constants": int_attr(loop.fixed)}
    loop.condition.block.erase_all_ops() if hasattr(loop.condition.block, "erase_all_ops") else None
    return b.create(core.ForOp, [trips, *loop.constants, *loop.carried], [v.type for v in loop.carried], properties, [loop.body])


def _replace_inductions(b: OpBuilder, loop: _Loop, trips: SSAValue, iteration: SSAValue) -> None:
    """Computes every carried integer that advances by a constant from the iteration, in the body and after the loop."""
    block = loop.body.block
    for position in reversed(range(len(loop.carried))):
        step = step_of(block, position, loop.fixed + 1)
        if step is None:
            continue
        start = loop.carried[position]
        inner = _front_builder(block)
        if constant_integer(start) is not None:
            owner = start.owner
            assert isinstance(owner, Operation)
            inner_start = inner.insert(owner.clone()).results[0]
        else:
            inner_start = block.insert_arg(start.type, 1 + loop.fixed)
            loop.condition.block.insert_arg(start.type, loop.fixed)
            loop.constants.append(start)
        argument = block.args[1 + loop.fixed + position]
        value = induction_value(inner, inner_start, step, iteration)
        inner.finish()
        argument.replace_all_uses_with(value)
        loop.results[loop.positions[position]] = induction_value(b, start, step, trips)
        _drop(loop, position)


def _drop(loop: _Loop, position: int) -> None:
    """Stops carrying a value of a loop whose body has the iteration in front."""
    last = loop.body.block.last_op
    assert last is not None
    last.operands = [o for i, o in enumerate(last.operands) if i != position]
    loop.body.block.erase_arg(loop.body.block.args[1 + loop.fixed + position])
    del loop.carried[position]
    del loop.positions[position]


class _FrontBuilder(OpBuilder):
    """Builds ops that go to the front of a block."""

    def __init__(self, target: Block):
        super().__init__(Block())
        self.target = target

    def finish(self) -> None:
        """Moves what was built to the front."""
        first = self.target.first_op
        for op in list(self.block.ops):
            op.detach()
            if first is None:
                self.target.add_op(op)
            else:
                self.target.insert_op_before(op, first)


def _front_builder(block: Block) -> _FrontBuilder:
    return _FrontBuilder(block)


def _drop_unread(loop: _Loop, *, keep_condition: bool, first: int = 0) -> None:
    """Stops carrying what neither the result, nor the condition, nor anything else that is carried depends on."""
    body = loop.body.block
    needed = {i for i, position in enumerate(loop.positions) if loop.op.results[position].first_use is not None}
    if keep_condition:
        reads = _reads(loop.condition, loop.condition.block.last_op.operands if loop.condition.block.last_op else ())
        needed |= {i for i in range(len(loop.carried)) if loop.condition.block.args[loop.fixed + i] in reads}
    while True:
        reads = _reads(loop.body, [loop.returned()[i] for i in needed])
        more = needed | {i for i in range(len(loop.carried)) if body.args[first + loop.fixed + i] in reads}
        if more == needed:
            break
        needed = more
    for position in reversed(range(len(loop.carried))):
        if position not in needed:
            argument = body.args[first + loop.fixed + position]
            argument.replace_all_uses_with(argument) if argument.first_use is None else _erase_dead(body)
            _erase_carried(loop, position, first)


def _reads(region: Region, values: Sequence[SSAValue]) -> set[SSAValue]:
    """Everything that values depend on, inside a region."""
    found: set[SSAValue] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        owner = value.owner
        if isinstance(owner, Operation):
            for inner in owner.walk():
                pending.extend(inner.operands)
    return found


def _erase_carried(loop: _Loop, position: int, first: int) -> None:
    raise NotImplementedError


def _erase_dead(body: Block) -> None:
    raise NotImplementedError


# -- back to StableHLO


def open_for(b: OpBuilder, op: core.ForOp) -> Sequence[SSAValue]:
    """core.for as a while that counts in front of what it carries."""
    raise NotImplementedError


_ = (i32, int_of, open_region, open_for)
