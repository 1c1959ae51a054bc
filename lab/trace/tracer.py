"""Sees a run of the interpreter, and keeps a summary of every value: of its first execution, its last, and the one that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from wengert.lab.trace.loops import Iteration, Iterations
from wengert.lab.trace.origins import Origins
from wengert.lab.trace.summary import Summary, is_finite, summary_of
from wengert.runtime.interpreter.watcher import Watcher


@dataclass
class Execution:
    """A value at one time: in which iterations of the loops around it, and its summary."""

    iteration: Iteration
    value: Any = field(repr=False)
    _summary: Summary | None = None

    @property
    def summary(self) -> Summary:
        """The summary of the value."""
        if self._summary is None:
            self._summary = summary_of(self.value)
        return self._summary

    def forget(self) -> None:
        """Keeps the summary and lets the array go."""
        if self._summary is None:
            self._summary = summary_of(self.value)
        self.value = None


@dataclass
class Record:
    """All that is known of one value.

    Attributes:
        value: the value.
        times: how often it was made.
        bad: how often it held NaN or infinity.
        first, last: its first and last execution.
        chosen: those of the iteration that was asked for.
        arrays: all it has been, where that is kept.
    """

    value: SSAValue
    times: int = 0
    bad: int = 0
    first: Execution | None = None
    last: Execution | None = None
    chosen: list[Execution] = field(default_factory=list[Execution])
    arrays: list[Any] = field(default_factory=list[Any])


class Tracer(Watcher):
    """Watches a run.

    Args:
        origins: what follows values that are not finite.
        wanted: the values to record; None for all.
        iteration: the iteration to record besides the first and the last one.
        keep: whether all arrays are kept.
    """

    def __init__(self, origins: Origins, wanted: Collection[SSAValue] | None = None, iteration: Callable[[Iteration], bool] | None = None, keep: bool = False):
        super().__init__()
        self.records: dict[SSAValue, Record] = {}
        self.origins = origins
        self.iterations = Iterations()
        self._wanted = None if wanted is None else frozenset(wanted)
        self._is_chosen = iteration
        self._keep = keep

    def entered(self, block: Block, arguments: Sequence[Any] = ()) -> None:
        """Records the arguments of a block."""
        self.iterations.entered(block)
        iteration = self.iterations.of(block)
        self.origins.entered(block, arguments, iteration)
        for argument, value in zip(block.args, arguments, strict=True):
            self._record(argument, value, iteration)

    def executed(self, op: Operation, results: Sequence[Any] = (), operands: Sequence[Any] = ()) -> None:
        """Records the results of an op."""
        iteration = self.iterations.of(op.parent)
        if op.regions:
            self.iterations.left(op)
        self.origins.executed(op, results, operands, iteration)
        for result, value in zip(op.results, results, strict=True):
            self._record(result, value, iteration)

    def _record(self, key: SSAValue, value: Any, iteration: Iteration) -> None:
        if self._wanted is not None and key not in self._wanted:
            return
        record = self.records.get(key)
        if record is None:
            record = self.records[key] = Record(key)
        record.times += 1
        record.bad += not is_finite(value)
        execution = Execution(iteration, value)
        if record.first is None:
            record.first = execution
        if not iteration or record.first is execution:
            execution.forget()
        record.last = execution
        if self._is_chosen is not None and self._is_chosen(iteration):
            execution.forget()
            record.chosen.append(execution)
        if self._keep:
            record.arrays.append(value)
