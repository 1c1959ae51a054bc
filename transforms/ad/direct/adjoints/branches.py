"""Adjoints of branches: the reverse of the branch that was taken.

The forward case also returns what its branches' adjoints use; branches share the results for it by type, and what a branch
does not need is zero. The reverse case runs on the same index. Where a branch reads an input by position, the cotangent
that is being summed goes through the branches, so that the read adds to it in place.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.direct.activity import active_in, returned
from wengert.transforms.ad.direct.adjoint import Back, step
from wengert.transforms.ad.direct.region import ReverseBody
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.residuals.plan import Plan
from wengert.transforms.ad.rule import Into, Tangent


class _BranchCotangents(Cotangents):
    """Cotangents of a branch's values. The sum so far of an input comes in only for what adds to it in place."""

    def __init__(self, b: OpBuilder, sums: dict[SSAValue, Value]):
        super().__init__(b)
        self.sums = sums
        self.in_place: set[SSAValue] = set()

    def add(self, value: SSAValue, x_bar: Tangent | Into) -> None:
        if isinstance(x_bar, Into) and value in self.sums and value not in self.in_place:
            self.in_place.add(value)
            super().add(value, self.sums[value])
        super().add(value, x_bar)


class _Branch:
    """Both sweeps over one branch."""

    def __init__(self, outer: Sweep, old: Block, inputs: list[Value], positions: list[int], active: list[int], results: list[int]):
        self.block = Block(arg_types=[v.type for v in inputs])
        b = OpBuilder(self.block, location=outer.b.location, pass_name=outer.b.pass_name)
        useful = {returned(old)[j] for j in results}
        inner = Sweep(b, outer.module, active_in(old, (old.args[i] for i, at in enumerate(positions) if at in active), useful))
        inner.bind(old.args, [self.block.args[at] for at in positions])
        inner.forward(list(old.ops)[:-1])
        self.b = b
        self.results = [inner.primal(v) for v in returned(old)]
        self.reverse = ReverseBody(b, [*(self.results[j] for j in results), *(inputs[i] for i in active)])
        sums: dict[SSAValue, Value] = {self.block.args[i]: total for i, total in zip(active, self.reverse.block.args[len(results) :], strict=True)}
        self.cotangents = _BranchCotangents(self.reverse.b, sums)
        for j, y_bar in zip(results, self.reverse.block.args, strict=False):
            if inner.has_cotangent(self.results[j]):
                self.cotangents.add(self.results[j], y_bar)
        inner.reverse(self.reverse.b, self.cotangents)
        self.bars: list[Tangent] = [self.cotangents.take(self.block.args[i]) for i in active]
        self.outs: list[Value] = []
        self.plan = Plan([], [])

    def close(self, active: Sequence[int], in_place: set[int], wanted: Sequence[int]) -> None:
        """Fixes what the reverse branch returns: a complete sum for an input that any branch adds to in place."""
        b = self.reverse.b
        for i, bar in zip(active, self.bars, strict=True):
            argument = self.block.args[i]
            if i in in_place and argument not in self.cotangents.in_place:
                bar = self.cotangents.sums[argument] if bar is None else b.add(self.cotangents.sums[argument], bar)
            if i in wanted:
                self.outs.append(materialized(b, bar, argument.type))
        self.plan = self.reverse.plan(self.block, self.outs, self.block.args)


