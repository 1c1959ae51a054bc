"""The engine of one process: a thread for each device, in lockstep at collectives only. It is the default, and the oracle of the others.

Devices that wait for each other are noticed at once, without a clock: a device that begins to wait while all others wait or are done can never go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field

from wengert.dialects.stablehlo.process_groups import Grid, Group
from wengert.runtime.errors import CommunicationError
from wengert.runtime.spmd.device import Array, Call, running_on


class _Stopped(BaseException):
    """Ends the other threads when one has failed."""


class _Waiting(Struct, frozen=True):
    call: Call
    on: tuple[int, ...]
    """The devices of which at least one has not come yet."""


class _Meeting(Struct):
    """Devices of a group that have come to a collective, with what they bring."""

    calls: dict[int, Call] = field(default_factory=dict[int, Call])
    brought: dict[int, Any] = field(default_factory=dict[int, Any])
    left: int = 0


class Hub:
    """The meeting point of the devices of one run: all its state is behind one lock."""

    def __init__(self, grid: Grid):
        self.grid = grid
        self.changed = threading.Condition()
        self.failure: tuple[int, BaseException] | None = None
        self._meetings: dict[tuple[Group, int], _Meeting] = {}
        self._messages: dict[tuple[int, int, int], tuple[Call, Array]] = {}
        self._waiting: dict[int, _Waiting] = {}
        self._done: set[int] = set()

    def meet(self, here: int, group: Group, turn: int, value: Any, call: Call) -> list[Any]:
        """Brings a value to the ``turn``-th meeting of a group; returns what all brought, in the group's order."""
        key = (tuple(sorted(group)), turn)
        with self.changed:
            meeting = self._meetings.setdefault(key, _Meeting())
            meeting.calls[here], meeting.brought[here] = call, value
            if len(meeting.brought) == len(group):
                if len(set(meeting.calls.values())) > 1:
                    self._fail(here, _mismatch(meeting.calls))
                self._wake(group)
            else:
                self._wait(here, _Waiting(call, tuple(d for d in group if d not in meeting.brought)), lambda: len(meeting.brought) == len(group))
            meeting.left += 1
            if meeting.left == len(group):
                del self._meetings[key]
            return [meeting.brought[device] for device in group]

    def send(self, here: int, target: int, turn: int, value: Array, call: Call) -> None:
        """Leaves the ``turn``-th message from a device for another."""
        with self.changed:
            self._messages[here, target, turn] = call, value
            waiting = self._waiting.get(target)
            if waiting is not None and waiting.on == (here,):
                self._wake((target,))

    def receive(self, here: int, source: int, turn: int, call: Call) -> Array:
        """Waits for the ``turn``-th message from a device."""
        key = source, here, turn
        with self.changed:
            if key not in self._messages:
                self._wait(here, _Waiting(call, (source,)), lambda: key in self._messages)
            sent, value = self._messages.pop(key)
            if sent != call:
                self._fail(here, _mismatch({source: sent, here: call}))
            return value

    def finish(self, here: int) -> None:
        """A device has run its program to the end."""
        with self.changed:
            self._done.add(here)
            self._check(here)
            if len(self._done) == self.grid.size and self._messages:
                (source, target, _), (call, _) = next(iter(self._messages.items()))
                self._fail(here, CommunicationError(f"device {source} sends to device {target}, which does not receive: {call}"))

    def fail(self, here: int, error: BaseException) -> None:
        """A device has failed: the others stop at their next collective."""
        with self.changed:
            if self.failure is None:
                self.failure = here, error
            self.changed.notify_all()

    def _wait(self, here: int, waiting: _Waiting, over: Callable[[], bool]) -> None:
        self._waiting[here] = waiting
        self._check(here)
        while not over():
            if self.failure is not None:
                raise _Stopped
            self.changed.wait()

    def _wake(self, devices: Sequence[int]) -> None:
        for device in devices:
            self._waiting.pop(device, None)
        self.changed.notify_all()

    def _check(self, here: int) -> None:
        """Fails if nobody can go on."""
        if self._waiting and len(self._waiting) + len(self._done) == self.grid.size:
            self._fail(here, _deadlock(self._waiting, self._done))

    def _fail(self, here: int, error: BaseException) -> None:
        if self.failure is None:
            self.failure = here, error
        self.changed.notify_all()
        raise _Stopped


