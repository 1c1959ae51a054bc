"""What a worker does with a job: the kinds of jobs by name.

A kind is a function from a seed to an outcome. ``programs`` are random programs, ``texts`` and ``files`` are mutants; whatever else there may be is added
to :data:`KINDS` and :data:`TURNS`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

from fuzz import mutants
from fuzz.case import Case
from fuzz.checks.every_check import CHECKS
from fuzz.generator import Program, generate
from fuzz.pool import REDUCING, Job, fails_in_child
from fuzz.reduction import reduced
from fuzz.trial import Finding, Outcome, attempt, chosen, put_to_test
from wengert.runtime.cpu.thread_count import default_threads
from wengert.transforms.codegen.cpu import long_code
from wengert.transforms.schedule import chunks

Begins = Callable[[str], None]
Kind = Callable[[int, Begins, bool], Outcome]

REDUCTION_SECONDS = 60.0


def random_program(seed: int, begins: Begins, oracle: bool) -> Outcome:
    """The checks of a seed's program; what fails is reduced."""
    begins("generate")
    program = generate(seed)
    outcome = put_to_test(program, chosen(seed, oracle), begins)
    outcome.seed = seed
    if outcome.finding is not None:
        begins(REDUCING)
        started = time.perf_counter()
        outcome.program = same_finding(program, outcome.finding)
        outcome.times["reduce"] = time.perf_counter() - started
    return outcome


def unreduced_program(seed: int, begins: Begins, oracle: bool) -> Outcome:
    """A program whose reduction did not end, as it is."""
    program = generate(seed)
    outcome = put_to_test(program, chosen(seed, oracle), begins)
    outcome.seed, outcome.program = seed, program
    return outcome


def crashing_program(seed: int, begins: Begins, oracle: bool) -> Outcome:
    """A program that ended the process that ran it, reduced in copies of this one. JAX is not asked: its threads do not survive a copy."""
    begins(REDUCING)
    program = generate(seed)
    for check in chosen(seed, oracle=False):
        if fails_in_child(lambda check=check: attempt(Case(program), check) is None, 20):
            finding = Finding(check.name, "the process crashes or hangs")
            smaller = reduced(program, lambda p, check=check: fails_in_child(lambda: attempt(Case(p), check) is None, 20), REDUCTION_SECONDS)
            return Outcome(seed, finding=finding, program=smaller)
    return Outcome(seed)


def same_finding(program: Program, finding: Finding, seconds: float = REDUCTION_SECONDS) -> Program:
    """A smaller program with the same finding."""
    check = next(c for c in CHECKS if c.name == finding.check)

    def fails(candidate: Program) -> bool:
        again = attempt(Case(candidate), check)
        return isinstance(again, Finding) and again.fault == finding.fault

    return reduced(program, fails, seconds)


KINDS: dict[str, Kind] = {"programs": random_program, "texts": mutants.mutated_text, "files": mutants.mutated_inputs, "caches": mutants.mutated_cache}
"""The kinds of jobs."""
TURNS = (("programs",) * 6 + ("texts",) + ("programs",) * 6 + ("texts", "files")) * 3 + ("caches",)
"""The order in which the command takes them, over and over."""
OTHERS: dict[str, Kind] = {"crash": crashing_program, "unreduced": unreduced_program}
"""Jobs that follow from others."""


@cache
def cut_small_kernels() -> None:
    """Lets threads, if there are several, share kernels of tens of nanoseconds, as random programs have them; their code is divided as that of long ones is."""
    if default_threads() > 1:
        long_code.OF_BLOCK, long_code.BETWEEN_STORES, long_code.PARAMETERS, long_code.POINTERS = 3, 2, 1, 1
        chunks.GRAIN_NS, chunks.LEAST_NS, chunks.AWAKE_NS, chunks.PROGRAM_NS = 20.0, 40.0, 30.0, 100.0


def work(job: Job, begins: Begins, oracle: bool) -> Outcome:
    """The outcome of a job."""
    cut_small_kernels()
    kind, seed = job
    return {**KINDS, **OTHERS}[kind](seed, begins, oracle)
