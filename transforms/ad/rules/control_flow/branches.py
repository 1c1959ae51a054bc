"""Derivatives of branches.

Forward mode computes values and tangents in the same branches. Linearization makes a primal case, whose branches also
return residuals, and a linear case on the same index; a branch returns zeros for the residuals of other branches.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Block, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import type_of
from wengert.transforms.ad.forward.activity import branch_activity
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops, terminator_operands
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.linear.transpose_ops import copy_linear, transpose_ops
from wengert.transforms.ad.residuals.plan import prune, residuals_of
from wengert.transforms.ad.residuals.policies import Site
from wengert.transforms.ad.rule import STEPS, TRANSPOSE_STEPS, Tangent
from wengert.transforms.core.closing import copy_ops, take_ops


def _step(sweep: ForwardSweep, op: core.CaseOp) -> None:
    """dy = the derivative of the branch that is taken."""
    dots = {i: x_dot for i, operand in enumerate(op.inputs) if (x_dot := sweep.tangent(operand)) is not None}
    flags = branch_activity([region.block for region in op.branches], [i in dots for i in range(len(op.inputs))], sweep.activity)
    active = [j for j, flag in enumerate(flags) if flag]
    (_forward_mode if sweep.fused else _linearize)(sweep, op, dots, active)


def _forward_mode(sweep: ForwardSweep, op: core.CaseOp, dots: dict[int, Value], active: list[int]) -> None:
    inputs = [sweep.primal(v) for v in op.inputs]
    regions: list[Region] = []
    for region in op.branches:
        old = region.block
        block = Block(arg_types=[v.type for v in (*inputs, *dots.values())])
        tangents = dict(zip(dots, block.args[len(inputs) :], strict=True))
        inner = sweep.nested(block, block, tangents.values())
        inner.bind(old.args, block.args[: len(inputs)], [tangents.get(i) for i in range(len(inputs))])
        inner.run(list(old.ops)[:-1])
        y_dots = [materialized(inner.b, inner.tangent(terminator_operands(old)[j]), terminator_operands(old)[j].type) for j in active]
        block.add_op(hlo.ReturnOp.create(operands=[*(inner.primal(v) for v in terminator_operands(old)), *y_dots]))
        drop_dead_ops(block)
        regions.append(Region([block]))
    types = [*(r.type for r in op.results), *(op.results[j].type for j in active)]
    case_results = sweep.b.create(core.CaseOp, [sweep.primal(op.index), *inputs, *dots.values()], types, {}, regions)
    n = len(op.results)
    y_dots_by_position = dict(zip(active, case_results[n:], strict=True))
    sweep.set(op.results, case_results[:n], [y_dots_by_position.get(j) for j in range(n)])


class _Branch:
    """A linearized branch: its primal and linear blocks, and the plan of its residuals."""

    def __init__(self, sweep: ForwardSweep, old: Block, dots: dict[int, Value], active: list[int]):
        self.primal = Block(arg_types=[a.type for a in old.args])
        self.linear = Block(arg_types=[x_dot.type for x_dot in dots.values()])
        inner = sweep.nested(self.primal, self.linear, self.linear.args)
        tangents = dict(zip(dots, self.linear.args, strict=True))
        inner.bind(old.args, self.primal.args, [tangents.get(i) for i in range(len(old.args))])
        inner.run(list(old.ops)[:-1])
        self.outputs = [inner.primal(v) for v in terminator_operands(old)]
        self.y_dots = [materialized(inner.lb, inner.tangent(terminator_operands(old)[j]), terminator_operands(old)[j].type) for j in active]
        self.linear_ops = prune(self.linear, self.y_dots)
        residuals = residuals_of(self.linear_ops, self.y_dots, inner.lb.linear)
        self.plan = sweep.policy.plan(Site(self.primal, residuals, self.primal.args, "branch"))
        self.b = inner.b


def _linearize(sweep: ForwardSweep, op: core.CaseOp, dots: dict[int, Value], active: list[int]) -> None:
    inputs = [sweep.primal(v) for v in op.inputs]
    branches = [_Branch(sweep, region.block, dots, active) for region in op.branches]
    stored = [value for branch in branches for value in branch.plan.stored]
    for branch in branches:
        own_stored = set(branch.plan.stored)
        extra = [value if value in own_stored else _placeholder(branch.b, value) for value in stored]
        branch.primal.add_op(hlo.ReturnOp.create(operands=[*branch.outputs, *extra]))
    types = [*(r.type for r in op.results), *(v.type for v in stored)]
    index = sweep.primal(op.index)
    linear_regions_need = [_needed_inputs(branch) for branch in branches]
    used = sorted({i for needed in linear_regions_need for i in needed})
    linear_regions = [_linear_region(sweep, branch, stored, used, dots) for branch in branches]
    for branch in branches:
        drop_dead_ops(branch.primal)
    case_results = sweep.b.create(core.CaseOp, [index, *inputs], types, {}, [Region([branch.primal]) for branch in branches])
    n = len(op.results)
    _set_lengths(sweep, case_results[n:], stored, branches)
    operands = [index, *(inputs[i] for i in used), *case_results[n:], *dots.values()]
    y_dots = sweep.lb.create(core.CaseOp, operands, [op.results[j].type for j in active], {}, linear_regions)
    y_dots_by_position = dict(zip(active, y_dots, strict=True))
    sweep.set(op.results, case_results[:n], [y_dots_by_position.get(j) for j in range(n)])


def _set_lengths(sweep: ForwardSweep, results: Sequence[Value], stored: Sequence[SSAValue], branches: Sequence[_Branch]) -> None:
    """Names the lengths of the tapes of a branch: the one that makes a tape fills it, all others return an empty one."""
    places = [k for k, branch in enumerate(branches) for _ in branch.plan.stored]
    for result, value, place in zip(results, stored, places, strict=True):
        if isinstance(value.type, core.TapeType):
            sweep.lengths.set(result, sweep.lengths.name(result.owner, place, sweep.lengths.of(value)))


def _placeholder(b: OpBuilder, value: SSAValue) -> Value:
    """A zero or an empty tape, which a branch returns for a residual of another branch."""
    if isinstance(value.type, core.TapeType):
        return b.create(core.TapeCreateOp, (), (value.type,))[0]
    return b.zeros(type_of(value))


def _needed_inputs(branch: _Branch) -> set[int]:
    """The positions of the inputs that the linear part of a branch uses directly."""
    ops = [*branch.plan.recomputed, *branch.linear_ops]
    used = {operand for op in ops for operand in op.operands} | set(branch.y_dots)
    return {i for i, argument in enumerate(branch.primal.args) if argument in used}


def _linear_region(sweep: ForwardSweep, branch: _Branch, stored: Sequence[SSAValue], used: Sequence[int], dots: dict[int, Value]) -> Region:
    old = branch.primal.args
    values = [*(old[i] for i in used), *stored, *branch.linear.args]
    block = Block(arg_types=[v.type for v in values])
    env: dict[SSAValue, SSAValue] = dict(zip(values, block.args, strict=True))
    b = OpBuilder(block, location=sweep.lb.location, pass_name=sweep.b.pass_name)
    copy_ops(b, branch.plan.recomputed, env)
    take_ops(b, branch.linear_ops, env)
    block.add_op(hlo.ReturnOp.create(operands=[env[y_dot] for y_dot in branch.y_dots]))
    return Region([block])


def _transpose_case(b: OpBuilder, op: core.CaseOp, linear: Sequence[bool], y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
    """Emits a case of transposed branches. The running sum of a cotangent, if there is one, is passed through the branches, which
    add to it in place."""
    flags = linear[1:]
    nonlinear_inputs = [operand for operand, flag in zip(op.inputs, flags, strict=True) if not flag]
    shared = list(dict.fromkeys(operand for operand, flag in zip(op.inputs, flags, strict=True) if flag))
    present = [j for j, y_bar in enumerate(y_bars) if y_bar is not None]
    present_bars = [y_bar for y_bar in y_bars if y_bar is not None]
    sums = {operand: total for operand in shared if (total := cotangents.take(operand)) is not None}
    inputs = [*nonlinear_inputs, *present_bars, *sums.values()]
    regions: list[Region] = []
    for region in op.branches:
        block = Block(arg_types=[v.type for v in inputs])
        inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
        bars: dict[int, Value] = dict(zip(present, block.args[len(nonlinear_inputs) :], strict=False))
        totals: dict[SSAValue, Value] = dict(zip(sums, block.args[len(nonlinear_inputs) + len(present) :], strict=True))
        _transpose_branch(inner, region.block, op, flags, shared, block.args[: len(nonlinear_inputs)], bars, totals, take=cotangents.owned)
        drop_dead_ops(block)
        regions.append(Region([block]))
    case_results = b.create(core.CaseOp, [op.index, *inputs], [v.type for v in shared], {}, regions)
    for operand, total in zip(shared, case_results, strict=True):
        cotangents.add(operand, total)


def _transpose_branch(
    inner: OpBuilder,
    old: Block,
    op: core.CaseOp,
    flags: Sequence[bool],
    shared: list[SSAValue],
    nonlinear_inputs: Sequence[Value],
    bars: dict[int, Value],
    totals: dict[SSAValue, Value],
    *,
    take: bool,
) -> None:
    scratch = Block(arg_types=[v.type for v in shared])
    lb = LinearBuilder(scratch, inner, scratch.args)
    env: dict[SSAValue, SSAValue] = {}
    rest = iter(nonlinear_inputs)
    for argument, operand, flag in zip(old.args, op.inputs, flags, strict=True):
        env[argument] = scratch.args[shared.index(operand)] if flag else next(rest)
    ops = list(old.ops)
    copy_linear(ops[:-1], env, lb, take=take)
    cotangents = Cotangents(inner, owned=True)
    for operand, total in totals.items():
        cotangents.add(scratch.args[shared.index(operand)], total)
    for j, y_bar in bars.items():
        value = env[ops[-1].operands[j]]
        if value in lb.linear:
            cotangents.add(value, y_bar)
    transpose_ops(inner, reversed(list(scratch.ops)), lb.linear, cotangents)
    x_bars = [materialized(inner, cotangents.take(argument), argument.type) for argument in scratch.args]
    for scratch_op in scratch.ops:
        scratch_op.drop_all_references()
    inner.block.add_op(hlo.ReturnOp.create(operands=x_bars))


STEPS[core.CaseOp] = _step
TRANSPOSE_STEPS[core.CaseOp] = _transpose_case
