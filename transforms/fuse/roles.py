"""Says how each op takes part in fusion: as a view of other values, a scalar function, a reduction, or not at all.

Views and sources (constants, iota) cost nothing and are computed inside the kernels that use them. Scalar functions, which are the ops whose facts
(:mod:`wengert.dialects.facts`) state an effort, have a cost that decides whether they may be computed again in a second kernel. Every other op is opaque.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation

from wengert.dialects import chlo, core, stablehlo
from wengert.dialects.core import Kind
from wengert.dialects.core.control import TapeType
from wengert.dialects.facts import Effort, facts_of
from wengert.dialects.kernel import STORE, StripMineOp
from wengert.dialects.kernel.product_elements import supports as matmul_supports
from wengert.dialects.scalar_functions import scalar_name
from wengert.ir.attributes import int_of
from wengert.ir.elements import Elements, splat_value
from wengert.ir.tensor_types import (
    EIGHT_BITS,
    bf16,
    c64,
    c128,
    element,
    f16,
    f32,
    f64,
    has_dtype,
    i1,
    i4,
    i8,
    i16,
    i32,
    i64,
    is_boolean,
    is_complex,
    shape_of_type,
    size,
    ui4,
    ui8,
    ui16,
    ui32,
    ui64,
)
from wengert.ir.traversal import all_ops, operands_of


class Role(Enum):
    """The role of an op in fusion."""

    VIEW = auto()
    SOURCE = auto()
    SCALAR = auto()
    REDUCE = auto()
    CONCATENATE = auto()
    UPDATE = auto()
    CONTROL = auto()
    CONTRACT = auto()
    BARRIER = auto()
    OPAQUE = auto()


_ROLES: dict[type[Operation], Role] = {
    stablehlo.BroadcastInDimOp: Role.VIEW,
    stablehlo.ReshapeOp: Role.VIEW,
    stablehlo.TransposeOp: Role.VIEW,
    stablehlo.SliceOp: Role.VIEW,
    stablehlo.ReverseOp: Role.VIEW,
    stablehlo.PadOp: Role.VIEW,
    stablehlo.DynamicSliceOp: Role.VIEW,
    stablehlo.GatherOp: Role.VIEW,
    stablehlo.ConstantOp: Role.SOURCE,
    stablehlo.IotaOp: Role.SOURCE,
    core.ReduceOp: Role.REDUCE,
    stablehlo.ConcatenateOp: Role.CONCATENATE,
    stablehlo.DynamicUpdateSliceOp: Role.UPDATE,
    core.ScatterOp: Role.UPDATE,
    stablehlo.OptimizationBarrierOp: Role.BARRIER,
}

CHEAP, MEDIUM, EXPENSIVE = 1, 4, 24
_PRICES = {None: 0, Effort.CHEAP: CHEAP, Effort.DIVISION: MEDIUM, Effort.ROOT: MEDIUM, Effort.ELEMENTARY: EXPENSIVE, Effort.SPECIAL: EXPENSIVE}
"""What computing an element once more costs, against reading it from memory."""


def cost(op: Operation) -> int:
    """The cost of a scalar function on this op's element type; 0 if there is no scalar function for it."""
    kind = type(op)
    element_type = element(operands_of(op)[1 if kind is stablehlo.SelectOp else 0])
    if kind in _CONDITIONAL and not _has_function(op, element_type):
        return 0
    if element_type in _MOVED and kind not in (stablehlo.ConvertOp, stablehlo.SelectOp):
        return 0
    return _PRICES[facts_of(kind).effort(element_type)]


_CONDITIONAL = frozenset((stablehlo.BitcastConvertOp, stablehlo.CompareOp, chlo.NextAfterOp, chlo.PolygammaOp))


def _has_function(op: Operation, element_type: Attribute) -> bool:
    """Whether there is a scalar function for the attributes of an op, and its other types."""
    if isinstance(op, stablehlo.BitcastConvertOp):
        return _same_width(element_type, element(op.results[0]))
    if isinstance(op, stablehlo.CompareOp):
        return not is_complex(element_type) or op.comparison_direction.data in ("EQ", "NE")
    if isinstance(op, chlo.PolygammaOp):
        return _is_trigamma(op)
    return element_type in (f32, f64)


_CONTROL = frozenset((core.ForOp, core.WhileOp, core.CaseOp, StripMineOp))
_NOT_SCALAR = frozenset((*_ROLES, *_CONTROL, stablehlo.DotGeneralOp))


def _same_width(lhs: Attribute, rhs: Attribute) -> bool:
    return _width(lhs) == _width(rhs) != 0 and not is_boolean(lhs)


def _width(element_type: Attribute) -> int:
    return getattr(element_type, "bitwidth", 0) if not is_complex(element_type) else 0


_SUPPORTED = frozenset((f64, f32, f16, bf16, c64, c128, i1, i4, i8, i16, i32, i64, ui4, ui8, ui16, ui32, ui64, *EIGHT_BITS))
"""Element types in kernels; ops on others (integers of 2 bits) are interpreted."""

_MOVED = frozenset((i4, ui4))
"""Element types that kernels only move and convert."""


def _is_supported(type: Any) -> bool:
    supported: bool | None = type.__dict__.get("_in_kernels")
    if supported is None:
        supported = bool(getattr(type, "element_type", None) in _SUPPORTED)
        object.__setattr__(type, "_in_kernels", supported)
    return supported


