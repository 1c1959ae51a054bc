"""Texts and files with mistakes are refused with a diagnostic, or do what they say. ``run_mutants.py`` runs as many as are wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from cache_mutants import check_cache
from mutant_checks import check_program, check_text
from mutant_sources import LOOPS, OTHER_DIALECTS, SHORT_FORMS
from npz_mutants import check_inputs
from text_mutants import mutant

FEW = (LOOPS, SHORT_FORMS, OTHER_DIALECTS)


@pytest.mark.parametrize("lot", range(5))
def test_reading_and_printing(lot: int) -> None:
    for seed in range(60 * lot, 60 * lot + 60):
        text = mutant(seed).text
        try:
            check_text(text)
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{text}") from error


@pytest.mark.parametrize("lot", range(4))
def test_running(lot: int) -> None:
    for seed in range(25 * lot, 25 * lot + 25):
        text = mutant(seed, FEW).text
        try:
            check_program(text, seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}:\n{text}") from error


def test_files_of_inputs(tmp_path: Path) -> None:
    assert {check_inputs(seed, tmp_path) for seed in range(300)} == {"refused", "read"}


def test_files_of_the_cache(tmp_path: Path) -> None:
    for seed in range(20):
        try:
            check_cache(seed, tmp_path)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error


def test_equal_seeds_give_equal_mutants() -> None:
    assert mutant(7) == mutant(7)
    assert len({mutant(seed).text for seed in range(20)}) > 15
