"""``wengert costs p.mlir [--symbolic] [--measure] [--max flops=1e6] [--device h100] [--ranks 64]``: what a program and its derivatives cost."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.costs import report
from wengert.lab.costs.bounds import Bound, excesses, read_bound
from wengert.lab.costs.formulas import Formulas, formulas, formulas_of_points, formulas_of_shapes
from wengert.lab.device_costs import device_report
from wengert.runtime.dynamic_program import DynamicProgram
from wengert.runtime.errors import InputError
from wengert.runtime.loading import load
from wengert.runtime.program import Program
from wengert.transforms.ad.strategies import strategy_names
from wengert.transforms.analysis.gpu.devices import PUBLISHED

if TYPE_CHECKING:
    from wengert.lab.costs.network.network import Network

_MAX = (
    "exit with 4 if a figure of a row is larger: ops, flops, transcendentals, bytes, launches, moved, peak (64KB, 1MiB) or time (3ms); "
    "the row is primal, forward, reverse or a strategy (default: all); may be repeated"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser, shapes=str, shapes_help="; with --symbolic names stand for extents, as in nxd,d")
    arguments.add_positions(parser)
    arguments.add_inputs(parser)
    parser.add_argument("--symbolic", action="store_true", help="ops, flops and bytes as polynomials in open extents, iterations and branches taken")
    parser.add_argument("--sizes", type=sizes, default={}, metavar="n=64,T0=9", help="values for symbols: open extents, iterations, branches taken")
    instances = "with --symbolic: another instance of the program with its sizes; those of PROGRAM.mlir follow --this; may be repeated"
    parser.add_argument("--instance", type=_instance, action="append", default=[], metavar="FILE.mlir:n=16,d=4", help=instances)
    parser.add_argument("--this", type=sizes, default={}, metavar="n=8,d=4", help="the sizes of PROGRAM.mlir, where it is one of several instances")
    parser.add_argument("--measure", action="store_true", help="run the programs for times and memory")
    strategies = "show the reverse derivatives by these strategies too: direct, or what --load brings"
    parser.add_argument("--strategy", type=arguments.names, default=(), metavar="A,B", help=strategies)
    parser.add_argument("--strategies", action="store_true", help="show those by all strategies")
    parser.add_argument("--max", type=_bound, action="append", default=[], metavar="[ROW.]FIGURE=N", help=_MAX)
    arguments.add_backend(parser, "what runs them")
    parser.add_argument("--device", metavar="NAME", help=f"predict the time of every kernel on a GPU, by its published figures: {', '.join(PUBLISHED)}")
    ranks = "of a program for many devices: what its collectives cost on so many ranks, by the best algorithm of each, and how it scales"
    parser.add_argument("--ranks", type=arguments.positive, metavar="N", help=ranks)
    fitted = "what 'wengert calibrate --mpi' fitted, or"
    parser.add_argument("--alpha", type=_seconds, metavar="SECONDS", help=f"with --ranks: the time of a message (default: {fitted} 2e-6)")
    parser.add_argument("--beta", type=_seconds, metavar="SECONDS", help=f"with --ranks: the time of a byte (default: {fitted} 4e-11, 25 GB/s)")
    parser.add_argument("--network", metavar="FILE.toml", help="with --ranks: a network of several levels, each with alpha, beta and its number of ranks")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints the report, and what is above its bound."""
    arguments.check_strategy(options)
    strategies = strategy_names() if options.strategies else options.strategy
    if options.symbolic:
        _print(options, _formulas(options, strategies).at(options.sizes))
        return Exit.OK
    options.shapes = _shapes(options.shapes)
    program = arguments.read_program(options)
    if options.ranks is not None:
        _print(options, _communication(options, program))
        return Exit.OK
    if options.device is not None:
        _print(options, device_report(program, options.device, wrt=options.wrt, of=options.of))
        return Exit.OK
    if isinstance(program, DynamicProgram) and not program.is_closed and options.inputs is None:
        raise InputError(f"{program.what_is_open}; --inputs tell them too, and --symbolic gives formulas")
    inputs = arguments.inputs_of(options, program) if options.measure or options.inputs is not None else None
    costs = report(
        program, inputs, wrt=options.wrt, of=options.of, measure=options.measure, backend=options.backend, strategies=strategies, values=options.sizes
    )
    _print(options, costs)
    above = [line for bound in options.max for line in excesses(costs, bound)]
    for line in above:
        print(f"error: {line}", file=sys.stderr)
    return Exit.COST_REGRESSION if above else Exit.OK


