"""Compiled code reads and writes nothing beyond its arrays: a sample of programs and their VJPs between guard pages."""

import os

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX lowers the programs")
from all_programs import PROGRAMS
from guarded_memory import run_guarded
from jax_oracle import lower

import wengert as wg
from wengert.runtime.derived.derivation import runnable

SAMPLE = 1 if os.environ.get("WENGERT_JAX_PROGRAMS") == "full" else 9
CASES = [(name, precision) for name in list(PROGRAMS)[::SAMPLE] for precision in ("f32", "f64")]


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "precision"), CASES, ids=map("-".join, CASES))
def test_nothing_beyond_the_arrays_is_touched(name: str, precision: str) -> None:
    inputs = PROGRAMS[name].inputs(precision)
    primal = wg.parse(lower(PROGRAMS[name], precision, inputs))
    programs = [(primal, inputs)]
    if not PROGRAMS[name].primal_only:
        vjp, rng = primal.vjp(), np.random.default_rng(0)
        programs.append((vjp, [*inputs, *[rng.normal(size=t.shape).astype(t.dtype) for t in vjp.signature.arguments[len(inputs) :]]]))
    for program, arrays in programs:
        module = runnable(program.optimized_module)
        actual = [run_guarded(module, arrays, at_end=at_end) for at_end in (True, False)]
        for results in actual:
            if results is not None:
                for result, expected in zip(results, program(*arrays), strict=True):
                    np.testing.assert_array_equal(result, expected)