def _listed(devices: Sequence[int]) -> str:
    return f"{'device' if len(devices) == 1 else 'devices'} {', '.join(map(str, sorted(devices)))}"


def _mismatch(calls: dict[int, Call]) -> CommunicationError:
    lines = [f"  {_listed([d for d, c in calls.items() if c == call])}: {call}" for call in dict.fromkeys(calls.values())]
    return CommunicationError("devices of one group are at different collectives:\n" + "\n".join(lines))


def _deadlock(waiting: dict[int, _Waiting], done: set[int]) -> CommunicationError:
    by_wait: dict[_Waiting, list[int]] = {}
    for device, wait in waiting.items():
        by_wait.setdefault(wait, []).append(device)
    lines = [f"  {_listed(devices)} for {_listed(wait.on)} in {wait.call}" for wait, devices in sorted(by_wait.items(), key=lambda item: min(item[1]))]
    if done:
        lines.append(f"  {_listed(list(done))} {'has' if len(done) == 1 else 'have'} run to the end")
    return CommunicationError("devices wait for each other:\n" + "\n".join(lines))


class ThreadDevice:
    """A device of a hub: the engine's side of one thread. ``sent`` counts the bytes that it sends to others."""

    def __init__(self, hub: Hub, number: int):
        self.hub, self.number, self.grid = hub, number, hub.grid
        self.sent = 0
        self._turns: dict[Any, int] = {}

    def gather(self, group: Group, array: Array, call: Call) -> list[Array]:
        """As :class:`wengert.runtime.spmd.device.Device` says."""
        self.sent += (len(group) - 1) * array.nbytes
        return self.hub.meet(self.number, group, self._turn(frozenset(group)), np.array(array), call)

    def exchange(self, group: Group, parts: Sequence[Array], call: Call) -> list[Array]:
        """As :class:`wengert.runtime.spmd.device.Device` says."""
        brought = self.hub.meet(self.number, group, self._turn(frozenset(group)), [np.array(part) for part in parts], call)
        place = group.index(self.number)
        self.sent += sum(part.nbytes for other, part in enumerate(parts) if other != place)
        return [theirs[place] for theirs in brought]

    def pass_on(self, array: Array, source: int | None, target: int | None, call: Call) -> Array | None:
        """As :class:`wengert.runtime.spmd.device.Device` says."""
        if target is not None:
            self.sent += array.nbytes
            self.hub.send(self.number, target, self._turn(("to", target)), np.array(array), call)
        return None if source is None else self.hub.receive(self.number, source, self._turn(("from", source)), call)

    def _turn(self, key: Any) -> int:
        self._turns[key] = turn = self._turns.get(key, 0) + 1
        return turn


def run_on_threads(grid: Grid, run: Callable[[ThreadDevice], Any], sent: list[int] | None = None) -> list[Any]:
    """Runs a function on each device, each on a thread of its own; ``sent`` is filled with the bytes that each has sent.

    Raises:
        CommunicationError: devices wait for each other, or are at different collectives; says which, and where.
        Exception: what the first device to fail raised, with a note that says which.
    """
    hub, results = Hub(grid), list[Any]([None] * grid.size)
    if sent is not None:
        sent[:] = [0] * grid.size

    def work(number: int) -> None:
        device = ThreadDevice(hub, number)
        try:
            with running_on(device):
                results[number] = run(device)
            if sent is not None:
                sent[number] = device.sent
            hub.finish(number)
        except _Stopped:
            pass
        except BaseException as error:  # raised again by the caller's thread
            hub.fail(number, error)

    threads = [threading.Thread(target=work, args=(number,), name=f"device {number}", daemon=True) for number in range(grid.size)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:  # an interrupt: the devices stop at their next collective
        hub.fail(-1, error)
        raise
    if hub.failure is not None:
        number, error = hub.failure
        if not isinstance(error, CommunicationError):
            error.add_note(f"on device {number}")
        raise error
    return results
