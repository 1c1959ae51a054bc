"""Forward gradients of random programs are within six standard errors of the gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from random_programs import of_one_number, random_program
from reference_programs import share

from fuzz.generator import SeededChoices
from wengert.runtime.program import Program

SAMPLES = 1000


def made(seed: int) -> tuple[Program, list[Any], tuple[int, ...]]:
    """A random program of one number, its inputs, and the arguments to differentiate by."""
    random = of_one_number(random_program(SeededChoices(np.random.default_rng([22, seed])), 8))
    program = Program(random.module)
    return program, random.inputs, program.resolve()[0]


def flat(blocks: Any, count: int) -> Any:
    """The blocks of a gradient as one vector."""
    blocks = blocks if isinstance(blocks, tuple | list) else (blocks,)
    return np.concatenate([np.ravel(block) for block in blocks][:count])


@pytest.mark.parametrize("seed", share(range(200), 12))
def test_forward_gradients(seed: int) -> None:
    program, inputs, wrt = made(seed)
    directions = ("rademacher", "normal")[seed % 2]
    positions = ",".join(map(str, wrt))
    estimate = program.apply(f"to-core,forward-gradient{{samples={SAMPLES} seed={seed} directions={directions} wrt={positions} of=0}},simplify,cse,dce")
    gradient = flat(program.jacrev(wrt, 0).compile("interpreter")(*inputs), len(wrt))
    mean = flat(estimate.compile("interpreter")(*inputs), len(wrt))
    sign = -1 if directions == "rademacher" else 1
    variance = np.maximum(gradient @ gradient + sign * gradient**2, 0)
    assert np.all(np.abs(mean - gradient) <= 6 * np.sqrt(variance / SAMPLES) + 1e-9 * (1 + np.abs(gradient)))
