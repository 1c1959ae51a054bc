"""``wengert kept p.mlir [--wrt 0,1] [--residuals recompute-cheap]``: what a reverse derivative keeps, who needs it, and what computing it again would cost."""

from __future__ import annotations

import argparse
import json

from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, read_program, request_of
from wengert.lab.cli.usage import usage_error
from wengert.lab.inspection.naming import SourceNames
from wengert.lab.inspection.subject import asked
from wengert.lab.inspection.terminal import width_of_output
from wengert.lab.kept.kept import SHOWN, kept_of
from wengert.lab.kept.parts import is_reverse_derivative, parts_of
from wengert.lab.kept.policies import compare_policies


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_subject(parser, ("vjp", "hvp"), pipeline=False, default="vjp")
    parser.add_argument("--inputs", metavar="FILE.npz", help="example arguments of a Python function, in place of --shapes")
    parser.add_argument("--compare", action="store_true", help="one row for each residual policy: what it keeps, and what that costs")
    parser.add_argument("--all", action="store_true", help=f"show all rows, not the {SHOWN} largest")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints what is kept."""
    given = read_program(options)
    subject = asked(given, request_of(options, None if is_reverse_derivative(given.program) else "vjp"))
    if options.compare:
        if subject.request is None or subject.primal is None or subject.request.mode != "vjp":
            raise usage_error(options.prog, options.words, "--compare is about derivatives that are made here", hint="give the program, and --vjp")
        table = compare_policies(subject.primal, subject.request)
        print(json.dumps(table.to_json(), indent=1) if options.json else table)
        return Exit.OK
    report = kept_of(
        parts_of(subject.program, subject.primal if subject.request is not None else None),
        f"what {subject.title} keeps",
        SourceNames(subject.primal, subject.sources),
    )
    print(json.dumps(report.to_json(), indent=1) if options.json else report.text(width_of_output(), None if options.all else SHOWN))
    return Exit.OK
