"""The scratch memory that nests need on a GPU: the totals of the parts of a reduction, until a second kernel combines them."""

from __future__ import annotations

from math import prod
from typing import Any

from msgspec import Struct
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation

from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.memory import aligned, bytes_of
from wengert.ir.tensor_types import tensor
from wengert.transforms.codegen.gpu.totals import Combining
from wengert.transforms.schedule.gpu.legality import is_total

ALIGNMENT = 256
"""Buffers of a device begin at multiples of so many bytes: what drivers ask for of a part of a buffer, and all transactions of memory."""


def scratch_types(op: NestOp) -> list[TensorType[Any]]:
    """The types of the parts of a nest's scratch memory, one for each total that is reduced in parts."""
    schedule = op.gpu_schedule.data if op.gpu_schedule is not None else None
    if schedule is None or schedule.reduce is None or schedule.reduce.parts == 1:
        return []
    results = prod(op.extents[d] for d in schedule.threads)
    inner = (*schedule.reduce.loops, *schedule.serial)
    totals = [write for write in op.writes if is_total(op, write, inner)]
    return [tensor((schedule.reduce.parts * results,), Combining.working_type(write.kind, write.value.type)) for write in totals]


def padded(type: TensorType[Any]) -> int:
    """The bytes of a part of scratch memory."""
    return aligned(bytes_of(type), ALIGNMENT)


class GpuNeeds(Struct, frozen=True):
    """The memory that kernels of a GPU need."""

    @property
    def alignment(self) -> int:
        """The bytes of which every buffer begins at a multiple."""
        return ALIGNMENT

    def scratch_bytes(self, op: Operation) -> int:
        """The bytes that an op uses while it runs, besides its operands and results."""
        return sum([padded(type) for type in scratch_types(op)]) if isinstance(op, NestOp) else 0
