"""Follows which iteration of which loops a run is in."""

from __future__ import annotations

from xdsl.ir import Block, Operation

from wengert.transforms.analysis.liveness import LOOPS

Iteration = tuple[int, ...]
"""The numbers of the iterations of the loops around an op, the outermost first."""


class Iterations:
    """Counts the iterations of loops while a program runs."""

    def __init__(self) -> None:
        self._number: dict[Block, int] = {}
        self._around: dict[Block, tuple[Block, ...]] = {}

    def entered(self, block: Block) -> None:
        """Notes that a block begins."""
        if isinstance(block.parent_op(), LOOPS):
            self._number[block] = self._number.get(block, -1) + 1

    def left(self, op: Operation) -> None:
        """Notes that an op has ended, and with it the loop that it may be."""
        if isinstance(op, LOOPS):
            for region in op.regions:
                self._number.pop(region.block, None)

    def of(self, block: Block | None) -> Iteration:
        """The iterations of the loops around what stands in a block, now."""
        if block is None:
            return ()
        around = self._around.get(block)
        if around is None:
            around = self._around[block] = _loops_around(block)
        return tuple([self._number.get(body, 0) for body in around])


def _loops_around(block: Block) -> tuple[Block, ...]:
    """The bodies and conditions of the loops around a block, the outermost first."""
    around: list[Block] = []
    current: Block | None = block
    while current is not None:
        parent = current.parent_op()
        if isinstance(parent, LOOPS):
            around.append(current)
        current = parent.parent if parent is not None else None
    return tuple(reversed(around))
