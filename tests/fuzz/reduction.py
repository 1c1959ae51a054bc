"""Makes a program that fails a check smaller, as long as it fails the same check in the same way."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.generator import Program
from wengert.lab.reduce.candidate import Candidate
from wengert.lab.reduce.reducer import Reducer


def reduced(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program that fails which is found in so many seconds."""

    def as_program(candidate: Candidate) -> Program:
        return Program(candidate.text, candidate.inputs, program.seed, program.smooth)

    return as_program(Reducer(Candidate(program.text, program.inputs), lambda candidate: fails(as_program(candidate)), seconds).reduce())
