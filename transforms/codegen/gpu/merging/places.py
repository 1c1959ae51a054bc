"""The buffers of a group's program: where they lie, who accesses them, and where barriers have to stand between accesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from xdsl.ir import SSAValue


class Place(Struct, frozen=True):
    """The byte ``at`` of a buffer: a value of the host's, or one that stands for a cell that the launch makes itself."""

    base: SSAValue
    at: int

    def same(self, other: Place) -> bool:
        """Whether the two are one byte."""
        return self.base is other.base and self.at == other.at


class Access(Struct, frozen=True):
    """Some threads read or write bytes."""

    place: Place
    size: int
    written: bool

    def meets(self, other: Access) -> bool:
        """Whether a barrier has to stand between the two: they have bytes in common, and one of them writes."""
        one, two = self.place, other.place
        return (self.written or other.written) and one.base is two.base and max(one.at, two.at) < min(one.at + self.size, two.at + other.size)


class Order:
    """Puts barriers between accesses that meet; ``barriers`` counts them. ``alone``: there is one thread, which needs none."""

    def __init__(self, wait: Callable[[], None], *, alone: bool):
        self._wait, self._alone = wait, alone
        self._since: list[Access] = []
        """The accesses since the last barrier."""
        self.barriers = 0

    def add(self, accesses: Iterable[Access]) -> None:
        """Accesses follow, behind a barrier if they need one."""
        new = list(accesses)
        self.expect(new)
        self._since += new

    def expect(self, accesses: Iterable[Access]) -> None:
        """A barrier, if accesses that may follow need one."""
        if any(one.meets(other) for one in accesses for other in self._since):
            self.settle()

    def settle(self) -> None:
        """Whatever follows needs no barrier."""
        if self._since and not self._alone:
            self._wait()
            self.barriers += 1
        self._since = []

    def save(self) -> Sequence[Access]:
        """The accesses that are not in order with what follows."""
        return tuple(self._since)

    def restore(self, saved: Iterable[Access]) -> None:
        """Goes on from there."""
        self._since = list(saved)
