"""Native kernels for ops that are neither loop nests nor matrix products: see :mod:`wengert.transforms.lower.native.base`."""

# pyright: reportUnusedImport=false

from __future__ import annotations

from wengert.dialects.kernel import NativeOp
from wengert.transforms.lower.cpu_target import Target
from wengert.transforms.lower.native import (  # noqa: F401, they register their kernels
    cholesky,
    convolution,
    fourier,
    lu,
    qr,
    random_bits,
    reductions,
    scans,
    sorting,
    spectral,
    tapes,
    triangular,
    tridiagonal,
)
from wengert.transforms.lower.native.base import NativeKernel, NativeText, kernel_class
from wengert.transforms.lower.native.symbols import register_symbols


def native_kernel(op: NativeOp, target: Target) -> NativeKernel:
    """The kernel of the op that a native op holds."""
    inner = op.body.block.first_op
    assert inner is not None
    found = kernel_class(inner)
    assert found is not None, f"no native code for {inner.name}"
    return found(inner, target)


__all__ = ["NativeKernel", "NativeText", "kernel_class", "native_kernel", "register_symbols"]
