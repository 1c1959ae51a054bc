"""Replays of loops with a known number of iterations: the binomial schedule as tables, and loops that read them.

A run forward is a loop over segments, each of which stores its first state in a slot and then runs some iterations; how many, and which slot, stands in
tables of constants. So the schedule is part of the program, of which any backend runs the loops as it runs others.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import i64
from wengert.transforms.ad.replay.building import Step, Values, counted_loop, empty_stacks, entry, inlined, row, run_from, with_row
from wengert.transforms.ad.replay.operands import Replay
from wengert.transforms.ad.replay.schedule import Sweep, binomial


class _Tables(Struct, frozen=True):
    """The segments of several runs, one after the other."""

    slots: list[int]
    starts: list[int]
    counts: list[int]

    @staticmethod
    def of(sweeps: Sequence[Sweep]) -> _Tables:
        segments = [segment for sweep in sweeps for segment in sweep.segments]
        return _Tables([slot for slot, _, _ in segments], [start for _, start, _ in segments], [count for _, _, count in segments])

    def run(self, b: OpBuilder, step: Step, first: Value, count: Value, constants: Values, stacks: Values, carried: Values) -> tuple[list[Value], list[Value]]:
        """Emits the run of ``count`` segments from the segment ``first`` on; returns stacks and carried values."""

        def segment(inner: OpBuilder, k: Value, given: Values, values: Values) -> Values:
            number = inner.add(given[-1], k)
            slot, start, ahead = (entry(inner, table, number) for table in (self.slots, self.starts, self.counts))
            stored, moving = values[: len(stacks)], values[len(stacks) :]
            rows = [with_row(inner, stack, slot, moving[i]) for stack, i in zip(stored, step.stored, strict=True)]
            return [*rows, *run_from(inner, step, start, ahead, given[:-1], moving)]

        values = counted_loop(b, count, [*constants, first], [*stacks, *carried], segment)
        return values[: len(stacks)], values[len(stacks) :]


def run_and_store(b: OpBuilder, step: Step, iterations: int, slots: int, constants: Values, initial: Values) -> tuple[list[Value], list[Value]]:
    """Emits the loop itself, which stores states in slots on its way; returns the stacks and what it carries in the end."""
    first = binomial(iterations, slots).first
    stacks = empty_stacks(b, slots, [initial[i] for i in step.stored])
    return _Tables.of([first]).run(b, step, b.scalar(0, i64), b.scalar(len(first.segments), i64), constants, stacks, initial)


def reversal(b: OpBuilder, replay: Replay, iterations: int) -> list[Value]:
    """Emits the loop over iterations from the last to the first, each of which runs to its state from the nearest one that is stored."""
    again = binomial(iterations, replay.slots).again
    tables = _Tables.of(again)
    counts = [len(sweep.segments) for sweep in again]
    firsts = [sum(counts[:n]) for n in range(len(counts))]
    tops = [sweep.top for sweep in again]

    def iteration(inner: OpBuilder, n: Value, given: Values, values: Values) -> Values:
        constants, linear_constants = given[: len(replay.constants)], given[len(replay.constants) :]
        stacks, carried = values[: len(replay.stacks)], values[len(replay.stacks) :]
        state = [row(inner, stack, entry(inner, tops, n)) for stack in stacks]
        stacks, state = tables.run(inner, replay.step, entry(inner, firsts, n), entry(inner, counts, n), constants, stacks, state)
        number = inner.subtract(inner.scalar(iterations - 1, i64), n)
        return [*stacks, *inlined(inner, replay.linear, [number, *constants, *state, *linear_constants, *carried])]

    given = [*replay.constants, *replay.linear_constants]
    return counted_loop(b, b.scalar(iterations, i64), given, [*replay.stacks, *replay.carried], iteration)[len(replay.stacks) :]
