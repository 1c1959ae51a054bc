"""Finds values that are the same on several devices: a forward analysis of a program that all devices run.

A value has a *label* for each device; devices with one label have the same value. A constant has one label, the number of a device as many as there are
devices, and the result of an op those of its operands together: devices agree on it if they agree on all operands. A collective depends on whole groups:
a sum over an axis of a mesh is uniform along that axis. Integers that follow from the number of the device, such as a position in a mesh, are computed for
every device, so that what depends on one axis only is known to.

What is not known to be the same may still be. It is known to differ only where it depends on the number of the device, or on an argument that is said to
be split: *suspects*. A collective under a condition that is suspect would wait for devices that never come, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.stablehlo.process_groups import Grid, Group, group_of, groups_of, is_collective, pairs_of
from wengert.ir.attributes import int_of
from wengert.ir.elements import to_numpy
from wengert.ir.location.places import describe, error_at
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.ir.traversal import all_ops
from wengert.transforms.optimize.folding import ELEMENTWISE, MOVEMENT

Labels = tuple[int, ...]
_FEW = 64
"""The elements up to which values are computed for every device."""


class Known(Struct, frozen=True):
    """Facts about a value.

    Attributes:
        labels: one for each device; devices with the same one have the same value.
        suspect: the value depends on the number of the device, or on an argument that is split.
        values: the value on each device, where it is known.
    """

    labels: Labels
    suspect: bool = False
    values: tuple[Any, ...] | None = None


def numbered(keys: Iterable[Any]) -> Labels:
    """Labels of devices by any keys: equal keys, equal labels, counted from 0 in the order in which they come."""
    seen: dict[Any, int] = {}
    return tuple([seen.setdefault(key, len(seen)) for key in keys])


class Condition(Struct, frozen=True):
    """A condition that decides whether a region runs, and the op that has it."""

    known: Known
    op: Operation


class Uniformity:
    """The analysis of one function.

    Attributes:
        known: what is known of every value.
        conditions: the conditions that each collective stands under.
    """

    def __init__(self, grid: Grid):
        self.grid = grid
        self.uniform = Known((0,) * grid.size)
        self.apart = Known(tuple(range(grid.size)))
        self.known: dict[SSAValue, Known] = {}
        self.conditions: dict[Operation, tuple[Condition, ...]] = {}

    def run(self, block: Block, arguments: Sequence[Known], under: tuple[Condition, ...] = ()) -> list[Known]:
        """Looks at a block with these arguments; returns what is known of what it returns."""
        self.known.update(zip(block.args, arguments, strict=True))
        last: list[Known] = []
        for op in block.ops:
            last = [self.known[x] for x in op.operands]
            if op.results or op.regions:
                for result, known in zip(op.results, self._results(op, last, under), strict=True):
                    self.known[result] = known
        return last

    def demanded(self, x: SSAValue) -> Known:
        """What is known of one value of a program at any level, from what it is computed by; of arguments of blocks, collectives and regions nothing is."""
        if x not in self.known:
            op = x.owner
            if isinstance(op, Block) or op.regions or is_collective(op):
                return self.apart
            self.known.update(zip(op.results, self._results(op, [self.demanded(y) for y in op.operands], ()), strict=True))
        return self.known[x]

    def together(self, known: Sequence[Known]) -> Known:
        """What depends on all of these."""
        if not known:
            return self.uniform
        suspect = any(x.suspect for x in known)
        if len({x.labels for x in known}) == 1:
            return Known(known[0].labels, suspect)
        return Known(numbered(zip(*(x.labels for x in known), strict=True)), suspect)

    def agrees(self, known: Known, groups: Iterable[Group]) -> bool:
        """Whether the devices of each group are known to have the same value."""
        return all(len({known.labels[device] for device in group}) <= 1 for group in groups)

    def groups(self, op: Operation) -> list[Group]:
        """The devices that meet in a collective."""
        if isinstance(op, hlo.CollectivePermuteOp):
            return [pair for pair in pairs_of(op, self.grid) if pair[0] != pair[1]]
        return groups_of(op, self.grid)

    # -- ops

    def _results(self, op: Operation, operands: Sequence[Known], under: tuple[Condition, ...]) -> list[Known]:
        if is_collective(op):
            self.conditions[op] = under
            return [self._collective(op, x) for x in operands]
        if (control := _CONTROL.get(type(op))) is not None:
            return control(self, op, operands, under)
        if isinstance(op, hlo.PartitionIdOp | hlo.ReplicaIdOp):
            divided = isinstance(op, hlo.PartitionIdOp)
            numbers = [d % self.grid.partitions if divided else d // self.grid.partitions for d in range(self.grid.size)]
            return [self._of_values([np.uint32(n) for n in numbers], suspect=True)]
        if isinstance(op, hlo.RngOp):
            return [self.apart]
        known = self.together(operands)
        if len(op.results) == 1 and not op.regions:
            return [self._computed(op, operands) or known]
        return [known] * len(op.results)

    def _of_values(self, values: Sequence[Any], *, suspect: bool) -> Known:
        arrays = tuple(np.asarray(value) for value in values)
        return Known(numbered(array.tobytes() for array in arrays), suspect, arrays)

    def _computed(self, op: Operation, operands: Sequence[Known]) -> Known | None:
        """The result on every device, of a few integers that are known on every device."""
        if isinstance(op, hlo.ConstantOp):
            value = to_numpy(op.value) if int(np.prod(shape(op.results[0]))) <= _FEW else None
            return None if value is None else Known(self.uniform.labels, False, (value,) * self.grid.size)
        function = ELEMENTWISE.get(type(op)) or MOVEMENT.get(type(op)) or _MORE.get(type(op))
        given = [x.values for x in operands]
        if function is None or not given or None in given or int(np.prod(shape(op.results[0]))) > _FEW:
            return None
        dtype, results = dtype_of(element(op.results[0])), list[Any]()
        with np.errstate(all="ignore"):
            for device in range(self.grid.size):
                result = function(op, [np.asarray(values[device]) for values in given if values is not None])
                if result is None:
                    return None
                results.append(np.asarray(result).astype(dtype, copy=False))
        return self._of_values(results, suspect=any(x.suspect for x in operands))

    def _collective(self, op: Operation, x: Known) -> Known:
        labels, devices = x.labels, range(self.grid.size)
        if isinstance(op, hlo.CollectivePermuteOp):
            sources = {target: source for source, target in pairs_of(op, self.grid)}
            return Known(numbered(labels[sources[d]] if d in sources else None for d in devices), x.suspect or len(sources) < self.grid.size)
        groups = groups_of(op, self.grid)
        mine = [group_of(groups, d) for d in devices]
        if isinstance(op, hlo.CollectiveBroadcastOp):
            return Known(numbered(labels[group[0]] if group else None for group in mine), x.suspect or None in mine)
        whole = [tuple(labels[member] for member in group) if group else None for group in mine]
        if isinstance(op, hlo.AllToAllOp | hlo.ReduceScatterOp | core.ReduceScatterOp):
            return Known(numbered((key, group.index(d) if group else d) for d, key, group in zip(devices, whole, mine, strict=True)), True)
        return Known(numbered(whole), x.suspect)

    # -- control flow

    def _for(self, op: core.ForOp, operands: Sequence[Known], under: tuple[Condition, ...]) -> list[Known]:
        count, constants, carried = operands[0], operands[1 : 1 + int_of(op.constants)], list(operands[1 + int_of(op.constants) :])
        inside = (*under, Condition(count, op))
        while True:
            returned = self.run(op.body.block, [self.uniform, *constants, *carried], inside)
            merged = [self.together([a, b, count]) for a, b in zip(carried, returned, strict=True)]
            if merged == carried:
                return merged
            carried = merged

    def _while(self, op: core.WhileOp, operands: Sequence[Known], under: tuple[Condition, ...]) -> list[Known]:
        constants, carried = operands[: int_of(op.constants)], list(operands[int_of(op.constants) :])
        while True:
            # the condition itself runs once more than the body, wherever the body has run
            (holds,) = self.run(op.condition.block, [*constants, *carried], under)
            inside = (*under, Condition(holds, op))
            self.run(op.condition.block, [*constants, *carried], inside)
            returned = self.run(op.body.block, [*constants, *carried], inside)
            merged = [self.together([a, b, holds]) for a, b in zip(carried, returned, strict=True)]
            if merged == carried:
                return merged
            carried = merged

    def _case(self, op: core.CaseOp, operands: Sequence[Known], under: tuple[Condition, ...]) -> list[Known]:
        index, inputs = operands[0], operands[1:]
        inside = (*under, Condition(index, op))
        branches = [self.run(region.block, inputs, inside) for region in op.branches]
        return [self.together([index, *values]) for values in zip(*branches, strict=True)] if op.results else []

    def _call(self, op: CallOp, operands: Sequence[Known], under: tuple[Condition, ...]) -> list[Known]:
        """A call that is not inlined, since its function has a derivative of its own. What is known inside is that of the last call."""
        called = SymbolTable.lookup_symbol(op, op.callee)
        if isinstance(called, FuncOp) and not called.is_declaration:
            return self.run(called.body.block, operands, under)
        return [self.together(operands)] * len(op.results)


_CONTROL: dict[type[Operation], Callable[[Uniformity, Any, Sequence[Known], tuple[Condition, ...]], list[Known]]] = {
    core.ForOp: Uniformity._for,  # pyright: ignore[reportPrivateUsage]
    core.WhileOp: Uniformity._while,  # pyright: ignore[reportPrivateUsage]
    core.CaseOp: Uniformity._case,  # pyright: ignore[reportPrivateUsage]
    CallOp: Uniformity._call,  # pyright: ignore[reportPrivateUsage]
}


def _dynamic_slice(op: Any, x: list[Any]) -> Any:
    extents = shape(op.results[0])
    starts = [min(max(int(start), 0), n - extent) for start, n, extent in zip(x[1:], x[0].shape, extents, strict=True)]
    return x[0][tuple(slice(start, start + extent) for start, extent in zip(starts, extents, strict=True))]


_MORE: dict[type[Operation], Callable[[Any, list[Any]], Any]] = {hlo.DynamicSliceOp: _dynamic_slice}


# -- what is asked


def analysed(function: FuncOp, grid: Grid, arguments: Sequence[Known] | None = None) -> Uniformity:
    """The analysis of a core-level function; of arguments nothing is known unless it is given."""
    uniformity = Uniformity(grid)
    uniformity.run(function.body.block, arguments or [uniformity.apart] * len(function.body.block.args))
    return uniformity


def check_uniform(module: ModuleOp, grid: Grid, arguments: Sequence[Known] | None = None) -> None:
    """Refuses a core-level program with a collective under a condition that differs between the devices that meet in it.

    Raises a DiagnosticError with the place of the collective, and that of the condition as a hint.
    """
    if grid.size == 1 or not any(is_collective(op) for op in all_ops(module)):
        return
    for function in module.ops:
        if isinstance(function, FuncOp) and function.sym_name.data == "main":
            refuse_divergent(analysed(function, grid, arguments))


def refuse_divergent(uniformity: Uniformity) -> None:
    """Raises a DiagnosticError for a collective under a condition that is suspect."""
    for op, conditions in uniformity.conditions.items():
        for condition in conditions:
            if condition.known.suspect:
                _refuse_divergent(uniformity, op, condition)


def _refuse_divergent(uniformity: Uniformity, op: Operation, condition: Condition) -> None:
    for group in uniformity.groups(op):
        if not uniformity.agrees(condition.known, [group]):
            other = next(d for d in group if condition.known.labels[d] != condition.known.labels[group[0]])
            name, holder = op.name.replace("core.", "stablehlo."), _WORDS.get(condition.op.name, condition.op.name)
            raise error_at(
                op,
                f"{name} stands under a condition that may differ between devices {group[0]} and {other}, which would wait for each other here",
                f"it is that of the {holder} at {describe(condition.op.location)}",
            )


_WORDS = {"core.for": "loop", "core.while": "loop", "core.case": "branch"}


def unsure(function: FuncOp, grid: Grid) -> set[Operation]:
    """The collectives under a condition that is not known to be the same on all devices that meet in them."""
    uniformity = analysed(function, grid)
    return {op for op, conditions in uniformity.conditions.items() if not all(uniformity.agrees(c.known, uniformity.groups(op)) for c in conditions)}
