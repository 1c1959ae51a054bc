"""Gives all nests of a program schedules for a GPU, and checks those that are there."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.gpu_schedule import GpuScheduleAttr
from wengert.ir.traversal import ops_in
from wengert.transforms.schedule.gpu.choice import choose_gpu
from wengert.transforms.schedule.gpu.legality import check_gpu
from wengert.transforms.schedule.gpu.target import GpuTarget


def schedule_for_gpu(root: Operation, target: GpuTarget, *, strict: bool = False) -> None:
    """Gives all nests inside of an op the schedules for GPUs that they have not got.

    Raises:
        DiagnosticError: a schedule that is there cannot be obeyed.
    """
    for region in root.regions:
        for block in region.blocks:
            for op in ops_in(block):
                if not isinstance(op, NestOp):
                    schedule_for_gpu(op, target, strict=strict)
                elif op.gpu_schedule is None:
                    op.properties["gpu_schedule"] = GpuScheduleAttr(choose_gpu(op, target, strict=strict))
                else:
                    check_gpu(op, op.gpu_schedule.data, strict=strict)
