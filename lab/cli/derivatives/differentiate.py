"""``wengert jvp p.mlir`` and ``wengert vjp p.mlir --wrt 0,1 -o d.mlir``."""

from __future__ import annotations

import argparse

from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.usage import check_choice
from wengert.runtime.spmd.global_program import spmd
from wengert.transforms.ad.residuals.policies import policy_choices


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    arguments.add_program(parser)
    arguments.add_positions(parser)
    arguments.add_strategy(parser)
    if parser.prog.endswith("vjp"):
        parser.add_argument(
            "--residuals",
            default="auto",
            metavar="NAME",
            help="what is kept: auto, save-all, recompute-cheap, recompute-all, sqrt, binomial-8 (any number), or what --load brings",
        )
        parser.add_argument(
            "--memory",
            type=arguments.byte_amount,
            metavar="64MB",
            help="the largest arena of the compiled derivative: values are computed again (wengert checkpoint shows how)",
        )
    spmd = "of a program with a mesh: the derivative of what each device runs, as one sdy.manual_computation, instead of that of the whole tensors"
    parser.add_argument("--spmd", action="store_true", help=spmd)
    parser.add_argument("-o", "--output", metavar="FILE.mlir", help="write there instead of to stdout")
    parser.add_argument("--locations", action="store_true", help="print for every op what it was derived from")
    parser.add_argument("--dump-dir", metavar="DIR", help="write the IR after every pass")


def execute(options: argparse.Namespace) -> int:
    """Writes the derivative."""
    arguments.check_strategy(options)
    program = arguments.read_program(options)
    if options.spmd:
        whole = spmd(program)
        made = whole.jvp(options.wrt, options.of) if options.command == "jvp" else whole.vjp(options.wrt, options.of, strategy=options.strategy)
        output.write_ir(made.text(), options.output)
        return Exit.OK
    if options.command == "jvp":
        derivative = program.jvp(options.wrt, options.of, strategy=options.strategy, dump_dir=options.dump_dir)
    else:
        check_choice(options, "residuals", (options.residuals,), policy_choices(options.residuals))
        derivative = program.vjp(
            options.wrt, options.of, strategy=options.strategy, residuals=options.residuals, memory=options.memory, dump_dir=options.dump_dir
        )
    output.write_ir(derivative.text(locations=options.locations), options.output)
    return Exit.OK
