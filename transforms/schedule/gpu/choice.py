"""Chooses the schedule of a nest for a GPU, by a model of what is scarce: threads that run at once, and accesses to memory that neighbours share.

Loops whose iterations write different elements are shared by threads. What is left is added up: by each thread alone where there are threads enough without, by
several threads of a group together where there are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec.structs import replace

from wengert.dialects.kernel import STORE, ApplyOp, LoadOp, NestOp, Write
from wengert.dialects.kernel.gpu_schedule import MOST_ELEMENTS, GpuSchedule, Reduce
from wengert.dialects.kernel.positions import Position, dimensions
from wengert.dialects.scalar_functions import function_facts
from wengert.ir.tensor_types import bytes_of_type, tensor
from wengert.ir.traversal import ops_in
from wengert.transforms.schedule.gpu.conflicts import apart, apart_of, is_exact
from wengert.transforms.schedule.gpu.legality import MOST_IN_I32, is_total, reach, shuffles
from wengert.transforms.schedule.gpu.products import choose_tile
from wengert.transforms.schedule.gpu.target import GpuTarget
from wengert.transforms.schedule.gpu.transposes import choose_transpose

LONG = 64
"""Fewer iterations than this are added up by one thread."""
PER_THREAD = 8
"""The least iterations of a thread that reduces with others."""
LEAST_IN_PART = 32
"""The least iterations of a thread in a part of a reduction that two kernels do."""
MOST_PARTS = 512
MOST_FUNCTIONS = 4
"""The most elements of a thread where a transcendental function is computed of them: more take so many registers that fewer threads run at once."""


def choose_gpu(op: NestOp, target: GpuTarget, *, strict: bool = False) -> GpuSchedule:
    """How a nest should run on a GPU; sums keep the order in which they are written if ``strict``."""
    schedule = _choose(op, target, strict)
    return replace(schedule, positions="i32" if reach(op, schedule) < MOST_IN_I32 else "i64")


def _choose(op: NestOp, target: GpuTarget, strict: bool) -> GpuSchedule:
    extents = op.extents
    if not extents or 0 in extents:
        return GpuSchedule(serial=tuple(range(len(extents))), group=1)
    if not strict and (tile := choose_tile(op, target)) is not None:
        return GpuSchedule(tuple([d for d in range(len(extents)) if d not in tile.loops]), tile=tile, group=tile.group)
    safe, atomic = apart(op), False
    if len(safe) < len(extents) and all(is_exact(write) for write in op.writes if write.base is not None):
        freed = apart(op, atomic=True)
        atomic = freed > safe and any(write.base is not None for write in op.writes)
        safe = freed if atomic else safe
    rest = tuple([d for d in range(len(extents)) if d not in safe])
    shared, accesses = sorted(safe), _accesses(op)
    together = bool(rest) and not strict and not atomic and all(is_total(op, write, rest) or _is_stored_once(op, write) for write in op.writes)
    if together and prod(extents[d] for d in rest) >= LONG and (team := _team(op, shared, rest, accesses, target)) is not None:
        return _reducing(op, shared, team, accesses, target)
    threads = _fastest_last(shared, extents, accesses)
    if not rest and not atomic and (turned := choose_transpose(op, threads)) is not None:
        return GpuSchedule(threads, transpose=turned, group=target.group)
    elements = _elements(op, threads, accesses, target, prod(extents[d] for d in shared)) if threads and not rest else 1
    group = _group(prod(extents[d] for d in shared) // elements, target)
    return GpuSchedule(threads, elements, serial=rest, atomic=atomic, group=group)


def _is_stored_once(op: NestOp, write: Write) -> bool:
    return write.kind == STORE and write.base is None and len(apart_of(op, write)) == len(op.extents)


Accesses = Sequence[tuple[Position, int]]
"""The positions that a nest reads and writes, and the bytes of an element of each."""


def _accesses(op: NestOp) -> Accesses:
    loads = [(inner.at.data, bytes_of_type(tensor((), inner.result.type))) for inner in ops_in(op.body.block) if isinstance(inner, LoadOp)]
    writes = [(write.at, bytes_of_type(tensor((), write.value.type))) for write in op.writes]
    return loads + writes


def _scattered(d: int, accesses: Accesses) -> int:
    """How many bytes neighbouring iterations of a loop move in transactions of their own."""
    return sum([width for at, width in accesses if d in dimensions(at) and at.coefficient(d) not in (-1, 0, 1)])


def _fastest_last(loops: Sequence[int], extents: Sequence[int], accesses: Accesses) -> tuple[int, ...]:
    """The loops with that last whose neighbouring iterations share transactions, if it is long enough to fill one."""
    if not loops:
        return ()
    long = [d for d in loops if extents[d] >= min(8, max(extents[e] for e in loops))]
    last = min(long, key=lambda d: (_scattered(d, accesses), -d))
    return (*[d for d in loops if d != last], last)


def _group(threads: int, target: GpuTarget) -> int:
    """The threads of a group: no more than there are, in whole warps."""
    return min(target.group, -(-threads // target.warp) * target.warp) if threads > 1 else 1


def _elements(op: NestOp, threads: Sequence[int], accesses: Accesses, target: GpuTarget, total: int) -> int:
    """How many elements a thread moves with one access."""
    extents, last = op.extents, threads[-1]
    straight = [(at, width) for at, width in accesses if at.coefficient(last) == 1 and at.is_affine()]
    if not straight or any(last in dimensions(at) and at.coefficient(last) != 1 for at, _ in accesses):
        return 1
    most = (
        MOST_FUNCTIONS
        if any(isinstance(inner, ApplyOp) and function_facts(inner.function.data).transcendental for inner in ops_in(op.body.block))
        else MOST_ELEMENTS
    )
    count = min(target.access_bytes // max(width for _, width in straight), most)
    while count > 1 and (
        (extents[last] % count and len(threads) > 1) or total // count < target.busy or any(not _aligned(at, last, count) for at, _ in straight)
    ):
        count //= 2
    return max(count, 1)


def _aligned(at: Position, last: int, count: int) -> bool:
    """Whether so many elements begin at a multiple of their size."""
    return at.offset % count == 0 and all(c % count == 0 for d, c in at.terms if d != last)


def _team(op: NestOp, shared: Sequence[int], rest: tuple[int, ...], accesses: Accesses, target: GpuTarget) -> Reduce | None:
    """The threads that reduce together; None where one thread alone for every result keeps the processors busy, or reads better."""
    extents = op.extents
    results, count = prod(extents[d] for d in shared), prod(extents[d] for d in rest)
    across = _fastest_last(shared, extents, accesses)
    columns = bool(across) and _scattered(rest[-1], accesses) > _scattered(across[-1], accesses)
    if columns and results >= target.busy:
        return None
    group = target.group
    if columns:
        most = group // target.warp if extents[across[-1]] >= target.warp else group // max(8, 1)
        threads = _power_of_two(min(most, max(count // PER_THREAD, 1)))
        groups = -(-results // (group // threads))
    else:
        threads = _power_of_two(min(group, max(count // PER_THREAD, 1)))
        threads = threads if count > 1024 or results * threads < target.busy else min(threads, target.warp)
        groups = -(-results * threads // group)
    parts = min(target.processors * 4 // groups, count // (threads * LEAST_IN_PART), MOST_PARTS)
    return Reduce(rest, threads, columns, max(parts, 1)) if threads > 1 else None


def _power_of_two(most: int) -> int:
    """The largest power of two of at most this."""
    return 1 << (most.bit_length() - 1)


def _reducing(op: NestOp, shared: Sequence[int], team: Reduce, accesses: Accesses, target: GpuTarget) -> GpuSchedule:
    extents = op.extents
    threads = _fastest_last(shared, extents, accesses) if team.columns else tuple(shared)
    elements = 1 if team.columns else _row_elements(team, extents, accesses, target)
    results = prod(extents[d] for d in shared)
    group = max(min(target.group, team.threads * results), team.threads)
    group = team.threads * _power_of_two(group // team.threads) if not team.columns else target.group
    groups = -(-results * team.threads // group) * team.parts
    # Kernels of few groups may become parts of larger ones, in which not all threads of a warp need be there.
    if target.shuffles and groups >= target.processors and not team.columns and group % target.warp == 0 and shuffles(op, team.loops):
        team = replace(team, shuffle=True)
    return GpuSchedule(threads, elements, reduce=team, group=group)


def _row_elements(team: Reduce, extents: Sequence[int], accesses: Accesses, target: GpuTarget) -> int:
    last = team.loops[-1]
    straight = [(at, width) for at, width in accesses if at.coefficient(last) == 1 and at.is_affine()]
    if not straight:
        return 1
    count = target.access_bytes // max(width for _, width in straight)
    per_thread = prod(extents[d] for d in team.loops) // team.threads
    while count > 1 and (extents[last] % count or per_thread < count or any(not _aligned(at, last, count) for at, _ in straight)):
        count //= 2
    return max(count, 1)
