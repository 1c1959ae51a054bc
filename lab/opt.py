"""``wengert-opt``: applies passes to a program, for tests and for looking at what each pass does.

    wengert-opt p.mlir -p "vjp{wrt=0,1},simplify,cse" --dump-dir dumps

Exit codes: 0 done, 1 the program has an error, 2 the command line or the pipeline has one, 70 a pass of ours broke.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wengert.ir.bytecode.sections import LATEST
from wengert.ir.diagnostics import Diagnostic, DiagnosticError
from wengert.ir.parsing.sources import read_bytes, read_standard_input
from wengert.ir.pipeline.observers import Observer, Observers, PassTimes
from wengert.ir.pipeline.options import describe_type, kebab, option_types, print_value
from wengert.ir.pipeline.passes import PASSES, Pipeline
from wengert.ir.pipeline.translations import COMMENTS
from wengert.ir.plugins import owner_of
from wengert.lab.cli import output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.main import add_common, run
from wengert.lab.cli.usage import Parser, usage_error
from wengert.runtime.bytecode import program_text, write
from wengert.transforms.pipelines import TO_UPSTREAM, joined, parse_pipeline

_SPLIT = re.compile(r"^// -----.*\n?", re.MULTILINE)


def build_parser() -> Parser:
    """The command line."""
    parser = Parser(prog="wengert-opt")
    configure(parser)
    add_common(parser)
    return parser


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.description = "Apply passes to a program and print what is left, or what the pipeline's last translation makes of it."
    parser.epilog = "Exit codes: 0 done, 1 an error in the program, 2 in the command line or the pipeline, 6 in a plug-in, 70 an internal error."
    parser.add_argument(
        "input",
        nargs="?",
        default="-",
        metavar="FILE",
        help="the program, or what the pipeline begins with: MLIR text or bytecode, a portable artifact, LLVM text; - (default) for stdin",
    )
    parser.add_argument("-p", "--pass-pipeline", action="append", default=[], metavar="PIPELINE", help='as in "vjp{fn=main wrt=0,1},simplify,cse"')
    parser.add_argument("--to-upstream", action="store_true", help="write what is left as linalg on tensors, scf, arith and math, which mlir-opt 22 compiles")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of to stdout")
    written = parser.add_mutually_exclusive_group()
    written.add_argument("--emit-bytecode", action="store_true", help="write MLIR bytecode instead of text")
    written.add_argument("--serialize", action="store_true", help="write a portable artifact of StableHLO, which other versions of its tools read")
    parser.add_argument("--emit-bytecode-version", type=int, choices=range(LATEST + 1), metavar="N", help=f"with --emit-bytecode: 0 to {LATEST} (default)")
    parser.add_argument("--target", metavar="VERSION", help="with --serialize: the version of StableHLO, such as 1.0.0 (default: current; or minimum)")
    parser.add_argument("--list-passes", action="store_true", help="list the passes and translations with their options")
    parser.add_argument("--json", action="store_true", help="with --list-passes: as JSON")
    parser.add_argument("--split-input-file", action="store_true", help="treat the parts between lines of // ----- as programs of their own")
    inspection = parser.add_argument_group("inspection")
    inspection.add_argument("--dump-dir", metavar="DIR", help="write the program after every pass, and an index")
    inspection.add_argument(
        "--dump-prune", action="store_true", help="keep that folder small: no files for stages that only rename values, nor rows without one"
    )
    inspection.add_argument("--print-ir-after-change", action="store_true", help="print the program to stderr after every pass that changed it")
    inspection.add_argument(
        "--filter",
        metavar="SELECTOR",
        help="with these: only the ops that are named, as op:tanh (and what is derived from them), %%12, FILE:LINE or role:cotangent",
    )
    inspection.add_argument("--time-passes", action="store_true", help="print a table of times to stderr")
    inspection.add_argument("--print-locations", action="store_true", help="print where every op comes from")
    inspection.add_argument("--print-generic", action="store_true", help="print the generic form of every op")
    checks = parser.add_argument_group("checks")
    checks.add_argument("--verify-each", action="store_true", help="verify after every pass (the input is always verified)")
    checks.add_argument("--verify-diagnostics", action="store_true", help="check errors against comments // expected-error {{text}}")
    checks.add_argument("--diagnostics", choices=("text", "json"), default="text", help="how errors are written to stderr")


def main(argv: Sequence[str] | None = None) -> int:
    """The process's whole work; returns the exit code."""
    return run(build_parser, execute, "opt", list(sys.argv[1:] if argv is None else argv))


