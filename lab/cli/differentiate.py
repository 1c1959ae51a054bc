"""``wengert jvp p.mlir`` and ``wengert vjp p.mlir --wrt 0,1 -o d.mlir``."""

from __future__ import annotations

import argparse

from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser)
    arguments.add_positions(parser)
    parser.add_argument("-o", "--output", metavar="FILE.mlir", help="write there instead of to stdout")
    parser.add_argument("--locations", action="store_true", help="print for every op what it was derived from")
    parser.add_argument("--dump-dir", metavar="DIR", help="write the IR after every pass")


def execute(options: argparse.Namespace) -> int:
    """Writes the derivative."""
    program = arguments.read_program(options)
    differentiate = program.jvp if options.command == "jvp" else program.vjp
    derivative = differentiate(wrt=options.wrt, of=options.of, dump_dir=options.dump_dir)
    output.write_text(derivative.text(locations=options.locations), options.output)
    return Exit.OK
