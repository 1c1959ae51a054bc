"""Says why a nest cannot run on a GPU as a schedule asks for, also one written by hand. As for CPUs, what is checked is whether results would be right."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute

from wengert.dialects.kernel import STORE, NestOp, Write
from wengert.dialects.kernel.gpu_schedule import GpuSchedule, Reduce
from wengert.dialects.kernel.positions import dimensions
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.location.places import error_at
from wengert.ir.tensor_types import bf16, bytes_of_type, f16, f32, is_complex, is_float, is_integer, size, tensor
from wengert.transforms.schedule.gpu.conflicts import apart, apart_of
from wengert.transforms.schedule.gpu.products import MOST_WORKGROUP_BYTES, matrix_factors, pitch, product_of, warp_tile_bytes
from wengert.transforms.schedule.gpu.transposes import transposed_loads

MOST_IN_I32 = 1 << 30
"""Half of what is positive leaves room for threads of the last group that have nothing to do, and for what is added on the way."""
MOST_WARP_BYTES = 48 << 10
"""The workgroup memory that NVIDIA's devices give a kernel that does not ask for more."""
Problem = tuple[str, str] | None
"""What a schedule asks for, and why that cannot be."""


def check_gpu(op: NestOp, schedule: GpuSchedule, *, strict: bool = False) -> None:
    """A DiagnosticError at the nest's place if it cannot run so."""
    for rule in (_loops, _shared, _transpose, _tile, _elements, _reduction, _serial, _range):
        if problem := rule(op, schedule):
            raise _refusal(op, *problem)
    if strict and schedule.tile is not None:
        raise _refusal(op, "tiles", "a strict program rounds every product")
    if strict and (team := schedule.reduce) is not None and any(_rounds(write) for write in op.writes if is_total(op, write, team.loops)):
        raise _refusal(op, f"{team.threads} threads that reduce together", "a strict program adds up in order")


def is_total(op: NestOp, write: Write, loops: tuple[int, ...]) -> bool:
    """Whether a write combines all that is computed in the iterations of these loops into one element, and nothing else is written to its result."""
    if write.kind == STORE or write.base is not None or write.condition is not None:
        return False
    return not dimensions(write.at) & set(loops) and sum(other.target == write.target for other in op.writes) == 1


def _refusal(op: NestOp, what: str, why: str) -> DiagnosticError:
    return error_at(op, f"the schedule asks for {what}, but {why}")


def _rounds(write: Write) -> bool:
    return write.kind in ("add", "mul") and (is_float(write.value.type) or is_complex(write.value.type))


def _loops(op: NestOp, schedule: GpuSchedule) -> Problem:
    count = len(op.extents)
    for d in schedule.order:
        if not 0 <= d < count:
            return f"loop {d}", f"the nest has {count}"
    left = [d for d in range(count) if d not in schedule.order]
    return (f"loops {list(schedule.order)}", f"loop {left[0]} is not among them") if left and 0 not in op.extents else None


def _shared(op: NestOp, schedule: GpuSchedule) -> Problem:
    meeting = sorted(set(schedule.threads) - apart(op, atomic=schedule.atomic))
    if not meeting:
        return None
    why = "its iterations may write the same element"
    if schedule.atomic:
        why += ", with values that are not combined to the same bits in any order"
    return f"threads that share loop {meeting[0]}", why


def _transpose(op: NestOp, schedule: GpuSchedule) -> Problem:
    turned = schedule.transpose
    if turned is None:
        return None
    what = f"transposing along loop {turned.loop}"
    if schedule.serial or schedule.reduce is not None or schedule.tile is not None or schedule.elements != 1:
        return what, "also for loops that a thread runs, or for several elements of a thread"
    if turned.loop not in schedule.threads[:-1]:
        return what, "that is not among the threads' loops, or the last of them"
    loads = transposed_loads(op, turned.loop, schedule.threads[-1])
    if not loads:
        return what, f"nothing is read with a stride along loop {schedule.threads[-1]} that is contiguous along it"
    needed = turned.side * (turned.side + 1) * sum(bytes_of_type(tensor((), load.result.type)) for load in loads)
    return (what, f"its squares take {needed} bytes, more than {MOST_WORKGROUP_BYTES}") if needed > MOST_WORKGROUP_BYTES else None


