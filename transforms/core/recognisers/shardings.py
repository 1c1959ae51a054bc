"""Placements and layouts by custom calls: marks for compilers of several devices, which say nothing about values and are left out of the core."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.builder import OpBuilder

IDENTITIES = ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "xla.sdy.FuncResultSharding", "LayoutConstraint")
"""Custom calls that return their operands."""


def recognise_placement(b: OpBuilder, op: stablehlo.CustomCallOp) -> Sequence[SSAValue] | None:
    """Custom calls that are the identity, as their operands."""
    same = [value.type for value in op.inputs] == [value.type for value in op.results]
    return list(op.inputs) if op.call_target_name.data in IDENTITIES and same else None
