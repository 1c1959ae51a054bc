"""Makes a program that fails a check smaller, as long as it fails the same check in the same way."""

from __future__ import annotations

from collections.abc import Callable

from fuzz.generator import Program
from fuzz.orders import has_orders
from wengert.lab.reduce.candidate import Candidate
from wengert.lab.reduce.reducer import Reducer


def reduced(program: Program, fails: Callable[[Program], bool], seconds: float) -> Program:
    """The smallest program that fails which is found in so many seconds.

    Sorts stay defined: where the program's comparators are strict weak orders, so are those of the smaller ones.
    """

    def as_program(candidate: Candidate) -> Program:
        return Program(candidate.text, candidate.inputs, program.seed, program.smooth)

    ordered = has_orders(program)

    def interesting(candidate: Candidate) -> bool:
        smaller = as_program(candidate)
        return fails(smaller) and (not ordered or has_orders(smaller))

    return as_program(Reducer(Candidate(program.text, program.inputs), interesting, seconds).reduce())
