"""Runs a program segment by segment, loops some iterations at a time, and writes checkpoints in between.

How many iterations run at a time follows the clock, and changes no bit of the result: each iteration is the same code on the same values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.runtime.resumable.checkpoint import Array, Checkpoint, Values, write
from wengert.runtime.resumable.devices import Devices, Step
from wengert.transforms.core.loop_segments import Cut, LoopSegment, Segment, cut_at_loops

if TYPE_CHECKING:
    from wengert.runtime.program import Program

_AT_A_TIME = 0.25
"""Seconds of iterations after which the clock is looked at."""


@dataclass
class ResumableRun:
    """A program that runs with checkpoints.

    Attributes:
        program: what each device runs.
        devices: where.
        path: the file of the checkpoint.
        every: seconds between two checkpoints.
        about: what a checkpoint says of the run that it is of.
        told: is called after each checkpoint with the segment and the iteration.
    """

    program: Program
    devices: Devices
    path: str
    every: float
    about: dict[str, Any] = field(default_factory=dict[str, Any])
    told: Callable[[int, int], None] = lambda segment, iteration: None
    cut: Cut = field(init=False)
    _written: float = field(init=False, default=0.0)
    _last: tuple[int, int, Sequence[Values]] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.cut = cut_at_loops(self.program.optimized_module)

    def run(self, inputs: Sequence[Sequence[Array]], checkpoint: Checkpoint | None = None) -> list[list[Array]]:
        """The results of the own devices.

        Args:
            inputs: the arguments of the own devices; not looked at where the run goes on.
            checkpoint: from which it goes on: on the process that writes, the others give None.

        Raises:
            OSError: a checkpoint cannot be written; the one before is there.
        """
        first, iteration = self.devices.decide((0, 0) if checkpoint is None else (checkpoint.segment, checkpoint.iteration))
        if self.devices.decide(checkpoint is not None):
            own = self.devices.scattered(None if checkpoint is None else checkpoint.values)
        else:
            own = [dict(zip(self.cut.arguments, arrays, strict=True)) for arrays in inputs]
        self._written = time.monotonic()
        try:
            for place in range(first, len(self.cut.segments)):
                self._segment(place, own, iteration if place == first else 0)
        except KeyboardInterrupt:
            self._write_last()
            raise
        return [[values[number] for number in self.cut.results] for values in own]

    def _segment(self, place: int, own: list[Values], iteration: int) -> None:
        """Runs a segment; ``own`` has what is needed after it."""
        segment = self.cut.segments[place]
        step = self.devices.step(_program(segment, f"segment {place} of {self.program.name}"))
        if isinstance(segment, LoopSegment):
            self._loop(place, segment, step, own, iteration)
        else:
            for values, results in zip(own, step([[values[n] for n in segment.takes] for values in own]), strict=True):
                values.update(zip(segment.gives, results, strict=True))
        needed = self._needed(place + 1)
        for values in own:
            for number in [number for number in values if number not in needed]:
                del values[number]

    def _needed(self, place: int) -> set[int]:
        """The numbers of the values that segments from a place on take, and results."""
        needed = set(self.cut.results)
        for segment in self.cut.segments[place:]:
            needed |= {*segment.takes, *([segment.trip_count] if isinstance(segment, LoopSegment) and segment.trip_count is not None else [])}
        return needed

    def _loop(self, place: int, segment: LoopSegment, step: Step, own: list[Values], done: int) -> None:
        """Runs a loop to its end, from the iteration ``done`` on, where what it carries is there already under the numbers of its results."""
        for values in own if not done else []:
            values.update(zip(segment.gives, [values[n] for n in segment.takes[segment.constants :]], strict=True))
        after, size = self._needed(place + 1), 1
        while True:
            begun = time.monotonic()
            ran = self.devices.most(_advance(segment, step, own, done, size))
            done += ran
            self._last = (place, done, self._state(segment, own, after))
            if ran < size:
                return
            seconds = time.monotonic() - begun
            size, due = self.devices.decide((_next_size(size, seconds), time.monotonic() - self._written >= self.every))
            if due:
                self._write(*self._last)

    @staticmethod
    def _state(segment: LoopSegment, own: Sequence[Values], after: set[int]) -> list[Values]:
        """What the rest of a loop and of the program needs."""
        kept = {*segment.takes[: segment.constants], *segment.gives, *([] if segment.trip_count is None else [segment.trip_count]), *after}
        return [{number: array for number, array in values.items() if number in kept} for values in own]

    def _write(self, place: int, iteration: int, own: Sequence[Values]) -> None:
        values = self.devices.gathered(own)
        if self.devices.writes:
            write(Checkpoint(self.about, place, iteration, values), self.path)
        self._written = time.monotonic()
        if self.devices.writes:
            self.told(place, iteration)

    def _write_last(self) -> None:
        """The values after the iterations that ran last, where this process alone has all of them."""
        from wengert.runtime.resumable.devices import OneDevice

        if self._last is not None and isinstance(self.devices, OneDevice):
            self._write(*self._last)


def _program(segment: Segment, name: str) -> Program:
    from wengert.runtime.program import static_program

    program = static_program(segment.module, name)
    program.is_optimized = True
    return program


def _advance(segment: LoopSegment, step: Step, own: list[Values], done: int, size: int) -> int:
    """Runs at most so many iterations on each of the own devices; how many there were on the one with most."""
    inputs: list[list[Array]] = []
    ran = 0
    for values in own:
        given = [values[n] for n in (*segment.takes[: segment.constants], *segment.gives)]
        if segment.trip_count is None:
            inputs.append([np.array(size, np.int64), *given])
            continue
        trip_count = int(values[segment.trip_count])
        end = max(min(done + size, trip_count), min(done, trip_count))
        ran = max(ran, min(done + size, trip_count) - done)
        inputs.append([np.array(min(done, end), np.int64), np.array(end, np.int64), *given])
    for values, results in zip(own, step(inputs), strict=True):
        if segment.trip_count is None:
            count, *results = results
            ran = max(ran, int(count))
        values.update(zip(segment.gives, results, strict=True))
    return ran


def _next_size(size: int, seconds: float) -> int:
    """As many iterations as fit the time at a time, but no more than twice as many as before."""
    return max(1, min(2 * size, int(size * _AT_A_TIME / max(seconds, 1e-9))))
