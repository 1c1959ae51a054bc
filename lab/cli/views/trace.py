"""``wengert trace p.mlir --inputs x.npz [--vjp] [%12 op:exp] [--first-nan] [--save out.npz]``: the values of a run by name."""

from __future__ import annotations

import argparse
import json
import sys

from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, read_subject
from wengert.lab.cli.usage import Parser
from wengert.lab.trace.trace import trace


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    if isinstance(parser, Parser):
        parser.intermixed = True
    add_subject(parser)
    parser.add_argument("selectors", nargs="*", metavar="VALUE", help="what to show: %%12, result:0, arg:1, FILE:LINE, op:tanh, role:cotangent (default: all)")
    arguments.add_inputs(parser)
    parser.add_argument(
        "--iteration", type=_iteration, metavar="N[.M]", help="of loops, show iteration N (M of the loop inside; -1: the last) instead of the first and last"
    )
    parser.add_argument("--first-nan", action="store_true", help="name the op where NaN or infinity begin, with its operands; exit with 1 if there is one")
    parser.add_argument("--save", metavar="FILE.npz", help="write the arrays by name; those of loops have a row for each iteration")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def execute(options: argparse.Namespace) -> int:
    """Runs the program and prints its values."""
    subject = read_subject(options)
    program = subject.program
    inputs = arguments.point_of(options, program)
    traced = trace(subject, inputs, *options.selectors, iteration=options.iteration, keep=options.save is not None)
    if options.save is not None:
        traced.save(options.save)
        print(f"{len({value.name for value in traced.values})} values are in {options.save}", file=sys.stderr)
    if options.json:
        report = traced.to_json()
        print(json.dumps({key: report[key] for key in ("program", "results", "first")} if options.first_nan else report, indent=1))
    elif options.first_nan:
        print(traced.first if traced.first is not None else f"no NaN and no infinity in {len(traced)} values of {traced.program}")
    elif options.save is None:
        print(traced)
    return Exit.DIAGNOSTIC if options.first_nan and traced.first is not None else Exit.OK


def _iteration(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split("."))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected the number of an iteration, or N.M for a loop in a loop, found {text!r}") from None
