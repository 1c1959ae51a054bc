"""How much scratch memory the kernels of a program need."""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects.kernel import MatmulOp, NativeOp
from wengert.transforms.codegen.cpu.native import native_kernel
from wengert.transforms.schedule.target import Target


class MemoryNeeds(Struct, frozen=True):
    """What kernels need of memory on this processor."""

    target: Target

    def scratch_bytes(self, op: Operation) -> int:
        """The bytes that an op uses while it runs."""
        if isinstance(op, MatmulOp):
            from wengert.transforms.codegen.cpu import matmul  # here, because programs without products do without it
            from wengert.transforms.codegen.cpu.matmul_call import product_plan

            found = product_plan(op, self.target)
            cut = matmul.parts(found)
            return found.scratch_bytes if cut is None else cut.scratch_bytes
        return native_kernel(op, self.target).scratch_bytes() if isinstance(op, NativeOp) else 0
