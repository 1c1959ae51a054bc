"""Devices that OpenCL drivers offer, by ``pyopencl``: memory is shared virtual memory, so that a kernel is given any address inside of an allocation.

The Khronos Group, "The OpenCL Specification" 3.0: kernels come as SPIR-V (``clCreateProgramWithIL``), buffers as pointers (``clSetKernelArgSVMPointer``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute

from wengert.dialects.gpu.targets import SPIRVTargetAttr
from wengert.runtime.devices import intel_runtime
from wengert.runtime.devices.interface import Buffer, Bytes, Device, DeviceError, Sizes
from wengert.runtime.errors import InputError

EXTRA = "wengert[opencl]"
ALIGNMENT = 128
"""Allocations begin at multiples of so many bytes: of the longest vector of OpenCL C, beyond which drivers need not go."""
CAPABILITIES = ("Kernel", "Addresses", "Float64", "Int64", "Int16", "Int8")


def binding() -> Any:
    """``pyopencl``, with what it needs to find drivers; an InputError says what to install."""
    intel_runtime.register()
    try:
        import pyopencl
    except ImportError:
        raise InputError(
            f"backend 'opencl' needs the package pyopencl: pip install '{EXTRA}', or '{EXTRA[:-1]}-cpu]' for a device that every processor is"
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


class OpenCLDevice(Device):
    """One device of an OpenCL driver, with a queue of its own."""

    def __init__(self, device: Any = None):
        cl = self._cl = binding()
        if device is None:
            device = next(devices(), None)
        if device is None:
            raise InputError(f"no OpenCL driver offers a device that takes SPIR-V; pip install '{EXTRA[:-1]}-cpu]' brings one for x86-64 processors")
        self.name = f"{device.name.strip()} ({device.platform.name.strip()})"
        self.target: Attribute = SPIRVTargetAttr.of("v1.4", CAPABILITIES, client_api="OpenCL")
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context)

    # -- memory

    def allocate(self, size: int) -> Buffer:
        cl = self._cl
        try:
            memory = cl.csvm_empty(self._context, (max(size, 1),), np.uint8, alignment=ALIGNMENT)
        except (cl.Error, MemoryError) as error:
            raise DeviceError(f"{self.name} has no room for {size} bytes: {error}") from None
        return Buffer(memory, 0, size)

    def write(self, buffer: Buffer, data: Bytes) -> None:
        if buffer.size:
            source = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
            if not source.flags.writeable:  # which pyopencl asks for, though it only reads
                source = source.copy()
            self._cl.enqueue_copy(self._queue, self._shared(buffer), source, is_blocking=True)

    def read(self, buffer: Buffer) -> Bytes:
        data = np.empty(buffer.size, np.uint8)
        if buffer.size:
            self._cl.enqueue_copy(self._queue, data, self._shared(buffer), is_blocking=True)
        return data

    def copy(self, source: Buffer, target: Buffer) -> None:
        if source.size and not source.is_at(target):
            self._cl.enqueue_copy(self._queue, self._shared(target), self._shared(source), is_blocking=False)

    def fill(self, buffer: Buffer, byte: int) -> None:
        if buffer.size:
            self._cl.enqueue_svm_memfill(self._queue, self._shared(buffer), np.uint8(byte))

    def _shared(self, buffer: Buffer) -> Any:
        return self._cl.SVM(buffer.memory[buffer.offset : buffer.offset + max(buffer.size, 1)])

    # -- kernels

    def load(self, object: str | bytes) -> Any:
        cl = self._cl
        assert isinstance(object, bytes)
        try:
            program = cl.Program(self._context, object).build()
            return {kernel.function_name: kernel for kernel in program.all_kernels()}
        except cl.Error as error:
            raise DeviceError(f"{self.name} refused the kernels: {error}") from None

    def launch(self, kernels: Any, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Buffer]) -> None:
        kernel = kernels[name]
        for number, buffer in enumerate(arguments):
            kernel.set_arg(number, self._shared(buffer))
        threads = tuple(groups * size for groups, size in zip(grid, block, strict=True))
        self._cl.enqueue_nd_range_kernel(self._queue, kernel, threads, block)

    def wait(self) -> None:
        self._queue.finish()
