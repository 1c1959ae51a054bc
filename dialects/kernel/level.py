"""The level of IR that a function is at."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.ir.traversal import all_ops

_AROUND = frozenset(("kernel.strip_mine", "kernel.yield"))


def holds_kernels(root: Operation) -> bool:
    """Whether a module or a function is at kernel level: there are ops of the kernel dialect in it, other than strip-mined loops over tensor ops."""
    classes: set[type[Operation]] = set(map(type, all_ops(root)))
    return any(cls.name.startswith("kernel.") and cls.name not in _AROUND for cls in classes)
