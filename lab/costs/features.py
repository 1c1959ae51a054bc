"""The features of kernels by which times are predicted: how often each kind of work is done, by class of kernel, read off its schedule.

A nest is counted in instructions on vector registers (or on scalars, where its schedule has one lane), each in the loop in which it stands; a
product in multiplications of registers, and in how many of them wait for each other; what has code of its own by its work and by its calls. The
seconds that one unit of each takes are fitted (:mod:`wengert.lab.costs.calibration`).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil, log2, prod

from xdsl.dialects.builtin import ComplexType, TensorType
from xdsl.ir import Operation

from wengert.dialects import stablehlo
from wengert.dialects.facts import Effort
from wengert.dialects.kernel import STORE, ApplyOp, LoadOp, MatmulOp, NestOp
from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.element_formats import element_format
from wengert.dialects.kernel.memory import byte_size
from wengert.dialects.kernel.product_schedule import ProductSchedule
from wengert.dialects.kernel.schedule import Schedule
from wengert.dialects.scalar_functions import effort
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import dtype_of, element, shape, size
from wengert.ir.traversal import result_of
from wengert.transforms.analysis.compiled_cost import CompiledCost, Kernel
from wengert.transforms.analysis.loops import Loops
from wengert.transforms.analysis.symbolic.polynomial import ONE, ZERO, Number, Polynomial
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.placement import Placement

CACHES = (("L2", 48 << 10), ("L3", 1 << 20), ("memory", 24 << 20))
"""The levels that a kernel's bytes come from by how many they are: none of these up to the first number, the last one from the last number on."""

_EFFORTS = {Effort.CHEAP: "cheap", Effort.DIVISION: "division", Effort.ROOT: "root", Effort.ELEMENTARY: "elementary", Effort.SPECIAL: "special"}


def program_features(cost: CompiledCost, inputs: int, results: int, threads: int) -> dict[str, Polynomial]:
    """The features of one call of a program with so many inputs and results, by so many threads."""
    total: dict[str, Polynomial] = {"call": ONE, "argument": Polynomial.of(inputs), "result": Polynomial.of(results)}
    for kernel in cost.kernels:
        for name, count in kernel_features(kernel, threads).items():
            total[name] = total.get(name, ZERO) + kernel.times * count
    for op, times in cost.regions:
        name = "branch" if isinstance(op, ops.CaseOp) else "iteration"
        total[name] = total.get(name, ZERO) + times
    return total


def kernel_features(kernel: Kernel, threads: int) -> dict[str, Number]:
    """The features of one execution of a kernel. Threads that share it divide its work, and have to be called."""
    if isinstance(kernel.op, ops.CopyOp):
        return {"launch": 1, "copied byte": byte_size(kernel.op.source)}
    assert isinstance(kernel.op, ops.LaunchOp)
    op = kernel.op.kernel
    counted = _nest(op) if isinstance(op, NestOp) else _product(op) if isinstance(op, MatmulOp) else _whole(op, kernel)
    counted["launch"] += 1
    level = next((name for name, most in reversed(CACHES) if kernel.bytes > most), None)
    if level is not None:
        counted[f"byte from {level}"] += kernel.bytes
    if kernel.shared and threads > 1:
        return {"shared": 1, **{name: Fraction(count, threads) for name, count in counted.items()}}
    return dict(counted)


# -- nests


def _nest(op: NestOp) -> Counter[str]:
    schedule = op.schedule.data if op.schedule is not None else Schedule()
    placement = Placement.scheduled(op, schedule)
    extents, inner = _ranges(op, schedule, placement), placement.inner
    counted: Counter[str] = Counter()
    starts = prod(extents[:inner]) if extents else 1
    counted["inner loop"] = starts
    for inside in placement.ops:
        level = placement.depth[result_of(inside)]
        times = prod(extents[: level + 1])
        lanes = schedule.lanes if level == inner else 1
        if isinstance(inside, ApplyOp):
            counted[_function(inside, lanes)] += _registers(times, lanes, inside)
        elif isinstance(inside, LoadOp) and level == inner:
            at = placement.loops[inside.at.data]
            straight = placement.is_straight(at) and inside.base is None
            counted["load" if straight else "lone load"] += _registers(times, lanes, inside) if straight else times
    for write in placement.writes:
        times, at = prod(extents), placement.loops[write.at]
        combined = "" if write.kind == STORE else "sum "
        in_registers = write.kind != STORE and inner >= 0 and at.coefficient(inner) == 0 and write.base is None
        if in_registers:
            counted["sum in registers"] += ceil(times / (schedule.lanes * schedule.accumulators * schedule.interleave))
            counted["sum ended"] += starts
        elif placement.is_straight(at) and write.base is None:
            counted[f"{combined}store"] += ceil(times / schedule.lanes)
        else:
            counted[f"lone {combined}store"] += times
    return counted


