"""``wengert checkpoint p.mlir [--budget 64MB]``: a reverse derivative within a budget of memory, and what every budget costs."""

from __future__ import annotations

import argparse
import json

from wengert.lab.checkpoint.table import checkpoints_of
from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, read_program, request_of
from wengert.lab.inspection.subject import asked
from wengert.lab.kept.parts import is_reverse_derivative
from wengert.runtime.errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_subject(parser, ("vjp", "hvp"), pipeline=False, default="vjp")
    parser.add_argument("--inputs", metavar="FILE.npz", help="example arguments of a Python function, in place of --shapes")
    parser.add_argument("--budget", type=arguments.byte_amount, metavar="64MB", help="the largest arena: all memory beside inputs, results and constants")
    parser.add_argument("--pareto", action="store_true", help="print all plans that no other one beats (the default without -o)")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw these plans: arena over flops")
    parser.add_argument("-o", "--output", metavar="FILE.mlir", help="write the derivative within the budget there; - for stdout, in place of the table")
    parser.add_argument("--json", action="store_true", help="print the plans as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints the plans, and writes the one for the budget."""
    if options.output is not None and options.budget is None:
        raise InputError("-o writes the derivative within a budget: give one, as in --budget 64MB")
    given = read_program(options)
    subject = asked(given, request_of(options, None if is_reverse_derivative(given.program) else "vjp"))
    table = checkpoints_of(subject.program, f"plans for {subject.title}", options.budget)
    if options.plot is not None:
        output.write_text(table.svg(), options.plot)
    if options.output is not None and table.chosen is not None:
        output.write_ir(table.chosen.program.text(), options.output)
    if options.output is None or options.pareto or options.json:
        print(json.dumps(table.to_json(), indent=1) if options.json else table)
    elif table.chosen is None or options.output != "-":
        print(table.decision)
    return Exit.DIAGNOSTIC if options.budget is not None and table.chosen is None else Exit.OK
