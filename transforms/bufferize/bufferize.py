"""The pass ``bufferize``: every value of a kernel-level program gets its memory."""

from __future__ import annotations

from typing import Protocol

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from wengert.dialects.kernel import StripsOp
from wengert.transforms.bufferize.placement import assign
from wengert.transforms.bufferize.rewrite import rewrite


class Needs(Protocol):
    """What a target's kernels need of memory."""

    def scratch_bytes(self, op: Operation) -> int:
        """The bytes that an op uses while it runs, besides its operands and results."""
        ...

    def runs_as_task(self, op: StripsOp) -> bool:
        """Whether threads share a strip loop, each with memory of its own."""
        ...


def bufferize(module: ModuleOp, needs: Needs) -> ModuleOp:
    """Gives the functions of a kernel-level module their memory, in place: offsets in one arena, from liveness."""
    for function in [op for op in module.ops if isinstance(op, FuncOp)]:
        rewrite(function, assign(function.body.block, needs.scratch_bytes), needs.runs_as_task)
    return module
