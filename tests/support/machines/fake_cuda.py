"""What ``runtime.devices.cuda`` uses of ``cuda.core`` and ``cuda.bindings.driver``, on the interpreter of PTX: the backend runs where no NVIDIA device is.

Names, keywords and answers are those of cuda-core 1.2 and cuda-bindings 13 (``tests/devices/test_cuda.py`` compares names with the packages).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wengert.runtime import ptx
from wengert.runtime.devices import cuda

Array = np.ndarray[Any, np.dtype[Any]]
SUCCESS, INVALID, NO_MEMORY = 0, 1, 2
NAMES = {INVALID: b"CUDA_ERROR_INVALID_VALUE", NO_MEMORY: b"CUDA_ERROR_OUT_OF_MEMORY"}


class CUDAError(Exception):
    """The class of cuda-core's errors."""


class Stream:
    """A stream that does everything at once."""

    handle = 1

    def __init__(self, of: Any = None):
        self.of = of
        self.syncs = 0
        self.captured: list[Callable[[], None]] | None = None
        """What a graph under construction is to do; None if there is none."""

    def sync(self) -> None:
        if self.captured is not None:
            raise CUDAError("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")
        self.syncs += 1

    def create_graph_builder(self) -> GraphBuilder:
        return GraphBuilder(self)

    def do(self, action: Callable[[], None]) -> None:
        """Does something, or records it."""
        if self.captured is None:
            action()
        else:
            self.captured.append(action)


class GraphBuilder:
    """A graph under construction by capture of a stream."""

    def __init__(self, stream: Stream):
        self.stream = stream
        self.actions: list[Callable[[], None]] = []

    def begin_building(self, mode: str = "relaxed") -> GraphBuilder:
        self.stream.captured = self.actions
        return self

    def end_building(self) -> GraphBuilder:
        self.stream.captured = None
        return self

    def complete(self) -> Graph:
        return Graph(self.actions)


class Graph:
    """An executable graph."""

    def __init__(self, actions: list[Callable[[], None]]):
        self.actions = actions
        self.launches = 0

    def launch(self, stream: Stream) -> None:
        self.launches += 1
        Graph.total += 1
        for action in self.actions:
            action()

    total = 0
    """The launches of all graphs."""


class Memory:
    """A buffer of cuda-core's."""

    def __init__(self, handle: int, size: int):
        self.handle, self.size = handle, size


class View:
    """A StridedMemoryView."""

    def __init__(self, ptr: int, shape: tuple[int, ...], dtype: Any, *, strides: tuple[int, ...] | None = None, device_id: int = 0):
        self.ptr, self.shape, self.dtype, self.strides, self.device_id = ptr, shape, dtype, strides, device_id
        self.is_device_accessible = device_id >= 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device_id) if self.is_device_accessible else (1, 0)

    @classmethod
    def from_any_interface(cls, obj: Any, stream_ptr: int | None = None) -> View:
        if not isinstance(obj, View):
            raise BufferError("no such interface")
        return obj

    @classmethod
    def from_buffer(cls, buffer: Memory, shape: tuple[int, ...], strides: Any = None, *, itemsize: Any = None, dtype: Any = None) -> View:
        return cls(buffer.handle, shape, dtype, strides=strides)


