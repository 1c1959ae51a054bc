"""Work grows with the size of a program and not faster: counted in calls of Python functions, so that a busy machine does not matter."""

from __future__ import annotations

import cProfile
import pstats

import numpy as np
import pytest
from benchmarks.growth import FAMILIES, MOST, calls_nested, exponent

import wengert as wg

SIZES = {name: (25, 50, 100) for name, family in FAMILIES.items() if family.bounded} | {
    "loops in sequence": (8, 16, 32),
    "branches in sequence": (8, 16, 32),
    "parts": (100, 200, 400),
}


def work(text: str) -> tuple[int, int]:
    """The calls made to derive and compile, and the length of the code."""
    wg.parse(text).vjp().compile()  # what is imported and remembered once
    profile = cProfile.Profile()
    profile.enable()
    compiled = wg.parse(text).vjp().compile()
    profile.disable()
    return pstats.Stats(profile).total_calls, len(compiled.executable.llvm_text)  # pyright: ignore


@pytest.mark.parametrize("name", sorted(SIZES))
def test_work_grows_with_the_program(name: str):
    calls, lengths = zip(*[work(FAMILIES[name].text(n)) for n in SIZES[name]], strict=True)
    assert exponent(SIZES[name], calls) <= MOST
    assert exponent(SIZES[name], lengths) <= MOST


def test_calls_nested_2000_deep_are_right():
    program = wg.parse(calls_nested(2000))
    x, want, slope = np.linspace(0.1, 0.8, 8), np.linspace(0.1, 0.8, 8), np.ones(8)
    for k in range(2000):
        slope *= np.cos(want) if k % 2 == 0 else 1 - np.tanh(want) ** 2
        want = np.sin(want) if k % 2 == 0 else np.tanh(want)
    slope *= -np.sin(want)
    want = np.cos(want)
    np.testing.assert_allclose(program.compile("interpreter")(x)[0], want, rtol=1e-12)
    derivative = program.vjp()
    for backend in ("cpu", "interpreter"):
        y, x_bar = derivative.compile(backend)(x, np.ones(8))
        np.testing.assert_allclose(y, want, rtol=1e-12)
        np.testing.assert_allclose(x_bar, slope, rtol=1e-9)
    assert str(program).count("call @") == 1999
    assert str(derivative).count("stablehlo.") > 4000
    assert "callsite" in derivative.text(locations=True)
