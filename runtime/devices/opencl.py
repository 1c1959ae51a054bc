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
from wengert.transforms.codegen.gpu.device.spirv_grammar import capabilities_of
from wengert.transforms.pipelines import SPIRV

NO_DEVICE = f"no OpenCL driver offers a device that takes SPIR-V; {command('opencl-cpu')} brings one for x86-64 processors"
ALIGNMENT = 128
"""Allocations begin at multiples of so many bytes: of the longest vector of OpenCL C, beyond which drivers need not go."""
POISON = 0xFB
"""The byte that wrong values are made of: huge negative numbers, and positions far outside of any buffer."""
TYPES = {9: ("cl_khr_fp16", "f16"), 10: ("cl_khr_fp64", "f64")}
"""The types that devices need not have: the number of the capability that SPIR-V asks for, the extension that a device has then, and the name."""
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
    return (device for device in _listed(cl) if not _lacking(cl, device))


def no_device() -> str:
    """That no device can be used, with those that are there and what they lack, and what to install."""
    cl = binding()
    unfit = [f"{name_of(device)} {_lacking(cl, device)}" for device in _listed(cl)]
    return NO_DEVICE + (f" (there are: {'; '.join(unfit)})" if unfit else "")


def _listed(cl: Any) -> Iterator[Any]:
    """The devices of all drivers."""
    try:
        platforms = cl.get_platforms()
    except cl.Error:  # there is no driver
        return
    for platform in platforms:
        try:
            yield from platform.get_devices()
        except cl.Error:  # a driver without a device
            continue


def _lacking(cl: Any, device: Any) -> str:
    """What a device cannot do that is needed; empty if nothing."""
    try:
        takes_spirv = "SPIR-V" in device.il_version
        shares = device.svm_capabilities & cl.device_svm_capabilities.COARSE_GRAIN_BUFFER
    except cl.Error:  # a driver of OpenCL 1 knows neither word
        return "takes no SPIR-V"
    if not takes_spirv:
        return "takes no SPIR-V"
    return "" if shares else "does not share virtual memory"


def name_of(device: Any) -> str:
    """How a device is called: by its own name and the driver's."""
    return f"{device.name.strip()} ({device.platform.name.strip()})"


@lru_cache(maxsize=8)
def device_named(part: str = "", *, timed: bool = False) -> OpenCLDevice:
    """The first device whose name contains a text, made once.

    Raises:
        InputError: pyopencl is missing, or there is no such device.
    """
    known = list(devices())
    for device in known:
        if part.lower() in name_of(device).lower():
            return TimedOpenCLDevice(device) if timed else OpenCLDevice(device)
    if known:
        raise InputError(f"no OpenCL device is named {part!r}; there are: {', '.join(map(name_of, known))}")
    raise InputError(no_device())


class OpenCLDevice(Device):
    """One device of an OpenCL driver, with a queue of its own."""

    object_type = bytes
    attach = SPIRV
    to_binary = "gpu-module-to-binary{format=bin}"

    def __init__(self, device: Any):
        cl = self._cl = binding()
        self.name = name_of(device)
        self.memory_bytes: int = device.global_mem_size
        self.target: Attribute = SPIRVTargetAttr.of("v1.4", CAPABILITIES, client_api="OpenCL")
        self._extensions = str(device.extensions).split()
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
        self._check_types(object)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cl.CompilerWarning)  # drivers say something even where all is well
                program = cl.Program(self._context, object).build()
            return {kernel.function_name: kernel for kernel in program.all_kernels()}
        except cl.Error as error:
            raise DeviceError(f"{self.name} refused the kernels: {_build_log(str(error))}") from None

    def _check_types(self, object: bytes) -> None:
        """Refuses kernels for types that the device has not, before its driver does so in words of its own."""
        needed = capabilities_of(object)
        lacking = [type for number, (extension, type) in TYPES.items() if number in needed and extension not in self._extensions]
        if lacking:
            raise DeviceError(f"{self.name} does not compute in {' and '.join(lacking)}, which the kernels of this program do")

    def launch(self, kernels: Any, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Buffer]) -> None:
        kernel = kernels[name]
        threads = tuple(groups * size for groups, size in zip(grid, block, strict=True))
        with self._reported():
            for number, buffer in enumerate(arguments):
                kernel.set_arg(number, self._shared(buffer))
            self._launched(name, self._cl.enqueue_nd_range_kernel(self._queue, kernel, threads, block))

    def _launched(self, name: str, event: Any) -> None:
        """Takes note of a launch, for devices that are asked when kernels ran."""

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


class TimedOpenCLDevice(OpenCLDevice):
    """A device whose queue notes when each kernel ran: it is asked for every launch by itself.

    Attributes:
        launches: the names of kernels and their events since somebody cleared the list.
    """

    def __init__(self, device: Any):
        super().__init__(device)
        self._queue = self._cl.CommandQueue(self._context, properties=self._cl.command_queue_properties.PROFILING_ENABLE)
        self.launches: list[tuple[str, Any]] = []

    def capture(self, commands: Sequence[Command]) -> Callable[[], None]:
        return Device.capture(self, commands)

    def _launched(self, name: str, event: Any) -> None:
        self.launches.append((name, event))

    def times(self) -> list[tuple[str, int, int]]:
        """Each launch with the nanoseconds of the device at which it began and ended; they are done."""
        return [(name, event.profile.start, event.profile.end) for name, event in self.launches]


def _build_log(message: str) -> str:
    """What the driver says about a program that it did not build, in one line; the binding's message begins and ends with words of its own."""
    _, _, log = message.partition("Build on ")
    lines = [line.strip() for line in log.partition("(options:")[0].splitlines()[1:]] or message.splitlines()
    return "; ".join(line for line in lines if line)