def execute(options: argparse.Namespace) -> int:
    """Does what the command line asks for."""
    if options.list_passes:
        output.write_text(json.dumps(passes_json(), indent=1) if options.json else "\n".join(describe_passes()), options.output)
        return Exit.OK
    try:
        pipeline = parse_pipeline(joined(*options.pass_pipeline, TO_UPSTREAM if options.to_upstream else ""))
    except DiagnosticError as error:
        output.report_diagnostics(error, options.diagnostics)
        return Exit.USAGE
    _check_inspection(options)
    _check_bytecode(options, pipeline)
    times = PassTimes() if options.time_passes else None
    texts, failed = _run_all(options, pipeline, times)
    if any(isinstance(text, bytes) for text in texts):
        output.write_bytes(b"".join(text for text in texts if isinstance(text, bytes)), options.output)
    elif not options.verify_diagnostics and texts:
        show = output.write_ir if pipeline.writes == "mlir" else output.write_text
        show(f"{COMMENTS[pipeline.writes]} -----\n".join(map(str, texts)), options.output)
    if times is not None:
        print(times, file=sys.stderr)
    return Exit.DIAGNOSTIC if failed else Exit.OK


def _check_bytecode(options: argparse.Namespace, pipeline: Pipeline) -> None:
    """Refuses options that have no meaning where bytes are written, or are not."""
    words: Sequence[str] = options.words
    for name, needs in (("target", "serialize"), ("emit_bytecode_version", "emit_bytecode")):
        if getattr(options, name) is not None and not getattr(options, needs):
            flag = name.replace("_", "-")
            raise usage_error(options.prog, words, f"--{flag} belongs to --{needs.replace('_', '-')}", hint=f"add --{needs.replace('_', '-')}")
    if not (options.emit_bytecode or options.serialize):
        return
    if options.target is not None:
        from wengert.dialects.vhlo.versions import read_version

        try:
            read_version(options.target)
        except DiagnosticError as error:
            raise usage_error(options.prog, words, error.diagnostic.message, hint=error.diagnostic.hint) from None
    flag = "--serialize" if options.serialize else "--emit-bytecode"
    if pipeline.writes != "mlir":
        raise usage_error(options.prog, words, f"{flag} writes MLIR, and the pipeline ends in {pipeline.writes}")
    if options.split_input_file:
        raise usage_error(options.prog, words, f"{flag} writes one program, and --split-input-file reads several")
    if options.output in (None, "-") and sys.stdout.isatty():
        raise usage_error(options.prog, words, f"{flag} writes bytes, which a terminal cannot show", hint="give a file: -o FILE.mlirbc")


def _run_all(options: argparse.Namespace, pipeline: Pipeline, times: PassTimes | None) -> tuple[list[str | bytes], bool]:
    """The texts or bytes of the programs that came through, and whether there is one that did not."""
    file = "<stdin>" if options.input == "-" else options.input
    source = program_text(read_standard_input() if options.input == "-" else read_bytes(options.input), file)
    parts = list(split(source)) if options.split_input_file else [source]
    texts: list[str | bytes] = []
    failed = False
    for number, part in enumerate(parts, 1):
        dump_dir = options.dump_dir and (Path(options.dump_dir) / f"part-{number:02d}" if len(parts) > 1 else Path(options.dump_dir))
        error: DiagnosticError | None = None
        try:
            texts.append(_run_one(part, file, pipeline, options, dump_dir, times))
        except DiagnosticError as diagnostic_error:
            error = diagnostic_error
        if options.verify_diagnostics:
            error = _unexpected(part, file, error)
        if error is not None:
            output.report_diagnostics(error, options.diagnostics)
            failed = True
    return texts, failed


