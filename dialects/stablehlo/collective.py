"""StableHLO's communication among devices.

Here there is one device. What a collective means on it is in ``transforms/core/one_device.py``; what needs others is refused there.
"""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, UnitAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, region_def, result_def, var_operand_def, var_result_def

from wengert.dialects.facts import UNBATCHED
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


@op_definition
class AllGatherOp(TensorOp):
    """Concatenates the operands of a group."""

    name = "stablehlo.all_gather"
    FACTS: ClassVar = UNBATCHED
    operands_ = var_operand_def()
    all_gather_dim = prop_def(I64Attr)
    replica_groups = prop_def()
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    results_ = var_result_def()


@op_definition
class AllReduceOp(TensorOp):
    """Reduces the operands of a group."""

    name = "stablehlo.all_reduce"
    FACTS: ClassVar = UNBATCHED
    operands_ = var_operand_def()
    replica_groups = prop_def()
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def()
    results_ = var_result_def()


@op_definition
class ReduceScatterOp(TensorOp):
    """Reduces over a group and splits the result."""

    name = "stablehlo.reduce_scatter"
    FACTS: ClassVar = UNBATCHED
    operand = operand_def()
    scatter_dimension = prop_def(I64Attr)
    replica_groups = prop_def()
    channel_handle = opt_prop_def(ChannelHandleAttr)
    use_global_device_ids = opt_prop_def(UnitAttr)
    computation = region_def()
    result = result_def()


@op_definition
class AllToAllOp(TensorOp):
    """Splits and exchanges within a group."""

    name = "stablehlo.all_to_all"
    FACTS: ClassVar = UNBATCHED
    operands_ = var_operand_def()
    split_dimension = prop_def(I64Attr)
    concat_dimension = prop_def(I64Attr)
    split_count = prop_def(I64Attr)
    replica_groups = prop_def()
    channel_handle = opt_prop_def(ChannelHandleAttr)
    results_ = var_result_def()


@op_definition
class CollectivePermuteOp(TensorOp):
    """Sends along source-target pairs."""

    name = "stablehlo.collective_permute"
    FACTS: ClassVar = UNBATCHED
    operand = operand_def()
    source_target_pairs = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    result = result_def()


@op_definition
class CollectiveBroadcastOp(TensorOp):
    """The operand of the first device of a group, on every device of the group."""

    name = "stablehlo.collective_broadcast"
    FACTS: ClassVar = UNBATCHED
    operand = operand_def()
    replica_groups = prop_def()
    channel_handle = opt_prop_def(ChannelHandleAttr)
    result = result_def()


@op_definition
class CrossReplicaSumOp(TensorOp):
    """The sum of the operands of a group: an older form of ``all_reduce``."""

    name = "stablehlo.cross-replica-sum"
    FACTS: ClassVar = UNBATCHED
    operand = operand_def()
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    result = result_def()


@op_definition
class PartitionIdOp(TensorOp):
    """The number of this partition."""

    name = "stablehlo.partition_id"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.Syntax(sx.ResultTypes())
    result = result_def()


@op_definition
class ReplicaIdOp(TensorOp):
    """The number of this replica."""

    name = "stablehlo.replica_id"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.Syntax(sx.ResultTypes())
    result = result_def()
