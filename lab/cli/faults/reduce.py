"""``wengert reduce p.mlir --predicate "command {}"``: a smaller program that shows the same."""

from __future__ import annotations

import argparse
import json
import sys

from wengert.lab.bisect.pipelines import pipeline_of
from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, request_of
from wengert.lab.cli.usage import usage_error
from wengert.lab.inspection.subject import Request, read_subject
from wengert.lab.reduce.reduction import CRASHES, Predicate, command_predicate, fault_predicate, reduce
from wengert.runtime.errors import InputError
from wengert.runtime.program import Program
from wengert.transforms.pipelines import parse_pipeline


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_subject(parser)
    arguments.add_inputs(parser)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--predicate",
        metavar="COMMAND",
        help="a shell command that exits with 0 if a program is interesting; {} in it is the file with the program and its inputs (behind it if there is none)",
    )
    group.add_argument("--wrong", action="store_true", help="interesting is what 'wengert bisect' finds wrong at the same step, with the same -p, --vjp, ...")
    group.add_argument(
        "--crash", action="store_true", help="interesting is what crashes, or raises an exception that is no refusal, when it is compiled and run"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for what is drawn (default: 0)")
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="how long to reduce at most (default: 60)")
    parser.add_argument("-o", "--output", metavar="FILE.mlir", help="where to write the smaller program (default: a new file in the temporary folder)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def execute(options: argparse.Namespace) -> int:
    """Reduces; 1 where the program itself is not interesting."""
    request = request_of(options)
    subject = read_subject(options.program, entry=options.entry, types=options.shapes, inputs=options.inputs)
    if subject.primal is None:
        raise InputError(f"{subject.name} is no program in MLIR, so that nothing can be taken away from it")
    inputs = arguments.inputs_of(options, subject.primal, options.seed)
    program = subject.primal.specialized_for(inputs)
    predicate = _predicate(options, program, request)
    smaller = reduce(program, inputs, predicate, seconds=options.seconds, path=options.output, progress=output.progress)
    output.end_progress()
    if options.output == "-":
        output.write_ir(smaller.text, None)
        return Exit.OK
    print(json.dumps(smaller.to_json(), indent=1) if options.json else smaller)
    sys.stdout.flush()
    return Exit.OK


def _predicate(options: argparse.Namespace, program: Program, request: Request | None) -> Predicate:
    """What the options call interesting."""
    pipeline = ",".join(options.pass_pipeline)
    parse_pipeline(pipeline)
    if options.predicate is not None:
        if pipeline or request is not None:
            raise usage_error(options.prog, options.words, "--predicate says all; passes and derivatives are a part of its command")
        return command_predicate(options.predicate)
    return fault_predicate(pipeline_of(program, request, pipeline), options.seed, None if options.wrong else CRASHES)