class Driver:
    """The functions of ``cuda.bindings.driver``."""

    def __init__(self, memory: ptx.Memory, stream: Stream):
        self.memory, self.stream = memory, stream

    def cuMemGetInfo(self) -> tuple[int, int, int]:  # noqa: N802 - the driver's name
        return SUCCESS, 1 << 20, 1 << 26

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[int]:  # noqa: N802
        return self._tried(lambda: self.memory.write(target, _host(source, size)))

    def cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: int) -> tuple[int]:  # noqa: N802
        def read() -> None:
            _host(target, size)[:] = self.memory.contents(source, size)

        return self._tried(read)

    def cuMemcpyDtoDAsync(self, target: int, source: int, size: int, stream: int) -> tuple[int]:  # noqa: N802
        self.stream.do(lambda: self.memory.copy(source, target, size))
        return (SUCCESS,)

    def cuMemsetD8Async(self, target: int, byte: int, size: int, stream: int) -> tuple[int]:  # noqa: N802
        return self._tried(lambda: self.memory.poison(target, size))

    def cuGetErrorName(self, status: int) -> tuple[int, bytes]:  # noqa: N802
        return SUCCESS, NAMES[status]

    def cuGetErrorString(self, status: int) -> tuple[int, bytes]:  # noqa: N802
        return SUCCESS, b"as the driver says it"

    def _tried(self, action: Any) -> tuple[int]:
        try:
            action()
        except ptx.MemoryAccessError:
            return (INVALID,)
        return (SUCCESS,)


class Device:
    """A device of cuda-core's."""

    def __init__(self, world: World, name: str, capability: tuple[int, int], number: int):
        self.world, self.name, self.compute_capability, self.device_id = world, name, capability, number

    def set_current(self) -> None:
        self.world.threads += 1

    def create_stream(self, obj: Any = None) -> Stream:
        self.world.stream.of = obj
        return self.world.stream

    def allocate(self, size: int, *, stream: Stream) -> Memory:
        try:
            return Memory(self.world.memory.allocate(size), size)
        except ptx.MemoryAccessError as error:
            raise CUDAError(f"CUDA_ERROR_OUT_OF_MEMORY: {error}") from None


class ObjectCode:
    """An ObjectCode; the driver checks its text when a kernel is asked for."""

    world: World

    def __init__(self, text: str):
        try:
            self.image = ptx.Image(ptx.parse(text, "kernels.ptx"), self.world.memory)
        except ptx.ParseError as error:
            raise CUDAError(f"CUDA_ERROR_INVALID_PTX: {error}") from None

    def get_kernel(self, name: str) -> tuple[Any, str]:
        self.world.kernels += 1
        return self.image, name


class World:
    """A machine with devices, and what was asked of it: ``threads`` made a device current, ``kernels`` were looked up, ``launches`` were made."""

    def __init__(self, *devices: tuple[str, tuple[int, int]], size: int = 1 << 26):
        self.memory, self.stream = ptx.Memory(size), Stream()
        self.threads = self.kernels = self.launches = 0
        made = [Device(self, name, capability, number) for number, (name, capability) in enumerate(devices)]
        code: Any = type("ObjectCode", (ObjectCode,), {"world": self, "from_ptx": classmethod(lambda cls, text: cls(text.decode()))})
        self.core = SimpleNamespace(
            Device=SimpleNamespace(get_all_devices=lambda: tuple(made)),
            LaunchConfig=lambda *, grid, block: (grid, block),
            ObjectCode=code,
            launch=self.launch,
            utils=SimpleNamespace(StridedMemoryView=View),
        )
        self.driver = Driver(self.memory, self.stream)

    def launch(self, stream: Stream, config: Any, kernel: Any, *arguments: int) -> None:
        image, name = kernel
        self.launches += 1
        stream.do(lambda: image.launch(name, grid=config[0], block=config[1], arguments=list(arguments)))

    def put(self, array: Array) -> View:
        """An array of another library on the device."""
        return View(self.memory.put(array), array.shape, array.dtype)

    def array(self, view: View) -> Array:
        """What an array on the device holds."""
        return self.memory.read(view.ptr, view.shape, view.dtype)


@contextmanager
def installed(world: World, patch: pytest.MonkeyPatch) -> Iterator[World]:
    """The backend sees these devices."""
    with patch.context() as patched:
        patched.setattr(cuda, "binding", lambda: cuda.Binding(world.core, world.driver))
        cuda.device_named.cache_clear()
        try:
            yield world
        finally:
            cuda.device_named.cache_clear()


def _host(address: int, size: int) -> Array:
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
