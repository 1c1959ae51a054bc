"""How much scratch memory the kernels of a program need."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from wengert.dialects.kernel import MatmulOp, NativeOp
from wengert.transforms.codegen.cpu.native import native_kernel
from wengert.transforms.schedule.target import Target


def scratch_bytes(target: Target) -> Callable[[Operation], int]:
    """How much scratch memory an op needs on this processor."""

    def count(op: Operation) -> int:
        if isinstance(op, MatmulOp):
            from wengert.transforms.codegen.cpu import matmul  # here, because programs without products do without it
            from wengert.transforms.codegen.cpu.matmul_call import product_plan

            found = product_plan(op, target)
            cut = matmul.parts(found)
            return found.scratch_bytes if cut is None else cut.scratch_bytes
        return native_kernel(op, target).scratch_bytes() if isinstance(op, NativeOp) else 0

    return count
