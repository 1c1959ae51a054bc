"""Runs two programs on the same inputs and compares the values of matched ops, in the order of the second program.

The first run is kept, value by value, as far as there is room; the second one is compared with it as it goes. Executions of one op in a loop are compared
one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from xdsl.ir import Operation

from wengert.ir.location.places import describe
from wengert.lab.diff.first_difference import FirstDifference, ValuePair
from wengert.lab.diff.graph import Node
from wengert.lab.diff.matching import Matching
from wengert.lab.inspection.subject import Subject
from wengert.lab.trace.summary import Array, as_array
from wengert.runtime.arguments import bind
from wengert.runtime.errors import InputError
from wengert.runtime.interpreter import run
from wengert.runtime.interpreter.watcher import Watcher

ROOM = 1 << 30
"""The bytes of values of the first program that are kept."""


def first_difference(a: Subject, b: Subject, matching: Matching, inputs: Sequence[Any], rtol: float | None, atol: float) -> FirstDifference:
    """The first pair of values that differ, of two programs on the same inputs (which are those of the first one).

    Raises InputError where the second one takes others.
    """
    arrays = list(bind(a.program.signature, tuple(inputs)))
    types = [[p.type for p in subject.program.signature.arguments] for subject in (a, b)]
    if types[0] != types[1]:
        raise InputError(f"{a.title} and {b.title} take other arguments, so they cannot be run on the same inputs")
    of = {other.op: (one, other) for one, other in _pairs(matching)}
    recorder = _Recorder({one.op for one, _ in of.values()})
    expected = run(a.printed, arrays, entry=a.program.entry, counter=recorder)
    comparer = _Comparer(of, recorder, _Tolerance(rtol, atol))
    made = run(b.printed, arrays, entry=b.program.entry, counter=comparer)
    results = [line for line in map(comparer.tolerance.result, [p.label for p in b.program.signature.results], expected, made) if line]
    if [r.shape for r in expected] != [r.shape for r in made] or len(expected) != len(made):
        results.append("the results have other shapes")
    return FirstDifference(comparer.compared, comparer.first, comparer.differing, tuple(results), tuple(recorder.skipped()))


def _pairs(matching: Matching) -> list[tuple[Node, Node]]:
    """The pairs of ops in their order, each once."""
    return [(one, other) for one, other in matching.pairs() if isinstance(one.op, Operation) and isinstance(other.op, Operation)]


class _Tolerance:
    """Whether values are equal, up to rounding relative to the largest one of their array."""

    def __init__(self, rtol: float | None, atol: float):
        self.rtol, self.atol = rtol, atol

    def allowed(self, a: Array) -> float:
        """The difference that is tolerated of the elements of an array."""
        if a.dtype.kind in "biu":
            return self.atol
        rtol = self.rtol if self.rtol is not None else 1e-9 if a.dtype.itemsize // (2 if a.dtype.kind == "c" else 1) >= 8 else 1e-4
        wide = _wide(a)
        return self.atol + rtol * float(np.max(np.abs(wide), initial=0.0, where=np.isfinite(wide)))

    def differing(self, a: Array, b: Array) -> Array:
        """Which elements differ."""
        one, other = _wide(a), _wide(b)
        with np.errstate(all="ignore"):
            close = np.abs(one - other) <= self.allowed(a)
        return ~(close | (one == other) | (np.isnan(one) & np.isnan(other)))

    def result(self, label: str, a: Array, b: Array) -> str:
        """A line about a result, if it differs."""
        if a.shape != b.shape or not (wrong := self.differing(a, b)).any():
            return ""
        return f"{label} differs in {int(wrong.sum())} of {a.size} elements"


def _wide(array: Array) -> Array:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


class _Recorder(Watcher):
    """Keeps what ops of the first program make, execution by execution."""

    def __init__(self, wanted: set[Operation]):
        super().__init__()
        self.wanted = wanted
        self.values: dict[Operation, list[tuple[Array, ...] | None]] = defaultdict(list)
        self._room = ROOM
        self._left_out = 0

    def executed(self, op: Operation, results: Sequence[Any] = (), operands: Sequence[Any] = ()) -> None:
        """Keeps the results, if there is room."""
        if op not in self.wanted:
            return
        arrays = tuple([array for result in results if (array := as_array(result)) is not None])
        self._room -= sum(a.nbytes for a in arrays)
        self._left_out += self._room < 0
        self.values[op].append(arrays if self._room >= 0 else None)

    def skipped(self) -> list[str]:
        """What was left out."""
        return [f"{self._left_out} executions of ops were not compared: the first {ROOM >> 30} GiB of values are"] if self._left_out else []


class _Comparer(Watcher):
    """Compares what ops of the second program make with what their counterparts made."""

    def __init__(self, of: dict[Operation, tuple[Node, Node]], recorder: _Recorder, tolerance: _Tolerance):
        super().__init__()
        self.of = of
        self.recorder = recorder
        self.tolerance = tolerance
        self.compared = self.differing = 0
        self.first: ValuePair | None = None
        self._executions: dict[Operation, int] = defaultdict(int)

    def executed(self, op: Operation, results: Sequence[Any] = (), operands: Sequence[Any] = ()) -> None:
        """Compares the results."""
        if op not in self.of:
            return
        one, other = self.of[op]
        execution = self._executions[op]
        self._executions[op] += 1
        kept = self.recorder.values.get(one.op, [])
        if execution >= len(kept):
            self._differ(
                one, other, execution, ValuePair("", "", "", problem=f"it is executed more often than in the first program, where it is {len(kept)} times")
            )
            return
        before = kept[execution]
        arrays = [array for result in results if (array := as_array(result)) is not None]
        if before is None or len(before) != len(arrays):
            return
        self.compared += 1
        for a, b in zip(before, arrays, strict=True):
            apart = self._pair(a, b)
            if apart is not None:
                self._differ(one, other, execution, apart)
                return

    def _differ(self, one: Node, other: Node, execution: int, pair: ValuePair) -> None:
        self.differing += 1
        if self.first is None:
            self.first = replace(pair, a=one.text, b=other.text, place=describe(other.op.location), execution=execution)

    def _pair(self, a: Array, b: Array) -> ValuePair | None:
        if a.shape != b.shape or a.dtype != b.dtype:
            return ValuePair("", "", "", problem=f"it is {b.dtype} of shape {b.shape}, and was {a.dtype} of shape {a.shape}")
        wrong = self.tolerance.differing(a, b)
        if not wrong.any():
            return None
        with np.errstate(all="ignore"):
            distance = np.where(wrong, np.nan_to_num(np.abs(_wide(a) - _wide(b)), nan=np.inf), -1.0)
        at = tuple(int(i) for i in np.unravel_index(int(np.argmax(distance)), a.shape))
        count = int(wrong.sum())
        return ValuePair("", "", "", 0, float(distance[at]), self.tolerance.allowed(a), at, str(a[at]), str(b[at]), count, a.size)
