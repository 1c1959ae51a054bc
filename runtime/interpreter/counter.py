"""Counting what a run really does: ops, flops, bytes moved, and the peak of live bytes.

Every executed op counts with the costs that ``transforms/analysis/opcost`` states for it, loops as often as they go round. A value lives from the
op that makes it to its last use in its block (a use by an op's region is a use by the op); inputs live throughout. Constants are part of the
program: they are not executed and take no live bytes. Live bytes are those of the distinct arrays that some live value holds, each at its full
size, although NumPy often stores a slice or a broadcast as a view of another array, and an update in place needs only one. A tape is as large as
all it holds.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from xdsl.ir import Block, Operation

from wengert.transforms.analysis.opcost import Cost, cost, is_constant


@dataclass
class Counter:
    """Counts what has been executed so far; give one to several runs and they add up."""

    ops: collections.Counter[str] = field(default_factory=collections.Counter[str])
    flops: int = 0
    transcendentals: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    live_bytes: int = 0
    peak_bytes: int = 0
    blocks: collections.Counter[Block] = field(default_factory=collections.Counter[Block], repr=False)
    """How often each block was entered."""
    _costs: dict[Operation, Cost] = field(default_factory=dict[Operation, Cost], repr=False)
    _holders: collections.Counter[int] = field(default_factory=collections.Counter[int], repr=False)
    _sizes: dict[int, int] = field(default_factory=dict[int, int], repr=False)
    _constants: dict[int, Any] = field(default_factory=dict[int, Any], repr=False)

    allows_updates: ClassVar[bool] = True
    """Whether ops may write to operands that nothing else refers to."""

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    def entered(self, block: Block, arguments: Sequence[Any] = ()) -> None:
        """Counts that a block begins, with these arguments."""
        self.blocks[block] += 1

    def executed(self, op: Operation, results: Sequence[Any] = (), operands: Sequence[Any] = ()) -> None:
        """Counts one execution of the op, which gave these results of these operands; the arrays of constants are not held from here on."""
        if is_constant(op):
            self._constants.update((id(array), array) for array in results)
            return
        op_cost = self._costs.get(op)
        if op_cost is None:
            op_cost = self._costs[op] = cost(op)
        self.ops[op.name] += 1
        self.flops += op_cost.flops
        self.transcendentals += op_cost.transcendentals
        self.bytes_read += op_cost.bytes_read
        self.bytes_written += op_cost.bytes_written

    def hold(self, array: Any) -> None:
        """One more live value holds this array."""
        key, size = id(array), getattr(array, "nbytes", 0)
        if key in self._constants:
            return
        self._holders[key] += 1
        if size != self._sizes.get(key, 0):  # new, or a tape that has grown since
            self.live_bytes += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            self.peak_bytes = max(self.peak_bytes, self.live_bytes)

    def rewritten(self, array: Any) -> None:
        """A live value's array became that of another value, as which it counts while both are live."""
        self.peak_bytes = max(self.peak_bytes, self.live_bytes + getattr(array, "nbytes", 0))

    def drop(self, array: Any) -> None:
        """One live value less holds this array."""
        key = id(array)
        if key in self._constants:
            return
        self._holders[key] -= 1
        if self._holders[key] == 0:
            del self._holders[key]
            self.live_bytes -= self._sizes.pop(key, 0)

    def hold_all(self, arrays: Iterable[Any]) -> None:
        """Holds each of the arrays."""
        for array in arrays:
            self.hold(array)

    def drop_all(self, arrays: Iterable[Any]) -> None:
        """Drops each of the arrays."""
        for array in arrays:
            self.drop(array)
