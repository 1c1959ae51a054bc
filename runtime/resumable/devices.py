"""The devices that run the segments of a program: one device, threads that are devices, or one device for each MPI process.

The values of the devices that are in this process are its *own*. Decisions must be the same everywhere, so process 0 makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wengert.runtime.resumable.checkpoint import Array, Values

if TYPE_CHECKING:
    from wengert.dialects.stablehlo.process_groups import Grid
    from wengert.runtime.program import Program

Step = Callable[[Sequence[Sequence[Array]]], list[list[Array]]]
"""Runs a segment: arguments and results of the own devices."""


class Devices(Protocol):
    """The devices that run segments."""

    @property
    def writes(self) -> bool:
        """Whether this process writes checkpoints."""
        ...

    def step(self, program: Program) -> Step:
        """A segment, compiled."""
        ...

    def decide(self, value: Any) -> Any:
        """What process 0 says."""
        ...

    def most(self, value: int) -> int:
        """The largest of what all processes say."""
        ...

    def gathered(self, own: Sequence[Values]) -> Sequence[Values]:
        """The values of all devices, on the process that writes; nothing that counts on others."""
        ...

    def scattered(self, values: Sequence[Values] | None) -> list[Values]:
        """The values of the own devices, of those of all that the process which writes has."""
        ...


class OneDevice:
    """One device, whatever backend runs it."""

    writes = True

    def __init__(self, backend: str):
        self.backend = backend

    def step(self, program: Program) -> Step:
        """As :class:`Devices` says; so for all methods."""
        compiled = program.compile(self.backend)
        return lambda own: [[np.array(y) for y in compiled(*own[0])]]

    def decide(self, value: Any) -> Any:
        return value

    def most(self, value: int) -> int:
        return value

    def gathered(self, own: Sequence[Values]) -> Sequence[Values]:
        return own

    def scattered(self, values: Sequence[Values] | None) -> list[Values]:
        assert values is not None
        return list(values)


class Threads(OneDevice):
    """The devices of a grid, each a thread of this process."""

    def __init__(self, grid: Grid, backend: str):
        super().__init__(backend)
        self.grid = grid

    def step(self, program: Program) -> Step:
        from wengert.runtime.spmd.distributed import ThreadedProgram, runner

        return ThreadedProgram(program, self.grid, runner(program, self.backend, self.grid.size)).on_devices


class Processes:
    """The devices of a grid, one of them in this process."""

    def __init__(self, grid: Grid, backend: str, comm: Any):
        from wengert.runtime.spmd.mpi import MpiDevice

        self.grid, self.backend, self.comm = grid, backend, comm
        self.device = MpiDevice(comm, grid)
        self.writes = comm.rank == 0

    def step(self, program: Program) -> Step:
        """As :class:`Devices` says; so for all methods."""
        from wengert.runtime.spmd.distributed import MpiProgram, runner

        made = MpiProgram(program, self.grid, runner(program, self.backend, self.grid.size), self.device)
        return lambda own: [list(made(*own[0]))]

    def decide(self, value: Any) -> Any:
        return self.comm.bcast(value, root=0)

    def most(self, value: int) -> int:
        return max(self.comm.allgather(value))

    def gathered(self, own: Sequence[Values]) -> Sequence[Values]:
        return self.comm.gather(own[0], root=0) or ()

    def scattered(self, values: Sequence[Values] | None) -> list[Values]:
        return [self.comm.scatter(values, root=0)]
