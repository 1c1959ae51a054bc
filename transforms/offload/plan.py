"""Chooses the values of a reverse derivative that are offloaded.

A candidate is a result of the forward part that the reverse part reads, and that the function does not return. Taken away, it is in memory up to its last
use in the forward part, and again from its first use in the reverse part. Whether that makes the arena smaller only the compiled program tells, since fusion
decides what is in memory at all: the largest candidate, the two largest, the four largest and so on are taken down to buffers, and the smallest arena counts,
with fewer bytes moved of equal ones; with a budget the fewest bytes that do.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.ir.construction import copy_module, insert_before
from wengert.ir.location.places import error_at
from wengert.ir.traversal import operands_of, ops_of
from wengert.transforms.analysis.symbolic.extents import STATIC, bytes_of
from wengert.transforms.checkpoint.frontier import arena_of
from wengert.transforms.checkpoint.graph import Graph
from wengert.transforms.core.closing import free_values
from wengert.transforms.core.offloads import OFFLOAD, Place, fetch_op, is_call_of, offload_op

LEAST = 1024
"""Values of fewer bytes stay: a call takes longer than to compute most of them."""


Result = tuple[int, int]
"""A value: the number of an op, as it stands in the block, and which of its results."""


class OffloadPlan(Struct, frozen=True):
    """A choice of values.

    Attributes:
        values: what is offloaded.
        moved: the bytes that are written in the forward part, and read in the reverse part.
        arena: the bytes of the arena of the compiled program.
    """

    values: tuple[Result, ...]
    moved: int
    arena: int


def best_plan(module: ModuleOp, fn: str, place: Place, budget: int | None) -> OffloadPlan:
    """The plan for a derivative. Without any candidate that helps it offloads nothing.

    Raises:
        DiagnosticError: the function is no reverse derivative, or no plan has an arena within the budget.
    """
    plans = offload_plans(module, fn, place)
    if budget is None:
        return min(plans, key=lambda plan: (plan.arena, plan.moved))
    within = [plan for plan in plans if plan.arena <= budget]
    if not within:
        least = min(plan.arena for plan in plans)
        raise error_at(module, f"no plan for offloading has an arena of {budget} bytes or less: the least is {least} bytes")
    return min(within, key=lambda plan: (plan.moved, plan.arena))


def offload_plans(module: ModuleOp, fn: str, place: Place) -> list[OffloadPlan]:
    """All plans that are tried, that which offloads nothing first."""
    graph = Graph(module, fn)
    ordered = sorted(_candidates(graph), key=lambda result: -_bytes(graph, result))
    counts = sorted({0, *(min(1 << k, len(ordered)) for k in range(len(ordered).bit_length() + 1))})
    return [_plan(module, graph, tuple(sorted(ordered[:count])), fn, place) for count in counts]


def _plan(module: ModuleOp, graph: Graph, values: tuple[Result, ...], fn: str, place: Place) -> OffloadPlan:
    made = copy_module(module)
    rewritten(made, values, fn, place)
    return OffloadPlan(values, sum(_bytes(graph, result) for result in values), arena_of(made))


def _candidates(graph: Graph) -> list[Result]:
    last = graph.function.body.block.last_op
    assert last is not None
    returned, first, final = set(last.operands), dict[SSAValue, int](), dict[SSAValue, int]()
    for n, op in enumerate(graph.ops):
        for x in _read(op):
            if graph.reverse[n]:
                first.setdefault(x, n)
            else:
                final[x] = n
    return [
        (n, k)
        for n in graph.residuals
        if graph.bytes[n]  # no view of another value
        for k, value in enumerate(graph.ops[n].results)
        if value in first and final.get(value, n) < first[value]  # nothing of the forward part reads it later, where the parts are not one behind the other
        if value not in returned and isinstance(value.type, TensorType) and bytes_of(STATIC, value) >= LEAST
    ]


def _bytes(graph: Graph, result: Result) -> int:
    return bytes_of(STATIC, graph.ops[result[0]].results[result[1]])


def _read(op: Operation) -> list[SSAValue]:
    return [*operands_of(op), *(free_values(op.regions) if op.regions else ())]


def rewritten(module: ModuleOp, values: Sequence[Result], fn: str, place: Place) -> None:
    """Writes a plan into a derivative, in place: an offload behind the last use in the forward part, a fetch before the first one in the reverse part."""
    graph = Graph(module, fn)
    chosen = {graph.ops[n].results[k] for n, k in values}
    readers: dict[SSAValue, list[int]] = {value: [] for value in chosen}
    for n, op in enumerate(graph.ops):
        for value in dict.fromkeys(_read(op)):
            if value in chosen:
                readers[value].append(n)
    for n, k in values:
        value = graph.ops[n].results[k]
        forward = [m for m in readers[value] if not graph.reverse[m]]
        backward = [graph.ops[m] for m in readers[value] if graph.reverse[m]]
        offload = offload_op(value, place, graph.ops[n])
        behind = graph.ops[max([n, *forward])].next_op
        assert behind is not None, "the reverse part comes after"
        insert_before(behind, offload)
        fetch = fetch_op(offload.results[0], value, graph.ops[n])
        insert_before(backward[0], fetch)
        for op in backward:
            for inner in op.walk():
                for position, operand in enumerate(inner.operands):
                    if operand is value:
                        inner.operands[position] = fetch.results[0]


def moved_bytes(module: ModuleOp) -> int:
    """The bytes that a program takes away in a run; as many are brought back."""
    calls = [op for op in ops_of(module, hlo.CustomCallOp) if is_call_of(op, OFFLOAD)]
    return sum(bytes_of(STATIC, op.operands[0]) for op in calls)
