"""``wengert bisect p.mlir --vjp``: the pass that breaks a program."""

from __future__ import annotations

import argparse
import json
import sys

from wengert.ir.pipeline.translations import WORDS
from wengert.lab.bisect.bisection import Bisection, bisect
from wengert.lab.cli import arguments, output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, request_of
from wengert.lab.inspection.subject import read_subject
from wengert.runtime.errors import InputError
from wengert.transforms.pipelines import parse_pipeline


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_subject(parser)
    arguments.add_inputs(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="for directions, cotangents, and inputs that are not given (default: 0)")
    parser.add_argument("--no-reduce", action="store_true", help="do not look for a reproducer of a few ops")
    parser.add_argument("--seconds", type=float, default=30.0, metavar="N", help="how long to reduce at most (default: 30)")
    parser.add_argument("-o", "--output", metavar="FILE.mlir", help="where to write the reproducer (default: a new file in the temporary folder)")
    parser.add_argument("--json", action="store_true", help="print the outcome as JSON")


def execute(options: argparse.Namespace) -> int:
    """Bisects; the exit code says what was found."""
    request = request_of(options)
    subject = read_subject(options.program, entry=options.entry, types=options.shapes, inputs=options.inputs)
    if subject.primal is None:
        raise InputError(f"{subject.name} is {WORDS[subject.form]}: only a program in MLIR goes through passes here")
    pipeline = ",".join(options.pass_pipeline)
    parse_pipeline(pipeline)  # a mistake in it is said first
    inputs = arguments.inputs_of(options, subject.primal, options.seed)
    program = subject.primal.specialized_for(inputs)
    result = bisect(
        program,
        pipeline,
        inputs,
        request=request,
        seed=options.seed,
        reduce=not options.no_reduce,
        seconds=options.seconds,
        path=options.output,
        progress=output.progress,
    )
    output.end_progress()
    print(json.dumps(result.to_json(), indent=1) if options.json else result)
    sys.stdout.flush()
    return exit_code(result)


def exit_code(result: Bisection) -> Exit:
    """0 if nothing is wrong, 3 if something wrong is computed, 6 if a plug-in raises or leaves invalid IR, 1 for any other fault."""
    if result.fault is None:
        return Exit.OK
    if result.fault.kind in ("wrong result", "wrong derivative"):
        return Exit.MISMATCH
    return Exit.PLUGIN if result.owner and result.fault.kind in ("exception", "invalid IR") else Exit.DIAGNOSTIC
