"""Jobs of the mutators of texts, of files of inputs and of the disk cache (``tests/mutants``): nothing comes of a mutant but results and documented errors."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fuzz.generator import Program
from fuzz.trial import Outcome, finding_of


def mutated_text(seed: int, begins: Callable[[str], None], oracle: bool) -> Outcome:
    """A program's text with mistakes in it."""
    return _mutant("text", seed, begins)


def mutated_inputs(seed: int, begins: Callable[[str], None], oracle: bool) -> Outcome:
    """A file of inputs with mistakes in it."""
    return _mutant("npz", seed, begins)


def mutated_cache(seed: int, begins: Callable[[str], None], oracle: bool) -> Outcome:
    """A disk cache with mistakes in its files."""
    return _mutant("cache", seed, begins)


def _mutant(kind: str, seed: int, begins: Callable[[str], None]) -> Outcome:
    sys.path.append(str(Path(__file__).parents[1] / "mutants"))
    try:
        from run_mutants import one
        from text_mutants import mutant
    finally:
        sys.path.pop()
    begins(f"{kind}-mutant")
    started, outcome = time.perf_counter(), Outcome(seed, checks=1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            one(kind, seed, Path(folder))
    except Exception as error:  # whatever leaves a public function
        outcome.finding = finding_of(f"{kind}-mutant", error)
        outcome.program = Program(mutant(seed).text if kind == "text" else "", (), seed)
    outcome.seconds = time.perf_counter() - started
    outcome.times[f"{kind}-mutant"] = outcome.seconds
    return outcome
