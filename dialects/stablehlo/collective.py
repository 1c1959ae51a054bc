"""StableHLO's communication among devices. Who takes part is in ``process_groups``; what it means on one device in ``transforms/core/one_device.py``.

Every device runs the same program, so a collective that nobody uses may go, and two equal ones may be one: it is a pure op of the map of all devices' values.
"""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, UnitAttr
from xdsl.irdl import operand_def, opt_prop_def, prop_def, region_def, result_def, traits_def, var_operand_def, var_result_def
from xdsl.traits import Pure

from wengert.dialects.facts import COMMUNICATION, UNBATCHED
from wengert.dialects.stablehlo.attributes import ChannelHandleAttr
from wengert.dialects.stablehlo.base import TensorOp
from wengert.ir.attributes import I64Attr
from wengert.ir.operations import op_definition
from wengert.ir.syntax import parts as sx


class GroupOp(TensorOp):
    """The base class of ops within groups of devices; ``channel_handle`` says whether groups are of replicas, partitions or both."""

    FACTS: ClassVar = COMMUNICATION
    replica_groups: Any = prop_def()
    traits = traits_def(Pure())
    channel_handle = opt_prop_def(ChannelHandleAttr)


class GlobalGroupOp(GroupOp):
    """The same, where groups may also number the devices of all replicas and partitions."""

    use_global_device_ids = opt_prop_def(UnitAttr)


@op_definition
class AllGatherOp(GlobalGroupOp):
    """Concatenates the operands of a group."""

    name = "stablehlo.all_gather"
    operands_ = var_operand_def()
    all_gather_dim = prop_def(I64Attr)
    results_ = var_result_def()


@op_definition
class AllReduceOp(GlobalGroupOp):
    """Reduces the operands of a group."""

    name = "stablehlo.all_reduce"
    operands_ = var_operand_def()
    computation = region_def()
    results_ = var_result_def()


@op_definition
class ReduceScatterOp(GlobalGroupOp):
    """Reduces over a group and splits the result."""

    name = "stablehlo.reduce_scatter"
    operand = operand_def()
    scatter_dimension = prop_def(I64Attr)
    computation = region_def()
    result = result_def()


@op_definition
class AllToAllOp(GroupOp):
    """Splits and exchanges within a group."""

    name = "stablehlo.all_to_all"
    operands_ = var_operand_def()
    split_dimension = prop_def(I64Attr)
    concat_dimension = prop_def(I64Attr)
    split_count = prop_def(I64Attr)
    results_ = var_result_def()


@op_definition
class CollectivePermuteOp(TensorOp):
    """Sends along source-target pairs."""

    name = "stablehlo.collective_permute"
    FACTS: ClassVar = COMMUNICATION
    operand = operand_def()
    source_target_pairs = prop_def(DenseIntOrFPElementsAttr)
    channel_handle = opt_prop_def(ChannelHandleAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class CollectiveBroadcastOp(GroupOp):
    """The operand of the first device of a group, on every device of the group."""

    name = "stablehlo.collective_broadcast"
    operand = operand_def()
    result = result_def()


@op_definition
class CrossReplicaSumOp(TensorOp):
    """The sum of the operands of a group: an older form of ``all_reduce``."""

    name = "stablehlo.cross-replica-sum"
    FACTS: ClassVar = COMMUNICATION
    operand = operand_def()
    replica_groups = prop_def(DenseIntOrFPElementsAttr)
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class PartitionIdOp(TensorOp):
    """The number of this partition."""

    name = "stablehlo.partition_id"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.Syntax(sx.ResultTypes())
    result = result_def()
    traits = traits_def(Pure())


@op_definition
class ReplicaIdOp(TensorOp):
    """The number of this replica."""

    name = "stablehlo.replica_id"
    FACTS: ClassVar = UNBATCHED
    SYNTAX: ClassVar = sx.Syntax(sx.ResultTypes())
    result = result_def()
    traits = traits_def(Pure())
