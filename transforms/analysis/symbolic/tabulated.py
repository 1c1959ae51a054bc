"""Iterations of loops in all, where they stand in tables: integers are followed through all executions of a block at once.

In a binomial schedule a loop runs ``counts[firsts[n] + k]`` times, for entries of constant tables at the iterations of the loops around it. No polynomial says
what that adds up to, but the tables do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects import core, stablehlo
from wengert.ir.elements import to_numpy
from wengert.ir.tensor_types import element, is_integer, rank, shape, size

Integers = np.ndarray[Any, np.dtype[np.int64]]
"""The value of an integer in each execution of its block, in order."""
LARGEST = 1 << 20
"""Executions of a block up to which they are followed."""

_ARITHMETIC: dict[type[Operation], Callable[..., Integers]] = {
    stablehlo.AddOp: np.add,
    stablehlo.SubtractOp: np.subtract,
    stablehlo.MultiplyOp: np.multiply,
    stablehlo.MaximumOp: np.maximum,
    stablehlo.MinimumOp: np.minimum,
}


class Tabulated:
    """Follows the integers of one function, of which counted loops are executed once for each entry."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Integers | None] = {}
        self._counts: dict[Operation, Integers | None] = {}

    def total(self, loop: Operation) -> int | None:
        """The iterations of a counted loop in one call of its function, over all of its executions; None where tables do not say it."""
        counts = self._iterations(loop)
        return None if counts is None else int(counts.sum())

    def _iterations(self, loop: Operation) -> Integers | None:
        """The iterations of each execution of a loop."""
        if loop not in self._counts:
            counts = self._of(loop.trip_count) if isinstance(loop, core.ForOp) else None
            self._counts[loop] = None if counts is None or counts.clip(0).sum() > LARGEST else counts.clip(0)
        return self._counts[loop]

    def _executions(self, block: Block) -> int | None:
        """How often a block runs in one call of its function."""
        loop = block.parent_op()
        if not isinstance(loop, core.ForOp):
            return None if loop is None or loop.name != "func.func" else 1
        counts = self._iterations(loop)
        return None if counts is None else int(counts.sum())

    def _of(self, value: SSAValue) -> Integers | None:
        if value not in self._known:
            self._known[value] = None
            whole = is_integer(element(value)) and size(value) == 1
            self._known[value] = (self._of_argument(value, value.owner) if isinstance(value.owner, Block) else self._computed(value)) if whole else None
        return self._known[value]

    def _of_argument(self, value: SSAValue, block: Block) -> Integers | None:
        loop = block.parent_op()
        counts = self._iterations(loop) if isinstance(loop, core.ForOp) else None
        if counts is None or not isinstance(loop, core.ForOp):
            return None
        position = block.args.index(cast(Any, value))
        if position == 0:
            starts = np.repeat(np.cumsum(counts) - counts, counts)
            return np.arange(int(counts.sum())) - starts
        if position > len(loop.constant_operands):
            return None
        given = self._of(loop.constant_operands[position - 1])
        return None if given is None else np.repeat(given, counts)

    def _computed(self, value: SSAValue) -> Integers | None:
        op = cast(Operation, value.owner)
        if isinstance(op, stablehlo.ConstantOp):
            block = cast(Block, op.parent)
            count = self._executions(block)
            return None if count is None else np.full(count, int(to_numpy(op.value).reshape(-1)[0]))
        if isinstance(op, stablehlo.ReshapeOp | stablehlo.ConvertOp):
            return self._of(op.operands[0])
        if isinstance(op, stablehlo.DynamicSliceOp):
            return self._entry(op)
        operands = [self._of(operand) for operand in op.operands] if type(op) in _ARITHMETIC else [None]
        return None if any(operand is None for operand in operands) else _ARITHMETIC[type(op)](*operands)

    def _entry(self, op: stablehlo.DynamicSliceOp) -> Integers | None:
        table, index = op.operand.owner, self._of(op.start_indices[0]) if rank(op.operand) == 1 else None
        if not isinstance(table, stablehlo.ConstantOp) or index is None:
            return None
        return to_numpy(table.value).astype(np.int64)[index.clip(0, shape(op.operand)[0] - 1)]
