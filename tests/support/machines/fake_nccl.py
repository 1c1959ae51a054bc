"""What ``runtime.spmd.nccl`` uses of ``nccl.core``, by MPI on the memory of a stand-in for CUDA (``fake_cuda``).

Names and arguments are those of nccl4py 0.6 (``tests/spmd/test_nccl.py`` compares them with the package).
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
from fake_cuda import Memory, Stream, World


class UniqueId:
    """An identifier that one process draws and the others are told."""

    def __init__(self, content: bytes):
        self.content = content

    def __bytes__(self) -> bytes:
        return self.content

    @staticmethod
    def from_bytes(b: bytes) -> UniqueId:
        return UniqueId(b)


class Communicator:
    """Ranks that were initialised with the same identifier."""

    world: World
    queued: list[Any] | None = None

    def __init__(self, comm: Any):
        self.comm = comm

    @classmethod
    def init(cls, nranks: int, rank: int, unique_id: UniqueId, config: Any = None) -> Communicator:
        from mpi4py import MPI

        everybody = MPI.COMM_WORLD
        assert bytes(unique_id) == b"identity"
        return cls(everybody.Split(0, rank) if nranks == everybody.size else MPI.COMM_SELF.Dup())

    def _contents(self, buffer: Memory) -> Any:
        return np.array(self.world.memory.contents(buffer.handle, buffer.size))

    def _store(self, buffer: Memory, data: Any) -> None:
        self.world.memory.write(buffer.handle, np.ascontiguousarray(data).reshape(-1).view(np.uint8))

    def allgather(self, sendbuf: Memory, recvbuf: Memory, *, stream: Stream | None = None, config: Any = None) -> None:
        assert stream is self.world.stream
        assert recvbuf.size == sendbuf.size * self.comm.size
        self._store(recvbuf, np.concatenate(self.comm.allgather(self._contents(sendbuf))))

    def alltoall(self, sendbuf: Memory, recvbuf: Memory, *, stream: Stream | None = None, config: Any = None) -> None:
        assert stream is self.world.stream
        assert recvbuf.size == sendbuf.size
        self._store(recvbuf, np.concatenate(self.comm.alltoall(list(self._contents(sendbuf).reshape(self.comm.size, -1)))))

    def send(self, sendbuf: Memory, peer: int, *, stream: Stream | None = None) -> None:
        assert self.queued is not None, "a send and a receive of one rank wait for each other unless they are grouped"
        self.queued.append(self.comm.isend(self._contents(sendbuf), peer))

    def recv(self, recvbuf: Memory, peer: int, *, stream: Stream | None = None) -> None:
        assert self.queued is not None
        self.queued.append((self, recvbuf, peer))


@contextmanager
def group() -> Iterator[None]:
    """Operations that run together, when it ends."""
    Communicator.queued = []
    yield
    queued, Communicator.queued = Communicator.queued, None
    for one in queued:
        if isinstance(one, tuple):
            communicator, buffer, peer = one
            communicator._store(buffer, communicator.comm.recv(source=peer))
        else:
            one.wait()


def get_unique_id(empty: bool = False) -> UniqueId:
    return UniqueId(b"identity")


def install(world: World) -> None:
    """The engine sees this module as ``nccl.core``."""
    Communicator.world = world
    module: Any = ModuleType("nccl.core")
    module.Communicator, module.UniqueId, module.group, module.get_unique_id = Communicator, UniqueId, group, get_unique_id
    sys.modules["nccl"], sys.modules["nccl.core"] = ModuleType("nccl"), module
