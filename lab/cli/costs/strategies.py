"""``wengert strategies p.mlir [--of jacobian|gradient|hessian] [--measure] [--budget 64MB]``: every way to compute a derivative, and which one to use."""

from __future__ import annotations

import argparse
import json

from wengert.lab.cli import arguments
from wengert.lab.cli.costs.costs import sizes
from wengert.lab.strategies.plans import WANTED
from wengert.lab.strategies.table import strategies


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser)
    parser.add_argument("--of", choices=WANTED, default="jacobian", help="the derivative: jacobian (default), gradient of one number, or hessian")
    parser.add_argument("--wrt", type=arguments.integers, metavar="I,J", help="positions of the arguments (default: every float one)")
    parser.add_argument("--results", type=arguments.integers, metavar="I,J", help="positions of the results (default: every float one)")
    arguments.add_inputs(parser)
    parser.add_argument("--sizes", type=sizes, default={}, metavar="T0=9", help="values for symbols: iterations, branches taken")
    parser.add_argument("--strategy", type=arguments.names, default=(), metavar="A,B", help="strategies of reverse mode, by name (default: all)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--predict", action="store_true", help="measure nothing (default: rows that are predicted within 50 %% of the best are run, in turns)")
    how.add_argument("--measure", action="store_true", help="run all rows that may be the fastest, in turns")
    parser.add_argument("--budget", type=arguments.byte_amount, metavar="64MB", help="leave out rows with a larger arena")
    parser.add_argument("--estimates", type=int, metavar="N", help="add rows that estimate from one and from N random directions, with their error")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints the table."""
    arguments.check_strategy(options)
    program = arguments.read_program(options)
    given = options.measure or options.inputs is not None or options.random is not None
    inputs = arguments.inputs_of(options, program) if given else None
    table = strategies(
        program,
        inputs,
        of=options.of,
        wrt=options.wrt,
        results=options.results,
        measure=True if options.measure else False if options.predict else "ties",
        budget=options.budget,
        strategies=options.strategy or None,
        estimates=options.estimates,
        values=options.sizes,
    )
    print(json.dumps(table.to_json(), indent=1) if options.json else table)
    return 0 if table.usable else 1
