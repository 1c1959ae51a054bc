"""Makes a program with inputs smaller, as long as it is interesting: delta debugging.

Cuts, tried in turn until none helps: returning fewer results, or what a result is made of; turning ops, many at once first, into arguments that hold what
the ops compute; putting an operand in the place of an op; a branch, or one iteration, in place of branches and loops; taking ops of regions away; smaller
extents; fewer attributes; simpler inputs. Every candidate is parsed and verified before anybody is asked whether it is interesting.

A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28(2), 2002; G. Misherghi, Z. Su, "HDD: Hierarchical Delta
Debugging", ICSE 2006 (from the outside in: results, ops of the entry block, ops of regions).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from wengert.ir.printing.printer import print_module
from wengert.lab.isolation import time_limit
from wengert.lab.reduce.candidate import Array, Candidate
from wengert.lab.reduce.changes import (
    SIMPLE,
    WAYS,
    Change,
    bypassed,
    constants_as_arguments,
    inlined,
    inner_operations,
    made_arguments,
    main_of,
    one_branch,
    one_iteration,
    operations,
    returned,
    returning,
    simpler,
    tidied,
    without_attributes,
)
from wengert.runtime.loading import parse

Interesting = Callable[[Candidate], bool]

TRIAL_SECONDS, SLOWER, LEAST_SECONDS = 10.0, 3.0, 0.5
"""How long one smaller program may take at most, and how many times as long as the whole program. A cut can make a loop without end of one that ends."""
MOST_RETURNED, MOST_STEPS_BACK, BRANCHES = 40, 200, 3
"""The most results that are taken away in one round, steps from a result to what it is made of, and branches of an op that are tried."""


class Reducer:
    """The smallest program so far.

    Attributes:
        best: the smallest interesting candidate.
        trials: how many candidates were tried.
    """

    def __init__(self, candidate: Candidate, interesting: Interesting, seconds: float = 60.0, progress: Callable[[str], None] = lambda line: None):
        self.best, self.interesting, self.progress = candidate, interesting, progress
        self.ends = time.monotonic() + seconds
        self.trials = 0
        self._tried: set[tuple[str, bytes]] = set()
        self._limit = TRIAL_SECONDS

    def reduce(self) -> Candidate:
        """The candidate after all cuts, or after as many as there was time for."""
        started = time.monotonic()
        self._accept(print_module(parse(self.best.text).module), self.best.inputs)
        self._limit = min(TRIAL_SECONDS, SLOWER * (time.monotonic() - started) + LEAST_SECONDS)
        self._change(inlined)
        self._change(without_attributes)
        while True:
            before = self.best
            for cuts in (self._results, self._operations, self._control, self._inner_operations, self._extents, self._inputs):
                cuts()
            if self.best is before or self._is_over():
                return self.best

    def _is_over(self) -> bool:
        return time.monotonic() > self.ends

    def _accept(self, text: str, inputs: Sequence[Array]) -> bool:
        """Whether this program is interesting too, and so is the best one now."""
        candidate = Candidate(text, tuple(inputs))
        if self._is_over() or candidate.key in self._tried:
            return False
        self._tried.add(candidate.key)
        self.trials += 1
        try:
            with time_limit(self._limit):
                interesting = self.interesting(candidate)
        except Exception:  # a cut that makes no program at all, or one that does not end
            return False
        if interesting:
            self.best = candidate
            self.progress(f"reducing: {len(list(self._main().walk())) - 2} ops after {self.trials} trials")
        return interesting

    def _change(self, change: Change) -> bool:
        """Tries the program after a change to its module, which is run by some changes."""
        try:
            with time_limit(self._limit):
                changed = self._changed(change)
        except Exception:
            return False
        return changed is not None and self._accept(*changed)

    def _changed(self, change: Change) -> tuple[str, list[Array]] | None:
        module = parse(self.best.text).module.clone()
        inputs = change(module, main_of(module), list(self.best.inputs))
        if inputs is None:
            return None
        inputs = tidied(module, inputs)
        # the short form where it is interesting too; some faults are of one form alone
        text = print_module(module, generic=self.best.text.startswith('"'))
        parse(text)
        return text, inputs

    def _main(self) -> FuncOp:
        return main_of(parse(self.best.text).module)

    # -- cuts

    def _results(self) -> None:
        """One result alone; or what it is made of in its place."""
        for _ in range(MOST_RETURNED):
            count = len(returned(self._main()))
            if not (count > 1 and any(self._change(lambda m, f, x, k=k: returning(f, [returned(f)[k]], x)) for k in range(count))):
                break
        for _ in range(MOST_STEPS_BACK):
            values = returned(self._main())
            owner = values[0].owner if values else None
            if not isinstance(owner, Operation) or not any(self._change(_returning_operand(k)) for k in range(len(owner.operands))):
                break

    def _operations(self) -> None:
        """Ops become arguments that hold what they compute: many at once, then fewer, then each."""
        size = max(1, len(operations(self._main())) // 2)
        while size >= 1:
            at = 0
            while at < len(operations(self._main())) and not self._is_over():
                if not self._change(lambda m, f, x, at=at, size=size: made_arguments(m, f, range(at, at + size), x)):
                    at += size
            size //= 2
        at = 0
        while at < len(operations(self._main())) and not self._is_over():
            if not any(self._change(lambda m, f, x, at=at, way=way: bypassed(operations(f)[at], x, way)) for way in WAYS):
                at += 1

    def _inner_operations(self) -> None:
        """Ops in regions give way to a value of their type, or to a constant."""
        at = 0
        while not self._is_over() and at < len(inner_operations(self._main())):
            if not any(self._change(lambda m, f, x, at=at, way=way: bypassed(inner_operations(f)[at], x, way)) for way in WAYS):
                at += 1

    def _control(self) -> None:
        """A branch in place of all of them, and one iteration in place of a loop."""
        for at in range(len(operations(self._main()))):
            for k in range(BRANCHES):
                if self._change(lambda m, f, x, at=at, k=k: one_branch(operations(f)[at], k, x)):
                    break
            self._change(lambda m, f, x, at=at: one_iteration(operations(f)[at], x))

    def _extents(self) -> None:
        """Smaller extents wherever a number occurs in types and attributes."""
        self._change(constants_as_arguments)
        extents = sorted({int(n) for t in re.findall(r"tensor<((?:\d+x)+)", self.best.text) for n in t.split("x") if n}, reverse=True)
        for n in extents:
            for smaller in sorted({1, 2, 3, n // 2, n - 1}):
                if 0 < smaller < n and self._accept_smaller(n, smaller):
                    break

    def _accept_smaller(self, n: int, smaller: int) -> bool:
        module = parse(self.best.text).module
        text, inputs = print_module(module, generic=True), list(self.best.inputs)
        text = re.sub(r"(?<=[<x])" + str(n) + r"(?=x)", str(smaller), text)
        text = re.sub(r"(?<=[ \[])" + str(n) + r"(?=[,>\]])", str(smaller), text)
        cut = [np.ascontiguousarray(x[tuple(slice(0, smaller if e == n else e) for e in x.shape)]) for x in map(np.asarray, inputs)]
        try:
            text = print_module(parse(text).module, generic=self.best.text.startswith('"'))
        except Exception:
            return False
        return self._accept(text, cut)

    def _inputs(self) -> None:
        """Zeros, ones, small numbers, fewer digits, for all inputs at once and for each; then as few elements that are not zero as will do."""
        for form in SIMPLE:
            simple = [form(np.asarray(x)) for x in self.best.inputs]
            if all(map(np.array_equal, simple, self.best.inputs)) or self._accept(self.best.text, simple):
                return
        for i in range(len(self.best.inputs)):
            if not any(self._accept_input(i, x) for x in self._simpler(i)) and not self._is_simple(i):
                self._fewer_nonzeros(i)

    def _simpler(self, i: int) -> Iterator[Array]:
        for x in simpler(np.asarray(self.best.inputs[i])):
            if np.array_equal(x, self.best.inputs[i]):
                return
            yield x

    def _is_simple(self, i: int) -> bool:
        return any(np.array_equal(form(np.asarray(self.best.inputs[i])), self.best.inputs[i]) for form in SIMPLE)

    def _accept_input(self, i: int, x: Array) -> bool:
        return self._accept(self.best.text, [x if k == i else y for k, y in enumerate(self.best.inputs)])

    def _fewer_nonzeros(self, i: int) -> None:
        """Zeros for halves, quarters and so on of the elements."""
        size = np.asarray(self.best.inputs[i]).size // 2
        while size >= 1 and not self._is_over():
            for at in range(0, np.asarray(self.best.inputs[i]).size, size):
                x: Any = np.array(self.best.inputs[i])
                if x.reshape(-1)[at : at + size].any():
                    x.reshape(-1)[at : at + size] = 0
                    self._accept_input(i, x)
            size //= 2


def _returning_operand(k: int) -> Change:
    def change(module: ModuleOp, main: FuncOp, inputs: list[Array]) -> list[Array] | None:
        owner = returned(main)[0].owner
        return returning(main, [owner.operands[k]], inputs) if isinstance(owner, Operation) else None

    return change
