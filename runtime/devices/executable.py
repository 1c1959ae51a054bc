"""Programs on a device as callables: buffers are allocated once, a call writes the inputs, runs the plan and reads the results.

Where an input lies on the device already, as an array of a library that offers it by DLPack, nothing of it passes through the host, and the results stay
on the device too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, cast

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from xdsl.dialects.func import FuncOp

from wengert.dialects.gpu import BinaryOp, LaunchFuncOp, ObjectAttr
from wengert.dialects.kernel.buffers import AllocOp, GlobalOp, is_result
from wengert.dialects.kernel.memory import bytes_of
from wengert.ir.elements import to_numpy
from wengert.ir.traversal import ops_of
from wengert.runtime.devices.arguments import bind_on
from wengert.runtime.devices.interface import Buffer, Device, DeviceError
from wengert.runtime.devices.plan import Plan
from wengert.runtime.errors import InputError
from wengert.runtime.functions import signature_of
from wengert.runtime.memory import plain
from wengert.runtime.signature import Signature

Array = np.ndarray[Any, np.dtype[Any]]


class DeviceStats(Struct, frozen=True):
    """Statistics of a program on a device.

    ``kernels`` are distinct, ``launches`` are those of the last call; ``host`` counts, by name, the ops that the last call ran on the host, since they have no
    kernel for devices. ``recorded`` says that a call asks for all launches as they were recorded, since nothing depends on what the host would have to see.
    ``compile_ms`` is the time by phase.
    """

    device: str
    kernels: int
    arena_bytes: int
    constant_bytes: int
    result_bytes: int
    compile_ms: dict[str, float] = field(default_factory=dict[str, float])
    launches: int = 0
    host: dict[str, int] = field(default_factory=dict[str, int])
    recorded: bool = False

    def __str__(self) -> str:
        host = ", ".join(f"{name} x{count}" for name, count in sorted(self.host.items())) or "none"
        times = ", ".join(f"{phase} {ms:.1f}" for phase, ms in self.compile_ms.items())
        launches = f"{self.launches} launches{' as recorded' if self.recorded else ''}"
        return f"{self.device}: {self.kernels} kernels, {launches}; on the host: {host}; arena {self.arena_bytes} bytes; compile ms: {times}"


class DeviceFunction:
    """A program on a device: ``f(*arrays)`` returns a tuple of fresh arrays. Calls from several threads run one after the other.

    Arguments are taken as :func:`wengert.runtime.arguments.bind` describes. Arrays that other libraries have on the device are taken there; if there is one
    among the arguments, results are arrays on the device, which these libraries take by ``from_dlpack``.

    Attributes:
        signature: of the program.
        device: what it runs on.
        stats: counted so far; launches and ops on the host are those of the last call.

    Raises (when called):
        InputError: arguments that do not fit, named.
        DeviceError: the device failed.
        ExecutionError: an op that runs on the host failed.
    """

    def __init__(self, function: FuncOp, device: Device, kernels: dict[str, Any], times: dict[str, float], *, poison: bool = False):
        self.device = device
        self.signature: Signature = signature_of(function)
        self._poison = poison
        self._lock = Lock()
        types = [argument.type for argument in function.body.block.args]
        self._results = [number for number in range(len(types)) if is_result(function, number)]
        self._inputs = [number for number in range(len(types)) if not is_result(function, number)]
        self.stats = _stats_of(function, device, times)
        _check_memory(device, function, sum(map(bytes_of, types)) + self.stats.arena_bytes + self.stats.constant_bytes)
        self._buffers = [device.allocate(bytes_of(type)) for type in types]
        self._plan = Plan(function, device, kernels, poison=poison)

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        arguments = bind_on(self.device, self.signature, inputs)
        with self._lock:
            return self._run(arguments)

    def bring(self, *inputs: Any) -> Callable[[], None]:
        """Copies inputs to the device; a function that asks for the program on them once more, and does not wait until it is done.

        What it computes is overwritten by the next call: for timing, and for results that nobody reads."""
        with self._lock:
            self._write(bind_on(self.device, self.signature, inputs))

        def again() -> None:
            with self._lock:
                self._plan.run(self._buffers)

        return again

    def _write(self, arguments: Sequence[Array | Buffer]) -> None:
        for number, argument in zip(self._inputs, arguments, strict=True):
            if isinstance(argument, Buffer):
                self.device.copy(argument, self._buffers[number])
            else:
                self.device.write(self._buffers[number], argument.reshape(-1).view(np.uint8))

    def _run(self, arguments: Sequence[Array | Buffer]) -> tuple[Any, ...]:
        device, plan = self.device, self._plan
        self._write(arguments)
        if self._poison:
            for number in self._results:
                device.poison(self._buffers[number])
        plan.run(self._buffers)
        device.wait()
        bring = device.lend if any(isinstance(argument, Buffer) for argument in arguments) else self._read
        results = tuple(bring(self._buffers[n], r.shape, r.dtype) for n, r in zip(self._results, self.signature.results, strict=True))
        self.stats = replace(self.stats, launches=plan.launches, host=dict(plan.host), recorded=plan.recorded)
        return results

    def _read(self, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        return self.device.read(buffer).view(dtype).reshape(shape)


def _stats_of(function: FuncOp, device: Device, times: dict[str, float]) -> DeviceStats:
    """What is known of a program before it runs."""
    return DeviceStats(
        device.name,
        len({(op.module_name, op.kernel_name) for op in ops_of(function, LaunchFuncOp)}),
        sum(bytes_of(op.memref.type) for op in ops_of(function, AllocOp)),
        sum(to_numpy(op.value).nbytes for op in ops_of(function, GlobalOp)),
        sum(bytes_of(argument.type) for n, argument in enumerate(function.body.block.args) if is_result(function, n)),
        times,
    )


def _check_memory(device: Device, function: FuncOp, size: int) -> None:
    """Refuses a program that a device cannot hold; nothing has been allocated yet."""
    if size > device.memory_bytes:
        raise DeviceError(f"@{function.sym_name.data} needs {plain(size)} of memory, of which {device.name} has {plain(device.memory_bytes)}")


def loaded(binary: BinaryOp, device: Device) -> Any:
    """The kernels of a binary on a device; an InputError if none of its objects is for it."""
    objects = [cast("ObjectAttr", object) for object in binary.objects]
    for object in objects:
        if type(object.target) is type(device.target):
            return device.load(object.text if device.object_type is str else object.data)
    targets = ", ".join(str(object.target) for object in objects)
    raise InputError(f"@{binary.sym_name.data} is compiled for {targets}; {device.name} takes {device.target.name}")
