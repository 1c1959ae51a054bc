"""Types that have tangents, and explicit zeros for structurally zero tangents."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import Float8E8M0FNUType, TensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import is_differentiable
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.rule import Tangent


def has_tangent(type: Attribute) -> bool:
    """Whether values of a type have tangents: tensors of real or complex floating point, and tapes of these."""
    return is_differentiable(type) or (isinstance(type, core.TapeType) and has_tangent(type.entry_type))


def has_zero(type: Attribute) -> bool:
    """Whether values of a differentiable type can be zero; else NaN would stand for every structural zero."""
    return not (isinstance(type, TensorType) and isinstance(cast("TensorType[Any]", type).element_type, Float8E8M0FNUType))


def check_has_zero(op: Operation, type: Attribute) -> None:
    """Raises DiagnosticError at an op whose result would have a tangent in a format without zero."""
    if not has_zero(type):
        raise refuse(op, f"has a tangent of type {type}, which has no zero, so that derivatives have no meaning in it")


def materialized(b: OpBuilder, tangent: Tangent, type: Attribute) -> Value:
    """A tangent as a value: at the boundary of a function or region a structural zero becomes an explicit one."""
    if tangent is not None:
        return tangent
    if isinstance(type, core.TapeType):
        return b.create(core.TapeCreateOp, (), (type,))[0]
    return b.zeros(cast("TensorType[Any]", type))