def role(op: Operation) -> Role:
    """How this op takes part in fusion."""
    kind = type(op)
    if isinstance(op, core.ScatterOp | stablehlo.DynamicUpdateSliceOp) and not size(op.operand):
        return Role.BARRIER  # wherever it writes, that is outside: the result is the operand
    has_function = facts_of(kind).has_function
    if not has_function and kind not in _NOT_SCALAR:
        return Role.OPAQUE
    if kind not in _CONTROL and not all(_is_supported(value.type) for value in (*operands_of(op), *op.results)):
        return Role.OPAQUE
    if has_function:
        return Role.SCALAR if cost(op) else Role.OPAQUE
    if kind is stablehlo.DotGeneralOp:
        return Role.CONTRACT if has_product(cast(stablehlo.DotGeneralOp, op)) else Role.OPAQUE
    if kind in _CONTROL:
        return Role.CONTROL if has_plain_types(op) else Role.OPAQUE
    if isinstance(op, core.ScatterOp) and not _scatterable(op):
        return Role.OPAQUE
    listed = _ROLES[kind]
    return Role.OPAQUE if listed is Role.REDUCE and not _reducible(op) else listed


def has_product(op: stablehlo.DotGeneralOp) -> bool:
    """Whether there is a matrix product for these element types."""
    return op.algorithm is None and matmul_supports(element(op.lhs), element(op.rhs), element(op.result))


def has_plain_types(op: Operation) -> bool:
    """Whether everything inside a loop or a branch can be held in buffers."""
    every = all_ops(op)
    inside = [value for inner in every for value in inner.results]
    arguments = [arg for inner in every for region in inner.regions for block in region.blocks for arg in block.args]
    return all(is_storable(value.type) for value in (*op.operands, *inside, *arguments))


def _scatterable(op: core.ScatterOp) -> bool:
    element_type = element(op.operand)
    if is_complex(element_type):
        return op.kind.data in (Kind.set, Kind.add, Kind.mul)
    if element_type in _MOVED or element_type in EIGHT_BITS:
        return op.kind.data is Kind.set
    return element_type not in (f16, bf16) or op.kind.data in (Kind.set, Kind.max, Kind.min)


def write_kind(op: Operation) -> str:
    """The kind of a nest's write for an update of a tensor in place."""
    if not isinstance(op, core.ScatterOp) or op.kind.data is Kind.set:
        return STORE
    return combination_kind(op.kind.data, element(op.operand))


def _reducible(op: Operation) -> bool:
    assert isinstance(op, core.ReduceOp)
    return combines(element(op.operand), op.kind.data)


def combines(element_type: Attribute, kind: Kind) -> bool:
    """Whether nests combine elements of this type so."""
    if element_type in _MOVED or element_type in EIGHT_BITS or element_type not in _SUPPORTED:
        return False
    return not is_complex(element_type) or kind in (Kind.add, Kind.mul)


def reduction_kind(op: core.ReduceOp) -> str:
    """The kind of a nest's write for a reduction."""
    return combination_kind(op.kind.data, element(op.operand))


def combination_kind(kind: Kind, element_type: Attribute) -> str:
    """The kind of a nest's write that combines elements of a type; booleans combine by and, or."""
    if is_boolean(element_type):
        return "or" if kind in (Kind.add, Kind.max, Kind.or_) else "and"
    return str(kind.value)


def _is_trigamma(op: chlo.PolygammaOp) -> bool:
    """Whether the order is the constant 1: the derivative of digamma."""
    order = op.lhs.owner
    return isinstance(order, stablehlo.ConstantOp) and splat_value(cast(Elements, order.value)) == 1


_COMPARISONS = {"EQ": "eq", "NE": "ne", "LT": "lt", "LE": "le", "GT": "gt", "GE": "ge"}


def function_name(op: Operation) -> str:
    """The name of the scalar function of an elementwise op, which its attributes are part of."""
    if type(op) not in _NAMED:
        return scalar_name(type(op))
    if isinstance(op, stablehlo.CompareOp):
        name = _COMPARISONS[op.comparison_direction.data]
        return f"total_{name}" if op.compare_type is not None and op.compare_type.data == "TOTALORDER" else name
    if isinstance(op, stablehlo.ReducePrecisionOp):
        return f"reduce_precision_e{int_of(op.exponent_bits)}m{int_of(op.mantissa_bits)}"
    return "trigamma"


_NAMED = frozenset((stablehlo.CompareOp, stablehlo.ReducePrecisionOp, chlo.PolygammaOp))
"""Classes of which an attribute is part of the function's name."""


def is_storable(type: Attribute) -> bool:
    """Whether values of this type can be kept in a buffer within a program: what arguments may be, and tapes of elements that compiled code adds up."""
    if isinstance(type, TapeType):
        return is_compilable(type.entry_type) and cast("TensorType[Attribute]", type.entry_type).element_type in _SUPPORTED
    return is_compilable(type)


def is_compilable(type: Attribute) -> bool:
    """Whether values of this type can be held in a buffer: a tensor of static shape and ordinary elements."""
    if not isinstance(type, TensorType):
        return False
    tensor_type = cast("TensorType[Attribute]", type)
    element_type = tensor_type.element_type
    return all(n >= 0 for n in shape_of_type(tensor_type)) and has_dtype(element_type)
