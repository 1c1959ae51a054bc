"""A device as its program sees it: its number, and three ways to exchange arrays with others. An engine implements them; all collectives follow from them.

The program that runs on a thread finds its device by :func:`current`. Where there is none the program runs on one device.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from msgspec import Struct

from wengert.dialects.stablehlo.process_groups import Grid, Group

Array = np.ndarray[Any, np.dtype[Any]]


class Call(Struct, frozen=True):
    """One collective of a program; devices that meet must be at the same one.

    Attributes:
        what: the collective with what it works on, as in ``all_reduce add of tensor<4xf64>``.
        place: where it was written.
    """

    what: str
    place: str

    def __str__(self) -> str:
        return f"{self.what} at {self.place}"


class Device(Protocol):
    """One of the devices that run a program, as an engine gives it. Arrays are copied on the way: their memory may be used again as soon as a method
    returns."""

    @property
    def grid(self) -> Grid:
        """All devices."""
        ...

    @property
    def number(self) -> int:
        """The number of this device."""
        ...

    def gather(self, group: Group, array: Array, call: Call) -> list[Array]:
        """The arrays of all devices of a group, in its order; they have one shape and dtype."""
        ...

    def exchange(self, group: Group, parts: Sequence[Array], call: Call) -> list[Array]:
        """Sends part i to device i of a group, and receives what each of them sends here; all parts have one shape and dtype."""
        ...

    def pass_on(self, array: Array, source: int | None, target: int | None, call: Call) -> Array | None:
        """Sends an array to a device, and receives one of the same type from another; either may be missing."""
        ...


class _Here(threading.local):
    device: Device | None = None


_HERE = _Here()


def current() -> Device | None:
    """The device that this thread runs a program for."""
    return _HERE.device


@contextmanager
def running_on(device: Device) -> Generator[None]:
    """Programs that this thread runs inside run on a device."""
    before, _HERE.device = _HERE.device, device
    try:
        yield
    finally:
        _HERE.device = before
