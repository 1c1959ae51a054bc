"""``wengert report p.mlir -o report.html``: one page with every stage of a derivative, side by side, and what is known of it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from wengert.dialects.kernel.level import holds_kernels
from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, read_program, request_of
from wengert.lab.cli.usage import check_choice
from wengert.lab.inspection.subject import asked
from wengert.lab.report.assemble import ANALYSES, Wanted, assemble, assemble_text
from wengert.lab.report.document import Document
from wengert.lab.report.page import page, parts_of
from wengert.lab.report.source_texts import sources_of
from wengert.runtime.program import Program


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_subject(parser)
    parser.add_argument(
        "--primal", action="store_true", help="the program alone (the reverse derivative is shown unless another one, or passes, are asked for)"
    )
    parser.add_argument("-o", "--output", metavar="FILE.html", help="write there (default: the program's name with .html; - for stdout)")
    parser.add_argument("--skip", type=arguments.names, default=(), metavar="A,B", help=f"leave out analyses: {', '.join(ANALYSES)}")
    parser.add_argument("--with", dest="only", type=arguments.names, default=(), metavar="A,B", help="make these analyses of large programs too")
    parser.add_argument("--json", action="store_true", help="write what the page shows, as JSON, to stdout or the output")


def execute(options: argparse.Namespace) -> int:
    """Writes the page."""
    check_choice(options, "skip", options.skip, ANALYSES)
    check_choice(options, "with", options.only, ANALYSES)
    try:
        document = document_of(options)
    finally:
        output.end_progress()
    if options.json:
        return _write(json.dumps(document.to_json(), indent=1) + "\n", options.output or "-")
    path = options.output or f"{_file_name(options.program)}.html"
    text = page(document.title, *parts_of(document))
    if path != "-":
        print(f"{path}: {len(document.stages)} stages, {len(text) / 1e6:.1f} MB; open it in a browser, it needs no network", file=sys.stderr)
    for diagnostic in document.diagnostics:
        print(f"warning: the pipeline stopped: {diagnostic['message']}", file=sys.stderr)
    return _write(text, path)


def document_of(options: argparse.Namespace) -> Document:
    """The document that the command line asks for: of the reverse derivative, if no other one, no passes and not the program alone are asked for."""
    alone = read_program(options)
    if alone.primal is None:
        return assemble_text(alone.source, alone.form, alone.name)
    as_it_is = options.pass_pipeline or options.primal or not _has_derivative(alone.primal)
    subject = asked(alone, request_of(options, None if as_it_is else "vjp"), ",".join(options.pass_pipeline))
    assert subject.primal is not None
    wanted = Wanted(
        subject.request,
        subject.pipeline,
        skip=frozenset(options.skip),
        only=frozenset(options.only),
        given=tuple(_given(options.words)),
        traced=not subject.source,
    )
    return assemble(subject.primal, sources_of(subject), wanted, subject.name, said=lambda what: output.progress(f"wengert report: {what}"))


def _has_derivative(program: Program) -> bool:
    """Whether a derivative may be taken of a program: kernels have none, nor have programs on integers alone."""
    signature = program.signature
    return not holds_kernels(program.module) and any(p.differentiable for p in signature.arguments) and any(p.differentiable for p in signature.results)


def _given(words: Sequence[str]) -> Iterator[str]:
    """The options of the command line that say what the program is, as they were written."""
    for name in ("--entry", "--shapes"):
        for word, value in pairwise([*words, ""]):
            if word.partition("=")[0] == name:
                yield from (word,) if "=" in word else (word, value)


def _file_name(program: str) -> str:
    return "report" if program == "-" else Path(program.replace(":", "-")).stem or "report"


def _write(text: str, path: str) -> int:
    if path == "-":
        sys.stdout.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")
    return Exit.OK
