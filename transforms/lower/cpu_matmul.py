"""The plan of a contraction on this processor: see :mod:`wengert.transforms.lower.matmul`."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Attribute, Operation

from wengert.dialects.kernel import MatmulOp
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import c64, c128, element, f32, f64, is_integer, is_unsigned
from wengert.transforms.lower import matmul
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.matmul import MatmulPlan

_NAMES = {f32: "f32", f64: "f64", c64: "c64", c128: "c128"}


def _name(held: Attribute) -> str:
    if is_integer(held):
        return f"{'ui' if is_unsigned(held) else 'i'}{held.width.data}"  # pyright: ignore[reportAttributeAccessIssue]
    return _NAMES[held]


def product_plan(op: MatmulOp, target: Target) -> MatmulPlan:
    """How this contraction is computed."""
    numbers = op.dimension_numbers
    return matmul.plan(
        ints(op.lhs_shape),
        ints(op.rhs_shape),
        _name(element(op.result)),
        lhs_batch=numbers.dims("lhs_batching_dimensions"),
        rhs_batch=numbers.dims("rhs_batching_dimensions"),
        lhs_contracting=numbers.dims("lhs_contracting_dimensions"),
        rhs_contracting=numbers.dims("rhs_contracting_dimensions"),
        target=matmul.Target(target.vector_bytes, target.vector_registers),
        lhs_strides=ints(op.lhs_strides),
        rhs_strides=ints(op.rhs_strides),
    )


def scratch_bytes(target: Target) -> Callable[[Operation], int]:
    """How much scratch memory an op needs on this processor."""

    def count(op: Operation) -> int:
        return product_plan(op, target).scratch_bytes if isinstance(op, MatmulOp) else 0

    return count
