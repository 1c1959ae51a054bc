"""From a core-level function to a kernel-level one, on a copy: the pipeline that the compiler runs (:data:`wengert.transforms.pipelines.LOWER`)."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from wengert.ir.construction import copy_op
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.transforms.pipelines import lowering, parse_pipeline


def function(module: ModuleOp, entry: str) -> FuncOp:
    """The function of this name; a DiagnosticError if there is none with a body."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == entry and op.body.blocks:
            return op
    raise DiagnosticError(Diagnostic(f"there is no function @{entry}"))


def alone(module: ModuleOp, entry: str) -> ModuleOp:
    """A module with a copy of one function of a module, and nothing else."""
    return ModuleOp([copy_op(function(module, entry), {})], module.attributes, module.sym_name)


def lower(module: ModuleOp, entry: str = "main", *, reassociate: bool = True, before: str = "") -> ModuleOp:
    """The kernel-level module for a function of tensor ops with static shapes and no calls; the input is not changed.

    Args:
        module: a core-level module.
        entry: the function.
        reassociate: whether long sums may be added up in parts.
        before: a pipeline that the function goes through first.

    Raises:
        DiagnosticError: a type that cannot be held in memory (a dynamic shape, a token, a tuple), or that no machine can address.
    """
    text = lowering(reassociate=reassociate)
    pipeline = parse_pipeline(f"{before},{text}" if before else text)
    return pipeline.run(alone(module, entry), original=lambda: alone(module, entry))
