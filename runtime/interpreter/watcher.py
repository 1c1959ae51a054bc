"""Watching a run: what goes into each block, and what each op makes of its operands.

A watcher takes the place of the counter (:class:`wengert.runtime.interpreter.counter.Counter`) of a run, and counts nothing. While it watches, no op writes to
its operands, so that what it is given may be kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from xdsl.ir import Block, Operation

from wengert.runtime.interpreter.counter import Counter


class Watcher(Counter):
    """Sees a run; to be derived from. Regions of reductions, sorts and the like are parts of their ops and are not seen."""

    allows_updates: ClassVar[bool] = False

    def entered(self, block: Block, arguments: Sequence[Any] = ()) -> None:
        """Called when a block begins, with the values of its arguments."""

    def executed(self, op: Operation, results: Sequence[Any] = (), operands: Sequence[Any] = ()) -> None:
        """Called after an op, with the values of its results and operands: arrays, NumPy scalars, tuples or tapes."""

    def hold(self, array: Any) -> None:
        """Nothing is counted."""

    def rewritten(self, array: Any) -> None:
        """Nothing is counted."""

    def drop(self, array: Any) -> None:
        """Nothing is counted."""

    def hold_all(self, arrays: Iterable[Any]) -> None:
        """Nothing is counted."""

    def drop_all(self, arrays: Iterable[Any]) -> None:
        """Nothing is counted."""
