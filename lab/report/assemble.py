"""Runs a program's pipeline and the analyses, and puts what they give into one document."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.registry import make_context
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.passes import Observer, Pipeline
from wengert.ir.plugins import PluginError
from wengert.lab.report.document import Document, LeftOut
from wengert.lab.report.operation_table import Strings
from wengert.lab.report.source_texts import Places, SourceText
from wengert.lab.report.stages import StageRecorder
from wengert.runtime.derivation import derivative_pipeline, finishing, preparation, with_main
from wengert.runtime.errors import ExecutionError, InputError
from wengert.runtime.program import Program
from wengert.transforms.lowering import remaining
from wengert.transforms.pipelines import joined, parse_pipeline, placing

LARGE = 2000
"""Ops of a derivative from which on analyses that take it down to buffers several times are left out unless they are asked for."""


@dataclass(frozen=True)
class Wanted:
    """What a report is about.

    Attributes:
        mode: the derivative: "vjp", "jvp", "hvp" (forward over reverse), or "none".
        wrt, of: positions of arguments and results; all that can be differentiated by default.
        strategy: the strategy of reverse mode.
        pipeline: passes that are run instead, on the program as it was written.
        code: whether to go on down to LLVM text.
        skip: analyses that are left out.
        only: of the analyses that are left out of large programs, those that are wanted nevertheless.
    """

    mode: str = "vjp"
    wrt: tuple[int, ...] | None = None
    of: tuple[int, ...] | None = None
    strategy: str = "transpose"
    pipeline: str | None = None
    code: bool = True
    skip: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()

    @property
    def words(self) -> list[str]:
        """The options of a command line that ask for the derivative."""
        if self.pipeline is not None:
            return ["-p", self.pipeline]
        words = [] if self.mode == "none" else [f"--{self.mode}"]
        words += ["--wrt", ",".join(map(str, self.wrt))] if self.wrt is not None else []
        words += ["--of", ",".join(map(str, self.of))] if self.of is not None else []
        return words + (["--strategy", self.strategy] if self.strategy != "transpose" else [])


@dataclass(frozen=True)
class Passes:
    """The pipelines of a report, and what the request says in words."""

    text: str
    request: str


def assemble(program: Program, sources: Sequence[SourceText], wanted: Wanted, name: str, analyses: Iterable[str] = ("costs", "strategies", "check")) -> Document:
    """The document of a program.

    Args:
        program: the program; a derivative, or kernels, are one too.
        sources: the texts it comes from, by the names that its locations give them.
        wanted: the derivative or the pipeline, and the analyses.
        name: the program's file, as commands name it.
        analyses: the analyses to make.

    A pipeline that stops with a diagnostic leaves the stages before it and the diagnostic. Raises InputError for positions that do not fit.
    """
    start = time.perf_counter()
    recorder = StageRecorder(Strings(), Places({source.name: i for i, source in enumerate(sources)}))
    passes = _passes(program, wanted)
    problem = _record(program, passes, wanted, recorder)
    made = {} if problem is not None else {what: _analysis(what, program, wanted, recorder, name) for what in analyses}
    from wengert import __version__

    return Document(
        title=name,
        signature=str(program.signature),
        request=passes.request,
        pipeline=",".join(stage.label for stage in recorder.stages if stage.label),
        sources=tuple(sources),
        stages=tuple(recorder.stages),
        places=recorder.places,
        strings=recorder.strings,
        analyses=made,
        commands=tuple(_commands(name, wanted, recorder)),
        diagnostics=tuple(problem.to_json()) if problem is not None else (),
        made={"seconds": time.perf_counter() - start, "version": __version__, "at": time.strftime("%Y-%m-%d %H:%M")},
    )


def _passes(program: Program, wanted: Wanted) -> Passes:
    """The pipeline from the program as it was written to its derivative."""
    if wanted.pipeline is not None:
        return Passes(wanted.pipeline, "a pipeline")
    if wanted.mode == "none":
        return Passes(preparation(program), "the program")
    moved, asked = program.resolve(wrt=wanted.wrt, of=wanted.of)
    steps = [derivative_pipeline("vjp" if wanted.mode == "hvp" else _mode(wanted.mode), moved, asked, wanted.strategy)]
    words = {"vjp": "VJP", "jvp": "JVP", "hvp": "HVP, the JVP of the VJP"}[wanted.mode]
    if wanted.mode == "hvp":
        first = len(program.signature.results)
        steps.append(derivative_pipeline("jvp", moved, range(first, first + len(moved))))
    listed = ", ".join(map(str, moved))
    how = f", strategy {wanted.strategy}" if wanted.strategy != "transpose" else ""
    return Passes(joined(preparation(program), *steps), f"{words} of results {', '.join(map(str, asked))} by arguments {listed}{how}")


def _mode(mode: str) -> Any:
    if mode not in ("vjp", "jvp"):
        raise InputError(f"there is no derivative {mode!r}: vjp, jvp, hvp or none")
    return mode


def _record(program: Program, passes: Passes, wanted: Wanted, recorder: StageRecorder) -> DiagnosticError | None:
    """Runs the pipelines; the diagnostic that stopped them, if one did."""
    try:
        pipeline = parse_pipeline(passes.text)
        module = with_main(program.module, program.entry)
        _run(pipeline, module, recorder)
        if wanted.pipeline is None and wanted.code:
            _run(parse_pipeline(joined(finishing(module), remaining(module), placing(), "emit-llvm,optimize-llvm")), module, recorder)
        return None
    except DiagnosticError as error:
        return error


def _run(pipeline: Pipeline, module: ModuleOp, observer: Observer) -> None:
    from wengert.transforms.optimize.undone import watched

    with watched(pipeline, observer) as watching:
        pipeline.run(module, context=make_context(), observer=watching, original=module)
    if pipeline.translations:
        pipeline.translate(module, observer=observer)


def _analysis(what: str, program: Program, wanted: Wanted, recorder: StageRecorder, name: str) -> Any:
    """What an analysis gives as JSON, or why it is left out."""
    command = shlex.join(["wengert", what, name])
    if what in wanted.skip:
        return LeftOut("It was left out of this report.", command)
    size = max((stage.ops or 0 for stage in recorder.stages if stage.section != "kernels"), default=0)
    if size > LARGE and what not in wanted.only:
        return LeftOut(f"It is left out of reports of more than {LARGE} ops; there are {size} here.", command)
    try:
        return _ANALYSES[what](program, wanted)
    except PluginError:
        raise
    except (DiagnosticError, InputError, ExecutionError) as error:
        return LeftOut(str(error).strip().splitlines()[0], command)


def _costs(program: Program, wanted: Wanted) -> Any:
    return program.costs(wrt=wanted.wrt, of=wanted.of).to_json()


def _strategies(program: Program, wanted: Wanted) -> Any:
    moved, asked = program.resolve(wrt=wanted.wrt, of=wanted.of)
    single = len(asked) == 1 and program.signature.results[asked[0]].shape == ()
    return program.strategies(of="gradient" if single else "jacobian", wrt=moved, results=asked).to_json()


def _check(program: Program, wanted: Wanted) -> Any:
    return program.check(wrt=wanted.wrt, of=wanted.of, strategy=wanted.strategy).to_json()


_ANALYSES: dict[str, Callable[[Program, Wanted], Any]] = {"costs": _costs, "strategies": _strategies, "check": _check}


def _commands(name: str, wanted: Wanted, recorder: StageRecorder) -> Iterable[tuple[str, str]]:
    """The command lines that make what the page shows again."""
    derivative = wanted.words
    pipeline = ",".join(stage.label for stage in recorder.stages if stage.label and not stage.same_as >= 0) or "cse"
    yield "This report", shlex.join(["wengert", "report", name, *derivative, "-o", "report.html"])
    yield "The same, live", shlex.join(["wengert", "explore", name])
    if wanted.pipeline is None and wanted.mode in ("vjp", "jvp"):
        yield "The derivative as text", shlex.join(["wengert", wanted.mode, name, *derivative[1:]])
    yield "All stages as files", shlex.join(["wengert-opt", name, "-p", pipeline, "--dump-dir", "dumps"])
    if wanted.pipeline is None:
        positions = [word for word in derivative if word not in ("--vjp", "--jvp", "--hvp")]
        yield "The check of the derivatives", shlex.join(["wengert", "check", name, *positions])
        yield "The costs", shlex.join(["wengert", "costs", name, *positions])
        yield "All ways to compute the derivative", shlex.join(["wengert", "strategies", name])
