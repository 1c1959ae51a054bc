"""The pipeline that a program, or its derivative, goes through when it is compiled: what is bisected unless another one is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wengert.dialects.core import ForOp, WhileOp
from wengert.dialects.kernel.level import holds_kernels
from wengert.dialects.stablehlo import WhileOp as StablehloWhileOp
from wengert.ir.traversal import ops_of
from wengert.runtime.derivation import derivative_pipeline, positions_text, preparation, preparation_of
from wengert.runtime.program import Program
from wengert.transforms.pipelines import EMIT, FINISH, LOOPS, OPTIMIZE, STACKS, joined, lowering, placing

Mode = Literal["jvp", "vjp", "hvp"]


def whole_pipeline(
    program: Program,
    mode: Mode | None = None,
    wrt: Sequence[int] | None = None,
    of: Sequence[int] | None = None,
    *,
    strategy: str = "transpose",
    residuals: str = "auto",
) -> str:
    """From a program as it was written to assembly, by way of its derivative if one is asked for."""
    machine = joined("" if holds_kernels(program.module) else lowering(), placing(), EMIT)
    if mode is None:
        return joined(preparation(program), machine)
    wrt, of = program.resolve(wrt=wrt, of=of)
    first = derivative_pipeline("jvp" if mode == "jvp" else "vjp", wrt, of, strategy, residuals)
    if mode == "hvp":
        outputs = len(program.signature.results)
        cotangents = range(outputs, outputs + len(wrt))
        first = joined(first, f"jvp{{wrt={positions_text(wrt)} of={positions_text(cotangents)}}}", OPTIMIZE)
    loops = LOOPS if ops_of(program.module, ForOp, WhileOp, StablehloWhileOp) else STACKS
    return joined(preparation_of(program.module), first, FINISH, loops, machine)

