"""How much scratch memory the kernels of a program need."""

from __future__ import annotations

from msgspec import Struct
from xdsl.ir import Operation

from wengert.dialects.kernel import MatmulOp, NativeOp, NestOp, StripMineOp
from wengert.transforms.codegen.cpu.native import native_kernel
from wengert.transforms.schedule.chunks import split
from wengert.transforms.schedule.host import host
from wengert.transforms.schedule.parallel import strips_ns
from wengert.transforms.schedule.target import Target


def host_needs() -> MemoryNeeds:
    """What kernels need of memory on the processor that this process runs on."""
    return MemoryNeeds(host().target)


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

    def runs_as_task(self, op: StripMineOp) -> bool:
        """Whether threads share the strips."""
        iterations = op.trips.value.data
        return split(iterations, strips_ns([nest for nest in op.body.block.ops if isinstance(nest, NestOp)], iterations, self.target)) is not None
