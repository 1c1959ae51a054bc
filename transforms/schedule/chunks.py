"""Cuts the outermost loop of a kernel into chunks that threads may run at the same time.

How a kernel is cut follows from the shapes alone. So the text does not depend on the number of threads, and neither do the results:
every element is computed by the same instructions whichever thread runs its chunk, and no sum is cut differently.
"""

from __future__ import annotations

from msgspec import Struct

GRAIN_NS = 4000.0
"""The least work of a chunk, in nanoseconds: several times what handing it over costs."""
LEAST_NS = 4 * GRAIN_NS
"""The least work of a kernel that is cut."""
AWAKE_NS = 6000.0
"""The least work of a kernel that is cut in programs which share so much that workers stay awake from one kernel to the next."""
FEW_CHUNKS = 8
"""Of fewer, an odd number leaves one of two threads waiting."""
PROGRAM_NS = 200_000.0
"""So much work, all shared kernels of a program together, is worth waking workers once for all of it."""
MOST_CHUNKS = 64
"""More chunks would balance better, but each sets up its loops again."""


class Split(Struct, frozen=True):
    """Iterations in chunks of ``grain`` (the last may have fewer), and about how many nanoseconds all of them take.

    ``step`` is not 1 where an iteration is a range of elements from ``min(iteration * step, last)`` on, ranges which overlap at the end.
    ``joined``: neighbouring chunks may be run as one, which takes less than each of them alone; ``even``: a part of them takes something by itself, so that
    every thread had better have one.
    """

    iterations: int
    grain: int
    nanoseconds: int
    step: int = 1
    last: int = 0
    joined: bool = False
    even: bool = False

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.iterations // self.grain)

    @property
    def joining(self) -> int:
        """How the thread pool joins them: not at all, or (1) what is left when nobody else takes part, or (2) so that every thread has one."""
        return 0 if not self.joined else 2 if self.even else 1


def stay_awake(nanoseconds: float) -> bool:
    """Whether kernels of a program that may be shared take so long together that workers are woken once for all of them."""
    return nanoseconds >= PROGRAM_NS


def wanted_chunks(nanoseconds: float, *, awake: bool = False) -> int:
    """How many chunks this much work should be cut into (1: it is not worth it); ``awake`` where workers stay awake between kernels."""
    if nanoseconds < (AWAKE_NS if awake else LEAST_NS):
        return 1
    chunks = min(int(nanoseconds / GRAIN_NS), MOST_CHUNKS)
    return chunks + chunks % 2 if awake and chunks < FEW_CHUNKS else chunks


def split(iterations: int, nanoseconds: float, *, unit: int = 1, most: int = MOST_CHUNKS, awake: bool = False) -> Split | None:
    """Cuts a loop that takes about so long into chunks of a multiple of ``unit`` iterations; None if that is not worth it."""
    chunks = min(wanted_chunks(nanoseconds, awake=awake), iterations, most)
    if chunks < 2:
        return None
    grain = -(-iterations // chunks)
    grain = -(-grain // unit) * unit
    return Split(iterations, grain, int(nanoseconds)) if grain < iterations else None


def single(iterations: int, nanoseconds: float) -> Split:
    """Every iteration a chunk."""
    return Split(iterations, 1, int(nanoseconds))
