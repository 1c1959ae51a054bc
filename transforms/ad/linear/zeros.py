"""Zero values of a linear program: results of linear ops on zeros, whatever the residuals are.

A linear function may have results that do not depend on its linear arguments. They are linear in them only if they are zero, which is decided
by the ops that compute them. A product with a zero is zero here, as everywhere in a linear program, where zeros are structural.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from xdsl.ir import Operation, SSAValue

from wengert.dialects import core
from wengert.dialects.facts import facts_of
from wengert.dialects.stablehlo import ConstantOp
from wengert.ir import elements
from wengert.ir.tensor_types import is_differentiable, size, type_of
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.linear.transpose_ops import copy_linear
from wengert.transforms.ad.rule import TRANSPOSE_STEPS, TRANSPOSES


def is_zero(value: SSAValue) -> bool:
    """Whether a value of a linear program's block is zero."""
    known: dict[SSAValue, bool] = {}

    def zero(value: SSAValue) -> bool:
        if value not in known:
            owner = value.owner
            known[value] = size(value) == 0 or (isinstance(owner, Operation) and (_is_zero_constant(owner) or keeps_zero(owner, zero)))
        return known[value]

    return zero(value)


def keeps_zero(op: Operation, zero: Callable[[SSAValue], bool]) -> bool:
    """Whether the results of an op are zero because it is linear in operands that are zero."""
    if op.regions or not (type(op) in TRANSPOSES or type(op) in TRANSPOSE_STEPS):
        return False
    if (kind := op.properties.get("kind")) is not None and getattr(kind, "data", None) not in (core.Kind.add, core.Kind.set):
        return False
    facts = facts_of(type(op))
    if facts.bilinear:
        return any(zero(operand) for operand in op.operands[:2])
    count = len(op.operands)
    positions = facts.linear_operands(count) or range(count)
    linear = [op.operands[position] for position in positions if is_differentiable(op.operands[position].type)]
    return bool(linear) and all(zero(operand) for operand in linear)


def copy_without_zeros(ops: Iterable[Operation], env: dict[SSAValue, SSAValue], lb: LinearBuilder, zeros: set[SSAValue], *, affine: bool) -> None:
    """Copies the body of a linear function as :func:`~wengert.transforms.ad.linear.transpose_ops.copy_linear` does, except ops that make zeros
    of the given ones: the values that they would multiply the zeros with are ignored, be they infinite or NaN."""
    for op in ops:
        if keeps_zero(op, zeros.__contains__):
            zeros.update(op.results)
            env.update((result, lb.primal.zeros(type_of(result))) for result in op.results)
        else:
            copy_linear([op], env, lb, affine=affine)


def _is_zero_constant(op: Operation) -> bool:
    return isinstance(op, ConstantOp) and not elements.to_numpy(op.value).any()
