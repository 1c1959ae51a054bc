"""``wengert costs p.mlir [--symbolic] [--measure] [--max flops=1000]``: what a program and its derivatives cost, and which mode to use."""

from __future__ import annotations

import argparse
import json

from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.costs import report
from wengert.lab.costs.bounds import Bound, excesses, read_bound
from wengert.lab.costs.formulas import Formulas, formulas, formulas_of_sizes
from wengert.runtime.dynamic_program import DynamicProgram
from wengert.runtime.errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser, shapes=str, shapes_help="; with --symbolic names stand for extents, as in nxd,d")
    arguments.add_positions(parser)
    arguments.add_inputs(parser)
    parser.add_argument("--symbolic", action="store_true", help="ops, flops and bytes as polynomials in open extents, iterations and branches taken")
    parser.add_argument("--sizes", type=_sizes, default={}, metavar="n=64,T0=9", help="values for symbols: open extents, iterations, branches taken")
    parser.add_argument("--measure", action="store_true", help="run the programs for times and memory")
    parser.add_argument("--strategies", action="store_true", help="show both ways to reverse the program")
    parser.add_argument(
        "--max",
        type=_bound,
        action="append",
        default=[],
        metavar="[ROW.]FIGURE=N",
        help="exit with 4 if a figure of a row is larger: ops, flops, transcendentals, bytes, launches, moved, peak (bytes, or 64KB, 1MiB) or time (3ms); "
        "the row is primal, forward, reverse (default: each) or direct; may be repeated",
    )
    parser.add_argument("--backend", default="cpu", metavar="NAME", help="what runs them: cpu (default), interpreter, opencl or ptx-interpreter")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints the report, and what is above its bound."""
    named = options.shapes if options.symbolic else None
    options.shapes = None if named is not None else _shapes(options.shapes) if options.shapes is not None else None
    program = arguments.read_program(options)
    if options.symbolic:
        return _print_formulas(options, formulas_of_sizes(program, named, options.wrt, options.of) if isinstance(program, DynamicProgram) else None, program)
    inputs = arguments.inputs_of(options, program) if options.measure or options.inputs is not None else None
    costs = report(
        program, inputs, wrt=options.wrt, of=options.of, measure=options.measure, backend=options.backend, strategies=options.strategies, values=options.sizes
    )
    print(json.dumps(costs.to_json(), indent=1) if options.json else costs)
    above = [line for bound in options.max for line in excesses(costs, bound)]
    arguments.print_errors(above)
    return Exit.COST_REGRESSION if above else Exit.OK


def _print_formulas(options: argparse.Namespace, known: Formulas | None, program: object) -> int:
    if options.max:
        raise InputError("--max needs numbers: give the program's shapes, and --sizes for what only a run tells, without --symbolic")
    result = (known or formulas(program, options.wrt, options.of)).at(options.sizes)  # pyright: ignore[reportArgumentType]
    print(json.dumps(result.to_json(), indent=1) if options.json else result)
    return Exit.OK


def _shapes(text: str) -> tuple[tuple[int, ...] | None, ...]:
    try:
        return arguments.static_shapes(text)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"--shapes: {error}") from None


def _sizes(text: str) -> dict[str, int]:
    """``n=64,T0=9`` as a dictionary."""
    values: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        if not name.strip().isidentifier() or not number.strip().isdecimal():
            raise argparse.ArgumentTypeError(f"expected name=number, found {part!r}")
        values[name.strip()] = int(number)
    return values


def _bound(text: str) -> Bound:
    try:
        return read_bound(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
