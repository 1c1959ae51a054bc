"""The places of a program's values, which change while it runs: a buffer of a loop is another one in every iteration."""

from __future__ import annotations

from wengert.runtime.devices.interface import Buffer


class Slot:
    """The place of a value of the host's program at the moment."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: Buffer | None = None):
        self.buffer = buffer

    @property
    def now(self) -> Buffer:
        """The range of memory."""
        assert self.buffer is not None
        return self.buffer