def _communication(options: argparse.Namespace, program: Program) -> arguments.Printable:
    """What the program and its reverse derivative exchange."""
    from wengert.lab.cli.many_devices import has_mesh
    from wengert.lab.costs.network.report import communication_report
    from wengert.runtime.spmd.distributed import grid_of
    from wengert.runtime.spmd.global_program import spmd

    network = _network(options)
    if has_mesh(program):
        whole = spmd(program)
        reverse = whole.vjp(options.wrt, options.of).local
        return communication_report([("forward", whole.local), ("reverse", reverse)], program.name, grid_of(whole.local, None), options.ranks, network)
    grid = grid_of(program, None)
    return communication_report([("forward", program), ("reverse", program.vjp(options.wrt, options.of))], program.name, grid, options.ranks, network)


def _network(options: argparse.Namespace) -> Network:
    """The network that the options describe; by default that of this machine."""
    from wengert.lab.costs.network.calibration import default_network
    from wengert.lab.costs.network.network import Network, read_network

    if options.network is not None:
        if options.alpha is not None or options.beta is not None:
            raise InputError("--network says alpha and beta of each level: leave --alpha and --beta out")
        return read_network(options.network)
    default = default_network()
    if options.alpha is None and options.beta is None:
        return default
    level = default.levels[0]
    return Network.flat(level.alpha if options.alpha is None else options.alpha, level.beta if options.beta is None else options.beta)


def _print(options: argparse.Namespace, result: arguments.Printable) -> None:
    print(json.dumps(result.to_json(), indent=1) if options.json else result)


def _formulas(options: argparse.Namespace, strategies: Sequence[str]) -> Formulas:
    """The costs as polynomials: of instances, of a program that leaves extents open, or of a static one."""
    if options.max or options.device or options.measure:
        raise InputError("--symbolic gives formulas: --max, --measure and --device need the shapes of the program and go without it")
    named, options.shapes = options.shapes, None
    program = arguments.read_program(options)
    if options.instance:
        programs: list[Program] = [program, *(load(path, entry=options.entry) for path, _ in options.instance)]
        return formulas_of_points(programs, [options.this, *(point for _, point in options.instance)], options.wrt, options.of, strategies)
    if isinstance(program, DynamicProgram) or named is not None:
        return formulas_of_shapes(program, named, options.wrt, options.of, strategies)
    return formulas(program, options.wrt, options.of, strategies)


def _shapes(text: str | None) -> tuple[tuple[int, ...] | None, ...] | None:
    try:
        return None if text is None else arguments.static_shapes(text)
    except argparse.ArgumentTypeError as error:
        raise InputError(f"--shapes: {error}") from None


def _instance(text: str) -> tuple[str, dict[str, int]]:
    path, colon, given = text.rpartition(":")
    if not colon or not path:
        raise argparse.ArgumentTypeError(f"expected FILE.mlir:n=16, found {text!r}")
    return path, sizes(given)


def sizes(text: str) -> dict[str, int]:
    """``n=64,T0=9`` as a dictionary."""
    values: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, _, number = part.partition("=")
        if not name.strip().isidentifier() or not number.strip().isdecimal():
            raise argparse.ArgumentTypeError(f"expected name=number, found {part!r}")
        values[name.strip()] = int(number)
    return values


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise argparse.ArgumentTypeError(f"expected seconds as in 2e-6, found {text!r}")
    return value


def _bound(text: str) -> Bound:
    try:
        return read_bound(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
