"""Evaluates the positions that the threads of a kernel compute, for all threads of some of its groups at once, without running the kernel.

A value is an integer that all threads share, a NumPy array that broadcasts to ``[groups, threads]``, or None where it depends on data. ``times`` is how often
each thread comes to a place: 0 where a branch is not taken. Of a loop three iterations are evaluated, the first, the last and one between them, which stands
for all others; deeper inside of loops, one. What only some groups have (the edges of a matrix) is counted as often as among the groups that are evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import Any, cast

import numpy as np
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import gpu
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import is_boolean
from wengert.ir.traversal import ops_in

Array = np.ndarray[Any, np.dtype[Any]]
Lanes = int | Array | None
"""A value in all threads that are evaluated; None where it depends on data."""
MOST_LANES = 1 << 18
"""At most so many threads are evaluated, of whole groups."""
_GOLDEN = 0.6180339887498949
_BINARY: dict[type[Operation], Callable[[Any, Any], Any]] = {
    arith.AddiOp: np.add,
    arith.SubiOp: np.subtract,
    arith.MuliOp: np.multiply,
    arith.DivUIOp: np.floor_divide,
    arith.DivSIOp: np.floor_divide,
    arith.RemUIOp: np.remainder,
    arith.RemSIOp: np.remainder,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: np.left_shift,
    arith.ShRUIOp: np.right_shift,
    arith.MinUIOp: np.minimum,
    arith.MinSIOp: np.minimum,
    arith.MaxUIOp: np.maximum,
    arith.MaxSIOp: np.maximum,
}
_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)


class Sample:
    """Some groups of a launch, and how many each stands for.

    Attributes:
        groups: the numbers of the groups, ``i64[groups, 1]``.
        threads: the numbers of the threads of a group, ``i64[1, threads]``.
        weights: how many groups each stands for, ``f64[groups, 1]``.
    """

    def __init__(self, groups: int, threads: int):
        most = max(3, MOST_LANES // threads)
        if groups <= most:
            numbers, weights = np.arange(groups), np.ones(groups)
        else:
            # The ends are known to differ from what lies between them, of which neighbours in this order are far apart.
            inner = np.unique((np.arange(1, most - 1) * _GOLDEN % 1 * (groups - 2)).astype(np.int64) + 1)
            numbers = np.concatenate([[0], inner, [groups - 1]])
            weights = np.concatenate([[1.0], np.full(len(inner), (groups - 2) / len(inner)), [1.0]])
        self.groups, self.weights = numbers.astype(np.int64)[:, None], weights[:, None]
        self.threads = np.arange(threads)[None, :]
        self.count, self.size = groups, threads

    def total(self, times: Array | float) -> float:
        """How often all threads of the launch together come to a place."""
        if isinstance(times, float):
            return times * self.count * self.size
        return float(np.broadcast_to(times * self.weights, (len(self.groups), self.size)).sum())


class Walk:
    """Goes through a kernel and says what each block does.

    Args:
        sample: the threads that are evaluated.
        visit: is told of every block: its ops but for those of loops and branches inside, how often each thread comes there, and what values are.
    """

    def __init__(self, sample: Sample, visit: Callable[[Sequence[Operation], Array | float, Walk], None]):
        self.sample, self.visit = sample, visit
        self.values: dict[SSAValue, Lanes] = {}
        self.uncounted = False

    def kernel(self, kernel: gpu.FuncOp) -> None:
        """All of a kernel."""
        self.block(kernel.body.block, 1.0, 0)

    def get(self, value: SSAValue) -> Lanes:
        """What is known of a value."""
        return self.values.get(value)

    def block(self, block: Block, times: Array | float, depth: int) -> None:
        """A block that threads come to so many times."""
        ops = ops_in(block)
        for op in ops:
            if isinstance(op, scf.ForOp):
                self._for(op, times, depth)
            elif isinstance(op, scf.IfOp):
                self._if(op, times, depth)
            elif op.regions:
                self.uncounted |= isinstance(op, scf.WhileOp)
                for region in op.regions:
                    self.block(region.block, times, depth)
            else:
                self._evaluate(op)
        self.visit([op for op in ops if not op.regions], times, self)

    def _evaluate(self, op: Operation) -> None:
        if len(op.results) != 1:
            return
        (result,) = op.results
        if isinstance(op, arith.ConstantOp) and isinstance(result.type, IndexType):
            self.values[result] = int_of(op.value)
        elif isinstance(op, gpu.BlockIdOp | gpu.ThreadIdOp | gpu.BlockDimOp | gpu.GridDimOp):
            self.values[result] = self._id(op)
        elif isinstance(op, gpu.LaneIdOp):
            self.values[result] = self.sample.threads % 32
        elif isinstance(result.type, IndexType) or is_boolean(result.type):
            operands = [self.get(value) for value in op.operands]
            self.values[result] = _computed(op, operands) if all(known is not None for known in operands) else None

    def _id(self, op: Operation) -> Lanes:
        if str(op.properties["dimension"]) != str(gpu.DimensionAttr(gpu.Dimension.X)):
            return 1 if isinstance(op, gpu.BlockDimOp | gpu.GridDimOp) else 0
        sample = self.sample
        known: dict[type[Operation], Lanes] = {
            gpu.BlockIdOp: sample.groups,
            gpu.ThreadIdOp: sample.threads,
            gpu.BlockDimOp: sample.size,
            gpu.GridDimOp: sample.count,
        }
        return known[type(op)]

    # -- control

    def _if(self, op: scf.IfOp, times: Array | float, depth: int) -> None:
        """Both branches; of a condition that depends on data, as if it held."""
        condition = self.get(op.cond)
        holds = np.asarray(1.0 if condition is None else condition, np.float64)
        for region, part in ((op.true_region, holds), (op.false_region, 1 - holds)):
            if region.blocks:
                inside = times * part
                if inside.any():
                    self.block(region.block, inside, depth)
        for number, result in enumerate(op.results):
            if isinstance(result.type, IndexType) or is_boolean(result.type):
                ends = [self.get(region.block.last_op.operands[number]) for region in op.regions]  # pyright: ignore[reportOptionalMemberAccess]
                known = condition is not None and all(end is not None for end in ends)
                self.values[result] = np.where(holds > 0, ends[0], ends[1]) if known else None  # pyright: ignore[reportArgumentType, reportCallIssue]

    def _for(self, op: scf.ForOp, times: Array | float, depth: int) -> None:
        bounds = [self.get(value) for value in (op.lb, op.ub, op.step)]
        if any(bound is None for bound in bounds):
            self.uncounted = True
            self.block(op.body.block, times, depth + 1)
            return
        start, stop, step = [np.asarray(bound) for bound in bounds]
        counts = np.maximum(-(-(stop - start) // step), 0)
        for number, weight in _iterations(counts, depth):
            inside = times * weight
            if np.any(inside):
                self.values[op.body.block.args[0]] = start + number * step
                self.block(op.body.block, inside, depth + 1)


def _iterations(counts: Array, depth: int) -> list[tuple[Array, Array]]:
    """The iterations that are evaluated, and how many each stands for."""
    if depth >= 2:
        return [(np.maximum(counts // 2, 0), counts.astype(np.float64))]
    middle = (np.maximum(counts // 2, 0), np.maximum(counts - 2, 0).astype(np.float64))
    first = (np.zeros_like(counts), (counts > 0).astype(np.float64))
    return [first, middle, (np.maximum(counts - 1, 0), (counts > 1).astype(np.float64))]


def _computed(op: Operation, operands: Sequence[Any]) -> Lanes:
    kind = type(op)
    if kind in _BINARY:
        return _BINARY[kind](*operands)
    if isinstance(op, arith.CmpiOp):
        predicate = int_of(op.predicate)
        if predicate >= 6:  # unsigned: what is negative is large
            operands = [np.asarray(x).astype(np.int64).view(np.uint64) for x in operands]
            predicate -= 4
        return _COMPARISONS[predicate](*operands)
    if isinstance(op, arith.SelectOp):
        condition, x, y = operands
        return cast("Array", np.where(condition, x, y))
    if isinstance(op, arith.IndexCastOp):
        return operands[0]
    return None


def warps(sample: Sample, values: Array, active: Array, warp: int = 32, most: int = 6) -> tuple[Array, Array]:
    """Values of threads and whether they take part, by warps of some of the groups: ``[warps, warp]`` each, filled up with threads that do not."""
    shape = (len(sample.groups), sample.size)
    rows = np.unique(np.linspace(0, shape[0] - 1, min(most, shape[0])).astype(np.int64))
    padding = ceil(sample.size / warp) * warp - sample.size
    spread = [np.broadcast_to(x, shape)[rows] for x in (values, active)]
    return tuple(np.pad(x, ((0, 0), (0, padding))).reshape(-1, warp) for x in spread)  # pyright: ignore[reportReturnType]
