"""The scratch memory that the kernels of a program need, under their schedules."""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects.kernel import FusedOp, MatmulOp, NativeOp
from wengert.dialects.kernel.memory import ALIGNMENT
from wengert.transforms.codegen.cpu.native import native_kernel
from wengert.transforms.schedule.target import Target


class MemoryNeeds(Struct, frozen=True):
    """The memory that kernels need on this processor."""

    target: Target

    @property
    def alignment(self) -> int:
        """The bytes of which every buffer begins at a multiple."""
        return ALIGNMENT

    def scratch_bytes(self, op: Operation) -> int:
        """The bytes that an op uses while it runs."""
        if isinstance(op, FusedOp):
            return self.scratch_bytes(op.product)
        if isinstance(op, MatmulOp):
            from wengert.transforms.schedule.products.choice import schedule_of  # here, because programs without products do without it
            from wengert.transforms.schedule.products.operands import product_of
            from wengert.transforms.schedule.products.plan import scratch_bytes

            product = product_of(op)
            return scratch_bytes(product, schedule_of(op, product))
        return native_kernel(op, self.target).scratch_bytes() if isinstance(op, NativeOp) else 0