@step(core.CaseOp)
def case(sweep: Sweep, op: core.CaseOp) -> Back:
    index, inputs = sweep.primal(op.index), list(dict.fromkeys(sweep.primal(v) for v in op.inputs))
    positions = [inputs.index(sweep.primal(v)) for v in op.inputs]
    active = sorted({at for at, v in zip(positions, op.inputs, strict=True) if v in sweep.active})
    results = [j for j, r in enumerate(op.results) if r in sweep.active]
    branches = [_Branch(sweep, region.block, inputs, positions, active, results) for region in op.branches]
    in_place = {i for branch in branches for i in active if branch.block.args[i] in branch.cotangents.in_place}
    wanted = [i for at, i in enumerate(active) if i in in_place or any(branch.bars[at] is not None for branch in branches)]
    for branch in branches:
        branch.close(active, in_place, wanted)
    slots = _shared_slots(branches)
    used = sorted({i for branch in branches for i, a in enumerate(branch.block.args) if a in branch.reverse.uses(branch.plan, branch.outs)})
    regions = [_reverse_region(sweep, branch, slots, used, len(results), active, in_place) for branch in branches]
    made = _forward_case(sweep, op, index, inputs, branches, slots)
    operands = [index, *(inputs[i] for i in used), *made[len(op.results) :]]

    def back(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        bars = [materialized(b, y_bars[j], op.results[j].type) for j in results]
        sums = [materialized(b, cotangents.take(inputs[i]), inputs[i].type) for i in active if i in in_place]
        types = [inputs[i].type for i in wanted]
        totals = b.create(core.CaseOp, [*operands, *bars, *sums], types, {}, regions)
        for i, total in zip(wanted, totals, strict=True):
            cotangents.add(inputs[i], total)

    return back


def _shared_slots(branches: Sequence[_Branch]) -> list[Attribute]:
    """Types of the results that carry what branches keep: of each type as many as the branch that keeps most."""
    slots: list[Attribute] = []
    for branch in branches:
        types = [v.type for v in branch.plan.kept]
        for kind in dict.fromkeys(types):
            slots += [kind] * (types.count(kind) - slots.count(kind))
    return slots


def _placed(kept: Sequence[Value], slots: Sequence[Attribute]) -> list[Value | None]:
    """What a branch puts into each slot."""
    left = list(kept)
    placed: list[Value | None] = []
    for kind in slots:
        value = next((v for v in left if v.type == kind), None)
        placed.append(value)
        if value is not None:
            left.remove(value)
    return placed


def _forward_case(sweep: Sweep, op: core.CaseOp, index: Value, inputs: list[Value], branches: Sequence[_Branch], slots: list[Attribute]) -> Sequence[Value]:
    for branch in branches:
        kept = [materialized(branch.b, value, kind) for value, kind in zip(_placed(branch.plan.kept, slots), slots, strict=True)]
        branch.block.add_op(hlo.ReturnOp.create(operands=[*branch.results, *kept]))
        drop_dead_ops(branch.block)
    types = [*(r.type for r in op.results), *slots]
    made = sweep.b.create(core.CaseOp, [index, *inputs], types, {}, [Region([branch.block]) for branch in branches])
    sweep.bind(op.results, made[: len(op.results)])
    return made


def _reverse_region(sweep: Sweep, branch: _Branch, slots: list[Attribute], used: list[int], n_bars: int, active: Sequence[int], in_place: set[int]) -> Region:
    """The reverse branch: takes the inputs that are used, what was kept, cotangents of the results, sums to add to in place."""
    arguments = branch.reverse.block.args
    sums = [a for i, a in zip(active, arguments[n_bars:], strict=True) if i in in_place]
    types = [*(branch.block.args[i].type for i in used), *slots, *(a.type for a in (*arguments[:n_bars], *sums))]
    block = Block(arg_types=types)
    placed = _placed(branch.plan.kept, slots)
    sources = [*(branch.block.args[i] for i in used), *placed, *arguments[:n_bars], *sums]
    env: dict[SSAValue, SSAValue] = {old: new for old, new in zip(sources, block.args, strict=True) if old is not None}
    b = OpBuilder(block, location=sweep.b.location, pass_name=sweep.b.pass_name)
    block.add_op(hlo.ReturnOp.create(operands=branch.reverse.move(b, branch.plan.recomputed, env, branch.outs)))
    drop_dead_ops(block)
    return Region([block])
