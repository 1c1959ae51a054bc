"""Mistakes in the command line: what is wrong, with the place in the line, as diagnostics show a place in a program.

::

    <command line>:1:30: error: --strategy: there is no 'dirct'; strategy: transpose, direct
      wengert check p.mlir --strategy dirct
                                      ^~~~~
    hint: did you mean 'direct'?
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean

_ARGUMENT = re.compile(r"argument ([^:\s]+(?: [^:\s]+)?): ")
_UNKNOWN = "unrecognized arguments: "
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")


class UsageError(DiagnosticError):
    """The command line is wrong; the process ends with exit code 2."""


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are :class:`UsageError`, at the word that is wrong. Options are not abbreviated, so that a script keeps its meaning when
    there are more."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **{"allow_abbrev": False, **options})
        self.words: Sequence[str] = ()
        self.intermixed = False
        """Whether options may stand between arguments, of which the last is a list."""

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options that the arguments are. Raises UsageError, and SystemExit after the help."""
        self.words = arguments
        for name, parser in self.actions().items():
            if name in arguments:
                parser.words = arguments[list(arguments).index(name) + 1 :]
        return self.parse_intermixed_args(arguments) if self.intermixed else self.parse_args(arguments)

    def actions(self) -> dict[str, Parser]:
        """The parsers of a command's actions, as in ``wengert records list``."""
        groups: list[Any] = [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]  # pyright: ignore[reportPrivateUsage]
        return {name: parser for group in groups for name, parser in group.choices.items()}

    def error(self, message: str) -> NoReturn:
        """Raises a UsageError for what argparse says."""
        known = [option for action in self._actions for option in action.option_strings]
        raise usage_error(self.prog, self.words, message, known, usage=self.format_usage().rstrip())


def usage_error(
    prog: str, words: Sequence[str], message: str, known: Iterable[str] = (), *, word: int | None = None, hint: str = "", usage: str = ""
) -> UsageError:
    """The error for a message about these words of a command; ``word`` is the number of the one that is wrong, found from argparse's message where it is
    not given."""
    if word is None:
        word = _wrong_word(message, words)
    line, places = _written(prog, words)
    if word is None:
        start, length = len(line) + 1, 1
    else:
        start, length = places[word]
    if not hint and word is not None and words[word].startswith("-") and message.startswith(_UNKNOWN):
        hint = did_you_mean(words[word].partition("=")[0], [option for option in known if option != words[word]])
    notes = (Diagnostic(usage, "<command line>", severity="note"),) if usage else ()
    return UsageError(Diagnostic(message, "<command line>", 1, start + 1, source_line=line, length=length, hint=hint, notes=notes))


def _written(prog: str, words: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The command line, and where each word begins in it and how long it is."""
    line, places = prog, list[tuple[int, int]]()
    for word in words:
        quoted = shlex.quote(word)
        places.append((len(line) + 1, len(quoted)))
        line += f" {quoted}"
    return line, places


def _wrong_word(message: str, words: Sequence[str]) -> int | None:
    """The number of the word that argparse's message is about."""
    if message.startswith(_UNKNOWN):
        first = message.removeprefix(_UNKNOWN).split(" ")[0]
        return _position(words, lambda word: word.split(" ")[0] == first)
    match = _ARGUMENT.match(message)
    if match is None:
        return None
    names = match.group(1).split("/")
    at = _position(words, lambda word: word.partition("=")[0] in names)
    quoted = [text for text in _QUOTED.findall(message) if text]
    value = _position(words, lambda word: any(text in word for text in quoted), 0 if at is None else at)
    return value if value is not None else at


def _position(words: Sequence[str], wanted: Callable[[str], bool], start: int = 0) -> int | None:
    return next((n for n in range(start, len(words)) if wanted(words[n])), None)


def check_choice(options: argparse.Namespace, option: str, chosen: Iterable[str], names: Sequence[str]) -> None:
    """Raises a UsageError at a value of an option that is not one of these names, which it lists."""
    flag = f"--{option}"
    for name in chosen:
        if name not in names:
            words: Sequence[str] = options.words
            at = _position(words, lambda word: word.partition("=")[0] == flag)
            value = None if at is None else at if "=" in words[at] else min(at + 1, len(words) - 1)
            listed = f"{flag}: there is no '{name}'; {option}: {', '.join(names)}"
            raise usage_error(options.prog, words, listed, word=value, hint=did_you_mean(name, names))