def _tile(op: NestOp, schedule: GpuSchedule) -> Problem:
    tile = schedule.tile
    if tile is None:
        return None
    product = product_of(op)
    what = f"tiles of loops {list(tile.loops)}"
    if product is None:
        return what, "the nest is no sum of products of two factors, each of which leaves out a loop that the other has"
    if tile.loops[0] not in product.rows or tile.loops[1] not in product.columns or tile.loops[2] != product.depth:
        return what, f"rows are of {list(product.rows)}, columns of {list(product.columns)}, and the sum is over {product.depth}"
    if tile.warp:
        if matrix_factors(op, tf32=tile.tf32) is None:
            return f"{what} that warps multiply", "the factors are not f32" if tile.tf32 else "the factors were not 16 bits wide before they became f32"
        needed = warp_tile_bytes(tile)
        return (what, f"the factors of a tile take {needed} bytes, more than {MOST_WARP_BYTES}") if needed > MOST_WARP_BYTES else None
    bytes_needed = tile.size[2] * sum(pitch(n) for n in tile.size[:2]) * product.factor_bytes
    return (what, f"the factors of a tile take {bytes_needed} bytes, more than {MOST_WORKGROUP_BYTES}") if bytes_needed > MOST_WORKGROUP_BYTES else None


def _elements(op: NestOp, schedule: GpuSchedule) -> Problem:
    count = schedule.elements
    if count == 1:
        return None
    what = f"{count} elements per thread"
    if not schedule.threads and schedule.reduce is None:
        return what, "there is no loop that threads share"
    team = schedule.reduce
    if team is not None and team.columns:
        return what, "threads that reduce columns have one each"
    if team is None and len(schedule.threads) == 1:
        return None
    last = (team.loops if team is not None else schedule.threads)[-1]
    return (what, f"the {op.extents[last]} iterations of loop {last} are no multiple of that") if op.extents[last] % count else None


def _reduction(op: NestOp, schedule: GpuSchedule) -> Problem:
    team = schedule.reduce
    if team is None:
        return None
    what = f"{team.threads} threads that reduce loops {list(team.loops)} together"
    inner = (*team.loops, *schedule.serial)
    for write in op.writes:
        if not is_total(op, write, inner) and not set(team.loops) <= apart_of(op, write):
            return what, f"result {write.target} is written in a way that they would conflict"
    if team.shuffle and not shuffles(op, inner):
        return f"{team.threads} threads that shuffle", "something else than f32 and integers of 32 bits is combined"
    return _parts(op, schedule, team, inner)


def shuffles(op: NestOp, loops: tuple[int, ...]) -> bool:
    """Whether all that is combined over these loops fits registers of 32 bits, which the threads of a warp can read of one another."""
    totals = [write for write in op.writes if is_total(op, write, loops)]
    return all(_is_word(write.value.type) or (write.kind in ("add", "mul") and write.value.type in (f16, bf16)) for write in totals)


def _is_word(type: Attribute) -> bool:
    return type == f32 or (is_integer(type) and type.width.data == 32)


def _parts(op: NestOp, schedule: GpuSchedule, team: Reduce, inner: tuple[int, ...]) -> Problem:
    if team.parts == 1:
        return None
    what, count = f"{team.parts} parts", prod(op.extents[d] for d in team.loops)
    if not all(is_total(op, write, inner) or write.kind == STORE for write in op.writes):
        return what, "something else than totals is combined"
    return (what, f"there are {count} iterations") if team.parts > count else None


def _serial(op: NestOp, schedule: GpuSchedule) -> Problem:
    """Stores at computed positions that may meet: the last iteration's value stays."""
    inner = [*(schedule.reduce.loops if schedule.reduce is not None else ()), *schedule.serial]
    for write in op.writes:
        if write.kind == STORE and not set(inner) <= apart_of(op, write) and inner != sorted(inner):
            return f"loops in the order {inner}", "the nest stores into one element more than once, where the last iteration's value stays"
    return None


def _range(op: NestOp, schedule: GpuSchedule) -> Problem:
    if schedule.positions == "i64":
        return None
    largest = reach(op, schedule)
    return ("positions in i32", f"they reach {largest}") if largest >= MOST_IN_I32 else None


def reach(op: NestOp, schedule: GpuSchedule) -> int:
    """The largest number that the kernel computes with: of an element, a thread, or an iteration of loops that are reduced as one."""
    reduced = schedule.reduce.loops if schedule.reduce is not None else ()
    return max([*[prod(op.extents[d] for d in loops) for loops in (schedule.threads, reduced)], *[size(value) for value in (*op.inputs, *op.outputs)]])
