"""Which level of IR a function is at."""

from __future__ import annotations

from xdsl.ir import Operation

from wengert.ir.traversal import all_ops


def holds_kernels(root: Operation) -> bool:
    """Whether a module or a function is at kernel level: there are ops of the kernel dialect in it."""
    classes: set[type[Operation]] = set(map(type, all_ops(root)))
    return any(cls.name.startswith("kernel.") for cls in classes)
