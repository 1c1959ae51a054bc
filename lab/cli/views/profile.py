"""``wengert profile p.mlir [--vjp] [--inputs x.npz] [--trace out.json]``: the time of each kernel of a compiled run, beside what it computes, moves, and was
predicted to take."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from wengert.lab.cli import arguments
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, read_subject
from wengert.lab.inspection.terminal import width_of_output
from wengert.lab.profile.profile import BUDGET, SHOWN, profile_of_subject
from wengert.runtime.errors import InputError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_subject(parser)
    arguments.add_inputs(parser)
    parser.add_argument("--backend", type=arguments.backend, default="cpu", metavar="NAME", help="cpu (default) or opencl")
    parser.add_argument("--budget", type=_seconds, default=BUDGET, metavar="SECONDS", help=f"how long to repeat the run (default: {BUDGET:g})")
    parser.add_argument("--trace", metavar="FILE.json", help="write a run as a trace in Chrome's format, which ui.perfetto.dev opens")
    parser.add_argument("--all", action="store_true", help=f"list all kernels and lines, not the {SHOWN} longest")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def execute(options: argparse.Namespace) -> int:
    """Runs the program and prints the times of its kernels."""
    if options.backend not in ("cpu", "opencl"):
        raise InputError(f"profile times kernels of the backends cpu and opencl; of '{options.backend}' nothing says when a kernel ran")
    subject = read_subject(options)
    inputs = arguments.point_of(options, subject.program)
    if options.backend == "opencl":
        from wengert.lab.profile.devices import profile_on_opencl

        profile = profile_on_opencl(subject, inputs, options.budget)
    else:
        profile = profile_of_subject(subject, inputs, options.budget)
    if options.trace is not None:
        Path(options.trace).write_text(json.dumps(profile.trace()))
    print(json.dumps(profile.to_json(), indent=1) if options.json else profile.text(width_of_output(), None if options.all else SHOWN))
    return Exit.OK


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 3600:
        raise argparse.ArgumentTypeError(f"expected seconds, at most 3600, found {text!r}")
    return value
