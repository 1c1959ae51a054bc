"""Adjoints of branches: a reverse case on the same index.

The forward case also returns the residuals of its branches. Branches share these results by type, and a branch returns zero
for a residual that it does not have. Where a branch reads an input at a computed position, the running sum of the input's cotangent
is passed through the branches, so that the read adds to it in place.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.transforms.ad.direct.activity import active_in
from wengert.transforms.ad.direct.adjoint import Pullback, step
from wengert.transforms.ad.direct.region import ReverseBody
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops, terminator_operands
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.residuals.plan import Plan
from wengert.transforms.ad.rule import InPlaceAdd, Tangent


class _BranchCotangents(Cotangents):
    """Cotangents of a branch's values. The running sum of an input is an operand only for contributions that add to it in place."""

    def __init__(self, b: OpBuilder, sums: dict[SSAValue, Value]):
        super().__init__(b, primal=True)
        self.sums = sums
        self.in_place: set[SSAValue] = set()

    def add(self, value: SSAValue, x_bar: Tangent | InPlaceAdd) -> None:
        if isinstance(x_bar, InPlaceAdd) and value in self.sums and value not in self.in_place:
            self.in_place.add(value)
            super().add(value, self.sums[value])
        super().add(value, x_bar)


class _Branch:
    """The forward and the reverse sweep over one branch."""

    def __init__(self, outer: Sweep, old: Block, inputs: list[Value], positions: list[int], active: list[int], results: list[int]):
        self.block = Block(arg_types=[v.type for v in inputs])
        b = OpBuilder(self.block, location=outer.b.location, pass_name=outer.b.pass_name)
        useful = {terminator_operands(old)[j] for j in results}
        inner = Sweep(b, outer.module, active_in(old, (old.args[i] for i, at in enumerate(positions) if at in active), useful))
        inner.bind(old.args, [self.block.args[at] for at in positions])
        inner.forward(list(old.ops)[:-1])
        self.b = b
        self.results = [inner.primal(v) for v in terminator_operands(old)]
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

    def close(self, active: Sequence[int], in_place: set[int], returned_sums: Sequence[int]) -> None:
        """Determines the results of the reverse branch: the complete sum for an input that any branch adds to in place."""
        b = self.reverse.b
        for i, bar in zip(active, self.bars, strict=True):
            argument = self.block.args[i]
            if i in in_place and argument not in self.cotangents.in_place:
                bar = self.cotangents.sums[argument] if bar is None else b.add(self.cotangents.sums[argument], bar)
            if i in returned_sums:
                self.outs.append(materialized(b, bar, argument.type))
        self.plan = self.reverse.plan(self.block, self.outs, self.block.args)


@step(core.CaseOp)
def case(sweep: Sweep, op: core.CaseOp) -> Pullback:
    index, inputs = sweep.primal(op.index), list(dict.fromkeys(sweep.primal(v) for v in op.inputs))
    positions = [inputs.index(sweep.primal(v)) for v in op.inputs]
    active = sorted({at for at, v in zip(positions, op.inputs, strict=True) if v in sweep.active})
    results = [j for j, r in enumerate(op.results) if r in sweep.active]
    branches = [_Branch(sweep, region.block, inputs, positions, active, results) for region in op.branches]
    in_place = {i for branch in branches for i in active if branch.block.args[i] in branch.cotangents.in_place}
    returned_sums = [i for at, i in enumerate(active) if i in in_place or any(branch.bars[at] is not None for branch in branches)]
    for branch in branches:
        branch.close(active, in_place, returned_sums)
    slots = _shared_slots(branches)
    used = sorted({i for branch in branches for i, a in enumerate(branch.block.args) if a in branch.reverse.references(branch.plan, branch.outs)})
    regions = [_reverse_region(sweep, branch, slots, used, len(results), active, in_place) for branch in branches]
    case_results = _forward_case(sweep, op, index, inputs, branches, slots)
    operands = [index, *(inputs[i] for i in used), *case_results[len(op.results) :]]

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        bars = [materialized(b, y_bars[j], op.results[j].type) for j in results]
        sums = [materialized(b, cotangents.take(inputs[i]), inputs[i].type) for i in active if i in in_place]
        types = [inputs[i].type for i in returned_sums]
        totals = b.create(core.CaseOp, [*operands, *bars, *sums], types, {}, regions)
        for i, total in zip(returned_sums, totals, strict=True):
            cotangents.add(inputs[i], total)

    return pullback


def _shared_slots(branches: Sequence[_Branch]) -> list[Attribute]:
    """Types of the results for residuals: of each type as many as the branch with most residuals of this type."""
    slots: list[Attribute] = []
    for branch in branches:
        types = [v.type for v in branch.plan.stored]
        for kind in dict.fromkeys(types):
            slots += [kind] * (types.count(kind) - slots.count(kind))
    return slots


def _assign_to_slots(stored: Sequence[Value], slots: Sequence[Attribute]) -> list[Value | None]:
    """Assigns the residuals of a branch to slots of their types; None for a slot that it does not use."""
    remaining = list(stored)
    assigned: list[Value | None] = []
    for kind in slots:
        value = next((v for v in remaining if v.type == kind), None)
        assigned.append(value)
        if value is not None:
            remaining.remove(value)
    return assigned


def _forward_case(sweep: Sweep, op: core.CaseOp, index: Value, inputs: list[Value], branches: Sequence[_Branch], slots: list[Attribute]) -> Sequence[Value]:
    for branch in branches:
        stored = [materialized(branch.b, value, kind) for value, kind in zip(_assign_to_slots(branch.plan.stored, slots), slots, strict=True)]
        branch.block.add_op(hlo.ReturnOp.create(operands=[*branch.results, *stored]))
        drop_dead_ops(branch.block)
    types = [*(r.type for r in op.results), *slots]
    case_results = sweep.b.create(core.CaseOp, [index, *inputs], types, {}, [Region([branch.block]) for branch in branches])
    sweep.bind(op.results, case_results[: len(op.results)])
    return case_results


def _reverse_region(sweep: Sweep, branch: _Branch, slots: list[Attribute], used: list[int], n_bars: int, active: Sequence[int], in_place: set[int]) -> Region:
    """The reverse branch. Its arguments are the inputs that it uses, residuals, cotangents of the results, and sums to add to in place."""
    arguments = branch.reverse.block.args
    sums = [a for i, a in zip(active, arguments[n_bars:], strict=True) if i in in_place]
    types = [*(branch.block.args[i].type for i in used), *slots, *(a.type for a in (*arguments[:n_bars], *sums))]
    block = Block(arg_types=types)
    assigned = _assign_to_slots(branch.plan.stored, slots)
    sources = [*(branch.block.args[i] for i in used), *assigned, *arguments[:n_bars], *sums]
    env: dict[SSAValue, SSAValue] = {old: new for old, new in zip(sources, block.args, strict=True) if old is not None}
    b = OpBuilder(block, location=sweep.b.location, pass_name=sweep.b.pass_name)
    block.add_op(hlo.ReturnOp.create(operands=branch.reverse.move(b, branch.plan.recomputed, env, branch.outs)))
    drop_dead_ops(block)
    return Region([block])
