"""Random programs through every strategy: a share of 200 that moves each day."""

from __future__ import annotations

import pytest
from reference_programs import share

from fuzz.rows import FAMILIES, Outcomes

PROGRAMS, CHUNKS = 200, 50


@pytest.mark.parametrize("chunk", share(range(CHUNKS), 50))
def test_random_programs(chunk: int) -> None:
    outcomes = Outcomes()
    each = PROGRAMS // CHUNKS
    for seed in range(chunk * each, (chunk + 1) * each):
        outcomes.put_to_test(seed, list(FAMILIES), 120)
    assert not outcomes.wrong
    assert outcomes.right["jacobian: jacrev"] == each
    assert outcomes.right["hessian: forward over reverse"] == each


@pytest.mark.parametrize("seed", [43, 105])
def test_states_that_only_the_reverse_part_reads(seed: int) -> None:
    """Binomial plans of these programs left out an op that a state holds."""
    outcomes = Outcomes()
    outcomes.put_to_test(seed, ["budgets"], 120)
    assert outcomes.right == {"budgets": 1}
