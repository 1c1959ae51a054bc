"""The arguments by which commands that look into a program say what they look at.

add_subject(parser)
subject = read_subject(options)         # the program, its derivative, and what passes make of it
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from wengert.ir.diagnostics import DiagnosticError
from wengert.lab.cli import arguments
from wengert.lab.cli.usage import check_choice, usage_error
from wengert.lab.inspection.subject import Mode, Request, Subject, asked
from wengert.lab.inspection.subject import read_subject as read
from wengert.lab.inspection.traced import ArgumentType, read_argument_type

_MODES: dict[Mode, str] = {
    "jvp": "look at the forward derivative",
    "vjp": "look at the reverse derivative",
    "hvp": "look at the forward derivative of the reverse one",
}


def add_subject(parser: argparse.ArgumentParser, modes: Sequence[Mode] = ("jvp", "vjp", "hvp"), *, pipeline: bool = True, default: Mode | None = None) -> None:
    """Adds PROGRAM, the derivative to look at, and ``-p``; ``default`` is the derivative that the command takes where none is asked for."""
    parser.add_argument("program", metavar="PROGRAM", help="MLIR at any level, a dump or a folder of dumps, module:function or FILE.py:function; - for stdin")
    parser.add_argument("--entry", default="main", metavar="NAME", help="the function to start at (default: main)")
    parser.add_argument(
        "--shapes",
        type=_types,
        metavar="2x3xf32,4",
        help="of a Python function, the type of each argument (f64 if not said); else the shapes that a text leaves open",
    )
    add_request(parser, modes, default)
    if pipeline:
        parser.add_argument(
            "-p", "--pass-pipeline", action="append", default=[], metavar="PIPELINE", help="run passes first, behind the derivative if one is asked for"
        )


def add_request(parser: argparse.ArgumentParser, modes: Sequence[Mode], default: Mode | None = None) -> None:
    """Adds the options that ask for a derivative; ``default`` is the one that the command takes where none is asked for."""
    group = parser.add_mutually_exclusive_group()
    for mode in modes:
        said = f"{_MODES[mode]} (default)" if mode == default else _MODES[mode]
        group.add_argument(f"--{mode}", dest="mode", action="store_const", const=mode, help=said)
    arguments.add_positions(parser)
    arguments.add_strategy(parser)
    parser.add_argument(
        "--residuals",
        default="auto",
        metavar="NAME",
        help="what is kept: auto (default), save-all, recompute-cheap, recompute-all, sqrt, binomial-8 (any number), or what --load brings",
    )


def read_subject(options: argparse.Namespace, default: Mode | None = None) -> Subject:
    """Reads what the command line asks to look at; ``default`` is the derivative where it asks for none.

    Raises what :func:`wengert.lab.inspection.subject.read_subject` raises, and UsageError for options of a derivative that is not asked for.
    """
    pipelines: list[str] = getattr(options, "pass_pipeline", [])
    request = request_of(options, default)
    return asked(read_program(options), request, ",".join(pipelines))


def read_program(options: argparse.Namespace) -> Subject:
    """The program that the command line names, without the derivative and the passes that it asks for."""
    return read(options.program, entry=options.entry, types=options.shapes, inputs=getattr(options, "inputs", None))


def request_of(options: argparse.Namespace, default: Mode | None = None) -> Request | None:
    """The derivative that the command line asks for."""
    from wengert.transforms.ad.residuals.policies import policy_choices

    arguments.check_strategy(options)
    check_choice(options, "residuals", (options.residuals,), policy_choices(options.residuals))
    mode: Mode | None = options.mode or default
    if mode is not None:
        return Request(mode, options.wrt, options.of, options.strategy, options.residuals)
    for name, neutral in (("wrt", None), ("of", None), ("strategy", "transpose"), ("residuals", "auto")):
        if getattr(options, name) != neutral:
            words: Sequence[str] = options.words
            at = next((n for n, word in enumerate(words) if word.partition("=")[0] == f"--{name}"), None)
            raise usage_error(options.prog, words, f"--{name} is about a derivative, and none is asked for", word=at, hint="add --vjp or --jvp")
    return None


def _types(text: str) -> tuple[ArgumentType, ...]:
    try:
        return tuple(read_argument_type(part) for part in text.split(","))
    except DiagnosticError as error:
        raise argparse.ArgumentTypeError(f"{error.diagnostic.message}; {error.diagnostic.hint}, with an element type for functions: 2x3xf32") from None
