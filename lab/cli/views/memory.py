"""``wengert memory p.mlir --vjp [--level ir] [--svg out.svg] [--diff OTHER]``: the memory over a run, what the peak is made of, and what is in one peak
and not in another."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace

from wengert.lab.cli import output
from wengert.lab.cli.exit_codes import Exit
from wengert.lab.cli.subject import add_subject, read_program, read_subject
from wengert.lab.cli.usage import UsageError, check_choice, usage_error
from wengert.lab.inspection.revisions import is_revision, text_at
from wengert.lab.inspection.subject import Request, Subject, asked, subject_of
from wengert.lab.inspection.terminal import width_of_output
from wengert.lab.memory.memory import SHOWN, Level, memory_of_subject
from wengert.runtime.loading import parse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_subject(parser)
    parser.add_argument("--inputs", metavar="FILE.npz", help="example arguments of a Python function, in place of --shapes")
    parser.add_argument(
        "--level", choices=("arena", "ir"), default="arena", help="arena (default): buffers of the compiled program; ir: every value, as if nothing were fused"
    )
    parser.add_argument("--allocated", action="store_true", help="compile also a program of many kernels, and compare with what is allocated")
    parser.add_argument("--diff", metavar="OTHER", help="compare with another program, or with this file at a git commit")
    parser.add_argument("--diff-strategy", metavar="NAME", help="compare with the derivative by another strategy")
    parser.add_argument("--diff-residuals", metavar="NAME", help="compare with the derivative by another residual policy")
    parser.add_argument("--svg", metavar="FILE.svg", help="write the timeline as a picture")
    parser.add_argument("--all", action="store_true", help=f"list all that is in the peak, not the {SHOWN} largest")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints the memory of a program, or the difference of two."""
    subject, level = read_subject(options), _level(options)
    report = memory_of_subject(subject, level, True if options.allocated else None)
    if options.svg is not None:
        output.write_text(report.svg(), options.svg)
    limit, width = None if options.all else SHOWN, width_of_output()
    other = _other(options, subject)
    if other is not None:
        difference = report.diff(memory_of_subject(other, level, False))
        print(json.dumps(difference.to_json(), indent=1) if options.json else difference.text(width, None if options.all else 30))
    else:
        print(json.dumps(report.to_json(), indent=1) if options.json else report.text(width, limit))
    return Exit.OK


def _level(options: argparse.Namespace) -> Level:
    return "ir" if options.level == "ir" else "arena"


def _other(options: argparse.Namespace, subject: Subject) -> Subject | None:
    """What the program is compared with."""
    if options.diff is None and options.diff_strategy is None and options.diff_residuals is None:
        return None
    given = read_program(options) if options.diff is None else _given(options)
    request = subject.request
    if options.diff_strategy is not None or options.diff_residuals is not None:
        request = _request(options, request)
    return asked(given, request, subject.pipeline)


def _request(options: argparse.Namespace, request: Request | None) -> Request:
    """The derivative that is compared with: of another strategy or policy."""
    from wengert.transforms.ad.residuals.policies import policy_choices
    from wengert.transforms.ad.strategies import strategy_names

    if request is None:
        raise _about_derivatives(options)
    if options.diff_strategy is not None:
        check_choice(options, "diff-strategy", (options.diff_strategy,), strategy_names())
        request = replace(request, strategy=options.diff_strategy)
    if options.diff_residuals is not None:
        check_choice(options, "diff-residuals", (options.diff_residuals,), policy_choices(options.diff_residuals))
        request = replace(request, residuals=options.diff_residuals)
    return request


def _about_derivatives(options: argparse.Namespace) -> UsageError:
    option = "--diff-strategy" if options.diff_strategy is not None else "--diff-residuals"
    word = next((n for n, word in enumerate(options.words) if word.partition("=")[0] == option), None)
    return usage_error(options.prog, options.words, f"{option} is about a derivative, and none is asked for", word=word, hint="add --vjp")


def _given(options: argparse.Namespace) -> Subject:
    """The program that ``--diff`` names: a file, a Python function, or this file at a commit."""
    path: str = options.program
    if not os.path.exists(options.diff) and os.path.isfile(path) and is_revision(options.diff, path):
        program = parse(text_at(options.diff, path), path, entry=options.entry)
        return replace(subject_of(program), name=f"{path} at {options.diff}", source=text_at(options.diff, path))
    return read_program(argparse.Namespace(**{**vars(options), "program": options.diff}))
