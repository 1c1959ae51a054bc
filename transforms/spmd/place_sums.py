"""Chooses where the devices of a group sum, such that they exchange least.

A sum over devices goes through what is linear: of ``c x`` with a coefficient c that is the same on all of them it is c times the sum of x, that of ``x + y`` is
the sum of x plus that of y, and that of what a loop accumulates is what it accumulates of sums. So each sum that a program asks for can be had of sums of
other values further up, and often two of them of one. Which values to sum is a minimum vertex cut: of all paths from the operands of sums up to where values
are no longer linear in anything. (JAX finds such places by types, which say of each value whether it is the same on all devices.)

The reverse sweep of a loop, before and after, where %c is the same on all devices::

    %r:2 = core.for ... carried(%x_bar, %c_bar = 0) {                %r:2 = core.for ... carried(%x_bar, %total = 0) {
      %t = ...                                                         %t = ...
      %u = multiply %t, %c                                             %s = core.all_reduce add %t
      %s = core.all_reduce add %u                                      %u = multiply %s, %c
      %1 = add %c_bar, %t                                              %1 = add %total, %s
      return (... %s), %1                                              return (... %u), %1
    }                                                                }
    %sum = core.all_reduce add %r#1                                  return %r#1
    return %sum

A sum costs, as often as it is computed, the bytes of its value, and those that take as long as a message takes to begin.
Results change by rounding, so that this is for derivatives, and is not part of ``simplify``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.core import Kind
from wengert.dialects.facts import facts_of
from wengert.dialects.stablehlo.process_groups import Grid, Group, declared_grid, groups_of
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import bytes_of_type, is_differentiable, type_of
from wengert.ir.traits import is_pure
from wengert.ir.traversal import all_ops
from wengert.transforms.analysis.trip_count import trip_count
from wengert.transforms.core.recognisers.communication import all_reduce, device_groups
from wengert.transforms.optimize.dce import dce, needed_ops
from wengert.transforms.rewriter import Rewriter
from wengert.transforms.spmd.grown_loops import grow
from wengert.transforms.spmd.uniformity import Known, Uniformity, analysed
from wengert.transforms.spmd.vertex_cut import VertexCut

MESSAGE = 50_000
"""The bytes that take as long as it takes a message to begin: 2 us on a network with 25 GB/s."""
UNKNOWN_TRIPS = 16
"""How often a loop is taken to run where the text does not say it."""


@dataclass(frozen=True)
class PlaceSumsPass(ModulePass):
    """Sums over devices where they exchange least. A module that does not say how many devices it is for stays as it is."""

    name = "place-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        grid = declared_grid(op)
        for function in op.ops if grid is not None else ():
            if isinstance(function, FuncOp):
                place_sums(function, cast(Grid, grid))


def place_sums(function: FuncOp, grid: Grid, arguments: Sequence[Known] | None = None, kept: int = 0) -> bool:
    """Moves the sums over devices of a core-level function, in place; returns whether there was a better place for any.

    Args:
        function: what each device runs.
        grid: the devices.
        arguments: what is known of its arguments.
        kept: the number of results, the first ones, that keep their bits: no sum that they need is moved.
    """
    untouched = needed_ops(list(cast(Operation, function.body.block.last_op).operands[:kept]))
    tables = {_groups(op, grid): None for op in all_ops(function) if _is_sum(op)}
    changed = False
    for groups in tables:
        if groups is not None:
            changed = _SumsOverGroups(function, groups, analysed(function, grid, arguments), untouched).place() or changed
    if changed:
        dce(function)
    return changed


def _is_sum(op: Operation) -> bool:
    return isinstance(op, core.AllReduceOp) and op.kind.data is Kind.add and is_differentiable(op.operand.type)


def _groups(op: Operation, grid: Grid) -> tuple[Group, ...] | None:
    """The groups of a sum, in order; None where they have several sizes."""
    groups = tuple(sorted(tuple(sorted(group)) for group in groups_of(op, grid)))
    return groups if len({len(group) for group in groups}) == 1 and sum(map(len, groups)) == grid.size else None


class _SumsOverGroups:
    """The sums of a function over the same groups of devices."""

    def __init__(self, function: FuncOp, groups: tuple[Group, ...], uniformity: Uniformity, untouched: set[Operation]):
        self.function, self.groups, self.uniformity = function, groups, uniformity
        alike = [op for op in all_ops(function) if _is_sum(op) and _groups(op, uniformity.grid) == groups]
        self.sums = [op for op in alike if op not in untouched]
        self.given = {op.operands[0]: op for op in alike if op in untouched and op.parent is _block_of(op.operands[0])}
        self.totals: dict[SSAValue, SSAValue] = {}
        self.cut: set[SSAValue] = set()

    def place(self) -> bool:
        """Puts the sums where they cost least; returns whether anything changed."""
        demands = list(dict.fromkeys(op.operands[0] for op in self.sums))
        best = VertexCut(demands, self._sources, self._cost)
        if best.cost >= sum(map(self._cost, demands)):
            return False
        self.cut = best.cut
        opened = [operand for loop, values in _loops_of(best.open).items() for operand in self._grow(loop, values)]
        for result in [result for op in all_ops(self.function) for result in op.results if result in best.open]:
            self._total(result)
        for op, place in opened:
            op.operands[place] = self._total(op.operands[place])
        for op in self.sums:
            Rewriter.before(op, "place-sums").replace(op, [self._total(op.operands[0])])
        return True

    # -- what the sum of a value follows from

    def _sources(self, value: SSAValue) -> list[SSAValue] | None:
        """The values whose sums make that of a value; nothing if it costs nothing, None if it follows from no others."""
        if self._is_uniform(value) or value in self.given:
            return []
        if not isinstance(value, OpResult):
            return self._passed(cast(BlockArgument, value))
        op = value.op
        if isinstance(op, core.ForOp):
            return self._carried(op, value.index)
        positions = self._linear_operands(op)
        return None if positions is None else [op.operands[i] for i in positions]

    def _passed(self, argument: BlockArgument) -> list[SSAValue] | None:
        """What a loop passes to an argument of its body."""
        loop = argument.owner.parent_op()
        if not isinstance(loop, core.ForOp):
            return None
        constants = int_of(loop.constants)
        if argument.index > constants:
            return self._carried(loop, argument.index - 1 - constants)
        return [loop.operands[argument.index]] if self._is_uniform(loop.trip_count) else None

    def _carried(self, loop: core.ForOp, position: int) -> list[SSAValue] | None:
        """What a loop begins and goes on with, if all devices of a group run it equally often."""
        return [loop.initial[position], _end_of(loop).operands[position]] if self._is_uniform(loop.trip_count) else None

    def _linear_operands(self, op: Operation) -> list[int] | None:
        """The operands in which an op is linear jointly, the others being the same on the devices of a group; None if there are no such ones.

        An op that changes the type of elements is none: sums stay in the precision that they were asked for.
        """
        if op.regions or not is_pure(type(op)) or isinstance(op, hlo.ConvertOp | hlo.ReducePrecisionOp):
            return None
        if isinstance(op, core.ReduceOp):
            return [0] if op.kind.data is Kind.add else None
        facts = facts_of(type(op))
        if facts.bilinear:
            return next(([i] for i in (0, 1) if self._is_uniform(op.operands[1 - i])), None)
        linear = list(facts.linear_operands(len(op.operands)))
        fixed = [x for i, x in enumerate(op.operands) if i not in linear]
        return linear if linear and all(map(self._is_uniform, fixed)) else None

    def _is_uniform(self, value: SSAValue) -> bool:
        return self.uniformity.agrees(self.uniformity.known[value], self.groups)

    def _cost(self, value: SSAValue) -> int:
        return 0 if self._is_uniform(value) or value in self.given else _trips(value) * (MESSAGE + bytes_of_type(type_of(value)))

    # -- making sums

    def _grow(self, loop: core.ForOp, values: Sequence[SSAValue]) -> list[tuple[Operation, int]]:
        """Has a loop carry the sums of these values of its own, too; returns the operands that are to be sums."""
        constants = int_of(loop.constants)
        arguments = [cast(BlockArgument, v).index - 1 for v in values if not isinstance(v, OpResult)]
        results = [v.index for v in values if isinstance(v, OpResult)]
        carried = sorted({*results, *(i - constants for i in arguments if i >= constants)})
        grown = grow(loop, sorted(i for i in arguments if i < constants), carried)
        self.totals.update(grown.seconds)
        for old, new in grown.results.items():
            self.uniformity.known[new] = self.uniformity.known[old]
            if old in self.cut:
                self.cut.add(new)
        return grown.open

    def _total(self, value: SSAValue) -> SSAValue:
        """The sum of a value over the devices of a group, made behind the value."""
        if value not in self.totals:
            self.totals[value] = self._made(value)
        return self.totals[value]

    def _made(self, value: SSAValue) -> SSAValue:
        op = value.owner
        b = Rewriter.before(_behind(value), "place-sums")
        with b.at(op.location if isinstance(op, Operation) else b.location):
            if value in self.given:
                self.given[value].detach()
                b.place(self.given[value])
                return self.given[value].results[0]
            if self._is_uniform(value):
                return b.multiply(value, b.full_like(value, len(self.groups[0])))
            if value in self.cut:
                return all_reduce(b, Kind.add, value, device_groups(self.groups))
            assert isinstance(op, Operation), "the sums of arguments are carried along, or in the cut"
            summed = self._linear_operands(op) or []
            operands = [self._total(x) if i in summed else x for i, x in enumerate(op.operands)]
            return b.create(type(op), operands, [r.type for r in op.results], op.properties)[0]


def _loops_of(values: Iterable[SSAValue]) -> dict[core.ForOp, list[SSAValue]]:
    """The values that loops carry, or pass to their bodies, by loop."""
    loops: dict[core.ForOp, list[SSAValue]] = {}
    for value in values:
        owner = value.op if isinstance(value, OpResult) else cast(Block, value.owner).parent_op()
        if isinstance(owner, core.ForOp):
            loops.setdefault(owner, []).append(value)
    return loops


def _end_of(loop: core.ForOp) -> Operation:
    return cast(Operation, loop.body.block.last_op)


def _block_of(value: SSAValue) -> Block | None:
    return value.owner.parent if isinstance(value.owner, Operation) else value.owner


def _behind(value: SSAValue) -> Operation:
    """The op in front of which something stands that is right behind a value."""
    owner = value.owner
    return cast(Operation, owner.next_op if isinstance(owner, Operation) else owner.first_op)


def _trips(value: SSAValue) -> int:
    """How often a value is computed in a run."""
    block, trips = _block_of(value), 1
    while block is not None and (op := block.parent_op()) is not None:
        if isinstance(op, core.ForOp | core.WhileOp):
            trips *= UNKNOWN_TRIPS if (known := trip_count(op)) is None else known
        block = op.parent
    return trips
