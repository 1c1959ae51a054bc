"""The routines of BLAS and LAPACK that compiled code calls: found in SciPy's library without importing SciPy, or as SciPy exports them."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from wengert.transforms.codegen.cpu import symbols

PROGRAM = """
import sys
import numpy as np
import wengert as wg
p = wg.parse('''
func.func public @main(%a: tensor<20x20xf64>, %b: tensor<20x3xf64>) -> tensor<20x3xf64> {
  %l = stablehlo.cholesky %a, lower = true : tensor<20x20xf64>
  %0 = "stablehlo.triangular_solve"(%l, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}
    : (tensor<20x20xf64>, tensor<20x3xf64>) -> tensor<20x3xf64>
  return %0 : tensor<20x3xf64>
}''')
m = np.random.default_rng(0).normal(size=(20, 20))
a, b = m @ m.T + 20 * np.eye(20), m[:, :3].copy()
(x,) = p(a, b)
assert p.compile().stats.interpreted == {}
np.testing.assert_allclose(np.linalg.cholesky(a) @ x, b, rtol=1e-10, atol=1e-10)
print([name for name in sys.modules if name.partition(".")[0] == "scipy"])
import scipy.linalg, scipy.linalg.cython_lapack
print(scipy.linalg.solve([[2.0]], [1.0])[0], "dpotrf" in scipy.linalg.cython_lapack.__pyx_capi__)
"""


def test_scipy_is_not_imported_and_can_be_later() -> None:
    if symbols.shared_library() is None or not hasattr(symbols.shared_library(), "scipy_dpotrf_"):
        pytest.skip("this SciPy was not built with names of its own")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["[]", "0.5 True"]


@pytest.mark.parametrize("library", ["found", "without names of its own", "not found"])
def test_addresses_wherever_they_come_from(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if library != "found":
        monkeypatch.setattr(symbols, "shared_library", lambda: None if library == "not found" else ctypes.CDLL(None))
    solve = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8)(symbols.address("wg.lapack.dgesv"))
    a, b, pivots = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([3.0, 5.0]), np.zeros(2, np.int32)
    n, one, info = ctypes.c_int32(2), ctypes.c_int32(1), ctypes.c_int32(-1)
    solve(
        *[ctypes.addressof(n), ctypes.addressof(one), a.ctypes.data, ctypes.addressof(n), pivots.ctypes.data, b.ctypes.data, ctypes.addressof(n)],
        ctypes.addressof(info),
    )
    assert info.value == 0
    np.testing.assert_allclose(b, [0.8, 1.4], rtol=1e-14)
    scale = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(symbols.address("wg.blas.dscal"))
    factor = ctypes.c_double(2.0)
    scale(ctypes.addressof(n), ctypes.addressof(factor), b.ctypes.data, ctypes.addressof(one))
    np.testing.assert_allclose(b, [1.6, 2.8], rtol=1e-14)
