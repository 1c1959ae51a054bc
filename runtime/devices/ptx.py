"""The interpreter of PTX as a device: kernels for NVIDIA's devices run without one, slowly, and every access is checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.ir import Attribute

from wengert.dialects.gpu.targets import NVVMTargetAttr
from wengert.runtime import ptx
from wengert.runtime.devices.interface import Buffer, Bytes, Device, DeviceError, Sizes
from wengert.transforms.pipelines import PTX

MEMORY_BYTES = 1 << 29
"""The size of the device's memory, which the system provides as far as it is used."""


class PTXInterpreter(Device):
    """A device with memory of its own. What a kernel must not do (:class:`wengert.runtime.ptx.Fault`) is an error at the place in its text."""

    object_type = str
    attach = PTX
    schedule = "sm_90"
    to_binary = "gpu-module-to-binary{format=isa}"

    def __init__(self, memory_bytes: int = MEMORY_BYTES, checks: ptx.Checks | None = None):
        self.name = "interpreter of PTX"
        self.target: Attribute = NVVMTargetAttr.of(chip="sm_90", features="+ptx80")
        self.memory = ptx.Memory(memory_bytes)
        self.memory_bytes = memory_bytes
        self._checks = checks

    def allocate(self, size: int) -> Buffer:
        try:
            return Buffer(self.memory.allocate(size), 0, size)
        except ptx.MemoryAccessError as error:
            raise DeviceError(f"{self.name} has no room for {size} bytes: {error}") from None

    def write(self, buffer: Buffer, data: Bytes) -> None:
        self.memory.write(_address(buffer), data)

    def read(self, buffer: Buffer) -> Bytes:
        return self.memory.contents(_address(buffer), buffer.size).copy()

    def copy(self, source: Buffer, target: Buffer) -> None:
        self.memory.copy(_address(source), _address(target), source.size)

    def poison(self, buffer: Buffer) -> None:
        self.memory.poison(_address(buffer), buffer.size)

    def load(self, object: str | bytes) -> Any:
        assert isinstance(object, str)
        return ptx.Image(ptx.parse(object, "kernels.ptx"), self.memory)

    def launch(self, kernels: Any, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Buffer]) -> None:
        kernels.launch(name, grid=grid, block=block, arguments=[_address(buffer) for buffer in arguments], checks=self._checks)

    def wait(self) -> None:
        """Everything is done at once."""


def _address(buffer: Buffer) -> int:
    return buffer.memory + buffer.offset
