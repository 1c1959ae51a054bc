"""The engine of many processes: each runs one device, and they exchange arrays by MPI (mpi4py). ``mpiexec -n 4 python program.py`` starts them.

Before a collective its devices tell each other, in 8 bytes, at which they are; without a clock MPI would wait for ever, or mix up what belongs to
different collectives. Nobody waits longer than ``WENGERT_MPI_TIMEOUT`` seconds (120). An exception that a process does not catch ends all of them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from wengert.dialects.stablehlo.process_groups import Grid, Group
from wengert.runtime.errors import CommunicationError, InputError
from wengert.runtime.spmd.device import Array, Call

TIMEOUT = "WENGERT_MPI_TIMEOUT"
_TAG_AGREE, _TAG_MAKE, _TAG_DATA = 1, 2, 3
_HASH = 8
_SPINS = 2000
"""How often a request is asked before the process lets others run in between."""

_TO_THE_LAUNCHER = 0.5
"""Seconds from an error's text to the end of all processes: launchers drop what they have not passed on by then, of this process and of others."""

_END = Call("the end of the program", "the end")


def world() -> Any:
    """All processes that ``mpiexec`` started. Raises InputError where mpi4py or an MPI library is missing."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise InputError(f"MPI is not there ({error}): pip install 'wengert[mpi]'") from None
    return MPI.COMM_WORLD


@cache
def _mpi() -> Any:
    from mpi4py import MPI

    return MPI


def abort_on_errors(comm: Any) -> None:
    """From now on an exception that this process does not catch is printed and ends all processes, which would otherwise wait for it."""
    before = sys.excepthook
    if getattr(before, "aborts", False) or comm.size == 1:
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        before(kind, error, trace)
        if not issubclass(kind, KeyboardInterrupt | SystemExit):
            end_all(comm)

    hook.aborts = True  # pyright: ignore[reportFunctionMemberAccess]
    sys.excepthook = hook


def end_all(comm: Any) -> NoReturn:
    """Ends the processes of all devices after what was printed has reached the launcher."""
    sys.stderr.flush()
    time.sleep(_TO_THE_LAUNCHER)
    comm.Abort(1)
    os._exit(1)


class MpiDevice:
    """The device of this process."""

    def __init__(self, comm: Any, grid: Grid):
        self.number, self.grid = int(comm.rank), grid
        self._comm = comm.Dup()
        self._groups: dict[Group, Any] = {tuple(range(comm.size)): self._comm}
        self._timeout = float(os.environ.get(TIMEOUT, "120"))
        abort_on_errors(comm)

    def gather(self, group: Group, array: Array, call: Call) -> list[Array]:
        """As :class:`wengert.runtime.spmd.device.Device` says."""
        comm, sent = self._meet(group, call), _bytes(array)
        received = np.empty((len(group), sent.size), np.uint8)
        comm.Allgather([sent, _mpi().BYTE], [received, _mpi().BYTE])
        return [_restored(row, array) for row in received]

    def exchange(self, group: Group, parts: Sequence[Array], call: Call) -> list[Array]:
        """As :class:`wengert.runtime.spmd.device.Device` says."""
        comm, sent = self._meet(group, call), np.stack([_bytes(part) for part in parts])
        received = np.empty_like(sent)
        comm.Alltoall([sent, _mpi().BYTE], [received, _mpi().BYTE])
        return [_restored(row, parts[0]) for row in received]

    def pass_on(self, array: Array, source: int | None, target: int | None, call: Call) -> Array | None:
        """As :class:`wengert.runtime.spmd.device.Device` says."""
        message, requests = np.concatenate([_digest(call), _bytes(array)]), list[Any]()
        received = np.empty(message.size, np.uint8)
        if target is not None:
            requests.append(self._comm.Isend([message, _mpi().BYTE], target, _TAG_DATA))
        if source is not None:
            requests.append(self._comm.Irecv([received, _mpi().BYTE], source, _TAG_DATA))
        others = sorted({other for other in (source, target) if other is not None})
        try:
            self._complete(requests, call, others)
        except _mpi().Exception as error:
            raise CommunicationError(f"device {self.number} is at {call}, and device {source} sends something else: {error}") from None
        if source is None:
            return None
        if not np.array_equal(received[:_HASH], message[:_HASH]):
            raise CommunicationError(f"device {self.number} is at {call}, and device {source} sends it something from another collective")
        return _restored(received[_HASH:], array)

    def agree_on(self, what: str, text: str) -> None:
        """Raises InputError where the processes do not have the same text."""
        marks = self._comm.allgather(blake2b(text.encode(), digest_size=_HASH).hexdigest())
        others = [rank for rank, mark in enumerate(marks) if mark != marks[0]]
        if others:
            who = f"process {others[0]} has" if len(others) == 1 else f"processes {', '.join(map(str, others))} have"
            raise InputError(f"{who} another {what} than process 0")

    def everybody(self, own: Sequence[Array]) -> list[Sequence[Array]]:
        """What all devices have, on each of them."""
        return self._comm.allgather(list(own))

    def finish(self) -> None:
        """The program has run to its end on this device: all others must be there too."""
        self._meet(tuple(range(self.grid.size)), _END)

    def _meet(self, group: Group, call: Call) -> Any:
        """The communicator of a group, whose devices are all at this collective."""
        comm, mine = self._groups.get(group), _digest(call)
        marks = np.empty((len(group), _HASH), np.uint8)
        if comm is None:
            marks[:] = self._swapped(group, mine, call)
        else:
            request = comm.Iallgather([mine, _mpi().BYTE], [marks, _mpi().BYTE])
            self._complete([request], call, [device for device in group if device != self.number])
        if (marks != marks[0]).any():
            self._explain(group, marks, call)
        if comm is None:
            members = self._comm.group.Incl(list(group))
            comm = self._groups[group] = self._comm.Create_group(members, _TAG_MAKE)
        return comm

    def _swapped(self, group: Group, mine: Array, call: Call) -> Array:
        """The marks of a group that meets for the first time, one by one."""
        marks, requests = np.empty((len(group), _HASH), np.uint8), list[Any]()
        for place, device in enumerate(group):
            if device == self.number:
                marks[place] = mine
                continue
            requests.append(self._comm.Isend([mine, _mpi().BYTE], device, _TAG_AGREE))
            requests.append(self._comm.Irecv([marks[place], _mpi().BYTE], device, _TAG_AGREE))
        self._complete(requests, call, [device for device in group if device != self.number])
        return marks

    def _explain(self, group: Group, marks: Array, call: Call) -> None:
        """All devices of the group have seen that they are at different collectives, and say at which."""
        text = np.zeros(512, np.uint8)
        said = np.frombuffer(str(call).encode()[:512], np.uint8)
        text[: said.size] = said
        requests, texts = list[Any](), np.empty((len(group), 512), np.uint8)
        for place, device in enumerate(group):
            requests.append(self._comm.Isend([text, _mpi().BYTE], device, _TAG_MAKE))
            requests.append(self._comm.Irecv([texts[place], _mpi().BYTE], device, _TAG_MAKE))
        self._complete(requests, call, list(group))
        lines = [f"  device {device}: {bytes(row).rstrip(bytes(1)).decode(errors='replace')}" for device, row in zip(group, texts, strict=True)]
        raise CommunicationError("devices of one group are at different collectives:\n" + "\n".join(lines))

    def _complete(self, requests: Sequence[Any], call: Call, others: Sequence[int]) -> None:
        """Waits for requests, but not for ever."""
        ends, test = time.monotonic() + self._timeout, _mpi().Request.Testall
        if not _becomes_true(lambda: test(list(requests)), ends):
            listed = ", ".join(map(str, others))
            message = f"device {self.number} has waited {self._timeout:g} s for {'device' if len(others) == 1 else 'devices'} {listed} in {call}"
            raise CommunicationError(f"{message} ({TIMEOUT} sets the time)")


def _becomes_true(done: Callable[[], bool], ends: float) -> bool:
    spins = 0
    while not done():
        spins += 1
        if spins > _SPINS:
            if time.monotonic() > ends:
                return False
            time.sleep(0 if spins < 2 * _SPINS else 1e-4)
    return True


def _digest(call: Call) -> Array:
    return _known_digest(call)


@cache
def _known_digest(call: Call) -> Array:
    return np.frombuffer(blake2b(str(call).encode(), digest_size=_HASH).digest(), np.uint8)


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _restored(data: Array, like: Array) -> Array:
    return (
        data.view(like.dtype).reshape(like.shape)
        if data.ctypes.data % max(like.dtype.alignment, 1) == 0
        else np.array(data).view(like.dtype).reshape(like.shape)
    )
