"""Devices that OpenCL drivers offer, by ``pyopencl``: memory is shared virtual memory, so that a kernel is given any address inside of an allocation.

The Khronos Group, "The OpenCL Specification" 3.0: kernels come as SPIR-V (``clCreateProgramWithIL``), buffers as pointers (``clSetKernelArgSVMPointer``).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from wengert.dialects.gpu.targets import SPIRVTargetAttr
from wengert.ir.installation import command
from wengert.runtime.devices import intel_runtime
from wengert.runtime.devices.interface import Buffer, Bytes, Command, Copy, Device, DeviceError, Sizes
from wengert.runtime.errors import InputError
from wengert.transforms.pipelines import SPIRV

NO_DEVICE = f"no OpenCL driver offers a device that takes SPIR-V; {command('opencl-cpu')} brings one for x86-64 processors"
ALIGNMENT = 128
"""Allocations begin at multiples of so many bytes: of the longest vector of OpenCL C, beyond which drivers need not go."""
POISON = 0xFB
"""The byte that wrong values are made of: huge negative numbers, and positions far outside of any buffer."""
CAPABILITIES = ("Kernel", "Addresses", "Float64", "Int64", "Int16", "Int8")


def binding() -> Any:
    """``pyopencl``, with what it needs to find drivers; an InputError says what to install."""
    intel_runtime.register()
    try:
        import pyopencl
    except ImportError:
        raise InputError(
            f"backend 'opencl' needs the package pyopencl: {command('opencl')}; with a driver for x86-64 processors: {command('opencl-cpu')}"
        ) from None
    return pyopencl


def devices() -> Iterator[Any]:
    """The devices of all drivers that take SPIR-V and share virtual memory, in the drivers' order."""
    cl = binding()
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        return
    for platform in platforms:
        for device in platform.get_devices():
            if "SPIR-V" in device.il_version and device.svm_capabilities & cl.device_svm_capabilities.COARSE_GRAIN_BUFFER:
                yield device


def name_of(device: Any) -> str:
    """How a device is called: by its own name and the driver's."""
    return f"{device.name.strip()} ({device.platform.name.strip()})"


@lru_cache(maxsize=8)
def device_named(part: str = "") -> OpenCLDevice:
    """The first device whose name contains a text, made once.

    Raises:
        InputError: pyopencl is missing, or there is no such device.
    """
    known = list(devices())
    for device in known:
        if part.lower() in name_of(device).lower():
            return OpenCLDevice(device)
    if known:
        raise InputError(f"no OpenCL device is named {part!r}; there are: {', '.join(map(name_of, known))}")
    raise InputError(NO_DEVICE)


class OpenCLDevice(Device):
    """One device of an OpenCL driver, with a queue of its own."""

    object_type = bytes
    attach = SPIRV
    to_binary = "gpu-module-to-binary{format=bin}"

    def __init__(self, device: Any = None):
        cl = self._cl = binding()
        if device is None:
            device = next(devices(), None)
        if device is None:
            raise InputError(NO_DEVICE)
        self.name = name_of(device)
        self.memory_bytes: int = device.global_mem_size
        self.target: Attribute = SPIRVTargetAttr.of("v1.4", CAPABILITIES, client_api="OpenCL")
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context)

    # -- memory

    def allocate(self, size: int) -> Buffer:
        cl = self._cl
        try:
            memory = cl.csvm_empty(self._context, (max(size, 1),), np.uint8, alignment=ALIGNMENT)
        except (cl.Error, MemoryError, ValueError) as error:
            raise DeviceError(f"{self.name} has no room for {size} bytes: {error}") from None
        return Buffer(memory, 0, size)

    def write(self, buffer: Buffer, data: Bytes) -> None:
        if buffer.size:
            source = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
            if not source.flags.writeable:  # which pyopencl asks for, though it only reads
                source = source.copy()
            with self._reported():
                self._cl.enqueue_copy(self._queue, self._shared(buffer), source, is_blocking=True)

    def read(self, buffer: Buffer) -> Bytes:
        data = np.empty(buffer.size, np.uint8)
        if buffer.size:
            with self._reported():
                self._cl.enqueue_copy(self._queue, data, self._shared(buffer), is_blocking=True)
        return data

    def copy(self, source: Buffer, target: Buffer) -> None:
        if source.size and not source.is_at(target):
            with self._reported():
                self._cl.enqueue_copy(self._queue, self._shared(target), self._shared(source), is_blocking=False)

    def poison(self, buffer: Buffer) -> None:
        if buffer.size:
            with self._reported():
                self._cl.enqueue_svm_memfill(self._queue, self._shared(buffer), np.uint8(POISON))

    @contextmanager
    def _reported(self) -> Generator[None]:
        """Turns errors of the driver into those of a device."""
        try:
            yield
        except self._cl.Error as error:
            raise DeviceError(f"{self.name} failed: {error}") from None

    def _shared(self, buffer: Buffer) -> Any:
        return self._cl.SVM(buffer.memory[buffer.offset : buffer.offset + max(buffer.size, 1)])

    # -- kernels

    def load(self, object: str | bytes) -> Any:
        cl = self._cl
        assert isinstance(object, bytes)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)  # drivers say something even where all is well
                program = cl.Program(self._context, object).build()
            return {kernel.function_name: kernel for kernel in program.all_kernels()}
        except cl.Error as error:
            raise DeviceError(f"{self.name} refused the kernels: {error}") from None

    def launch(self, kernels: Any, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Buffer]) -> None:
        kernel = kernels[name]
        threads = tuple(groups * size for groups, size in zip(grid, block, strict=True))
        with self._reported():
            for number, buffer in enumerate(arguments):
                kernel.set_arg(number, self._shared(buffer))
            self._cl.enqueue_nd_range_kernel(self._queue, kernel, threads, block)

    def capture(self, commands: Sequence[Command]) -> Callable[[], None]:
        """Every launch has a kernel object of its own, whose arguments are set here. (pyopencl has no command buffers.)"""
        asked = [self._prepared(command) for command in commands if not isinstance(command, Copy) or self._moves(command)]

        def replay() -> None:
            with self._reported():
                for ask in asked:
                    ask()

        return replay

    def _prepared(self, command: Command) -> Callable[[], Any]:
        cl, queue = self._cl, self._queue
        if isinstance(command, Copy):
            source, target = self._shared(command.source), self._shared(command.target)
            return lambda: cl.enqueue_copy(queue, target, source, is_blocking=False)
        threads = tuple(groups * size for groups, size in zip(command.grid, command.block, strict=True))
        with self._reported():
            kernel = command.kernels[command.name].clone()
            for number, buffer in enumerate(command.arguments):
                kernel.set_arg(number, self._shared(buffer))
        return lambda: cl.enqueue_nd_range_kernel(queue, kernel, threads, command.block)

    def _moves(self, command: Copy) -> bool:
        return bool(command.source.size) and not command.source.is_at(command.target)

    def wait(self) -> None:
        with self._reported():
            self._queue.finish()
