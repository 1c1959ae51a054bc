"""``wengert check p.mlir``: the gradient check."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wengert.ir.plugins import load_options
from wengert.lab.check import TESTS, check
from wengert.lab.check.report import CheckReport, Outcome
from wengert.lab.check.rows import check_rows
from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cost_certificate import FORWARD, REVERSE, certify, certify_corpus, corpus_table
from wengert.runtime.program import Program
from wengert.transforms.shapes.argument_shapes import shape_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser)
    arguments.add_positions(parser)
    arguments.add_inputs(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for directions, cotangents, and inputs that are not given (default: 0)")
    arguments.add_backend(parser)
    parser.add_argument("--second-order", action="store_true", help="check the JVP of the VJP against differences of the VJP too")
    parser.add_argument("--tests", type=test_names, default=TESTS, metavar="A,B", help=f"only these of: {', '.join(TESTS)}")
    arguments.add_strategy(parser)
    what = "check rows of 'wengert strategies', whole Jacobians and, of one number, Hessians: all, or those of these names"
    parser.add_argument("--rows", type=arguments.names, metavar="all|A,B", help=what)
    cost = parser.add_argument_group("cost", "instead of derivatives, how many ops they take: flops and numbers written, for each op of the program")
    cost.add_argument("--cost", action="store_true", help="whether JVP and VJP are within their bounds; of a corpus, a table (PROGRAM.mlir is its folder)")
    cost.add_argument("--omega", type=float, nargs=2, default=(FORWARD, REVERSE), metavar=("JVP", "VJP"), help=f"the bounds (default: {FORWARD:g} {REVERSE:g})")
    cost.add_argument("--only", type=arguments.names, default=(), metavar="A,B", help="programs of a corpus by name")
    cost.add_argument("--markdown", action="store_true", help="the table of a corpus as Markdown")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def test_names(text: str) -> tuple[str, ...]:
    """Names of tests."""
    names = arguments.names(text)
    unknown = [name for name in names if name not in TESTS]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"there is no test {', '.join(unknown) or 'named'}; known: {', '.join(TESTS)}")
    return names


def execute(options: argparse.Namespace) -> int:
    """Checks, and says how to make just the check that failed again."""
    arguments.check_strategy(options)
    if options.cost:
        return certificate(options)
    program = arguments.read_program(options)
    inputs = arguments.inputs_of(options, program, options.seed)
    if options.rows is not None:
        return _rows(options, program, inputs)
    second = options.second_order or (options.tests != TESTS and "second order" in options.tests)
    report = check(
        program,
        inputs,
        wrt=options.wrt,
        of=options.of,
        seed=options.seed,
        backend=options.backend,
        second_order=second,
        tests=options.tests,
        strategy=options.strategy,
    )
    if report.outcome == "MISMATCH":
        report = replace(report, command=rerun_command(options, report))
    print(json.dumps(report.to_json(), indent=1) if options.json else report)
    return _EXITS[report.outcome]


def _rows(options: argparse.Namespace, program: Program, inputs: Sequence[Any] | None) -> int:
    """Checks rows of the table of strategies."""
    names = () if "all" in options.rows else options.rows
    report = check_rows(program, inputs, rows=names, wrt=options.wrt, of=options.of, seed=options.seed, backend=options.backend)
    print(json.dumps(report.to_json(), indent=1) if options.json else report)
    return _EXITS[report.outcome]


def certificate(options: argparse.Namespace) -> int:
    """Counts the ops of derivatives, of a program or of all programs of a corpus; 4 where a bound is broken."""
    bounds = (options.omega[0], options.omega[1])
    if Path(options.program).is_dir():
        certificates = [replace(c, bounds=bounds) for c in certify_corpus(options.program, strategy=options.strategy, only=options.only)]
        print(json.dumps([c.to_json() for c in certificates], indent=1) if options.json else corpus_table(certificates, markdown=options.markdown))
        for broken in [c for c in certificates if not c and not options.json]:
            print(f"\n{broken}")
        return Exit.OK if all(certificates) else Exit.COST_REGRESSION
    program = arguments.read_program(options)
    inputs = arguments.inputs_of(options, program, options.seed)
    certified = certify(program, inputs, wrt=options.wrt, of=options.of, seed=options.seed, strategy=options.strategy, bounds=bounds)
    print(json.dumps(certified.to_json(), indent=1) if options.json else certified)
    return Exit.OK if certified else Exit.COST_REGRESSION


_EXITS: dict[Outcome, Exit] = {"ok": Exit.OK, "MISMATCH": Exit.MISMATCH, "not settled": Exit.NOT_SETTLED}


def rerun_command(options: argparse.Namespace, report: CheckReport) -> str:
    """The command line that checks again what failed and nothing else."""
    bad = [a for a in report.arguments if a.verdict == "MISMATCH"]
    tests = [t for t in TESTS if any(f.test == t and f.verdict == "MISMATCH" for a in bad for f in a.findings)]
    positions = ",".join(a.argument.split()[1] for a in bad)
    words = ["wengert", "check", options.program, "--wrt", positions, "--tests", ",".join(tests), "--seed", str(options.seed)]
    words += ["--backend", options.backend] + (["--entry", options.entry] if options.entry != "main" else [])
    words += ["--strategy", options.strategy] if options.strategy != "transpose" else []
    words += load_options()
    words += ["--shapes", ",".join(map(shape_text, options.shapes))] if options.shapes is not None else []
    words += ["--of", ",".join(map(str, options.of))] if options.of else []
    if options.inputs is not None:
        words += ["--inputs", options.inputs]
    elif options.random is not None:
        words += ["--random", str(options.random)]
    return shlex.join(words)
