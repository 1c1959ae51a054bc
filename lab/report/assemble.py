"""Runs a program's pipeline and the analyses, and puts what they give into one document."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.registry import make_context
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.pipeline.changes import Change, Kind, recorded
from wengert.ir.pipeline.observers import Observer, Observers
from wengert.ir.pipeline.passes import Pipeline
from wengert.ir.pipeline.translations import WORDS, Form
from wengert.ir.plugins import PluginError
from wengert.lab.inspection.subject import Request, Subject, asked
from wengert.lab.report.differences import differences
from wengert.lab.report.document import Document, LeftOut
from wengert.lab.report.operation_table import Strings
from wengert.lab.report.rules import rules_of
from wengert.lab.report.source_texts import Places, SourceText
from wengert.lab.report.stages import Stage, StageRecorder
from wengert.runtime.derived.derivation import derivative_pipeline, finishing, preparation, with_main
from wengert.runtime.errors import ExecutionError, InputError
from wengert.runtime.program import Program
from wengert.transforms.lowering import remaining
from wengert.transforms.pipelines import joined, parse_pipeline, placing

LARGE = 2000
"""Ops of a derivative from which on analyses that take it down to buffers several times are left out unless they are asked for."""


VJP = Request("vjp")


@dataclass(frozen=True)
class Wanted:
    """The subject of a report.

    Attributes:
        request: the derivative, or None for the program alone.
        pipeline: passes behind it; with them a report ends where they end.
        code: whether to go on down to LLVM text where no passes are asked for.
        skip: analyses that are left out.
        only: of the analyses that are left out of large programs, those that are wanted nevertheless.
        compiled: whether programs may be compiled, for what is allocated; none is run for that.
        given: options that say what the program is (``--entry``, ``--shapes``), for commands.
        pair: two stages to compare, beside those that are in any case.
        traced: whether the program is a Python function, which only some commands take.
    """

    request: Request | None = VJP
    pipeline: str = ""
    code: bool = True
    skip: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    compiled: bool = True
    pair: tuple[int, int] | None = None
    given: tuple[str, ...] = ()
    traced: bool = False

    @property
    def positions(self) -> dict[str, Any]:
        """The arguments and results to differentiate, as analyses take them."""
        return {"wrt": self.request.wrt, "of": self.request.of} if self.request is not None else {}

    @property
    def words(self) -> list[str]:
        """The options of a command line that ask for the same."""
        words = ["--primal"] if self.request is None and not self.pipeline else []
        if self.request is not None:
            words += [f"--{self.request.mode}", *self.position_words]
            words += ["--strategy", self.request.strategy] if self.request.strategy != "transpose" else []
            words += ["--residuals", self.request.residuals] if self.request.residuals != "auto" else []
        return words + (["-p", self.pipeline] if self.pipeline else [])

    @property
    def position_words(self) -> list[str]:
        """``--wrt`` and ``--of``."""
        given = [(name, value) for name, value in self.positions.items() if value is not None]
        return [word for name, value in given for word in (f"--{name}", str(value) if isinstance(value, int) else ",".join(map(str, value)))]


ANALYSES = ("memory", "kept", "diff", "costs", "strategies", "check")
"""What is computed of the program beside its stages."""


def assemble(
    program: Program,
    sources: Sequence[SourceText],
    wanted: Wanted,
    name: str,
    analyses: Iterable[str] = ANALYSES,
    said: Callable[[str], None] | None = None,
) -> Document:
    """The document of a program.

    Args:
        program: the program; a derivative, or kernels, are one too.
        sources: the texts it comes from, by the names that its locations give them.
        wanted: the derivative or the pipeline, and the analyses.
        name: the program's file, as commands name it.
        analyses: the analyses to make.
        said: told each stage and analysis that is done.

    A pipeline that stops with a diagnostic leaves the stages before it and the diagnostic. Raises InputError for positions that do not fit.
    """
    start = time.perf_counter()
    analyses = tuple(analyses)
    kept = 0 if "diff" not in analyses or "diff" in wanted.skip else sys.maxsize if "diff" in wanted.only else LARGE
    recorder = StageRecorder(Strings(), Places({source.name: i for i, source in enumerate(sources)}), said, kept)
    with recorded() as changes:
        problem = _record(program, _derivative(program, wanted), wanted, Observers((cast(Observer, changes), recorder)))
    texts = {source.name: source.text for source in sources}
    made: dict[str, Any] = {}
    if wanted.request is not None:
        made["rules"] = rules_of((text for text in recorder.strings.listed if "/" in text), wanted.request.strategy)
    for what in analyses if problem is None else ():
        if said is not None:
            said(what)
        made[what] = _analysis(what, program, wanted, recorder, name, texts)
    return Document(
        title=name,
        signature=str(program.signature),
        request=_in_words(program, wanted),
        pipeline=",".join(stage.label for stage in recorder.stages if stage.label),
        sources=tuple(sources),
        stages=tuple(recorder.stages),
        places=recorder.places,
        strings=recorder.strings,
        changes=tuple(_told(changes.changes, recorder.places)),
        analyses=made,
        commands=tuple(_commands(name, wanted, recorder)),
        diagnostics=tuple(problem.to_json()) if problem is not None else (),
        made=_made(start),
    )


def assemble_text(text: str, form: Form, name: str) -> Document:
    """The document of a text that is no MLIR, such as a dump of LLVM text."""
    start = time.perf_counter()
    return Document(name, "", f"{WORDS[form]}, as it is", "", (), (Stage("input", "", "code", form, text),), Places({}), Strings(), made=_made(start))


def _made(start: float) -> dict[str, Any]:
    from wengert import __version__

    return {"seconds": time.perf_counter() - start, "version": __version__, "at": time.strftime("%Y-%m-%d %H:%M")}


def _in_words(program: Program, wanted: Wanted) -> str:
    """``VJP of result 0 by arguments 0 and 1, strategy direct, then simplify``."""
    request = wanted.request
    parts = ["the program"]
    if request is not None:
        moved, asked = program.resolve(wrt=request.wrt, of=request.of)
        parts = [f"{request.mode.upper()} of {_listed('result', asked)} by {_listed('argument', moved)}"]
        parts += [f"strategy {request.strategy}"] if request.strategy != "transpose" else []
        parts += [f"residuals {request.residuals}"] if request.residuals != "auto" else []
    return ", ".join([*parts, *([f"then {wanted.pipeline}"] if wanted.pipeline else [])])


def _listed(noun: str, positions: Sequence[int]) -> str:
    if len(positions) > 3 and list(positions) == list(range(positions[0], positions[-1] + 1)):
        return f"{noun}s {positions[0]} to {positions[-1]}"
    words = [str(position) for position in positions]
    return f"{noun} {words[0]}" if len(words) == 1 else f"{noun}s {', '.join(words[:-1])} and {words[-1]}" if words else f"no {noun}"


def _derivative(program: Program, wanted: Wanted) -> str:
    """The pipeline from the program as it was written to its derivative, and to what is asked for behind it."""
    request = wanted.request
    if request is None:
        return wanted.pipeline or preparation(program)
    moved, asked = program.resolve(wrt=request.wrt, of=request.of)
    steps = [derivative_pipeline("jvp" if request.mode == "jvp" else "vjp", moved, asked, request.strategy, request.residuals)]
    if request.mode == "hvp":
        first = len(program.signature.results)
        steps.append(derivative_pipeline("jvp", moved, range(first, first + len(moved)), request.strategy))
    return joined(preparation(program), *steps, wanted.pipeline)


def _record(program: Program, passes: str, wanted: Wanted, observer: Observer) -> DiagnosticError | None:
    """Runs the pipelines; the diagnostic that stopped them, if one did."""
    try:
        pipeline = parse_pipeline(passes)
        module = with_main(program.module, program.entry)
        _run(pipeline, module, observer)
        if not wanted.pipeline and wanted.code:
            _run(parse_pipeline(joined(finishing(module), remaining(module), placing(), "emit-llvm{debug-lines=true},optimize-llvm")), module, observer)
        return None
    except DiagnosticError as error:
        return error


def _run(pipeline: Pipeline, module: ModuleOp, observer: Observer) -> None:
    from wengert.transforms.optimize.undone import watched

    with watched(pipeline, observer) as watching:
        pipeline.run(module, context=make_context(), observer=watching, original=module)
    if pipeline.translations:
        pipeline.translate(module, observer=observer)


def _told(changes: Sequence[Change], places: Places) -> Iterable[tuple[list[int], str]]:
    """What became of ops that are gone, each sentence once for the places that it is about."""
    told: dict[tuple[tuple[int, ...], str], None] = {}
    for change in changes:
        if change.kind is not Kind.MADE:
            now = f" to {change.into_name}" if change.kind is Kind.REWRITTEN and change.into_name else ""
            why = f": {change.why}" if change.why else ""
            told[tuple(places.of(change.location).places), f"{change.pass_name}: {change.op_name} {change.kind}{now}{why}"] = None
    for at, text in told:
        yield list(at), text


def _analysis(what: str, program: Program, wanted: Wanted, recorder: StageRecorder, name: str, texts: Mapping[str, str]) -> Any:
    """What an analysis gives as JSON, or why it is left out."""
    command = "" if wanted.traced else shlex.join(["wengert", what, name, *wanted.given])
    if what in wanted.skip:
        return LeftOut("It was left out of this report.", command)
    size = max((stage.ops or 0 for stage in recorder.stages if stage.section != "kernels"), default=0)
    if size > LARGE and what not in wanted.only:
        return LeftOut(f"It is left out of reports of more than {LARGE} ops; there are {size} here.", command)
    try:
        if what == "diff":
            return differences(recorder.stages, recorder.modules, texts, wanted.pair)
        return _ANALYSES[what](program, wanted, texts)
    except PluginError:
        raise
    except (DiagnosticError, InputError, ExecutionError) as error:
        return LeftOut(str(error).strip().splitlines()[0], command)


def _costs(program: Program, wanted: Wanted, texts: Mapping[str, str]) -> Any:
    return program.costs(**wanted.positions).to_json()


def _strategies(program: Program, wanted: Wanted, texts: Mapping[str, str]) -> Any:
    moved, asked = program.resolve(**wanted.positions)
    single = len(asked) == 1 and program.signature.results[asked[0]].shape == ()
    return program.strategies(of="gradient" if single else "jacobian", wrt=moved, results=asked, measure=False).to_json()


def _check(program: Program, wanted: Wanted, texts: Mapping[str, str]) -> Any:
    return program.check(**wanted.positions, **({"strategy": wanted.request.strategy} if wanted.request is not None else {})).to_json()


def _memory(program: Program, wanted: Wanted, texts: Mapping[str, str]) -> Any:
    from wengert.lab.memory.memory import memory_of_subject, piece_json

    if wanted.pipeline:
        return LeftOut("What is allocated is shown of derivatives, not of passes behind them.")
    name, text = next(iter(texts.items()), (program.name, ""))
    report = memory_of_subject(asked(Subject(name, text, primal=program), wanted.request, ""), "arena", None if wanted.compiled else False)
    return {**report.to_json(), "pieces": [piece_json(piece) for piece in report.timeline.pieces]}


def _kept(program: Program, wanted: Wanted, texts: Mapping[str, str]) -> Any:
    from wengert.lab.kept.kept import kept

    request = wanted.request
    if request is None or request.mode != "vjp":
        return LeftOut("Kept values are those of a reverse derivative.")
    return kept(program, **wanted.positions, strategy=request.strategy, residuals=request.residuals, sources=texts).to_json()


_ANALYSES: dict[str, Callable[[Program, Wanted, Mapping[str, str]], Any]] = {
    "memory": _memory,
    "kept": _kept,
    "costs": _costs,
    "strategies": _strategies,
    "check": _check,
}


def _commands(name: str, wanted: Wanted, recorder: StageRecorder) -> Iterable[tuple[str, str]]:
    """The command lines that make what the page shows again."""
    program, options, positions = [name, *wanted.given], wanted.words, wanted.position_words
    yield "This report", shlex.join(["wengert", "report", *program, *options, "-o", "report.html"])
    if wanted.traced:
        return
    yield "The same, live", shlex.join(["wengert", "explore", name])
    if wanted.request is not None and wanted.request.mode != "hvp" and not wanted.pipeline:
        yield "The derivative as text", shlex.join(["wengert", wanted.request.mode, *program, *options[1:]])
    pipeline = ",".join(stage.label for stage in recorder.stages if stage.label)
    if pipeline:
        yield "All stages as files", shlex.join(["wengert-opt", name, "-p", pipeline, "--dump-dir", "dumps"])
    if wanted.request is not None:
        yield "The check of the derivatives", shlex.join(["wengert", "check", *program, *positions])
        yield "The costs", shlex.join(["wengert", "costs", *program, *positions])
        yield "All ways to compute the derivative", shlex.join(["wengert", "strategies", *program, *positions[: 2 if "--wrt" in positions else 0]])
