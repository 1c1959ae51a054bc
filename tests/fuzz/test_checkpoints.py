"""Random programs with loops through derivatives that keep a few states of each: a share of 200 that moves each day."""

from __future__ import annotations

import pytest
from reference_programs import share

from fuzz.case import Case
from fuzz.checks.check import Check
from fuzz.checks.checkpoints import has_loops, states_of_loops
from fuzz.generator import generate
from fuzz.trial import Finding, attempt

PROGRAMS, CHUNKS = 200, 20
CHECK = Check("states-of-loops", states_of_loops, needs="differentiable")


def with_loops(chunk: int) -> list[int]:
    """Seeds of programs with loops that can be differentiated."""
    seeds, listed = iter(range(chunk * 1000, (chunk + 1) * 1000)), list[int]()
    while len(listed) < PROGRAMS // CHUNKS:
        seed = next(seeds)
        program = generate(seed)
        if "stablehlo.while" in program.text and CHECK.concerns(case := Case(program)) and has_loops(case):
            listed.append(seed)
    return listed


@pytest.mark.parametrize("chunk", share(range(CHUNKS), 10))
def test_states_of_loops(chunk: int) -> None:
    outcomes = {seed: attempt(Case(generate(seed)), CHECK) for seed in with_loops(chunk)}
    wrong = {seed: finding for seed, finding in outcomes.items() if isinstance(finding, Finding)}
    assert not wrong
    assert sum(finding is None for finding in outcomes.values()) > len(outcomes) // 2
