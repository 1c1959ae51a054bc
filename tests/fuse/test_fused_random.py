"""Random programs of elementwise, shape, reduction and contraction ops: compiled code against the interpreter."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_kernels import inputs_of, programs
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.tensor_types import f32
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run


def check(module: ModuleOp, seed: int, tolerance: float) -> None:
    module.verify()
    arrays = inputs_of(module, seed)
    kept = [a.copy() for a in arrays]
    compiled = compile(module)
    assert not compiled.stats.interpreted
    compiled.kernel_module.verify()
    actual, expected = compiled(*arrays), run(module, arrays)
    for a, b in zip(actual, expected, strict=True):
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        scale = np.max(np.abs(b), initial=1.0, where=np.isfinite(b))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, kept, strict=True))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs(), st.integers(0, 10))
def test_f64(module: ModuleOp, seed: int) -> None:
    check(module, seed, 1e-9)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs(f32), st.integers(0, 10))
def test_f32(module: ModuleOp, seed: int) -> None:
    check(module, seed, 2e-3)
