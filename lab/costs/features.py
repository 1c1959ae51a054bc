"""The features of kernels by which times are predicted: how often each kind of work is done, by class of kernel, read off its schedule.

A nest is counted in instructions on vector registers (or on scalars, where its schedule has one lane), each in the loop in which it stands; a
product in multiplications of registers, and in how many of them wait for each other; what has code of its own by its work and by its calls. The
seconds that one unit of each takes are fitted (:mod:`wengert.lab.costs.calibration`).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import ceil, log2

from xdsl.dialects.builtin import Float32Type, Float64Type, TensorType
from xdsl.ir import Operation

from wengert.dialects import stablehlo
from wengert.dialects.kernel import FusedOp, MatmulOp, NestOp
from wengert.dialects.kernel import buffers as ops
from wengert.dialects.kernel.memory import byte_size
from wengert.ir.attributes import int_of
from wengert.ir.tensor_types import dtype_of, element, shape, size
from wengert.lab.costs.nest_features import nest_features
from wengert.lab.costs.product_features import product_features
from wengert.transforms.analysis.compiled_cost import CompiledCost, Kernel
from wengert.transforms.analysis.symbolic.polynomial import ONE, ZERO, Number, Polynomial

CACHES = (("L2", 48 << 10), ("L3", 1 << 20), ("memory", 24 << 20))
"""The levels that a kernel's bytes come from by how many they are: none of these up to the first number, the last one from the last number on."""


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
    counted: dict[str, Number] = {"launch": 1}
    if isinstance(op, FusedOp):
        counted |= Counter(product_features(op.product)) + Counter(nest_features(op.nest))
    else:
        counted |= nest_features(op) if isinstance(op, NestOp) else product_features(op) if isinstance(op, MatmulOp) else _whole(op, kernel)
    level = next((name for name, most in reversed(CACHES) if kernel.bytes > most), None)
    if level is not None:
        counted[f"byte from {level}"] = kernel.bytes
    if kernel.shared and threads > 1:
        return {"shared": 1, **{name: Fraction(count, threads) for name, count in counted.items()}}
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
    return Counter({f"{name} call": 1, f"{_narrow(inner)}{name} work": max(1, native_work(inner, kernel))})


def _narrow(op: Operation) -> str:
    """Work in f32 is another one than in f64: registers hold twice as many elements."""
    types = [element(value) for value in (*op.operands, *op.results) if isinstance(value.type, TensorType)]
    floats = [type for type in types if isinstance(type, Float32Type | Float64Type)]
    return "f32 " if floats and all(isinstance(type, Float32Type) for type in floats) else ""


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
