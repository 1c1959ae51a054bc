"""From a core-level function to a kernel-level one: the pipeline that the compiler runs (:data:`wengert.transforms.pipelines.LOWER`)."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.dialects.kernel.level import holds_kernels
from wengert.ir.construction import copy_op
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.transforms.pipelines import BUFFERIZE, EPILOGUES, SCHEDULE, lowering, parse_pipeline
from wengert.transforms.schedule.host import HOST


def function(module: ModuleOp, entry: str) -> FuncOp:
    """The function of this name; a DiagnosticError if there is none with a body."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == entry and op.body.blocks:
            return op
    raise DiagnosticError(Diagnostic(f"there is no function @{entry}"))


def alone(module: ModuleOp, entry: str) -> ModuleOp:
    """A module with a copy of one function of a module, and nothing else."""
    return ModuleOp([copy_op(function(module, entry), {})], module.attributes, module.sym_name)


def remaining(module: ModuleOp, *, reassociate: bool = True, target: str = HOST) -> str:
    """The pipeline from a module to what code is emitted for: all of :data:`LOWER` for core-level IR, and nothing for kernels.

    Kernels are taken as they stand, since each of the passes on them may be left out: so what one of them does to
    the run time shows when its dumps before and after are run.
    """
    return "" if holds_kernels(module) else lowering(reassociate=reassociate, target=target)


def lower(module: ModuleOp, entry: str = "main", *, reassociate: bool = True, target: str = HOST) -> ModuleOp:
    """The kernel-level module for a function of tensor ops with static shapes and no calls; the input is not changed.

    Long sums are added up in parts if ``reassociate`` allows it.

    Raises:
        DiagnosticError: a type that cannot be held in memory (a dynamic shape, a token, a tuple), or that no machine can address.
    """
    return parse_pipeline(remaining(module, reassociate=reassociate, target=target)).run(alone(module, entry), original=lambda: alone(module, entry))


def placed(module: ModuleOp, entry: str = "main", *, reassociate: bool = True, target: str = HOST) -> ModuleOp:
    """The kernels of :func:`lower`, with a schedule for each kernel and memory for each value: what code is emitted for."""
    return parse_pipeline(",".join(f"{name}{{target={target}}}" for name in (SCHEDULE, EPILOGUES, BUFFERIZE))).run(
        lower(module, entry, reassociate=reassociate, target=target)
    )
