"""The pipeline that a program, or its derivative, goes through when it is compiled: what is bisected unless another one is given."""

from __future__ import annotations

from wengert.dialects.core import ForOp, WhileOp
from wengert.dialects.kernel.level import holds_kernels
from wengert.dialects.stablehlo import WhileOp as StablehloWhileOp
from wengert.ir.traversal import ops_of
from wengert.lab.inspection.subject import Request
from wengert.runtime.derivation import derivative_pipeline, positions_text, preparation, preparation_of
from wengert.runtime.program import Program
from wengert.transforms.pipelines import EMIT, FINISH, LOOPS, OPTIMIZE, STACKS, joined, lowering, placing


def whole_pipeline(program: Program, request: Request | None = None) -> str:
    """From a program as it was written to assembly, by way of its derivative if one is asked for."""
    machine = joined("" if holds_kernels(program.module) else lowering(), placing(), EMIT)
    if request is None:
        return joined(preparation(program), machine)
    loops = LOOPS if ops_of(program.module, ForOp, WhileOp, StablehloWhileOp) else STACKS
    return joined(derivative_passes(program, request), FINISH, loops, machine)


def derivative_passes(program: Program, request: Request) -> str:
    """From a program as it was written to a derivative of it, optimised, as :meth:`wengert.Program.vjp` makes it. Raises InputError for positions that do not
    fit."""
    wrt, of = program.resolve(wrt=request.wrt, of=request.of)
    passes = derivative_pipeline("jvp" if request.mode == "jvp" else "vjp", wrt, of, request.strategy, request.residuals)
    if request.mode == "hvp":
        outputs = len(program.signature.results)
        passes = joined(passes, f"jvp{{wrt={positions_text(wrt)} of={positions_text(range(outputs, outputs + len(wrt)))}}}", OPTIMIZE)
    return joined(preparation_of(program.module), passes)
