"""``wengert diff A B``: what is different between two programs, derivatives, strategies, pipelines, dumps or commits."""

from __future__ import annotations

import argparse
import copy
import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from wengert.lab.cli import arguments, output
from wengert.lab.cli.subject import add_subject, read_subject, request_of
from wengert.lab.cli.usage import Parser, usage_error
from wengert.lab.diff.commits import is_of_commit, text_in_commit
from wengert.lab.diff.difference import Difference, diff
from wengert.lab.inspection.subject import Subject, form_of, subject_of
from wengert.runtime.errors import InputError
from wengert.runtime.loading import parse

LIMIT = 60
_OF_BOTH = frozenset(("inputs", "random", "values", "rtol", "atol", "limit", "json"))
"""What is said of the comparison, wherever it stands."""
_EPILOG = """\
two programs, or one program in two ways:
  wengert diff old.mlir new.mlir                      two files, dumps or folders of dumps
  wengert diff HEAD~1:p.mlir p.mlir --vjp             a file in a commit; derivatives of both
  wengert diff p.mlir --vjp --strategy transpose,direct
  wengert diff p.mlir --vjp --residuals save-all,recompute-all
  wengert diff p.mlir -p "to-core" --against -p "to-core,simplify,cse,dce"
  wengert diff p.mlir --jvp --against --vjp
What stands behind --against is for the second one, which is else asked for as the first.
Exit code 0 if nothing is different, 1 if something is."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    if isinstance(parser, Parser):
        parser.intermixed = True
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    _configure(parser)
    parser.add_argument("other", nargs="?", metavar="OTHER", help="the second program; without it the first one in another way")
    parser.add_argument("--against", nargs=argparse.REMAINDER, metavar="...", help="options of the second one alone (and its PROGRAM, if it is another one)")


def _configure(parser: argparse.ArgumentParser) -> None:
    """Declares what may also stand behind ``--against``."""
    add_subject(parser)
    arguments.add_inputs(parser)
    parser.add_argument("--values", action="store_true", help="run both on the same inputs and name the first value that differs")
    parser.add_argument("--rtol", type=float, metavar="X", help="tolerance of values, relative to the largest one (default: 1e-9 in f64, 1e-4 in f32)")
    parser.add_argument("--atol", type=float, default=0.0, metavar="X", help="absolute tolerance of values (default: 0)")
    parser.add_argument("--limit", type=arguments.positive, default=LIMIT, metavar="N", help=f"the most places in the source to show (default: {LIMIT})")
    parser.add_argument("--json", action="store_true", help="print the difference as JSON")


def execute(options: argparse.Namespace) -> int:
    """Prints the difference."""
    first, second = _sides(options)
    one, other = _subject(first), _subject(second)
    inputs = arguments.point_of(options, one.program) if options.values else None
    difference = diff(*_told_apart(one, other), inputs=inputs, rtol=options.rtol, atol=options.atol)
    _print(options, difference)
    return 0 if difference.equal else 1


def _print(options: argparse.Namespace, difference: Difference) -> None:
    if options.json:
        print(json.dumps(difference.to_json(), indent=1))
    else:
        print(difference.render(color=output.wants_color(sys.stdout), limit=options.limit))


def _sides(options: argparse.Namespace) -> tuple[argparse.Namespace, argparse.Namespace]:
    """The options of the two that are compared."""
    first, second = copy.copy(options), copy.copy(options)
    if options.against is not None:
        second = _behind(options)
    if options.other is not None:
        if options.against is not None:
            _fail(options, "--against", "two programs are given, and --against is for one", "put the second program behind --against")
        second.program = options.other
    for name in ("strategy", "residuals"):
        _split(first, second, name)
    if options.other is None and _same(first, second):
        _fail(options, options.words[-1], "there is nothing to compare with", "name a second program, or see the examples of wengert diff --help")
    return first, second


def _behind(options: argparse.Namespace) -> argparse.Namespace:
    """The options of the second one: those of the first, with what stands behind ``--against``."""
    given: list[str] = list(options.words)
    parser = Parser(prog=shlex.join([*options.prog.split(), *given[: given.index("--against") + 1]]), usage=argparse.SUPPRESS)
    _configure(parser)
    words: list[str] = list(options.against)
    actions = {option: action for action in parser._actions for option in action.option_strings}
    has_program = any(_is_program(words, at, actions) for at in range(len(words)))
    second = parser.parse(words if has_program else [options.program, *words])
    merged = copy.copy(options)
    for word in words:
        action = actions.get(word.partition("=")[0])
        if action is not None:
            for target in (merged, options) if action.dest in _OF_BOTH else (merged,):
                setattr(target, action.dest, getattr(second, action.dest))
    merged.program, merged.words = second.program, options.words
    return merged


def _is_program(words: Sequence[str], at: int, actions: Mapping[str, argparse.Action]) -> bool:
    """Whether a word is neither an option nor the value of one."""
    if words[at].startswith("-") and words[at] != "-":
        return False
    before = actions.get(words[at - 1]) if at else None
    return before is None or before.nargs == 0


def _split(first: argparse.Namespace, second: argparse.Namespace, name: str) -> None:
    """``--strategy transpose,direct``: one for each."""
    one, comma, other = getattr(first, name).partition(",")
    if comma:
        setattr(first, name, one)
        setattr(second, name, other)


def _same(first: argparse.Namespace, second: argparse.Namespace) -> bool:
    names = ("program", "entry", "shapes", "mode", "wrt", "of", "strategy", "residuals", "pass_pipeline")
    return all(getattr(first, name) == getattr(second, name) for name in names)


def _subject(options: argparse.Namespace) -> Subject:
    """The subject that these options name, in a commit or here."""
    if not is_of_commit(options.program):
        return read_subject(options)
    text = text_in_commit(options.program)
    form = form_of(options.program, text)
    if form != "mlir":
        return Subject(options.program, text, form)
    program = parse(text, options.program, entry=options.entry)
    if options.shapes is not None:
        program = program.specialize(*[type.shape for type in options.shapes])
    return replace(subject_of(program, request_of(options), ",".join(options.pass_pipeline)), source=text)


def _told_apart(one: Subject, other: Subject) -> tuple[Any, Any]:
    """Both, if they can be compared at all."""
    if one.form != "mlir" and other.form != one.form:
        raise InputError(f"{one.title} is {one.form}, and {other.title} {other.form}: only dumps of one kind can be compared")
    return one, other


def _fail(options: argparse.Namespace, word: str, message: str, hint: str) -> NoReturn:
    words: Sequence[str] = options.words
    at = next((n for n, given in enumerate(words) if given == word), None)
    raise usage_error(options.prog, words, message, word=at, hint=hint)
