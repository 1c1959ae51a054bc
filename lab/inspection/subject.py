"""The subject of a command: a program, a derivative of it, what passes make of either, or the text of a dump that is no MLIR.

subject = read_subject("p.mlir", request=Request("vjp", wrt=(0,)))
subject.program          # the derivative
subject.primal           # the program that was read
subject.module           # the IR
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from xdsl.dialects.builtin import ModuleOp

from wengert.ir.parsing.sources import read_standard_input
from wengert.ir.pipeline.translations import COMMENTS, WORDS, Form
from wengert.lab.inspection.dump_folders import DumpHeader, DumpStage, header_of, stages_of
from wengert.lab.inspection.traced import NAMED, ArgumentType, traced_program
from wengert.runtime.bytecode import program_text
from wengert.runtime.derived.positions import Positions
from wengert.runtime.errors import InputError
from wengert.runtime.loading import parse, read_text
from wengert.runtime.program import Program
from wengert.transforms.pipelines import parse_pipeline

Mode = Literal["jvp", "vjp", "hvp"]
_SUFFIXES: dict[str, Form] = {".ll": "ll", ".s": "s", ".isa": "isa", ".ptx": "isa", ".spvasm": "isa"}


@dataclass(frozen=True)
class Request:
    """The derivative that is looked at.

    Attributes:
        mode: ``jvp``, ``vjp``, or ``hvp``: the forward derivative of the reverse one, which gives products with second derivatives.
        wrt: positions of the arguments to differentiate by; every float or complex one by default.
        of: positions of the results to differentiate; every float or complex one by default.
        strategy: how derivatives are made, by name.
        residuals: the policy for what is kept, by name; ``jvp`` keeps nothing and does not look at it.
    """

    mode: Mode
    wrt: Positions = None
    of: Positions = None
    strategy: str = "transpose"
    residuals: str = "auto"

    def derivative(self, primal: Program) -> Program:
        """The derivative of a program. Raises what :meth:`wengert.Program.vjp` raises."""
        if self.mode == "jvp":
            return primal.jvp(self.wrt, self.of, strategy=self.strategy)
        reverse = primal.vjp(self.wrt, self.of, strategy=self.strategy, residuals=self.residuals)
        if self.mode == "vjp":
            return reverse
        inputs, _ = primal.resolve(wrt=self.wrt, of=self.of)
        outputs = len(primal.signature.results)
        return reverse.jvp(inputs, range(outputs, len(reverse.signature.results)), strategy=self.strategy)

    def __str__(self) -> str:
        parts = [f"{name}={_positions(positions)}" for name, positions in (("wrt", self.wrt), ("of", self.of)) if positions is not None]
        parts += [f"strategy={self.strategy}"] if self.strategy != "transpose" else []
        parts += [f"residuals={self.residuals}"] if self.residuals != "auto" else []
        return f"{self.mode}{{{' '.join(parts)}}}" if parts else self.mode


def _positions(positions: int | Iterable[int]) -> str:
    return str(positions) if isinstance(positions, int) else ",".join(map(str, positions))


@dataclass(frozen=True)
class Subject:
    """The subject of a command: what it looks at.

    Attributes:
        name: what the user called it: a file, ``module:function``, ``<stdin>``.
        source: the text that was read; empty for a traced function and a program of a Python value.
        form: MLIR, or the kind of text (LLVM text, assembly) that has no program.
        primal: the program that was read; None for text that is no MLIR.
        request: the derivative that was asked for.
        derivative: that derivative of ``primal``.
        pipeline: the passes that were asked for.
        transformed: what they make of the derivative, or of the program where no derivative was asked for; None where they end in text.
        translated: the text that they end in.
        header: what the header of a dump says.
        stages: all stages of the folder of dumps that was named.
    """

    name: str
    source: str = ""
    form: Form = "mlir"
    primal: Program | None = None
    request: Request | None = None
    derivative: Program | None = None
    pipeline: str = ""
    transformed: Program | None = None
    translated: str = ""
    header: DumpHeader | None = None
    stages: tuple[DumpStage, ...] = field(default=(), repr=False)

    @property
    def program(self) -> Program:
        """The program that is looked at: after the passes, or the derivative, or the one that was read. An InputError for text that is no MLIR."""
        program = self.transformed or self.derivative or self.primal
        if program is None or self.form != "mlir":
            raise InputError(f"{self.name} is {WORDS[self.form]}, not MLIR: this looks at programs, such as the dumps of earlier stages")
        return program

    @property
    def module(self) -> ModuleOp:
        """The IR of :attr:`program`."""
        return self.program.module

    @cached_property
    def printed(self) -> ModuleOp:
        """The IR as ``wengert jvp`` and ``wengert vjp`` print a derivative: plain StableHLO, whose values are numbered anew. :attr:`module` where passes
        were asked for, which print what they leave."""
        from wengert.runtime.derived.derivation import plain_module

        return self.module if self.transformed is not None else plain_module(self.module)

    @cached_property
    def text(self) -> str:
        """The text of what is looked at: :attr:`printed` without locations, or the text of a dump that is no MLIR."""
        from wengert.ir.printing.printer import print_module

        return (self.translated or self.source) if self.form != "mlir" else print_module(self.printed)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of :attr:`text`."""
        return tuple(self.text.splitlines())

    @property
    def sources(self) -> Mapping[str, str]:
        """The text that was read by the file name that locations in it have: for names as the user wrote them."""
        return {self.name: self.source} if self.source else {}

    @property
    def title(self) -> str:
        """``vjp{wrt=0} of p.mlir, after simplify,cse``."""
        title = f"{self.request} of {self.name}" if self.request else self.name
        return f"{title}, after {self.pipeline}" if self.pipeline else title


