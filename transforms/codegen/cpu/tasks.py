"""Writes tasks, which are kernels that the thread pool runs in chunks, and their calls.

A kernel whose outermost iterations do not depend on one another, and which takes long enough, becomes a *task*: a function
``task(frame, chunk, scratch)`` that reads its pointers from the frame and runs the iterations ``[chunk * grain, (chunk + 1) * grain)``. Where chunks may
be joined, the upper half of ``chunk`` is how many more follow that are run with it.
The entry of the program fills the frame and hands the task to the pool (:mod:`wengert.runtime.cpu.pool`).
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.transforms.codegen.cpu.pointers.frames import FRAME, read_pointers, store_pointers
from wengert.transforms.codegen.cpu.symbols import BLAS_HOLD, BLAS_RELEASE, POOL_CLOSE, POOL_OPEN, POOL_RUN
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.schedule.chunks import Split

DECLARATIONS = {
    POOL_RUN: f"declare void @{POOL_RUN}(ptr, ptr, i64, ptr, i64, i64, i64)",
    POOL_OPEN: f"declare void @{POOL_OPEN}()",
    POOL_CLOSE: f"declare void @{POOL_CLOSE}()",
    BLAS_HOLD: f"declare void @{BLAS_HOLD}()",
    BLAS_RELEASE: f"declare void @{BLAS_RELEASE}()",
}
"""What the runtime provides, by symbol."""

CHUNK, SCRATCH = "%chunk", "%scratch"
"""The other parameters of a task: the number of a chunk, and memory that is private to the thread."""
TASK_PARAMETERS = [f"ptr {FRAME}", f"i64 {CHUNK}", f"ptr {SCRATCH}"]
BEGIN, END = "%begin", "%end"
"""The first iteration of a chunk, and the one after its last."""


def parameters(pointers: Sequence[str], cut: Split | None) -> list[str]:
    """The parameters of a kernel: its pointers, or those of a task."""
    return [f"ptr {p}" for p in pointers] if cut is None else TASK_PARAMETERS


def begin_task(builder: FunctionBuilder, pointers: Sequence[str], cut: Split | None) -> None:
    """Begins a kernel, if it is a task: reads its pointers from the frame, and computes its iterations :data:`BEGIN` to :data:`END`."""
    if cut is None:
        return
    read_pointers(builder, pointers)
    begin_chunk(builder, cut.grain, cut.iterations, joined=cut.joined)


def begin_chunk(builder: FunctionBuilder, grain: Index, iterations: Index, *, joined: bool) -> None:
    """Computes the iterations of a chunk, or of several that are ``joined``: :data:`BEGIN` to :data:`END`."""
    first = CHUNK if not joined else builder.binary("and", "i64", CHUNK, (1 << 32) - 1)
    builder.define(BEGIN, f"mul nuw nsw i64 {first}, {grain}")
    count = grain if not joined else builder.multiply(builder.add(builder.binary("lshr", "i64", CHUNK, 32), 1), grain)
    past = builder.op(f"add nuw nsw i64 {BEGIN}, {count}")
    builder.define(END, f"call i64 @llvm.umin.i64(i64 {past}, i64 {iterations})")


def run_task(builder: FunctionBuilder, task: str, pointers: Sequence[str], cut: Split, scratch: str, count: int) -> None:
    """Fills the frame and runs all chunks of a task; ``count`` bytes of scratch memory are private to each thread."""
    store_pointers(builder, FRAME, pointers)
    arguments = [
        ("ptr", f"@{task}"),
        ("ptr", FRAME),
        ("i64", cut.chunks),
        ("ptr", scratch),
        ("i64", count),
        ("i64", cut.nanoseconds),
        ("i64", cut.joining),
    ]
    builder.call_void(POOL_RUN, arguments)
