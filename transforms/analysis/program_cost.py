"""The costs of one run of a program: the costs of its ops, loops as often as they go round.

Counts are exact for straight-line programs and counted loops. Where a loop's trip count depends on data, its body is
counted once and the result says so; of a branch the costliest alternative is counted, which is an upper bound.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable

from msgspec import Struct, field
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from wengert.dialects import stablehlo
from wengert.ir.locations import describe
from wengert.transforms.analysis.liveness import BRANCHES, LOOPS, peak_bytes
from wengert.transforms.analysis.opcost import cost
from wengert.transforms.analysis.trip_count import trip_count
from wengert.transforms.shapes.dynamism import require_static


class ProgramCost(Struct):
    """Executed ops by name, and what they do.

    Attributes:
        ops: executions by op name; constants and returns are not counted.
        flops, transcendentals, bytes: totals over all executions (``wengert.transforms.analysis.opcost``).
        peak_bytes: predicted peak of live bytes.
        uncounted: the places of loops whose trip counts are unknown; their bodies are counted once.
        branches: the places of branches, of which the costliest alternative is counted.
    """

    ops: collections.Counter[str] = field(default_factory=collections.Counter[str])
    flops: int = 0
    transcendentals: int = 0
    bytes: int = 0
    peak_bytes: int = 0
    uncounted: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of executed ops."""
        return self.ops.total()

    def add(self, other: ProgramCost, times: int = 1) -> None:
        """Adds what another part costs, so many times."""
        for name, count in other.ops.items():
            self.ops[name] += times * count
        self.flops += times * other.flops
        self.transcendentals += times * other.transcendentals
        self.bytes += times * other.bytes
        self.uncounted = tuple(dict.fromkeys(self.uncounted + other.uncounted))
        self.branches = tuple(dict.fromkeys(self.branches + other.branches))


def program_cost(module: ModuleOp, entry: str = "main") -> ProgramCost:
    """The costs of one run of the entry function."""
    functions = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp)}
    require_static(functions[entry], "counting costs")
    total = _Counting(functions).block(functions[entry].body.block)
    total.peak_bytes = peak_bytes(module, entry)
    return total


class _Counting:
    """Counts blocks; callees are counted once and remembered."""

    def __init__(self, functions: dict[str, FuncOp]):
        self.functions = functions
        self._callees: dict[str, ProgramCost] = {}

    def block(self, block: Block) -> ProgramCost:
        total = ProgramCost()
        for op in block.ops:
            if not op.has_trait(IsTerminator, value_if_unregistered=False) and not isinstance(op, stablehlo.ConstantOp):
                self._op(op, total)
        return total

    def _op(self, op: Operation, total: ProgramCost) -> None:
        op_cost = cost(op)
        total.ops[op.name] += 1
        total.flops += op_cost.flops
        total.transcendentals += op_cost.transcendentals
        total.bytes += op_cost.bytes
        if isinstance(op, LOOPS):
            self._loop(op, total)
        elif isinstance(op, BRANCHES):
            total.add(self._costliest(op))
            total.branches += (describe(op.location),)
        elif isinstance(op, CallOp) and op.callee.string_value() in self.functions:
            total.add(self._callee(op.callee.string_value()))

    def _loop(self, op: Operation, total: ProgramCost) -> None:
        trips = trip_count(op)
        if trips is None:
            total.uncounted += (describe(op.location),)
            trips = 1
        *condition, body = (region.block for region in op.regions)
        for block in condition:
            total.add(self.block(block), trips + 1)
        total.add(self.block(body), trips)

    def _costliest(self, op: Operation) -> ProgramCost:
        costs = [self.block(region.block) for region in op.regions if region.blocks]
        return max(costs, key=lambda c: (c.flops + c.bytes, c.count), default=ProgramCost())

    def _callee(self, name: str) -> ProgramCost:
        if name not in self._callees:
            body = self.functions[name].body
            self._callees[name] = self.block(body.block) if body.blocks else ProgramCost()
        return self._callees[name]


def described(places: Iterable[str], limit: int = 3) -> str:
    """A few places in words."""
    listed = list(places)
    return ", ".join(listed[:limit]) + (f" and {len(listed) - limit} more" if len(listed) > limit else "")
