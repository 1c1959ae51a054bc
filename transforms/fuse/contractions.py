"""Writes the operands of contractions as strided views of buffers, so that no transpose, slice or broadcast of them is ever copied."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.kernel import MatmulOp
from wengert.dialects.kernel.positions import flatten, index
from wengert.ir.attributes import int_array
from wengert.ir.location.locations import rewritten
from wengert.ir.tensor_types import shape
from wengert.transforms.fuse.views import Index, operand_index

_VIEWS = (stablehlo.BroadcastInDimOp, stablehlo.ReshapeOp, stablehlo.TransposeOp, stablehlo.SliceOp)


class Strided(Struct, frozen=True):
    """A value as elements ``offset + sum of index * stride`` of another value's buffer."""

    base: SSAValue
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int


def strided(value: SSAValue, resolve: Callable[[SSAValue], SSAValue]) -> Strided:
    """The value as a view of the farthest value that it is a strided view of."""
    value = resolve(value)
    extents = shape(value)
    at: Index = tuple([index(d) for d in range(len(extents))])
    farthest = _view(value, at, extents)
    while isinstance(owner := value.owner, _VIEWS) and 0 not in extents and not _is_constant(resolve(owner.operands[0])):
        at = operand_index(owner, at, extents)
        value = resolve(owner.operands[0])
        inner = _view(value, at, extents)
        farthest = inner or farthest
    assert farthest is not None
    return farthest


def _is_constant(value: SSAValue) -> bool:
    return isinstance(value.owner, stablehlo.ConstantOp | stablehlo.IotaOp)


def _view(value: SSAValue, at: Index, extents: tuple[int, ...]) -> Strided | None:
    flat = flatten(at, shape(value))
    if not flat.is_affine():
        return None
    return Strided(value, extents, tuple([flat.coefficient(d) for d in range(len(extents))]), flat.offset)


def matmul(op: stablehlo.DotGeneralOp, lhs: Strided, rhs: Strided, lhs_buffer: SSAValue, rhs_buffer: SSAValue) -> MatmulOp:
    """The kernel op of a dot_general with these operands."""
    return MatmulOp.create(
        operands=[lhs_buffer, rhs_buffer],
        result_types=[op.result.type],
        properties={
            "dimension_numbers": op.dot_dimension_numbers,
            "lhs_shape": int_array(lhs.shape),
            "lhs_strides": int_array(lhs.strides),
            "rhs_shape": int_array(rhs.shape),
            "rhs_strides": int_array(rhs.strides),
            "offsets": int_array((lhs.offset, rhs.offset)),
        },
        location=rewritten(op.location, op.name, "fuse"),
    )
