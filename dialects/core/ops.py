"""The core dialect: what programs mean where StableHLO only says how they are computed.

StableHLO writes a sum, a running maximum or a scatter-add as an op with an arbitrary region. Only a few kinds of region
occur, and every pass wants to know which; so ``to-core`` replaces them by ops that carry the kind as an attribute, and
``from-core`` writes the regions again. A region of another kind stays the StableHLO op that it was.
"""

from __future__ import annotations

from enum import auto
from typing import Any, ClassVar

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, UnitAttr
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Dialect, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from wengert.dialects.core.control import (
    CONTROL,
    CaseOp,
    ForOp,
    TapeAddFromOp,
    TapeAddOp,
    TapeCreateOp,
    TapeExtendOp,
    TapeFromOp,
    TapeGetOp,
    TapePushOp,
    TapeReadOp,
    TapeSetFromOp,
    TapeSetOp,
    TapeSizeOp,
    TapeType,
    WhileOp,
)
from wengert.dialects.core.linalg import (
    LINALG,
    CholeskyOp,
    CholeskySolveOp,
    EighOp,
    EigOp,
    LuDiagonalOp,
    LuOp,
    LuSolveOp,
    PivotsToPermutationOp,
    QrOp,
    SvdOp,
    TridiagonalSolveOp,
)
from wengert.dialects.facts import COMMUNICATION, FORMULA, Facts, Traffic, Work
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr, ScatterDimensionNumbersAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


class Kind(StrEnum):
    """The function that combines two elements. ``set`` (the second one stays) occurs in scatters only."""

    add = auto()
    mul = auto()
    max = auto()
    min = auto()
    and_ = "and"
    or_ = "or"
    set = auto()


class Extreme(StrEnum):
    """The element that an argreduce looks for."""

    max = auto()
    min = auto()


@irdl_attr_definition
class KindAttr(EnumAttribute[Kind], SpacedOpaqueSyntaxAttribute):
    name = "core.kind"


@irdl_attr_definition
class ExtremeAttr(EnumAttribute[Extreme], SpacedOpaqueSyntaxAttribute):
    name = "core.extreme"


@op_definition
class ReduceOp(TensorOp):
    """Combines all elements along the dimensions, which disappear; an empty reduction gives the kind's neutral element."""

    name = "core.reduce"
    FACTS: ClassVar = FORMULA
    SYNTAX: ClassVar = sx.Syntax(sx.Value("kind", sx.Word(KindAttr)), sx.Operands(), sx.Phrase("across", "dimensions", sx.INTS), sx.FunctionType())
    operand = operand_def()
    kind = prop_def(KindAttr)
    dimensions = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ArgReduceOp(TensorOp):
    """The largest (smallest) element along one dimension and its lowest position; NaN wins over every number."""

    name = "core.argreduce"
    FACTS: ClassVar = FORMULA
    SYNTAX: ClassVar = sx.Syntax(sx.Value("extreme", sx.Word(ExtremeAttr)), sx.Operands(), sx.Phrase("along", "dimension", sx.INT), sx.FunctionType())
    operand = operand_def()
    extreme = prop_def(ExtremeAttr)
    dimension = prop_def(I64Attr)
    value = result_def()
    index = result_def()
    traits = traits_def(Pure())