def subject_of(program: Program, request: Request | None = None, pipeline: str = "") -> Subject:
    """The subject that a program, a derivative of it and passes behind that are. Raises InputError and DiagnosticError as these do."""
    return asked(Subject(program.name, primal=program), request, pipeline)


def read_subject(
    given: str,
    *,
    entry: str = "main",
    types: Sequence[ArgumentType] | None = None,
    inputs: str | None = None,
    request: Request | None = None,
    pipeline: str = "",
) -> Subject:
    """Reads what a command looks at.

    Args:
        given: a file with a program or a dump at any level; a folder of dumps, whose last stage in MLIR is taken; ``module:function`` or
            ``file.py:function``; or ``-`` for standard input.
        entry: the function that is the program.
        types: the types of a Python function's arguments, or the shapes of those that a program leaves open.
        inputs: a file of example arguments, which give a Python function's types.
        request: the derivative to look at.
        pipeline: passes to run, behind the derivative where there is one.

    Raises:
        OSError: the file cannot be read.
        DiagnosticError: the text is not valid; names the place.
        InputError: there is no such function; a derivative or passes are asked for of text that is no MLIR.
    """
    if given != "-" and not os.path.exists(given) and NAMED.fullmatch(given):
        return asked(Subject(given, primal=traced_program(given, types, inputs)), request, pipeline)
    stages: tuple[DumpStage, ...] = ()
    if os.path.isdir(given) or (os.path.basename(given) == "index.md" and os.path.isfile(given)):
        stages = stages_of(Path(given if os.path.isdir(given) else os.path.dirname(given) or "."))
        given = os.fspath(_last_mlir(stages).path)
    name = "<stdin>" if given == "-" else given
    text = program_text(read_standard_input(), name) if given == "-" else read_text(given)
    header, form = header_of(text), form_of(given, text)
    if form != "mlir":
        return asked(Subject(name, text, form, header=header, stages=stages), request, pipeline)
    program = _specialized(parse(text, name, entry=entry), types)
    return asked(Subject(name, text, primal=program, header=header, stages=stages), request, pipeline)


def form_of(path: str, text: str) -> Form:
    """The form of a text by the extension of its file, or where that says nothing by how it begins."""
    suffix = os.path.splitext(path)[1].lower()
    header = header_of(text)
    if header is not None:
        suffix = os.path.splitext(header.stage)[1]
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if suffix == ".mlir":
        return "mlir"
    start = next((line for line in map(str.lstrip, text.split("\n", 200)) if line), "")
    return "ll" if start.startswith((COMMENTS["ll"], "define ", "target ", "declare ", "source_filename")) else "mlir"


def _last_mlir(stages: Sequence[DumpStage]) -> DumpStage:
    for stage in reversed(stages):
        if stage.form == "mlir":
            return stage
    raise InputError(f"{stages[0].path.parent} has no stage in MLIR; name one of its files, such as {stages[-1].path}")


def _specialized(program: Program, types: Sequence[ArgumentType] | None) -> Program:
    if types is None:
        return program
    named = next((n for n, type in enumerate(types) if type.dtype), None)
    if named is not None:
        raise InputError(f"--shapes: argument {named}: the program's text says the element type; give the shape alone")
    return program.specialize(*[type.shape for type in types])


def asked(subject: Subject, request: Request | None, pipeline: str = "") -> Subject:
    """A subject that was read, with a derivative of its program and passes behind that. Raises InputError and DiagnosticError as these do."""
    if subject.primal is None:
        if request is None and not pipeline:
            return subject
        raise InputError(f"{subject.name} is {WORDS[subject.form]}: only a program in MLIR can be differentiated or go through passes here")
    derivative = request.derivative(subject.primal) if request else None
    made = replace(subject, request=request, derivative=derivative, pipeline=pipeline)
    if not pipeline:
        return made
    passes, before = parse_pipeline(pipeline), derivative or subject.primal
    if not passes.translations:
        return replace(made, transformed=before.apply(pipeline))
    first, last = str(passes[: len(passes.passes)]), str(passes[len(passes.passes) :])
    module = before.apply(first).module if first else before.module
    return replace(made, form=passes.writes, translated=parse_pipeline(last).translate(module))