def _ranges(op: NestOp, schedule: Schedule, placement: Placement) -> list[int]:
    """The extents of the loops; of a cut into ranges that overlap, the number of ranges."""
    extents = list(placement.loops.extents)
    if schedule.cut is not None and schedule.cut.overlapping:
        extents[0] = ceil(Loops.of(op).extents[schedule.cut.loop] / schedule.cut.size)
    return extents


def _function(op: ApplyOp, lanes: int) -> str:
    complex = "complex " if any(isinstance(operand.type, ComplexType) for operand in op.operands) else ""
    return f"{complex}{_EFFORTS[effort(op)]}{'' if lanes > 1 else ' scalar'}"


def _registers(times: int, lanes: int, op: Operation) -> int:
    """The instructions for one op in so many iterations."""
    bytes = element_format(result_of(op).type).size
    return ceil(times / lanes) * max(1, lanes * bytes // host().target.vector_bytes)


# -- products


def _product(op: MatmulOp) -> Counter[str]:
    schedule = op.schedule.data if op.schedule is not None else ProductSchedule()
    lhs = ints(op.lhs_shape)
    contracted = prod(lhs[d] for d in op.dimension_numbers.dims("lhs_contracting_dimensions"))
    tile = schedule.tile
    multiplications = size(op.result) * contracted
    registers = ceil(multiplications / tile.lanes)
    if schedule.kernel == "blas":
        return Counter({"blas": 1, "blas multiplication": multiplications})
    counted: Counter[str] = Counter({"product register": registers})
    together = max(1, tile.rows * tile.columns * (1 if schedule.kernel == "dot" else schedule.accumulators))
    counted["product step"] = ceil(registers / together)
    counted["product tile"] = ceil(size(op.result) / max(1, tile.rows * tile.columns * (1 if schedule.kernel == "dot" else tile.lanes)))
    if schedule.kernel in ("gathered", "scalar"):
        counted["product lone"] = multiplications
    if schedule.copied or schedule.kernel == "packed" or schedule.turned:
        counted["product copied"] = byte_size(op.lhs) + byte_size(op.rhs)
    return counted


# -- ops with code of their own, or none


def _whole(op: Operation, kernel: Kernel) -> Counter[str]:
    if kernel.kind.startswith("interpreted"):
        return Counter({"interpreted": 1, "interpreted byte": kernel.bytes})
    if not kernel.kind.startswith("native"):
        return Counter({"other flop": kernel.flops, "other byte": kernel.bytes})
    name = kernel.kind.removeprefix("native ")
    inner = op.regions[0].block.first_op
    assert inner is not None
    return Counter({f"{name} call": 1, f"{name} work": max(1, native_work(inner, kernel))})


def native_work(op: Operation, kernel: Kernel) -> int:
    """The work of an op with code of its own: comparisons of a sort, elements of what only moves, flops of all else."""
    if op.name in ("stablehlo.sort", "chlo.top_k"):
        extents = shape(op.operands[0])
        along = op.dimension if isinstance(op, stablehlo.SortOp) else None
        line = extents[int_of(along) if along is not None else -1] if extents else 1
        return size(op.operands[0]) * max(1, ceil(log2(max(line, 2))))
    if kernel.flops:
        return kernel.flops
    types = [value for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
    return max((size(value) * dtype_of(element(value)).itemsize // 8 for value in types), default=1)
