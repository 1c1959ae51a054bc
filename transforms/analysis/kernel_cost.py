"""What kernels compute, by the functions in their bodies: flops and transcendentals of the ops of the kernel dialect."""

from __future__ import annotations

from math import prod

from wengert.dialects.facts import Facts
from wengert.dialects.kernel import STORE, ApplyOp, MatmulOp, NestOp
from wengert.dialects.scalar_functions import function_facts
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import element, is_complex, is_float, size
from wengert.transforms.analysis.opcost import costs, product


@costs(NestOp)
def _nest(op: NestOp) -> tuple[int, int]:
    flops = sum(_flops(inner) for inner in op.body.block.ops if isinstance(inner, ApplyOp))
    flops += sum(write.kind != STORE and _is_floating(write.value.type) for write in op.writes)
    functions = sum(_facts(inner).transcendental for inner in op.body.block.ops if isinstance(inner, ApplyOp))
    points = prod(op.extents)
    return points * flops, points * functions


@costs(MatmulOp)
def _matmul(op: MatmulOp) -> tuple[int, int]:
    extents = ints(op.lhs_shape)
    contracted = prod([extents[d] for d in op.dimension_numbers.dims("lhs_contracting_dimensions")])
    return product(element(op.result)) * size(op.result) * contracted, 0


def _facts(op: ApplyOp) -> Facts:
    return function_facts(op.function.data)


def _flops(op: ApplyOp) -> int:
    operand = op.arguments[-1].type
    return _facts(op).flops[is_complex(operand)] if _is_floating(operand) else 0


def _is_floating(type: object) -> bool:
    return is_float(type) or is_complex(type)  # pyright: ignore[reportArgumentType]