@op_definition
class WindowReduceOp(TensorOp):
    """Combines the elements of every window; padding holds the kind's neutral element.

    ``padding`` lists low and high edges by turns: ``[low0, high0, low1, high1, ...]``.
    """

    name = "core.window_reduce"
    FACTS: ClassVar = FORMULA
    SYNTAX: ClassVar = sx.Syntax(
        sx.Value("kind", sx.Word(KindAttr)),
        sx.Operands(),
        sx.Keys(
            sx.Key("window", "window_dimensions", sx.INTS),
            sx.Key("strides", "window_strides", sx.INTS),
            sx.Key("base_dilations", "base_dilations", sx.INTS),
            sx.Key("window_dilations", "window_dilations", sx.INTS),
            sx.Key("padding", "padding", sx.INTS),
        ),
        sx.FunctionType(),
    )
    operand = operand_def()
    kind = prop_def(KindAttr)
    window_dimensions = prop_def(DenseArrayBase)
    window_strides = prop_def(DenseArrayBase)
    base_dilations = prop_def(DenseArrayBase)
    window_dilations = prop_def(DenseArrayBase)
    padding = prop_def(DenseArrayBase)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class CumulativeOp(TensorOp):
    """The running combination along a dimension, inclusive; from the end if reverse."""

    name = "core.cumulative"
    FACTS: ClassVar = FORMULA
    SYNTAX: ClassVar = sx.Syntax(
        sx.Value("kind", sx.Word(KindAttr)),
        sx.Operands(),
        sx.Phrase("along", "dimension", sx.INT),
        sx.Flag("reverse", "reverse"),
        sx.SameType(),
    )
    operand = operand_def()
    kind = prop_def(KindAttr)
    dimension = prop_def(I64Attr)
    reverse = prop_def(BoolAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ScatterOp(TensorOp):
    """The operand with updates combined into it at computed positions; those out of bounds are dropped.

    Dimension numbers are those of ``stablehlo.scatter``.
    """

    name = "core.scatter"
    FACTS: ClassVar = Facts(work=Work.FORMULA, traffic=Traffic.SCATTER)
    SYNTAX: ClassVar = sx.Syntax(
        sx.Value("kind", sx.Word(KindAttr)),
        sx.Operands(),
        sx.Keys(
            sx.Key("dims", "scatter_dimension_numbers", sx.ATTRIBUTE),
            sx.Key("sorted", "indices_are_sorted", sx.BOOL),
            sx.Key("unique", "unique_indices", sx.BOOL),
        ),
        sx.FunctionType(),
    )
    operand = operand_def()
    scatter_indices = operand_def()
    updates = operand_def()
    kind = prop_def(KindAttr)
    scatter_dimension_numbers = prop_def(ScatterDimensionNumbersAttr)
    indices_are_sorted = prop_def(BoolAttr)
    unique_indices = prop_def(BoolAttr)
    result = result_def()
    traits = traits_def(Pure())


class GroupReduceOp(TensorOp):
    """The base of reductions over groups of devices, which are combined in the order of their group; groups mean what they do in StableHLO."""

    FACTS: ClassVar = COMMUNICATION
    operand = operand_def()
    kind = prop_def(KindAttr)
    replica_groups: Any = prop_def()
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    result = result_def()
    traits = traits_def(Pure())


_GROUPS = (
    sx.Key("groups", "replica_groups", sx.ATTRIBUTE),
    sx.Key("channel", "channel_handle", sx.ATTRIBUTE, optional=True),
    sx.Key("global_ids", "use_global_device_ids", sx.ATTRIBUTE, optional=True),
)


@op_definition
class AllReduceOp(GroupReduceOp):
    """Combines the operands of a group elementwise, on every device of the group."""

    name = "core.all_reduce"
    SYNTAX: ClassVar = sx.Syntax(sx.Value("kind", sx.Word(KindAttr)), sx.Operands(), sx.Keys(*_GROUPS), sx.SameType())


@op_definition
class ReduceScatterOp(GroupReduceOp):
    """Combines the operands of a group elementwise; each device gets its share along one dimension."""

    name = "core.reduce_scatter"
    SYNTAX: ClassVar = sx.Syntax(
        sx.Value("kind", sx.Word(KindAttr)),
        sx.Operands(),
        sx.Keys(sx.Key("dimension", "scatter_dimension", sx.INT), *_GROUPS),
        sx.FunctionType(),
    )
    scatter_dimension = prop_def(I64Attr)


COMMUNICATIONS = (AllReduceOp, ReduceScatterOp)

Core = Dialect("core", [ReduceOp, ArgReduceOp, WindowReduceOp, CumulativeOp, *COMMUNICATIONS, ScatterOp, *CONTROL, *LINALG], [KindAttr, ExtremeAttr, TapeType])

__all__ = [
    "COMMUNICATIONS",
    "CONTROL",
    "LINALG",
    "AllReduceOp",
    "ArgReduceOp",
    "CaseOp",
    "CholeskyOp",
    "CholeskySolveOp",
    "Core",
    "CumulativeOp",
    "EigOp",
    "EighOp",
    "Extreme",
    "ExtremeAttr",
    "ForOp",
    "GroupReduceOp",
    "Kind",
    "KindAttr",
    "LuDiagonalOp",
    "LuOp",
    "LuSolveOp",
    "PivotsToPermutationOp",
    "QrOp",
    "ReduceOp",
    "ReduceScatterOp",
    "ScatterOp",
    "SvdOp",
    "TapeAddFromOp",
    "TapeAddOp",
    "TapeCreateOp",
    "TapeExtendOp",
    "TapeFromOp",
    "TapeGetOp",
    "TapePushOp",
    "TapeReadOp",
    "TapeSetFromOp",
    "TapeSetOp",
    "TapeSizeOp",
    "TapeType",
    "TridiagonalSolveOp",
    "WhileOp",
    "WindowReduceOp",
]
