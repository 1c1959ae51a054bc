"""Mistakes planted in the compiler are found, named and reduced: five a day, all with WENGERT_TEST_ALL=1."""

from __future__ import annotations

import pytest
from mutations.checked import checked
from mutations.every_mutation import MUTATIONS
from mutations.mutation import Mutation, mutated, planted
from mutations.trial import tried
from reference_programs import ROTATION, TAKE_ALL

from wengert.transforms.ad.rules.elementwise import cosine

A_DAY = 5
DAYS = len(MUTATIONS) // A_DAY
CHOSEN = MUTATIONS if TAKE_ALL else MUTATIONS[ROTATION % DAYS :: DAYS]


@pytest.mark.parametrize("mutation", CHOSEN, ids=str)
def test_the_culprit_is_named_and_the_program_is_small(mutation: Mutation) -> None:
    trial = tried(mutation)
    assert not trial.wrong, str(trial.result)
    assert trial.ops <= 5


@pytest.mark.parametrize("mutation", CHOSEN, ids=str)
def test_the_checks_of_random_programs_see_it_and_take_it_for_no_rounding(mutation: Mutation) -> None:
    assert checked(mutation).findings


def test_there_are_fifty_and_each_is_another() -> None:
    assert len(MUTATIONS) >= 50
    assert len({(m.function, m.old, m.new) for m in MUTATIONS}) == len(MUTATIONS) == len({m.name for m in MUTATIONS})


def test_every_mistake_can_be_planted() -> None:
    """The texts that they replace are still there."""
    for mutation in MUTATIONS:
        with planted(mutation):
            pass


def test_a_mistake_is_taken_back() -> None:
    before = cosine.__code__
    with mutated("wengert.transforms.ad.rules.elementwise:cosine", "b.negate(b.sine(x))", "b.sine(x)"):
        assert cosine.__code__ is not before
    assert cosine.__code__ is before
