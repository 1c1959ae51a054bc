"""The engine of many GPUs: each process has one, and they exchange arrays by NCCL (nccl4py). ``mpiexec -n 4 python program.py`` starts the processes.

Programs are compiled for the backend ``cuda``. MPI does what needs no bandwidth: it tells who has which GPU, and before a collective at which one
every device is (:mod:`wengert.runtime.spmd.mpi`), so that NCCL never waits for ever. A collective takes its operand from the host, which runs it
between kernels, so that each is copied to the GPU and back.

Written against nccl4py 0.6 (NCCL 2.28 and later). It has run with stand-ins for NCCL and the driver only, never on a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from wengert.dialects.stablehlo.process_groups import Grid, Group
from wengert.ir.installation import command
from wengert.runtime.errors import InputError
from wengert.runtime.spmd.device import Array, Call
from wengert.runtime.spmd.mpi import MpiDevice, world

if TYPE_CHECKING:
    from wengert.runtime.devices.cuda import CudaDevice
    from wengert.runtime.devices.interface import Buffer
    from wengert.runtime.program import Program
    from wengert.runtime.spmd.distributed import Run


def nccl() -> Any:
    """The module ``nccl.core``; an InputError says what to install."""
    try:
        return import_module("nccl.core")
    except (ImportError, OSError) as error:
        raise InputError(f"engine cuda needs NCCL ({error}): {command('nccl')}") from None


def own_gpu(comm: Any = None) -> CudaDevice:
    """The GPU of this process: as many processes as a machine runs, as many of its GPUs are used, in their order.

    Args:
        comm: the processes; by default all that ``mpiexec`` started.

    Raises:
        InputError: there is no GPU, or fewer than processes; a package is missing.
    """
    from wengert.runtime.devices import cuda

    known = list(cuda.devices())
    if not known:
        raise InputError(f"engine cuda needs a GPU for each process, and {cuda.NO_DEVICE}; engine='mpi' runs on processors")
    comm = world() if comm is None else comm
    from mpi4py import MPI

    beside = comm.Split_type(MPI.COMM_TYPE_SHARED)
    rank, processes = int(beside.rank), int(beside.size)
    beside.Free()
    if processes > len(known):
        raise InputError(f"engine cuda needs a GPU for each process: {processes} processes run here, and there are {len(known)} GPUs")
    return cuda.CudaDevice(known[rank])


class NcclDevice(MpiDevice):
    """The device of this process, whose arrays go over its GPU."""

    def __init__(self, comm: Any, grid: Grid, gpu: CudaDevice):
        super().__init__(comm, grid)
        self._nccl, self._gpu = nccl(), gpu
        self._communicators: dict[Group, Any] = {}

    def gather(self, group: Group, array: Array, call: Call) -> list[Array]:
        """As :class:`wengert.runtime.spmd.device.Device` says; so for all methods."""
        communicator = self._communicator(group, call)
        sent, received = self._on_gpu(array), self._gpu.allocate(array.nbytes * len(group))
        if array.nbytes:
            communicator.allgather(sent.memory, received.memory, stream=self._gpu.stream)
        return self._arrays(received, array, len(group))

    def exchange(self, group: Group, parts: Sequence[Array], call: Call) -> list[Array]:
        communicator = self._communicator(group, call)
        sent = self._on_gpu(np.stack(parts))
        received = self._gpu.allocate(sent.size)
        if sent.size:
            communicator.alltoall(sent.memory, received.memory, stream=self._gpu.stream)
        return self._arrays(received, parts[0], len(group))

    def pass_on(self, array: Array, source: int | None, target: int | None, call: Call) -> Array | None:
        # Nothing but the digest of the call goes by MPI: who is at another collective is told so.
        super().pass_on(np.empty(0, np.uint8), source, target, call)
        communicator = self._communicator(tuple(range(self.grid.size)), None)
        sent, received = self._on_gpu(array), self._gpu.allocate(array.nbytes)
        if array.nbytes:
            with self._nccl.group():
                if target is not None:
                    communicator.send(sent.memory, target, stream=self._gpu.stream)
                if source is not None:
                    communicator.recv(received.memory, source, stream=self._gpu.stream)
        return None if source is None else self._arrays(received, array, 1)[0]

    def connect(self) -> None:
        """Makes the communicator of all devices, which all must do together before the first message between two of them."""
        self._communicator(tuple(range(self.grid.size)), Call("connection", "the start of the program"))

    def _communicator(self, group: Group, call: Call | None) -> Any:
        """NCCL's communicator of a group, whose devices are all at a collective; made when they meet for the first time."""
        comm = self._meet(group, call) if call is not None else None
        if group not in self._communicators:
            assert comm is not None, "connect() has made that of all devices"
            identity = bytes(self._nccl.get_unique_id()) if self.number == group[0] else None
            shared = comm.bcast(identity, root=0)
            unique = self._nccl.UniqueId.from_bytes(shared)
            self._communicators[group] = self._nccl.Communicator.init(len(group), group.index(self.number), unique)
        return self._communicators[group]

    # -- memory

    def _on_gpu(self, array: Array) -> Buffer:
        """A copy of an array on the GPU."""
        buffer = self._gpu.allocate(array.nbytes)
        self._gpu.write(buffer, np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return buffer

    def _arrays(self, buffer: Buffer, like: Array, count: int) -> list[Array]:
        """Copies of what NCCL has put one after the other; waits until it has."""
        data = self._gpu.read(buffer)
        rows = data.reshape(count, like.nbytes)
        return [np.array(row).view(like.dtype).reshape(like.shape) for row in rows]


def runner(program: Program, devices: int, gpu: CudaDevice) -> Run:
    """The program as each of so many GPUs runs it."""
    from wengert.ir.construction import copy_module
    from wengert.runtime.derived.derivation import finishing
    from wengert.runtime.devices import compile as for_devices

    core = program.optimized_module
    compiled = for_devices.compile(copy_module(core), finishing(core, as_given=program.as_given, devices=devices), gpu)
    return lambda arrays: [np.asarray(y) for y in compiled(*arrays)]
