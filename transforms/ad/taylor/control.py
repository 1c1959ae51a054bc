"""Taylor mode through loops, branches and checkpoints: what they carry are the coefficients of each value that changes, beside the value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import ad, core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import Value
from wengert.transforms.ad.forward.activity import branch_activity, carried_activity
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import drop_dead_ops, terminator_operands
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.rules.control_flow.active_loop import ActiveLoop, Loop, create_loop, loop_block
from wengert.transforms.ad.taylor.series import Compute, Series, given

if TYPE_CHECKING:
    from wengert.transforms.ad.taylor.sweep import TaylorSweep


def loop(sweep: TaylorSweep, op: Loop, operands: Sequence[Series]) -> list[Series]:
    """One loop that carries values and their coefficients."""
    first = 1 if isinstance(op, core.ForOp) else 0
    constants, initial = operands[first : first + len(op.constant_operands)], operands[first + len(op.constant_operands) :]
    flags = carried_activity(op.body.block, first, [not x.is_constant for x in constants], [not x.is_constant for x in initial])
    made: dict[int, list[list[Tangent]]] = {}

    def run(order: int) -> tuple[Sequence[Value], list[list[Tangent]]]:
        return _loop(sweep, op, first, operands, flags, order)

    def coefficients(n: int, j: int) -> Tangent:
        order = sweep.order if sweep.depth == 0 else j
        reached = next((known for known in made if known >= j), None)
        if reached is None:
            reached = order
            made[order] = run(order)[1]
        return made[reached][n][j - 1]

    if sweep.depth == 0:
        values, made[sweep.order] = run(sweep.order)
    else:
        values, _ = run(0)
    return _series(values, flags, coefficients)


def _series(values: Sequence[Value], flags: Sequence[bool], coefficients: Callable[[int, int], Tangent]) -> list[Series]:
    """The series of results, of which some change; ``coefficients`` is asked for that of a result by number and order."""

    def of(n: int) -> Compute:
        return lambda j: coefficients(n, j)

    return [Series(value, of(n) if flag else None) for n, (value, flag) in enumerate(zip(values, flags, strict=True))]


def _loop(
    sweep: TaylorSweep, op: Loop, first: int, operands: Sequence[Series], flags: Sequence[bool], order: int
) -> tuple[Sequence[Value], list[list[Tangent]]]:
    """Emits the loop with coefficients up to an order; returns the values of its results and their coefficients."""
    count = len(op.constant_operands)
    constants, initial = operands[first : first + count], operands[first + count :]
    fixed = [_given(sweep, x, order) if not x.is_constant else [] for x in constants]
    carried = [_given(sweep, x, order) if flag else [] for x, flag in zip(initial, flags, strict=True)]
    same = ActiveLoop(op, op.body.block, first, [x.primal for x in constants], [x.primal for x in initial], {}, {}, operands[0].primal if first else None)
    all_constants = [*same.constants, *(v for vs in fixed for v in vs)]
    all_carried = [*same.initial, *(v for vs in carried for v in vs)]
    block = loop_block(same, [*all_constants, *all_carried])
    arguments = iter(block.args[first:])
    new_constants, constant_coefficients = _taken(arguments, fixed)
    new_carried, carried_coefficients = _taken(arguments, carried)
    inner = sweep.nested(block)
    inner.order = order
    old = op.body.block
    series: dict[SSAValue, Series] = {argument: Series(new) for argument, new in zip(old.args[:first], block.args[:first], strict=True)}
    for argument, primal, xs in zip(old.args[first:], [*new_constants, *new_carried], [*constant_coefficients, *carried_coefficients], strict=True):
        series[argument] = given(primal, xs)
    inner.run(same.ops, series)
    returned = [series[value] for value in terminator_operands(old)]
    after = [v for x, flag in zip(returned, flags, strict=True) if flag for v in _given(inner, x, order)]
    block.add_op(hlo.ReturnOp.create(operands=[*(x.primal for x in returned), *after]))
    drop_dead_ops(block)
    results = create_loop(sweep.b, same, all_constants, all_carried, block)
    return _split(results, flags, order)


def case(sweep: TaylorSweep, op: core.CaseOp, operands: Sequence[Series]) -> list[Series]:
    """A case whose branches take and return coefficients."""
    index, inputs = operands[0], operands[1:]
    flags = branch_activity([region.block for region in op.branches], [not x.is_constant for x in inputs])
    made: dict[int, list[list[Tangent]]] = {}

    def coefficients(n: int, j: int) -> Tangent:
        reached = next((known for known in made if known >= j), None)
        if reached is None:
            reached = j
            made[j] = _case(sweep, op, index, inputs, flags, j)[1]
        return made[reached][n][j - 1]

    order = sweep.order if sweep.depth == 0 else 0
    values, made[order] = _case(sweep, op, index, inputs, flags, order)
    return _series(values, flags, coefficients)


def _case(
    sweep: TaylorSweep, op: core.CaseOp, index: Series, inputs: Sequence[Series], flags: Sequence[bool], order: int
) -> tuple[Sequence[Value], list[list[Tangent]]]:
    moved = [_given(sweep, x, order) if not x.is_constant else [] for x in inputs]
    given_values = [*(x.primal for x in inputs), *(v for vs in moved for v in vs)]
    regions: list[Region] = []
    for region in op.branches:
        old = region.block
        block = Block(arg_types=[v.type for v in given_values])
        arguments = iter(block.args)
        primals, coefficients = _taken(arguments, moved)
        inner = sweep.nested(block)
        inner.order = order
        series: dict[SSAValue, Series] = {argument: given(primal, xs) for argument, primal, xs in zip(old.args, primals, coefficients, strict=True)}
        inner.run(list(old.ops)[:-1], series)
        returned = [series[value] for value in terminator_operands(old)]
        after = [v for x, flag in zip(returned, flags, strict=True) if flag for v in _given(inner, x, order)]
        block.add_op(hlo.ReturnOp.create(operands=[*(x.primal for x in returned), *after]))
        drop_dead_ops(block)
        regions.append(Region([block]))
    types = [*(r.type for r in op.results), *(r.type for r, flag in zip(op.results, flags, strict=True) if flag for _ in range(order))]
    return _split(sweep.b.create(core.CaseOp, [index.primal, *given_values], types, {}, regions), flags, order)


def checkpoint(sweep: TaylorSweep, op: ad.CheckpointOp, operands: Sequence[Series]) -> list[Series]:
    """The function's body: nothing is kept that a reverse part could compute again."""
    block = function_named(sweep.module, op.callee.string_value()).body.block
    *body, end = block.ops
    series: dict[SSAValue, Series] = dict(zip(block.args, operands, strict=True))
    inner: list[Operation] = list(body)
    sweep.run(inner, series)
    return [series[value] for value in end.operands]


def _given(sweep: TaylorSweep, x: Series, order: int) -> list[Value]:
    """x_1, ..., up to an order, zeros written out."""
    return [materialized(sweep.b, x.at(j), x.primal.type) for j in range(1, order + 1)]


def _taken(arguments: Iterator[Value], coefficients: Sequence[Sequence[Value]]) -> tuple[list[Value], list[list[Tangent]]]:
    """The arguments of a body that stand for values, then those for their coefficients."""
    primals = [next(arguments) for _ in coefficients]
    return primals, [[next(arguments) for _ in xs] for xs in coefficients]


def _split(results: Sequence[Value], flags: Sequence[bool], order: int) -> tuple[Sequence[Value], list[list[Tangent]]]:
    """The values of results, and the coefficients of each, which come behind all values."""
    rest = iter(results[len(flags) :])
    return results[: len(flags)], [[next(rest) for _ in range(order)] if flag else [] for flag in flags]
