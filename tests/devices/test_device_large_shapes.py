"""Layers of networks on thousands of rows, forward and backward, on a device: what the CPU backend computes. A run takes a share of them."""

from __future__ import annotations

import numpy as np
import pytest
from device_backends import needs_opencl
from large_programs import PROGRAMS, large_program
from reference_programs import share

from wengert.lab.inputs import random_inputs

TOLERANCES = {"float32": 3e-4, "bfloat16": 2**-8}
"""The error of a result beside its size, both as Euclidean norms. Sums are added up in another order: of f32 that shows in its last bits, which a block with eight layers
makes a few hundred times larger; of bf16 it moves a few roundings."""
CASES = [(name, kind, dtype) for dtype in TOLERANCES for kind in ("primal", "vjp") for name in PROGRAMS]


@needs_opencl
@pytest.mark.parametrize(("name", "kind", "dtype"), share(CASES, 5))
def test_results(name: str, kind: str, dtype: str) -> None:
    program = large_program(name, kind, dtype, narrower=True)
    inputs = random_inputs(program.signature, 0)
    compiled = program.compile("opencl", poison=True)
    for result, wanted in zip(compiled(*inputs), program.compile("cpu")(*inputs), strict=True):
        assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
        exact = np.asarray(wanted, np.float64)
        error, size = np.linalg.norm(np.asarray(result, np.float64) - exact), np.linalg.norm(exact)
        assert np.isfinite(size)
        assert error <= TOLERANCES[dtype] * size, f"relative error {error / size:.2g}"
    assert compiled.stats.host == {}, "all of it runs on the device"
