"""Texts as cases, and whether results agree with them as far as noisy runs let them."""

from __future__ import annotations

import numpy as np

from fuzz.case import Case, noise_of
from fuzz.generator import Program
from wengert.lab.agreement.agreement import Mismatch, assert_agree


def of_text(body: str, *inputs: np.ndarray) -> Case:
    """A program with its inputs."""
    return Case(Program(body, inputs))


def agrees(case: Case, *given: np.ndarray, flushing: bool = False) -> bool:
    """Whether these may be the results of a case, where subnormal numbers may become zero if ``flushing``."""
    try:
        assert_agree("a test", list(given), case.outputs, noise_of(case.program, case.inputs, flushing=flushing))
    except Mismatch:
        return False
    return True
