"""Orders of execution: the ops of a derivative by number, some of them several times, and the IR that says so.

Every execution of an op reads the latest results of the ops that it depends on. An op that stands in the order twice is computed again there; the values
that a run of repeated ops reads from before it pass through an optimization barrier, so that no later pass merges a repeated op with the first one.

Before and after, for the order 0 1 2 0 3 (the square of a sine)::

    %0 = stablehlo.sine %x                %0 = stablehlo.sine %x
    %1 = stablehlo.multiply %0, %0        %1 = stablehlo.multiply %0, %0
    %2 = stablehlo.add %z_bar, %z_bar     %2 = stablehlo.add %z_bar, %z_bar
    %3 = stablehlo.multiply %2, %0        %b = stablehlo.optimization_barrier %x
                                          %4 = stablehlo.sine %b
                                          %3 = stablehlo.multiply %2, %4
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.ir.construction import append, block_with, copy_op
from wengert.ir.traversal import operands_of
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.core.closing import FREE_OPS, free_values

Order = tuple[int, ...]


def pruned(graph: Graph, order: Sequence[int]) -> Order:
    """The order without executions whose results nobody reads."""
    needed: set[int] = set(graph.returned)
    kept: list[int] = []
    for n in reversed(order):
        if n in needed:
            needed.discard(n)
            needed.update(graph.operands[n])
            kept.append(n)
    return tuple(reversed(kept))


def added_work(graph: Graph, order: Order) -> int:
    """The flops of an order beyond those of the derivative, in which every op runs once."""
    return sum((graph.work[n] or 0) for n in order) - sum((graph.work[n] or 0) for n in range(len(graph.ops)))


def arranged(graph: Graph, order: Order) -> ModuleOp:
    """The module with its derivative in this order, as a new one."""
    made = graph.function
    old, new = made.body.block, _block(graph, order)
    for before, after in zip(old.args, new.args, strict=True):
        after.location = before.location
        if before.name_hint is not None:
            after.name_hint = before.name_hint
    function = FuncOp.create(properties=dict(made.properties), attributes=dict(made.attributes), regions=[Region([new])], location=made.location)
    others = [function if op is made else copy_op(op, {}) for op in graph.module.ops]
    return ModuleOp(others, dict(graph.module.attributes), graph.module.sym_name)


def _block(graph: Graph, order: Order) -> Block:
    old = graph.function.body.block
    block = block_with([argument.type for argument in old.args])
    values: dict[SSAValue, SSAValue] = dict(zip(old.args, block.args, strict=True))
    seen: set[int] = set()
    start = 0
    while start < len(order):
        stop = start
        while stop < len(order) and order[stop] in seen:
            stop += 1
        if stop > start:
            _run_again(graph, order[start:stop], block, values)
            start = stop
        else:
            append(block, copy_op(graph.ops[order[start]], values))
            seen.add(order[start])
            start += 1
    last = old.last_op
    assert last is not None
    append(block, copy_op(last, values))
    return block


def _run_again(graph: Graph, run: Sequence[int], block: Block, values: dict[SSAValue, SSAValue]) -> None:
    """Appends ops that ran before, on what they read from before the run behind a barrier."""
    made: set[SSAValue] = set()
    read: dict[SSAValue, None] = {}
    for n in run:
        op = graph.ops[n]
        read.update((value, None) for value in _operands(op) if value not in made and not isinstance(value.owner, FREE_OPS))
        made.update(op.results)
    outer = [value for value in read if isinstance(value.type, TensorType)]
    inside = dict(values)
    if outer:
        given = [values[value] for value in outer]
        barrier = hlo.OptimizationBarrierOp.create(operands=given, result_types=[value.type for value in given], location=graph.ops[run[0]].location)
        append(block, barrier)
        inside.update(zip(outer, barrier.results, strict=True))
    for n in run:
        op = graph.ops[n]
        append(block, copy_op(op, inside))
        values.update((result, inside[result]) for result in op.results)


def _operands(op: Operation) -> list[SSAValue]:
    return [*operands_of(op), *(free_values(op.regions) if op.regions else ())]
