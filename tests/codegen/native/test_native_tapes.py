"""Tapes in compiled code: growth, parts of tapes, sums on tapes, and that their memory is given back."""

import resource

import numpy as np
import pytest
from native_checks import check
from tape_programs import EVERY_OP, loop

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("iterations", [1, 2, 16, 17, 1000])
def test_pushes(n: int, iterations: int) -> None:
    actual = check(loop(n), [np.linspace(0.1, 1, n), np.array(iterations)], 1e-15)
    assert actual[1] == iterations


def test_memory_is_given_back() -> None:
    """Two thousand calls that each write eight megabytes."""
    f = compile(parse_module(loop(1024)))
    x, iterations = np.linspace(0, 1, 1024), np.array(1000)
    f(x, iterations)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        f(x, iterations)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64_000  # kilobytes; they write 160 megabytes


@pytest.mark.parametrize("k", [0, 1, 2, 40])
def test_every_op(k: int) -> None:
    check(EVERY_OP, [np.array([1.5, -2.0], np.float32), np.array(k)])
