"""The reference programs as tests use them: where they lie, which of them a run takes, and what agreement means.

WENGERT_CORPUS names the corpus folder, the one that holds ``dev`` (programs with stored results) and ``survey`` (texts
alone). Where every program would take too long, a run takes a share of them that moves on from day to day;
WENGERT_TEST_ALL=1 takes all, WENGERT_TEST_ROTATION=n repeats the run whose header said n.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import pytest

from wengert.lab.corpus import CorpusProgram, array_error, read_corpus

T = TypeVar("T")

CORPUS = Path(os.environ.get("WENGERT_CORPUS", ""))
HAVE_CORPUS = "WENGERT_CORPUS" in os.environ
ROTATION = int(os.environ.get("WENGERT_TEST_ROTATION", "0"))
TAKE_ALL = os.environ.get("WENGERT_TEST_ALL", "") not in ("", "0")

needs_corpus = pytest.mark.skipif(not HAVE_CORPUS, reason="WENGERT_CORPUS is not set")

PROGRAMS = read_corpus(CORPUS / "dev") if HAVE_CORPUS else []


def texts(*patterns: str) -> list[Path]:
    """The files of the corpus folder that match."""
    return sorted(path for pattern in patterns for path in CORPUS.glob(pattern)) if HAVE_CORPUS else []


def share(items: Iterable[T], one_in: int) -> list[T]:
    """One in so many of the items, others from day to day, or all of them with WENGERT_TEST_ALL=1."""
    listed = list(items)
    return listed if TAKE_ALL else listed[ROTATION % one_in :: one_in]


def comes_up(name: str, one_in: int) -> bool:
    """Whether the day's share of names, one in so many, has this one."""
    return TAKE_ALL or crc32(name.encode()) % one_in == ROTATION % one_in


def in_all_precisions(programs: Sequence[CorpusProgram] = PROGRAMS) -> list[Any]:
    """Parameters (program, precision) for a test, with readable names."""
    return [pytest.param(program, precision, id=f"{program.name}-{precision}") for program in programs for precision in program.precisions]


def assert_agrees(program: CorpusProgram, kind: str, precision: str, actual: Iterable[Any], reference: Iterable[Any]) -> None:
    """The arrays are as near to the reference as the program's tolerance for this kind of result asks."""
    distances = [array_error(a, np.asarray(b)) for a, b in zip(actual, reference, strict=True)]
    tolerance = program.tolerance(kind, precision)
    assert max(distances, default=0.0) <= tolerance, f"{program.name} {kind} {precision}: errors {distances}, tolerance {tolerance}"
