"""NVIDIA's devices, by ``cuda-core`` and ``cuda-bindings``: kernels are PTX, which the driver compiles when a program is loaded.

NVIDIA, "CUDA Driver API" 13: memory comes from a pool in the order of a stream, and copies and launches are enqueued on that stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute

from wengert.dialects.gpu.targets import NVVMTargetAttr
from wengert.ir.installation import command
from wengert.runtime.devices.interface import Borrowed, Buffer, Bytes, Command, Device, DeviceError, Sizes
from wengert.runtime.errors import InputError

NO_DEVICE = "no NVIDIA device with a driver is there"
FEATURES = "+ptx80"
"""The version of PTX, which drivers from CUDA 12.0 on take."""
CHIPS = {80: "sm_80", 86: "sm_86", 87: "sm_87", 89: "sm_89", 90: "sm_90"}
"""The chips that kernels are compiled for, by compute capability. The driver translates PTX for one of them to any later chip."""
POISON = 0xFB
"""The byte that wrong values are made of: huge negative numbers, and positions far outside of any buffer."""


class Binding(Struct, frozen=True):
    """The modules that stand for NVIDIA's driver: ``core`` is ``cuda.core``, ``driver`` the functions of ``cuda.bindings.driver``."""

    core: Any
    driver: Any


def binding() -> Binding:
    """The modules of the extra; an InputError says what to install."""
    try:
        return Binding(import_module("cuda.core"), import_module("cuda.bindings.driver"))
    except ImportError:
        raise InputError(f"backend 'cuda' needs the package cuda-core: {command('cuda')}") from None


def devices() -> Sequence[Any]:
    """The devices of the driver, in its order; none without a driver."""
    core = binding().core
    try:
        return list(core.Device.get_all_devices())
    except Exception:  # the driver's library is missing, is too old, or finds nothing: each has an exception of its own
        return []


@lru_cache(maxsize=8)
def device_named(part: str = "") -> CudaDevice:
    """The first device whose name contains a text, made once.

    Raises:
        InputError: cuda-core is missing, or there is no such device.
        DeviceError: the device cannot be used.
    """
    known = list(devices())
    for device in known:
        if part.lower() in device.name.lower():
            return CudaDevice(device)
    if known:
        raise InputError(f"no NVIDIA device is named {part!r}; there are: {', '.join(device.name for device in known)}")
    raise InputError(f"{NO_DEVICE} (kernels are compiled without one: gpu-module-to-binary)")


def chip_of(capability: tuple[int, int]) -> str:
    """The last chip that kernels are compiled for and a device of this compute capability runs; a DeviceError if it is older than all."""
    number = 10 * capability[0] + capability[1]
    known = [chip for least, chip in CHIPS.items() if least <= number]
    if not known:
        raise DeviceError(f"kernels need compute capability 8.0 or later; the device has {capability[0]}.{capability[1]}")
    return known[-1]


