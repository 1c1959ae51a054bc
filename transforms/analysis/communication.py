"""The collectives of a program: how often each runs, in what groups, with how many bytes, and what goes over the wire.

A count is a polynomial in what only a run tells, as in :mod:`wengert.transforms.analysis.program_cost`.
"""

from __future__ import annotations

from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo.process_groups import Grid, group_of, groups_of, is_collective, pairs_of
from wengert.ir.location.places import describe
from wengert.ir.tensor_types import bytes_of_type, element, size, type_of
from wengert.transforms.analysis.symbolic.executions import executions
from wengert.transforms.analysis.symbolic.extents import STATIC
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

SHORT = 4096
"""The bytes up to which the engines' all-reduce gathers everything."""


class Collective(Struct, frozen=True):
    """One collective of a program.

    Attributes:
        name: ``all_reduce`` and so on.
        what: what it works on, as in ``all_reduce add of tensor<4xf64>``.
        place: where it was written.
        bytes: the bytes of a device's operand.
        group: the devices of its largest group; 2 for a permutation.
        neighbours: whether the devices of each group have numbers one after the other.
        times: how often it runs.
        op: the op.
    """

    name: str
    what: str
    place: str
    bytes: int
    group: int
    neighbours: bool
    times: Polynomial
    op: Operation


def collectives_of(module: ModuleOp, grid: Grid, entry: str = "main") -> list[Collective]:
    """The collectives of a core-level program in the order of its text."""
    listed = list[Collective]()
    for block, times in executions(module, entry, STATIC, Unknowns()).blocks:
        listed.extend(_described(op, grid, times) for op in block.ops if is_collective(op))
    return listed


def _described(op: Operation, grid: Grid, times: Polynomial) -> Collective:
    name = op.name.partition(".")[2]
    kind = f" {op.kind.data}" if isinstance(op, core.GroupReduceOp) else ""
    groups = [] if isinstance(op, hlo.CollectivePermuteOp) else [sorted(g) for g in groups_of(op, grid)]
    group = 2 if isinstance(op, hlo.CollectivePermuteOp) else max(map(len, groups), default=1)
    neighbours = bool(groups) and all(g[-1] - g[0] == len(g) - 1 for g in groups if g)
    what = f"{name}{kind} of {', '.join(str(x.type) for x in op.operands)}"
    return Collective(name, what, describe(op.location), sum(bytes_of_type(type_of(x)) for x in op.operands), group, neighbours, times, op)


def sent_bytes(op: Operation, grid: Grid, device: int) -> int:
    """The bytes that a device sends in one execution of a collective on the engines here (``runtime/spmd/collectives.py``)."""
    x = op.operands[0]
    m = bytes_of_type(type_of(x))
    if isinstance(op, hlo.CollectivePermuteOp):
        return sum(m for s, t in pairs_of(op, grid) if s == device and t != device)
    group = group_of(groups_of(op, grid), device)
    if group is None:
        return 0
    p = len(group)
    if isinstance(op, hlo.CollectiveBroadcastOp):
        return m * _children(group.index(device), p)
    if isinstance(op, hlo.AllGatherOp):
        return (p - 1) * m
    if isinstance(op, hlo.AllToAllOp):
        return (p - 1) * (m // p)
    wide = m // max(size(x), 1) if not is_narrow(op) else 4
    m = wide * size(x)
    if op.name.endswith("reduce_scatter"):
        return (p - 1) * (m // p)
    if m <= SHORT or size(x) < p:
        return (p - 1) * m
    return 2 * (p - 1) * -(-size(x) // p) * wide


def is_narrow(op: Operation) -> bool:
    """Whether a reduction is computed, and sent, in f32 for operands of fewer bits."""
    return str(element(op.operands[0])) in ("bf16", "f16") or str(element(op.operands[0])).startswith("f8")


def _children(place: int, p: int) -> int:
    """The devices that a device sends to in a binomial tree."""
    step = 1
    while step <= place:
        step *= 2
    children = 0
    while place + step < p:
        children, step = children + 1, 2 * step
    return children
