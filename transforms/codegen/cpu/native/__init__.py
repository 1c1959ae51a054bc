"""Native kernels for ops that are neither loop nests nor matrix products: see :mod:`wengert.transforms.codegen.cpu.native.base`."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.dialects.kernel import NativeOp
from wengert.transforms.codegen.cpu.native.base import NativeKernel, NativeText, registered_kernel
from wengert.transforms.schedule.target import Target


def kernel_class(op: Operation) -> type[NativeKernel] | None:
    """The class that has code for this op, if there is one."""
    import wengert.transforms.codegen.cpu.native.all_kernels  # noqa: F401, here: thirty modules, which most programs do without  # pyright: ignore[reportUnusedImport]

    return registered_kernel(op)


def native_kernel(op: NativeOp, target: Target) -> NativeKernel:
    """The kernel of the op that a native op holds, under its schedule; without one it runs on one thread."""
    inner = op.body.block.first_op
    assert inner is not None
    kernel = kernel_class(inner)
    assert kernel is not None, f"no native code for {inner.name}"
    made = kernel(inner, target)
    if op.schedule is not None:
        made.schedule = op.schedule.data
    return made


__all__ = ["NativeKernel", "NativeText", "kernel_class", "native_kernel"]