def _run_one(text: str, file: str, pipeline: Pipeline, options: argparse.Namespace, dump_dir: Path | None, times: PassTimes | None) -> str | bytes:
    from wengert.dialects.registry import context_for
    from wengert.ir.parsing.parser import parse_module
    from wengert.ir.printing.printer import print_module
    from wengert.ir.verification.verifier import verify
    from wengert.transforms.optimize.undone import watched

    if pipeline.reads != "mlir":
        return _ended(pipeline.translate(text, time_passes=times, observer=_observer(options, dump_dir)))
    context = context_for(text)
    module = parse_module(text, file, context)
    verify(module)
    observer = _observer(options, dump_dir)
    with watched(pipeline, observer) as watching:
        pipeline.run(module, context=context, verify_each=options.verify_each, time_passes=times, observer=watching)
    if pipeline.translations:
        return _ended(pipeline.translate(module, time_passes=times, observer=observer))
    if options.emit_bytecode:
        return write(module, version=options.emit_bytecode_version)
    if options.serialize:
        return write(module, portable=options.target or "current")
    return _ended(print_module(module, locations=options.print_locations, generic=options.print_generic))


def _observer(options: argparse.Namespace, dump_dir: Path | None) -> Observer | None:
    """What watches the pipeline: a folder of dumps, changes on stderr, both, or nothing."""
    from wengert.ir.pipeline.dumps import ChangePrinter, Dumper, Excerpt

    excerpt: Excerpt | None = None
    if options.filter is not None:
        from wengert.lab.inspection.excerpts import excerpt_of

        excerpt = excerpt_of(options.filter)
    observers: list[Observer] = []
    if dump_dir:
        observers.append(Dumper(dump_dir, locations=options.print_locations, prune=options.dump_prune, excerpt=excerpt))
    if options.print_ir_after_change:
        observers.append(ChangePrinter(output.write_change, excerpt))
    return None if not observers else observers[0] if len(observers) == 1 else Observers(tuple(observers))


def _check_inspection(options: argparse.Namespace) -> None:
    """Raises a UsageError for options that say nothing without others."""
    words: Sequence[str] = options.words
    for option, needed, given in (
        ("--dump-prune", "--dump-dir", options.dump_prune and not options.dump_dir),
        ("--filter", "--print-ir-after-change or --dump-dir", options.filter is not None and not (options.dump_dir or options.print_ir_after_change)),
    ):
        if given:
            at = next((n for n, word in enumerate(words) if word.partition("=")[0] == option), None)
            raise usage_error(options.prog, words, f"{option} is about {needed}, which is not given", word=at)


def _ended(text: str) -> str:
    """The text with a line break at its end."""
    return text if text.endswith("\n") else text + "\n"


def _unexpected(text: str, file: str, error: DiagnosticError | None) -> DiagnosticError | None:
    from wengert.lab.expected_diagnostics import compare, expectations

    diagnostics: list[Diagnostic] = []
    for diagnostic in error.diagnostics if error else ():
        diagnostics += [diagnostic, *(note for note in diagnostic.notes if note.line and "expected-note" in text)]
    wrong = compare(expectations(text), diagnostics, file)
    return DiagnosticError(*wrong) if wrong else None


def split(text: str) -> Iterator[str]:
    """The parts between lines of ``// -----``, each after as many empty lines as make its line numbers those of the file."""
    start = 0
    for mark in [*_SPLIT.finditer(text), None]:
        end = mark.start() if mark else len(text)
        part = text[start:end]
        if part.strip():
            yield "\n" * text.count("\n", 0, start) + part
        start = mark.end() if mark else end


def describe_passes() -> Iterator[str]:
    """Every pass and translation: its name, the first sentence of its docstring, and its options with their types and defaults."""
    for entry in passes_json():
        yield f"{entry['name']}: {entry['summary']}"
        yield from (f"    {option['name']}: {option['type']}{option['default']}" for option in entry["options"])


def passes_json() -> list[dict[str, Any]]:
    """The same as what JSON holds."""
    listed: list[dict[str, Any]] = []
    for name in sorted(PASSES):
        cls = PASSES.load(name)
        types = option_types(cls)
        options = [{"name": kebab(f.name), "type": describe_type(types[f.name]), "default": _default(f)} for f in dataclasses.fields(cls)]
        summary = (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")
        listed.append({"name": name, "summary": summary, "owner": owner_of(cls), "options": options})
    return listed


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
        return " (required)"
    written = "" if field.default in (dataclasses.MISSING, "") else print_value(field.default)
    return f" (default {written})" if written else ""


if __name__ == "__main__":
    sys.exit(main())
