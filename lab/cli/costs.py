"""``wengert costs p.mlir [--measure] [--device h100]``: what a program and its derivatives cost, and which mode to use."""

from __future__ import annotations

import argparse
import json

from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.costs import report
from wengert.lab.device_costs import device_report
from wengert.transforms.ad.strategies import strategy_names
from wengert.transforms.analysis.gpu.devices import PUBLISHED


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser)
    arguments.add_positions(parser)
    arguments.add_inputs(parser)
    parser.add_argument("--measure", action="store_true", help="run the programs for times and memory")
    strategies = "show the reverse derivatives by these strategies too: direct, or what --load brings"
    parser.add_argument("--strategy", type=arguments.names, default=(), metavar="A,B", help=strategies)
    parser.add_argument("--strategies", action="store_true", help="show those by all strategies")
    parser.add_argument("--backend", default="cpu", metavar="NAME", help="what runs them: cpu (default), interpreter, opencl or ptx-interpreter")
    parser.add_argument("--device", metavar="NAME", help=f"predict the time of every kernel on a GPU, by its published figures: {', '.join(PUBLISHED)}")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints the report."""
    arguments.check_strategy(options)
    program = arguments.read_program(options)
    if options.device is not None:
        predicted = device_report(program, options.device, wrt=options.wrt, of=options.of)
        print(json.dumps(predicted.to_json(), indent=1) if options.json else predicted)
        return Exit.OK
    inputs = arguments.inputs_of(options, program) if options.measure or options.inputs is not None else None
    strategies = strategy_names() if options.strategies else options.strategy
    costs = report(program, inputs, wrt=options.wrt, of=options.of, measure=options.measure, backend=options.backend, strategies=strategies)
    print(json.dumps(costs.to_json(), indent=1) if options.json else costs)
    return Exit.OK