class CudaDevice(Device):
    """One NVIDIA device, with a stream of its own. Any thread may call it."""

    object_type = str
    to_binary = "gpu-module-to-binary{format=isa}"

    def __init__(self, device: Any, stream: Any = None):
        modules = binding()
        self._core, self._driver = modules.core, modules.driver
        self._device = device
        self._entered = threading.local()
        self.name = str(device.name)
        chip = chip_of(tuple(device.compute_capability))
        self.target: Attribute = NVVMTargetAttr.of(chip=chip, features=FEATURES)
        self.attach = f"nvvm-attach-target{{chip={chip} features={FEATURES}}}"
        self.schedule = "sm_90" if chip == "sm_90" else "sm_80"
        with self._reported("cannot be used"):
            self._stream = device.create_stream(stream)
            _, total = self._done(self._driver.cuMemGetInfo())
        self.memory_bytes = int(total)

    @property
    def stream(self) -> Any:
        """The stream that copies and launches are enqueued on: what others enqueue there runs in its turn."""
        return self._stream

    # -- memory

    def allocate(self, size: int) -> Buffer:
        with self._reported(f"has no room for {size} bytes"):
            return Buffer(self._device.allocate(max(size, 1), stream=self._stream), 0, size)

    def write(self, buffer: Buffer, data: Bytes) -> None:
        if buffer.size:
            source = np.ascontiguousarray(data)
            with self._reported():  # memory that is not page-locked has been read when the call returns
                self._done(self._driver.cuMemcpyHtoDAsync(_address(buffer), source.ctypes.data, buffer.size, self._stream.handle))

    def read(self, buffer: Buffer) -> Bytes:
        data = np.empty(buffer.size, np.uint8)
        if buffer.size:
            with self._reported():
                self._done(self._driver.cuMemcpyDtoHAsync(data.ctypes.data, _address(buffer), buffer.size, self._stream.handle))
                self._stream.sync()
        return data

    def copy(self, source: Buffer, target: Buffer) -> None:
        if source.size and not source.is_at(target):
            with self._reported():
                self._done(self._driver.cuMemcpyDtoDAsync(_address(target), _address(source), source.size, self._stream.handle))

    def poison(self, buffer: Buffer) -> None:
        if buffer.size:
            with self._reported():
                self._done(self._driver.cuMemsetD8Async(_address(buffer), POISON, buffer.size, self._stream.handle))

    # -- arrays of other libraries

    def borrow(self, value: Any) -> Borrowed | None:
        if isinstance(value, np.ndarray | np.generic) or not (hasattr(value, "__dlpack_device__") or hasattr(value, "__cuda_array_interface__")):
            return None
        try:
            with self._reported():
                view = self._core.utils.StridedMemoryView.from_any_interface(value, stream_ptr=int(self._stream.handle))
        except DeviceError:
            return None
        if not view.is_device_accessible or view.device_id != self._device.device_id:
            return None
        dtype, shape = np.dtype(view.dtype), tuple(view.shape)
        whole = Buffer(_Lent(view.ptr, view), 0, int(np.prod(shape)) * dtype.itemsize)
        return Borrowed(whole if _is_dense(shape, view.strides) else None, shape, dtype)

    def lend(self, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """The copy is a view of cuda-core's, which other libraries take by DLPack and which keeps its memory."""
        result = self.allocate(buffer.size)
        self.copy(buffer, result)
        with self._reported():
            return self._core.utils.StridedMemoryView.from_buffer(result.memory, shape=shape, dtype=dtype)

    # -- kernels

    def load(self, object: str | bytes) -> Any:
        with self._reported("refused the kernels"):
            return _Kernels(self._core, self._core.ObjectCode.from_ptx(object.encode() if isinstance(object, str) else object))

    def launch(self, kernels: Any, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Buffer]) -> None:
        with self._reported():
            kernel, config = kernels.prepared(name, grid, block)
            self._core.launch(self._stream, config, kernel, *[_address(buffer) for buffer in arguments])

    def wait(self) -> None:
        with self._reported():
            self._stream.sync()

    def capture(self, commands: Sequence[Command]) -> Callable[[], None]:
        """One graph of all commands, which the driver launches as one."""
        asked = super().capture(commands)
        with self._reported("refused a graph"):
            builder = self._stream.create_graph_builder()
            builder.begin_building()
            try:
                asked()
            finally:
                builder.end_building()
            graph = builder.complete()

        def replay() -> None:
            with self._reported():
                graph.launch(self._stream)

        return replay

    @contextmanager
    def _reported(self, what: str = "failed") -> Generator[None]:
        """Makes the device current in this thread, and turns errors of the driver into those of a device."""
        try:
            if not getattr(self._entered, "done", False):
                self._device.set_current()
                self._entered.done = True
            yield
        except DeviceError:
            raise
        except Exception as error:  # cuda-core has its own class of errors, and raises many of Python's
            raise DeviceError(f"{self.name} {what}: {error}") from None

    def _done(self, answer: tuple[Any, ...]) -> tuple[Any, ...]:
        """What a function of the driver returns behind its status; a RuntimeError with the driver's words if that is an error."""
        status = answer[0]
        if int(status) != 0:
            _, name = self._driver.cuGetErrorName(status)
            _, text = self._driver.cuGetErrorString(status)
            raise RuntimeError(f"{_words(name)}: {_words(text)}")
        return answer[1:]


class _Kernels:
    """The kernels of an object, and the sizes that they were launched with."""

    def __init__(self, core: Any, code: Any):
        self._core, self._code = core, code
        self._prepared: dict[tuple[str, Sizes, Sizes], tuple[Any, Any]] = {}

    def prepared(self, name: str, grid: Sizes, block: Sizes) -> tuple[Any, Any]:
        """A kernel and its sizes as the driver takes them."""
        known = self._prepared.get((name, grid, block))
        if known is None:
            known = self._prepared[name, grid, block] = (self._code.get_kernel(name), self._core.LaunchConfig(grid=grid, block=block))
        return known


class _Lent(Struct, frozen=True, eq=False):
    """An address in memory of another library, which is kept as long as this."""

    handle: int
    owner: Any


def _address(buffer: Buffer) -> int:
    return int(buffer.memory.handle) + buffer.offset


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...] | None) -> bool:
    """Whether an array's elements lie side by side in row-major order; strides count elements."""
    if strides is None or 0 in shape:
        return True
    expected = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True


def _words(text: Any) -> str:
    return text.decode() if isinstance(text, bytes) else str(text)
