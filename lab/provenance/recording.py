"""A program taken through the passes that make its derivative, with a record of what each did to every op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation

from wengert.ir.construction import copy_module
from wengert.ir.location.locations import written_op
from wengert.ir.location.places import origin
from wengert.ir.pipeline.changes import Recorder, recorded
from wengert.ir.pipeline.stages import stage
from wengert.ir.traversal import all_ops
from wengert.lab.inspection.subject import Request
from wengert.runtime.derived.derivation import derivative_pipeline, preparation_of, with_main
from wengert.runtime.program import Program
from wengert.transforms.ad.requests.request import has_requests
from wengert.transforms.pipelines import OPTIMIZE, joined, parse_pipeline


@dataclass(frozen=True)
class Recording:
    """A record of what passes did.

    Attributes:
        written: the program as it was written, its entry named ``@main``.
        module: what the passes made of it.
        passes: the passes that ran.
        changes: what they did.
        core: the classes of ops by the place and the name under which they were written, as they were when the derivative was taken.
    """

    written: ModuleOp
    module: ModuleOp
    passes: tuple[str, ...]
    changes: Recorder
    core: dict[tuple[LocationAttr, str], list[type[Operation]]]


@stage()
def record(program: Program, request: Request | None = None, *, behind: Sequence[str] = (), optimised: bool = True) -> Recording:
    """Runs the passes that differentiate a program, or optimise it where no derivative is asked for, and then others; the program stays as it is.

    Args:
        program: a program without open extents.
        request: the derivative.
        behind: more pipelines.
        optimised: whether a program that is not differentiated is brought to core level and optimised first.

    Raises:
        DiagnosticError, InputError: what the derivative raises.
    """
    module = with_main(program.module, program.entry)
    written = copy_module(module)
    ran: list[str] = []
    with recorded() as changes:

        def run(text: str) -> None:
            pipeline = parse_pipeline(text)
            ran.extend(map(str, (pipeline[i : i + 1] for i in range(len(pipeline)))))
            pipeline.run(module, observer=changes, original=written)

        if not program.as_given and (optimised or request is not None):
            run(preparation_of(module))
            if has_requests(module):
                run(f"expand-ad,{OPTIMIZE}")
        core: dict[tuple[LocationAttr, str], list[type[Operation]]] = {}
        if request is not None:
            for op in all_ops(module):
                core.setdefault((origin(op.location), written_op(op)), []).append(type(op))
            run(pipeline_of(program, request))
        for text in behind:
            run(text)
    return Recording(written, module, tuple(ran), changes, core)


def pipeline_of(program: Program, request: Request) -> str:
    """The pipeline from optimised core-level IR to a derivative."""
    wrt, of = program.resolve(wrt=request.wrt, of=request.of)
    if request.mode == "jvp":
        return derivative_pipeline("jvp", wrt, of, request.strategy)
    reverse = derivative_pipeline("vjp", wrt, of, request.strategy, request.residuals)
    if request.mode == "vjp":
        return reverse
    outputs = len(program.signature.results)
    return joined(reverse, derivative_pipeline("jvp", wrt, range(outputs, outputs + len(wrt)), request.strategy))
