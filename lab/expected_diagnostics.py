"""Expected diagnostics: a test program that says in comments which errors it has.

As in MLIR, a comment ``// expected-error {{text}}`` expects an error whose message contains the text on its own line;
``@above``, ``@below``, ``@-2``, ``@+1`` after the severity move the line. Every diagnostic must be expected and every
expectation met.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from wengert.ir.diagnostics import Diagnostic

_EXPECTATION = re.compile(r"//\s*expected-(error|warning|note)(?:@([+-]\d+|above|below|unknown))?\s*\{\{(.*?)\}\}")
_SHIFTS = {"": 0, "above": -1, "below": 1}


@dataclass(frozen=True)
class Expectation:
    """A diagnostic that a comment asks for; line 0 stands for one without a place."""

    severity: str
    line: int
    text: str

    def accepts(self, diagnostic: Diagnostic) -> bool:
        """Whether this is the diagnostic that was asked for."""
        return diagnostic.severity == self.severity and diagnostic.line == self.line and self.text in diagnostic.message


def expectations(text: str) -> list[Expectation]:
    """Reads the expectations in the comments of a program."""
    expected: list[Expectation] = []
    for number, line in enumerate(text.splitlines(), 1):
        for severity, shift, message in _EXPECTATION.findall(line):
            place = 0 if shift == "unknown" else number + (_SHIFTS[shift] if shift in _SHIFTS else int(shift))
            expected.append(Expectation(severity, place, message))
    return expected


def compare(expected: Sequence[Expectation], diagnostics: Sequence[Diagnostic], file: str) -> list[Diagnostic]:
    """Compares diagnostics with expectations: reports those that nobody expected, and expectations that were not met."""
    pending = list(expected)
    wrong: list[Diagnostic] = []
    for diagnostic in diagnostics:
        match = next((e for e in pending if e.accepts(diagnostic)), None)
        if match is None:
            wrong.append(Diagnostic(f"unexpected {diagnostic.severity}: {diagnostic.message}", diagnostic.file, diagnostic.line, diagnostic.column))
        else:
            pending.remove(match)
    missing = [Diagnostic(f"expected {e.severity} '{e.text}' was not produced", file, e.line, 1) for e in pending]
    return wrong + missing
