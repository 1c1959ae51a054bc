"""The pass ``bufferize``: gives every value of a kernel-level program its memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.dialects.kernel.buffers import is_bufferized
from wengert.ir.location.places import error_at
from wengert.ir.traversal import ops_in
from wengert.ir.unregistered import written_name
from wengert.transforms.bufferize.layout import assign
from wengert.transforms.bufferize.rewrite import rewrite
from wengert.transforms.schedule.gpu.target import GPU_TARGETS
from wengert.transforms.schedule.host import HOST, target_named

_BESIDE_KERNELS = (core.ForOp, core.WhileOp, core.CaseOp, stablehlo.ConstantOp, stablehlo.ReshapeOp, ReturnOp)
"""Ops of other dialects in functions at kernel level."""


class Needs(Protocol):
    """The memory that a target's kernels need."""

    @property
    def alignment(self) -> int:
        """The bytes of which every buffer begins at a multiple."""
        ...

    def scratch_bytes(self, op: Operation) -> int:
        """The bytes that an op uses while it runs, besides its operands and results."""
        ...


@dataclass(frozen=True)
class BufferizePass(ModulePass):
    """Gives every value its memory: an input, a result, a constant, or an offset in one arena, from liveness."""

    name = "bufferize"

    target: str = HOST
    """As for the pass ``schedule``; how much scratch memory kernels need depends on it."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Here: what kernels need is known to those who write their code.
        if self.target in GPU_TARGETS:
            from wengert.transforms.codegen.gpu.scratch import GpuNeeds

            bufferize(op, GpuNeeds())
            return
        from wengert.transforms.codegen.cpu.scratch import MemoryNeeds

        bufferize(op, MemoryNeeds(target_named(self.target)))


def bufferize(module: ModuleOp, needs: Needs) -> ModuleOp:
    """Gives the functions of a kernel-level module their memory, in place; returns the module."""
    for function in ops_in(module.body.block):
        if isinstance(function, FuncOp) and function.body.blocks and not is_bufferized(function):
            check_kernel_level(function)
            rewrite(function, assign(function.body.block, needs.scratch_bytes, needs.alignment))
    return module


def check_kernel_level(function: FuncOp) -> None:
    """Raises a DiagnosticError at the first op of a function that is not at kernel level."""
    for op in ops_in(function.body.block):
        if not op.name.startswith("kernel.") and not isinstance(op, _BESIDE_KERNELS):
            raise error_at(op, f"'{written_name(op)}' is not at kernel level", "the pass 'fuse' makes kernels of core-level IR")
