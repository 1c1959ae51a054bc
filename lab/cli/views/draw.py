"""``wengert draw p.mlir [-o out.svg] [--vjp | --jvp]``: the computation graph."""

from __future__ import annotations

import argparse

from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.draw.drawing import LIMIT, draw
from wengert.lab.draw.folding import FOLDS


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser)
    arguments.add_positions(parser)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--jvp", action="store_true", help="draw the forward derivative")
    group.add_argument("--vjp", action="store_true", help="draw the reverse derivative")
    arguments.add_strategy(parser)
    parser.add_argument("--function", metavar="NAME", help="draw this function instead of the entry")
    parser.add_argument("--limit", type=arguments.positive, default=LIMIT, metavar="N", help=f"the largest number of boxes to draw (default: {LIMIT})")
    parser.add_argument(
        "--fold",
        choices=FOLDS,
        default="auto",
        help="what is a box: an op (none), the ops of a source line, or those of a stretch of lines; auto is the finest that can be read",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write there, as .svg, .dot or .gv, instead of DOT to stdout")


def execute(options: argparse.Namespace) -> int:
    """Writes the picture."""
    arguments.check_strategy(options)
    program = arguments.read_program(options)
    if options.jvp or options.vjp:
        program = (program.jvp if options.jvp else program.vjp)(wrt=options.wrt, of=options.of, strategy=options.strategy)
    drawing = draw(program, function=options.function, limit=options.limit, fold=options.fold)
    if options.output in (None, "-"):
        output.write_text(drawing.dot, options.output)
    else:
        drawing.save(options.output)
    return Exit.OK
