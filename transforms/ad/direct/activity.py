"""Activity in both directions: which values vary with the inputs, and which are useful for the results.

A value is *active* if it depends on an input to differentiate with respect to, and a result to differentiate depends on it; only
active values have cotangents, and only ops between active values have adjoints (Hascoet and Pascual, "The Tapenade automatic
differentiation tool", 2013, call the two data flows varied and useful). Both are fixed points over loops; they may call
a value whose cotangent turns out to be zero, never the reverse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core
from wengert.ir.attributes import int_of
from wengert.transforms.ad.direct.adjoint import is_inactive
from wengert.transforms.ad.forward.shift_invariance import invariant_values
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.function import terminator_operands

Loop = core.ForOp | core.WhileOp


def active_in(block: Block, arguments: Iterable[SSAValue], results: Iterable[SSAValue]) -> set[SSAValue]:
    """The active values of a block of which some arguments vary and some values are useful."""
    varied = varied_values(block, arguments)
    return varied & useful_values(block, results, varied)


def varied_values(block: Block, arguments: Iterable[SSAValue]) -> set[SSAValue]:
    """The values that depend differentiably on some arguments of a block.

    The maximum over devices that a softmax subtracts and that cancels does not: its derivative is zero, and would communicate. (Where it would not communicate,
    the adjoint is computed, which makes it a check of that analysis.)
    """
    varied, communicated = set(arguments), _cancelling(block)
    for op in block.ops:
        if op in communicated:
            continue
        if not is_inactive(op) and not varied.isdisjoint(inputs_of(op)):
            varied.update(result for result, flag in zip(op.results, _varied_results(op, varied), strict=True) if flag)
    return varied


def _cancelling(block: Block) -> set[Operation]:
    """The reductions over devices that results of a block do not depend on."""
    reductions = [op for op in block.ops if isinstance(op, core.AllReduceOp) and op.kind.data in (core.Kind.max, core.Kind.min)]
    invariant = invariant_values(block.ops) if reductions else set[SSAValue]()
    return {op for op in reductions if op.result in invariant}


def useful_values(block: Block, results: Iterable[SSAValue], varied: set[SSAValue]) -> set[SSAValue]:
    """The values that some results of a block depend on differentiably; ops on values that do not vary are skipped."""
    useful = set(results)
    for op in reversed(block.ops):
        if not is_inactive(op) and not useful.isdisjoint(op.results) and not varied.isdisjoint(op.results):
            useful.update(operand for operand, flag in _useful_operands(op, useful, varied) if flag)
    return useful


def inputs_of(op: Operation) -> Iterable[SSAValue]:
    """An op's operands, and the operands of the ops in its regions."""
    yield from op.operands
    if op.regions and not isinstance(op, core.ForOp | core.WhileOp | core.CaseOp):
        for inner in op.walk():
            yield from inner.operands


def _varied_results(op: Operation, varied: set[SSAValue]) -> Sequence[bool]:
    if isinstance(op, core.ForOp | core.WhileOp):
        flags = [operand in varied for operand in (*op.constant_operands, *op.initial)]
        return varied_carried(op, flags[: int_of(op.constants)], flags[int_of(op.constants) :])
    if isinstance(op, core.CaseOp):
        flags = [operand in varied for operand in op.inputs]
        rows = [_varied_branch(region.block, flags) for region in op.branches]
        return [any(row[j] for row in rows) for j in range(len(op.results))]
    return [has_tangent(result.type) for result in op.results]


def _varied_branch(block: Block, flags: Sequence[bool]) -> list[bool]:
    varied = varied_values(block, (a for a, flag in zip(block.args, flags, strict=True) if flag))
    return [value in varied for value in terminator_operands(block)]


def _useful_operands(op: Operation, useful: set[SSAValue], varied: set[SSAValue]) -> Iterable[tuple[SSAValue, bool]]:
    flags = [result in useful for result in op.results]
    if isinstance(op, core.ForOp | core.WhileOp):
        n = int_of(op.constants)
        constants, carried = useful_of_loop(op, [v in varied for v in op.constant_operands], [v in varied for v in op.initial], flags)
        return [*zip(op.constant_operands, constants[:n], strict=True), *zip(op.initial, carried, strict=True)]
    if isinstance(op, core.CaseOp):
        varied_inputs = [operand in varied for operand in op.inputs]
        rows = [_useful_branch(region.block, varied_inputs, flags) for region in op.branches]
        return [(operand, any(row[i] for row in rows)) for i, operand in enumerate(op.inputs)]
    return [(operand, has_tangent(operand.type)) for operand in op.operands]


def _useful_branch(block: Block, varied_inputs: Sequence[bool], flags: Sequence[bool]) -> list[bool]:
    varied = varied_values(block, (a for a, flag in zip(block.args, varied_inputs, strict=True) if flag))
    useful = useful_values(block, (v for v, flag in zip(terminator_operands(block), flags, strict=True) if flag), varied)
    return [a in useful for a in block.args]


def body_arguments(op: Loop) -> tuple[Sequence[SSAValue], Sequence[SSAValue]]:
    """The arguments of a loop's body for its constants, and those for its carried values."""
    first, n = (1 if isinstance(op, core.ForOp) else 0), int_of(op.constants)
    arguments = op.body.block.args[first:]
    return arguments[:n], arguments[n:]


def varied_carried(op: Loop, constants: Sequence[bool], carried: Sequence[bool]) -> list[bool]:
    """Which carried values of a loop vary in any iteration."""
    constant_arguments, carried_arguments = body_arguments(op)
    flags = list(carried)
    while True:
        varied = varied_values(op.body.block, (a for a, flag in zip((*constant_arguments, *carried_arguments), (*constants, *flags), strict=True) if flag))
        updated = [flag or value in varied for flag, value in zip(flags, terminator_operands(op.body.block), strict=True)]
        if updated == flags:
            return flags
        flags = updated


def useful_of_loop(op: Loop, constants: Sequence[bool], carried: Sequence[bool], results: Sequence[bool]) -> tuple[list[bool], list[bool]]:
    """Which constants and which carried values of a loop are useful in any iteration, given which vary and which results are useful."""
    constant_arguments, carried_arguments = body_arguments(op)
    body, flags = op.body.block, list(results)
    varied_flags = varied_carried(op, constants, carried)
    varied = varied_values(body, (a for a, flag in zip((*constant_arguments, *carried_arguments), (*constants, *varied_flags), strict=True) if flag))
    while True:
        useful = useful_values(body, (v for v, flag in zip(terminator_operands(body), flags, strict=True) if flag), varied)
        updated = [flag or a in useful for flag, a in zip(flags, carried_arguments, strict=True)]
        if updated == flags:
            return [a in useful for a in constant_arguments], flags
        flags = updated
