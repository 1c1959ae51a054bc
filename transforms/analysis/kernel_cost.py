"""The costs of kernels: the flops and transcendental functions of a nest are those of its body, once for each iteration."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import ComplexType
from xdsl.ir import Attribute, Block, Operation

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel import STORE, ApplyOp, FusedOp, InterpretOp, MatmulOp, NativeOp, NestOp, StripMineOp, YieldOp
from wengert.dialects.kernel.buffers import LaunchOp
from wengert.dialects.scalar_functions import function_facts
from wengert.ir.attributes import ints
from wengert.ir.elements import Elements, splat_value
from wengert.ir.tensor_types import element, is_float, size
from wengert.transforms.analysis.opcost import work

Work = tuple[int, int]


def kernel_work(op: Operation) -> Work:
    """Flops and transcendental functions of one execution of a kernel."""
    return _WORK[type(op)](op)


def _is_floating(type: Attribute) -> bool:
    return is_float(type) or isinstance(type, ComplexType)


def _nest(op: NestOp) -> Work:
    flops = functions = 0
    for inner in op.body.block.ops:
        if isinstance(inner, ApplyOp) and _is_floating(inner.operands[-1].type):
            facts = function_facts(inner.function.data)
            flops += facts.flops[isinstance(inner.operands[0].type, ComplexType)]
            functions += facts.transcendental
    for write in op.writes:
        if write.kind != STORE and _is_floating(write.value.type):
            is_complex = isinstance(write.value.type, ComplexType)
            flops += (6 if write.kind == "mul" else 2) if is_complex else 1
    count = prod(op.extents)
    return count * flops, count * functions


def _matmul(op: MatmulOp) -> Work:
    extents = ints(op.lhs_shape)
    contracted = prod(extents[d] for d in op.dimension_numbers.dims("lhs_contracting_dimensions"))
    element_type = element(op.result)
    return (8 if isinstance(element_type, ComplexType) else 2 if is_float(element_type) else 0) * size(op.result) * contracted, 0


def _inside(block: Block) -> Work:
    works = [_counted(op) if isinstance(op, core.ForOp) else work(op) for op in block.ops if not isinstance(op, YieldOp)]
    return sum(int(flops) for flops, _ in works), sum(int(functions) for _, functions in works)


def _counted(op: core.ForOp) -> Work:
    """The work of a loop over tiles, whose number of iterations is written."""
    count = op.trip_count.owner
    times = int(splat_value(cast("Elements", count.value))) if isinstance(count, stablehlo.ConstantOp) else 0
    flops, functions = _inside(op.body.block)
    return times * flops, times * functions


def _strips(op: StripMineOp) -> Work:
    count = op.iterations.value.data
    flops, functions = _inside(op.body.block)
    return count * flops, count * functions


def _whole(op: FusedOp | NativeOp | InterpretOp) -> Work:
    return _inside(op.body.block)


def _launch(op: LaunchOp) -> Work:
    return kernel_work(op.kernel)


_WORK: dict[type[Operation], Callable[[Any], Work]] = {
    LaunchOp: _launch,
    NestOp: _nest,
    MatmulOp: _matmul,
    StripMineOp: _strips,
    FusedOp: _whole,
    NativeOp: _whole,
    InterpretOp: _whole,
}
