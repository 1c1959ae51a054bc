"""Cutting a kernel into chunks that several threads may run, and the text of starting them.

A kernel whose outermost trips do not depend on one another, and which takes long enough, becomes a *task*: a function
``task(frame, chunk, scratch)`` that finds its pointers in the frame and runs the trips ``[chunk * grain, (chunk + 1) * grain)``.
The entry of the program fills the frame and hands the task to the pool (:mod:`wengert.runtime.cpu.pool`).

How a kernel is cut follows from the shapes alone. So the text does not depend on the number of threads, and neither do the results:
every element is computed by the same instructions whichever thread runs its chunk, and no sum is cut differently.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

POOL_RUN = "wg.pool.run"
BLAS_HOLD = "wg.pool.hold_blas"
BLAS_RELEASE = "wg.pool.release_blas"
DECLARATIONS = {
    POOL_RUN: f"declare void @{POOL_RUN}(ptr, ptr, i64, ptr, i64, i64)",
    BLAS_HOLD: f"declare void @{BLAS_HOLD}()",
    BLAS_RELEASE: f"declare void @{BLAS_RELEASE}()",
}
"""What the runtime provides, by symbol."""

GRAIN_NS = 4000.0
"""The least work of a chunk, in nanoseconds: several times what handing it over costs."""
LEAST_NS = 4 * GRAIN_NS
"""The least work of a kernel that is cut."""
MOST_CHUNKS = 64
"""More chunks would balance better, but each sets up its loops again."""


class Split(Struct, frozen=True):
    """``trips`` trips in chunks of ``grain`` (the last may have fewer), and about how many nanoseconds all of them take.

    ``step`` is not 1 where a trip is a range of elements from ``min(trip * step, last)`` on, ranges which overlap at the end.
    """

    trips: int
    grain: int
    nanoseconds: int
    step: int = 1
    last: int = 0

    @property
    def chunks(self) -> int:
        """How many chunks there are."""
        return -(-self.trips // self.grain)


def wanted_chunks(nanoseconds: float) -> int:
    """How many chunks this much work should be cut into (1: it is not worth it)."""
    return min(int(nanoseconds / GRAIN_NS), MOST_CHUNKS) if nanoseconds >= LEAST_NS else 1


def split(trips: int, nanoseconds: float, *, unit: int = 1, most: int = MOST_CHUNKS) -> Split | None:
    """The cut of a loop that takes about so long, in chunks of a multiple of ``unit`` trips; None if it is not worth it."""
    chunks = min(wanted_chunks(nanoseconds), trips, most)
    if chunks < 2:
        return None
    grain = -(-trips // chunks)
    grain = -(-grain // unit) * unit
    return Split(trips, grain, int(nanoseconds)) if grain < trips else None


def single(trips: int, nanoseconds: float) -> Split:
    """Every trip a chunk."""
    return Split(trips, 1, int(nanoseconds))


def parameters(pointers: Sequence[str], cut: Split | None) -> str:
    """The parameters of a kernel: its pointers, or those of a task."""
    return ", ".join([f"ptr {p}" for p in pointers]) if cut is None else "ptr %frame, i64 %chunk, ptr %scratch"


def prologue(pointers: Sequence[str], cut: Split | None) -> list[str]:
    """How a task begins: the pointers from the frame, and the range of trips ``%begin`` to ``%end``."""
    if cut is None:
        return []
    lines: list[str] = []
    for number, pointer in enumerate(pointers):
        lines.append(f"%frame.{number} = getelementptr ptr, ptr %frame, i64 {number}")
        lines.append(f"{pointer} = load ptr, ptr %frame.{number}")
    lines.append(f"%begin = mul nuw nsw i64 %chunk, {cut.grain}")
    lines.append(f"%past = add nuw nsw i64 %begin, {cut.grain}")
    lines.append(f"%end = call i64 @llvm.umin.i64(i64 %past, i64 {cut.trips})")
    return lines


def start(task: str, frame: str, pointers: Sequence[str], cut: Split, scratch: str, count: int) -> list[str]:
    """Fills the frame and runs the task; ``count`` bytes of scratch memory are private to each thread."""
    lines: list[str] = []
    for number, pointer in enumerate(pointers):
        lines.append(f"{frame}.{number} = getelementptr ptr, ptr %frame, i64 {number}")
        lines.append(f"store ptr {pointer}, ptr {frame}.{number}")
    lines.append(f"call void @{POOL_RUN}(ptr @{task}, ptr %frame, i64 {cut.chunks}, ptr {scratch}, i64 {count}, i64 {cut.nanoseconds})")
    return lines
