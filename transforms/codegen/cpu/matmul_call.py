"""The plan of a contraction on this processor: see :mod:`wengert.transforms.codegen.cpu.matmul`."""

from __future__ import annotations

from functools import lru_cache

from wengert.dialects.kernel import MatmulOp
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import element
from wengert.transforms.codegen.cpu import matmul
from wengert.transforms.codegen.cpu.matmul import MatmulPlan
from wengert.transforms.codegen.cpu.matmul_types import NAMES
from wengert.transforms.schedule.target import Target

_plan = lru_cache(maxsize=256)(matmul.plan)


def product_plan(op: MatmulOp, target: Target) -> MatmulPlan:
    """How this contraction is computed. Plans are shared: ``bufferize`` asks for the memory that they need, and code is written for them later."""
    numbers = op.dimension_numbers
    return _plan(
        ints(op.lhs_shape),
        ints(op.rhs_shape),
        NAMES[element(op.result)],
        lhs_batch=numbers.dims("lhs_batching_dimensions"),
        rhs_batch=numbers.dims("rhs_batching_dimensions"),
        lhs_contracting=numbers.dims("lhs_contracting_dimensions"),
        rhs_contracting=numbers.dims("rhs_contracting_dimensions"),
        target=matmul.Target(target.vector_bytes, target.vector_registers),
        lhs_strides=ints(op.lhs_strides),
        rhs_strides=ints(op.rhs_strides),
        lhs_element=NAMES[element(op.lhs)],
        rhs_element=NAMES[element(op.rhs)],
    )
