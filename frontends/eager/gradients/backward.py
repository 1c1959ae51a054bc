"""Running a tape backwards.

There are two ways, with the same results. A tape that is seen for the first time is walked: from the last record to the first, each
record's own derivative, which was made by the ``vjp`` pass when an operation of its kind ran first, takes the cotangents of its
results to those of its operands. A tape whose structure was seen before is looked up (:mod:`wengert.eager.graph`): all of
it is one program then, derived by the same pass and compiled. Where Python has to run in between (hooks, custom functions) or
memory is to be given back (checkpoints), the tape is cut into pieces, each of which is a program or walked. Where the backward pass
is recorded, a program is one operation. On a tape that listens everything is walked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from wengert.eager.gradients import anomaly
from wengert.eager.gradients.hooks import leaves_are_watched, retained
from wengert.eager.gradients.pieces import cuts
from wengert.eager.gradients.pull import after_node, before_node, pull, run_hooks, run_hooks_on_nothing
from wengert.eager.graph import Piece, compiled, place
from wengert.eager.recording import dispatch
from wengert.eager.recording.modes import STATE
from wengert.eager.recording.record import Deferred, Output, Record, Source, reachable

if TYPE_CHECKING:
    from wengert.eager.tensor import Tensor

Root = tuple["Tensor", "Tensor"]
"""A tensor and its cotangent."""


MOST_NESTED = 16
"""Backward passes inside of each other that share a stack."""
Result = TypeVar("Result")
_PASSES = count()


class Sweep:
    """One backward pass.

    Args:
        roots: the tensors to start from, with their cotangents.
        wanted: the tensors whose gradients are asked for; None for every leaf.
        retain: whether what the tape keeps stays.
        create: whether the pass is recorded.
    """

    def __init__(self, roots: Sequence[Root], wanted: Sequence[Tensor] | None, retain: bool, create: bool):
        self.roots = roots
        self.wanted = wanted
        self.retain = retain
        self.create = create
        self.sources: list[Source] = [dispatch.source_of(y) for y, _ in roots]
        self.leaves: dict[int, tuple[Tensor, Tensor]] = {}
        """The cotangents that arrived at leaves, by identity."""
        self.fresh: set[int] = set()
        """Those leaves of which nobody else holds the array that arrived."""
        self.captured: dict[tuple[int, int], Tensor] = {}
        """The cotangents that arrived at results of records that are asked for, by the record's number and the result's."""
        self._pending: dict[Record, list[Tensor | None]] = {}
        self._hooked: set[Record] = set()
        self._inside: set[tuple[int, int]] = set()
        self.needed: set[Record] = set()
        self.records: Sequence[Record] = ()
        self.current: Record | None = None
        """The record whose derivative is running, where records are walked."""
        self.number = next(_PASSES)
        self._finished: set[int] = set()
        self._last: dict[int, int] = {}
        """For every leaf, by identity, the number of the record that contributes to its gradient last, where hooks have to see that in time."""
        self.finish: Callable[[Tensor, Tensor, bool, bool], None] | None = None
        """What is done with the gradient of a leaf once it is complete: (leaf, gradient, whether it is recorded, whether nobody else holds its array)."""
        self.early = False
        """Whether values inside are captured before hooks on them run, as in PyTorch's ``grad`` where the pass goes on behind them."""

    def running(self, action: Callable[[], Result]) -> Result:
        """What the action returns, which runs this pass. Hooks in it see the modes of the pass, and leave them as they were."""
        if STATE.depth >= MOST_NESTED:
            return self._elsewhere(action)
        before = STATE.sweep, STATE.grad, STATE.inference
        keeper, mutations = STATE.keeper, STATE.mutations
        STATE.sweep = self
        STATE.depth += 1
        STATE.set(self.create, False)
        try:
            result = action()
            if before[0] is None:
                _call_queued()
            return result
        finally:
            STATE.depth -= 1
            STATE.sweep = before[0]
            if before[0] is None:
                STATE.callbacks.clear()
            STATE.set(*before[1:])
            STATE.keeper, STATE.mutations = keeper, mutations  # what user code entered inside and did not leave

    def _elsewhere(self, action: Callable[[], Result]) -> Result:
        """The same in a thread of its own, whose stack is empty: passes inside of passes may go deeper than a stack."""
        modes = STATE.copied()

        def inside() -> Result:
            STATE.take({**modes, "depth": 0})
            return self.running(action)

        with ThreadPoolExecutor(1) as pool:
            return pool.submit(inside).result()

    def comes_to(self, x: Tensor) -> bool:
        """Whether this pass comes to a tensor."""
        source = dispatch.source_of(x)
        if isinstance(source, Record):
            return source in self.records
        if type(source) is Output:
            return source.record in self.records
        leads = (record.inputs for record in self.needed)
        return source is not None and (any(source is other for inputs in leads for other in inputs) or any(source is root for root in self.sources))

    def captures(self, record: Record) -> bool:
        """Whether the gradient of a result of this record is asked for."""
        return any(number == record.number for number, _ in self._inside)

    def plan(self) -> tuple[Sequence[Record], set[Record], set[tuple[int, int]]]:
        """The records that the pass comes to, in order; those that lead to what is wanted; and the wanted results of records."""
        starts = [s.record if type(s) is Output else s for s in self.sources if isinstance(s, Record | Output)]
        inside = self._inside = self._wanted_inside()
        records = reachable([r for r in starts if isinstance(r, Record)])
        needed = self.needed = self._needed(records, inside)
        if self.wanted is not None:
            ends = {number for number, _ in inside}
            records = [r for r in records if r in needed or r.number in ends]
        self.records = records
        return records, needed, inside

    def run(self) -> None:
        """Fills ``leaves`` and ``captured``."""
        records, needed, inside = self.plan()
        if self.finish is not None and leaves_are_watched():
            self._last = {id(s): r.number for r in reversed(records) if r in needed for s in r.inputs if hasattr(s, "leaf_hooks")}
        if STATE.tape is not None:
            STATE.tape.swept(records)
        try:
            # Inside of a checkpoint the second run must keep what the first did, so nothing is compiled there.
            if STATE.tape is not None or STATE.anomaly or STATE.keeper is not None:
                self._start()
                self._walk(records, needed, inside)
            elif self.create or inside or self._last or any(r.is_special or type(r.saved) is Deferred for r in records):
                self._start()
                self._run_pieces(records, needed, inside)
            else:
                self._run_whole(records, needed)
        finally:
            if STATE.group is None:
                for frame in STATE.recomputed:
                    frame.forget()
                STATE.recomputed = ()
        if not self.retain:
            for record in needed:
                record.free()

    def _wanted_inside(self) -> set[tuple[int, int]]:
        """The wanted tensors that are not leaves, by record and result."""
        sources = [dispatch.source_of(x) for x in self.wanted or ()]
        return {(s.number, 0) if isinstance(s, Record) else (s.record.number, s.number) for s in sources if isinstance(s, Record | Output)}

    def _wanted_leaves(self) -> set[int] | None:
        return None if self.wanted is None else {id(x) for x in self.wanted}

    # -- compiled, as a whole or in pieces

    def _run_whole(self, records: Sequence[Record], needed: set[Record]) -> None:
        program = compiled(Piece(records, self.sources, self._wanted_leaves()))
        if program is None:
            self._start()
            self._walk(records, needed, set())
            return
        entry, leaves = program
        for leaf, array in zip(leaves, entry.run(records, [g.array for _, g in self.roots]), strict=True):
            self.leaves[id(leaf)] = leaf, dispatch.new(array)
            self.fresh.add(id(leaf))

    def _run_pieces(self, records: Sequence[Record], needed: set[Record], inside: set[tuple[int, int]]) -> None:
        for cut in reversed(cuts(records, needed)):
            if cut.walked or not self._run_piece(cut.records, needed, inside):
                self._walk(cut.records, needed, inside)
            elif self._last:
                for record in reversed(cut.records):
                    self._complete(record)

    def _run_piece(self, cut: Sequence[Record], needed: set[Record], inside: set[tuple[int, int]]) -> bool:
        """Runs a piece as a program if it has one; hooks on results of its last record come first."""
        reached = self._reached(cut)
        given = [(r, number, c) for r in reached if r in self._pending for number, c in enumerate(self._pending[r]) if c is not None]
        if not given:
            return True
        ends = {number for number, _ in inside}
        observed = [
            (record, number)
            for record in reached
            if (record.retained is not None or record.number in ends) and record is not cut[-1]
            for number in range(len(record.result_types))
            if (record.retained and number in record.retained) or (record.number, number) in inside
        ]

        def beyond(record: Record, number: int) -> bool:
            return record in needed or (record.number, number) in inside

        last = self._pending.get(cut[-1])
        if last is not None:
            self._observe(cut[-1], last, inside)
            given = [(record, number, last[number] if record is cut[-1] else c) for record, number, c in given]
        roots = [place(record, number) for record, number, _ in given]
        program = compiled(Piece(reached, roots, self._wanted_leaves(), beyond, observed))
        if program is None:
            return False
        entry, targets = program
        y_bars = [c.to(record.result_types[number][1]) for record, number, c in given if c is not None]
        x_bars = entry.record(reached, y_bars) if self.create else [dispatch.new(array) for array in entry.run(reached, [c.array for c in y_bars])]
        for record in reached:
            self._pending.pop(record, None)
        first_observed = len(targets) - len(observed)
        for source, x_bar in zip(targets[:first_observed], x_bars[:first_observed], strict=True):
            self._arrive(source, x_bar, fresh=not self.create)
        for (record, number), x_bar in zip(observed, x_bars[first_observed:], strict=True):
            self._see(record, number, x_bar, inside)
        return True

    def _reached(self, cut: Sequence[Record]) -> list[Record]:
        """Those records of a piece that a cotangent reaches."""
        reached: set[Record] = set()
        for record in reversed(cut):
            if record in reached or (record in self._pending and any(c is not None for c in self._pending[record])):
                reached.add(record)
                reached.update(s.record if isinstance(s, Output) else s for s in record.inputs if isinstance(s, Record | Output))
        return [record for record in cut if record in reached]

    # -- the walk

    def _start(self) -> None:
        for source, (_, cotangent) in zip(self.sources, self.roots, strict=True):
            self._arrive(source, cotangent)

    def _walk(self, records: Sequence[Record], needed: set[Record], inside: set[tuple[int, int]]) -> None:
        for record in reversed(records):
            waiting = self._pending.pop(record, None)
            if waiting is None and not record.runs_without_cotangents:
                if self._last:
                    self._complete(record)
                continue
            some = waiting is not None or hasattr(record, "pull")  # of cotangents that are waiting, one has arrived
            cotangents: list[Tensor | None] = [None] * len(record.result_types) if waiting is None else waiting
            self._observe(record, cotangents, inside)
            if record.node_prehooks and (record in needed or not self.early):
                cotangents = before_node(record, cotangents)
                some = any(c is not None for c in cotangents)
            if some and record in needed:
                self.current = record
                unwatched = not record.node_hooks
                arrived = self._checked(record, cotangents) if STATE.anomaly else pull(record, cotangents, self.create)
                if record.node_hooks:  # those that were registered while it ran come too late to see what it was given
                    arrived = after_node(record, arrived, [None] * len(cotangents) if unwatched else cotangents)
                for source, cotangent in zip(record.inputs, arrived, strict=True):
                    if cotangent is not None:
                        self._arrive(source, cotangent)
            if self._last:
                self._complete(record)
        self.current = None

    def _checked(self, record: Record, cotangents: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """The cotangents of a record's operands, which are looked at; an error is reported with the place in the forward code."""
        try:
            arrived = pull(record, cotangents, self.create)
            anomaly.check(record, arrived)
        except Exception:
            anomaly.report(record)
            raise
        return arrived

    def _complete(self, record: Record) -> None:
        """Finishes leaves to whose gradients nothing is added any more after this record."""
        for source in record.inputs:
            if self._last.get(id(source)) == record.number and id(source) in self.leaves and id(source) not in self._finished:
                self._finish_leaf(id(source))

    def _finish_leaf(self, key: int) -> None:
        self._finished.add(key)
        assert self.finish is not None
        self.finish(*self.leaves[key], self.create, key in self.fresh)

    def finish_leaves(self) -> None:
        """Finishes all leaves that are not finished yet."""
        finish, create, fresh, finished = self.finish, self.create, self.fresh, self._finished
        assert finish is not None
        for key, (leaf, cotangent) in list(self.leaves.items()):
            if key not in finished:
                finish(leaf, cotangent, create, key in fresh)

    def _needed(self, records: Sequence[Record], inside: set[tuple[int, int]]) -> set[Record]:
        """The records that lead to what is wanted."""
        leaves = self._wanted_leaves()
        if leaves is None:
            return set(records)
        needed: set[Record] = set()
        for record in records:
            for source in record.inputs:
                if isinstance(source, Record):
                    leads = source in needed or (source.number, 0) in inside
                elif type(source) is Output:
                    leads = source.record in needed or (source.record.number, source.number) in inside
                else:
                    leads = id(source) in leaves
                if leads:
                    needed.add(record)
                    break
        return needed

    def _arrive(self, source: Source, cotangent: Tensor, fresh: bool = False) -> None:
        """A cotangent at the other end of an operand; several are added up. ``fresh`` says that nobody else holds its array."""
        if isinstance(source, Record):
            self._add(source, 0, cotangent)
        elif type(source) is Output:
            self._add(source.record, source.number, cotangent)
        elif source is not None and not isinstance(source, int | float):
            before = self.leaves.get(id(source))
            if fresh and before is None:
                self.fresh.add(id(source))
            self.leaves[id(source)] = (source, cotangent if before is None else before[1] + cotangent)  # pyright: ignore[reportArgumentType]

    def _add(self, record: Record, number: int, cotangent: Tensor) -> None:
        pending = self._pending.setdefault(record, [None] * len(record.result_types))
        before = pending[number]
        pending[number] = cotangent if before is None else before + cotangent

    def _observe(self, record: Record, cotangents: list[Tensor | None], inside: set[tuple[int, int]]) -> None:
        """Hooks on results, gradients to be retained, and gradients that are asked for; once for each record."""
        if record in self._hooked:
            return
        self._hooked.add(record)
        absent = record.pre_hooks is not None and all(c is None for c in cotangents)
        for number, cotangent in enumerate(cotangents):
            if cotangent is None:
                if absent and record.pre_hooks is not None:
                    run_hooks_on_nothing(record.pre_hooks.get(number, ()))
                continue
            arrived = cotangent
            if record.pre_hooks is not None:
                cotangent = cotangents[number] = run_hooks(record.pre_hooks.get(number, ()), cotangent)
            self._see(record, number, cotangent, inside)
            if self.early and (record.number, number) in inside and record in self.needed:
                self.captured[record.number, number] = arrived

    def _see(self, record: Record, number: int, cotangent: Tensor, inside: set[tuple[int, int]]) -> None:
        if record.retained is not None and number in record.retained:
            kept = retained(record, number)
            if kept is not None:
                kept.grad = cotangent if kept.grad is None else kept.grad + cotangent
        if (record.number, number) in inside:
            self.captured[record.number, number] = cotangent


def _call_queued() -> None:
    """Runs what was queued for the end of the pass, which may queue more."""
    queued = STATE.callbacks
    try:
        while queued:
            queued.pop(0)()
    finally:
        queued.clear()
