"""The long program that tools are tried on."""

from __future__ import annotations

import numpy as np
from benchmarks.long_program import long_program

import wengert as wg


def test_it_is_a_program_of_the_length_asked_for() -> None:
    program = wg.parse(long_program(100))
    ops = sum(1 for op in program.module.walk() if op.name.startswith("stablehlo."))
    assert 100 <= ops < 125
    inputs = [np.full(p.shape, 0.1) for p in program.signature.arguments]
    np.testing.assert_allclose(program(*inputs)[0], program.compile("interpreter")(*inputs)[0], rtol=1e-12)
