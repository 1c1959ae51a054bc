"""Ops with every element type that their rules take: some a day."""

from __future__ import annotations

import pytest
from mutant_sources import SOURCES
from reference_programs import share
from retyped_programs import check_retyped, is_determined

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TEXTS = list(dict.fromkeys(filter(is_determined, SOURCES)))


@pytest.mark.parametrize("number", share(range(len(TEXTS)), 48))
def test_an_op_on_other_elements(number: int) -> None:
    check_retyped(TEXTS[number])
