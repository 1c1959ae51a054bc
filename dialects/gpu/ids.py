"""Ops for a thread's place in its work-group, the work-group's place in the grid, and the sizes of these."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation
from xdsl.irdl import opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from wengert.dialects.facts import DEVICE
from wengert.dialects.gpu import text
from wengert.dialects.gpu.attributes import Dimension, DimensionAttr
from wengert.dialects.gpu.base import DeviceOp
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx

_DIMENSION = sx.Value("dimension", sx.Word(DimensionAttr))
_BOUND = text.UpperBound()


class _IdOp(DeviceOp):
    """A number along one dimension."""

    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(_DIMENSION, _BOUND, sx.AttributeDictionary(), text.IndexResult())
    FACTS: ClassVar = DEVICE
    dimension = prop_def(DimensionAttr)
    upper_bound = opt_prop_def(IntegerAttr[IndexType])
    result = result_def(IndexType)
    traits = traits_def(Pure())

    @classmethod
    def along(cls, dimension: Dimension) -> DeviceOp:
        """The op for a dimension."""
        return cls.create(result_types=[IndexType()], properties={"dimension": DimensionAttr(dimension)})


@op_definition
class ThreadIdOp(_IdOp):
    """The thread's number in its work-group."""

    name = "gpu.thread_id"


@op_definition
class BlockIdOp(_IdOp):
    """The work-group's number in the grid."""

    name = "gpu.block_id"


@op_definition
class BlockDimOp(_IdOp):
    """The threads of a work-group."""

    name = "gpu.block_dim"


@op_definition
class GridDimOp(_IdOp):
    """The work-groups of the grid."""

    name = "gpu.grid_dim"


@op_definition
class GlobalIdOp(_IdOp):
    """The thread's number in the grid."""

    name = "gpu.global_id"


class _SubgroupNumberOp(DeviceOp):
    """A number that has to do with subgroups: the threads that a device runs in one instruction."""

    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(_BOUND, sx.ResultTypes())
    FACTS: ClassVar = DEVICE
    upper_bound = opt_prop_def(IntegerAttr[IndexType])
    result = result_def(IndexType)
    traits = traits_def(Pure())


@op_definition
class LaneIdOp(_SubgroupNumberOp):
    """The thread's number in its subgroup."""

    name = "gpu.lane_id"
    SYNTAX: ClassVar[sx.Syntax | None] = sx.Syntax(_BOUND, sx.AttributeDictionary(), text.IndexResult())


@op_definition
class SubgroupIdOp(_SubgroupNumberOp):
    """The subgroup's number in its work-group."""

    name = "gpu.subgroup_id"


@op_definition
class NumSubgroupsOp(_SubgroupNumberOp):
    """The subgroups of a work-group."""

    name = "gpu.num_subgroups"


@op_definition
class SubgroupSizeOp(_SubgroupNumberOp):
    """The threads of a subgroup."""

    name = "gpu.subgroup_size"


IDS: tuple[type[Operation], ...] = (
    BlockDimOp,
    BlockIdOp,
    GlobalIdOp,
    GridDimOp,
    LaneIdOp,
    NumSubgroupsOp,
    SubgroupIdOp,
    SubgroupSizeOp,
    ThreadIdOp,
)
