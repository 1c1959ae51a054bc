"""The interface of devices: memory, copies, kernels from an object, launches. One class for each kind of driver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from msgspec import Struct
from xdsl.ir import Attribute

from wengert.runtime.errors import InputError

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Sizes = tuple[int, int, int]


class Buffer(Struct, frozen=True, eq=False):
    """A range of a device's memory: an allocation of the driver's, and the bytes of it from ``offset`` on."""

    memory: Any
    offset: int
    size: int

    def part(self, offset: int, size: int) -> Buffer:
        """Some of the bytes, counted from the first."""
        return Buffer(self.memory, self.offset + offset, size)

    def is_at(self, other: Buffer) -> bool:
        """Whether the two begin at the same byte."""
        return self.memory is other.memory and self.offset == other.offset


class Borrowed(Struct, frozen=True):
    """An array that another library has on a device. ``buffer`` is None where its elements do not lie side by side."""

    buffer: Buffer | None
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class DeviceError(InputError):
    """A device that is not there, has no room, or refused what it was given."""


class Launch(Struct, frozen=True):
    """A kernel is run in all threads of a grid, as :meth:`Device.launch` has it."""

    kernels: Any
    name: str
    grid: Sizes
    block: Sizes
    arguments: Sequence[Buffer]


class Copy(Struct, frozen=True):
    """Memory is copied, as :meth:`Device.copy` has it."""

    source: Buffer
    target: Buffer


Command = Launch | Copy
"""What a device can be asked for again as it was asked before: it depends on nothing that the host would have to see."""


class Device(ABC):
    """A device. Work is done in the order in which it is asked for; ``read`` waits for what was asked for before.

    Attributes:
        name: as its driver names it.
        target: what kernels are compiled for.
        memory_bytes: how much memory it has.
        attach: the pass that gives modules its target.
        schedule: what the pass ``schedule`` calls it.
    """

    name: str
    target: Attribute
    memory_bytes: int
    attach: str
    schedule: str = "gpu"
    object_type: ClassVar[type[str | bytes]]
    """What it loads: text or bytes."""
    to_binary: ClassVar[str]
    """The pass that makes of them what it loads."""

    @abstractmethod
    def allocate(self, size: int) -> Buffer:
        """Memory of so many bytes, with any contents; a DeviceError if there is no room."""

    @abstractmethod
    def write(self, buffer: Buffer, data: Bytes) -> None:
        """Copies bytes to the device. The caller may change them afterwards."""

    @abstractmethod
    def read(self, buffer: Buffer) -> Bytes:
        """The bytes of a buffer."""

    @abstractmethod
    def copy(self, source: Buffer, target: Buffer) -> None:
        """Copies memory of the device that does not overlap, or is the same."""

    @abstractmethod
    def poison(self, buffer: Buffer) -> None:
        """Makes the contents of a buffer wrong, for tests."""

    @abstractmethod
    def load(self, object: str | bytes) -> Any:
        """The kernels of an object for the device's target."""

    @abstractmethod
    def launch(self, kernels: Any, name: str, grid: Sizes, block: Sizes, arguments: Sequence[Buffer]) -> None:
        """Runs a kernel in all threads of a grid."""

    @abstractmethod
    def wait(self) -> None:
        """Returns when all is done that was asked for."""

    def capture(self, commands: Sequence[Command]) -> Callable[[], None]:
        """Prepares commands in an order; the function that is returned asks for them all, as often as it is called. Devices that have graphs make one."""
        asked = [partial(self._ask, command) for command in commands]

        def replay() -> None:
            for ask in asked:
                ask()

        return replay

    def _ask(self, command: Command) -> None:
        if isinstance(command, Copy):
            self.copy(command.source, command.target)
        else:
            self.launch(command.kernels, command.name, command.grid, command.block, command.arguments)

    def borrow(self, value: Any) -> Borrowed | None:
        """The memory of an array that another library has on this device; None for what is anywhere else.

        The order of work is kept: what this device is asked for afterwards comes after what the library has asked for."""
        return None

    def lend(self, buffer: Buffer, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        """A copy of a buffer, on the device, as an array that other libraries take by DLPack; devices that borrow nothing do not lend."""
        raise DeviceError(f"{self.name} shares no memory with other libraries")
