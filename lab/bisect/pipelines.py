"""The pipeline that a program, or its derivative, goes through when it is compiled: what is bisected unless another one is given."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.core import ForOp, WhileOp
from wengert.dialects.kernel.level import holds_kernels
from wengert.dialects.stablehlo import WhileOp as StablehloWhileOp
from wengert.ir.traversal import ops_of
from wengert.lab.inspection.subject import Request
from wengert.runtime.derived.derivation import derivative_pipeline, preparation_of
from wengert.runtime.derived.requests import positions_text
from wengert.runtime.program import Program
from wengert.transforms.ad.requests.lower import uses_ad
from wengert.transforms.ad.requests.request import has_requests
from wengert.transforms.pipelines import EMIT, FINISH, LOOPS, OPTIMIZE, STACKS, joined, lowering, placing


def pipeline_of(program: Program, request: Request | None = None, pipeline: str = "") -> str:
    """The pipeline behind a derivative, if one is asked for; without one, all that the compiler does, down to assembly."""
    if not pipeline:
        return whole_pipeline(program, request)
    return pipeline if request is None else joined(derivative_passes(program, request), pipeline)


def whole_pipeline(program: Program, request: Request | None = None) -> str:
    """From a program as it was written to assembly, by way of its derivative if one is asked for."""
    module = program.module
    if holds_kernels(module):
        return joined(placing(), EMIT)
    front = _prepared(module) if request is None else derivative_passes(program, request)
    finish = FINISH if request is not None or uses_ad(module) else ""
    loops = LOOPS if ops_of(module, ForOp, WhileOp, StablehloWhileOp) else STACKS if request is not None else ""
    return joined(front, finish, loops, lowering(), placing(), EMIT)


def _prepared(module: ModuleOp) -> str:
    """From a program as it was written to what is differentiated or compiled; nothing is run to find out."""
    return joined(preparation_of(module), f"expand-ad,{OPTIMIZE}" if has_requests(module) else "")


def derivative_passes(program: Program, request: Request) -> str:
    """From a program as it was written to a derivative of it, optimised, as :meth:`wengert.Program.vjp` makes it. Raises InputError for positions that do not
    fit."""
    wrt, of = program.resolve(wrt=request.wrt, of=request.of)
    passes = derivative_pipeline("jvp" if request.mode == "jvp" else "vjp", wrt, of, request.strategy, request.residuals)
    if request.mode == "hvp":
        outputs = len(program.signature.results)
        passes = joined(passes, f"jvp{{wrt={positions_text(wrt)} of={positions_text(range(outputs, outputs + len(wrt)))}}}", OPTIMIZE)
    return joined(_prepared(program.module), passes)
