"""Libraries that are written for any array namespace, on traced arrays: SciPy, array-api-compat, array-api-extra, einops, opt_einsum."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special

import wengert as wg
import wengert.numpy as wnp
from wengert.numpy import special_functions

X = np.arange(24.0).reshape(2, 3, 4) / 7
SPECIAL = np.array([-3.5, -2.0, -0.5, -0.0, 0.0, 1e-3, 0.3, 0.5, 1.0, 2.5, 7.0, 20.0, 80.0, np.inf, np.nan])
OF_TWO = ("betaln", "boxcox", "boxcox1p", "huber", "inv_boxcox", "kl_div", "pseudo_huber", "rel_entr", "xlog1py", "xlogy", "zeta")
POSITIVE_ONLY = ("betaln", "zeta")


def operands(name: str) -> tuple[Any, ...]:
    row = SPECIAL[(SPECIAL > 1) & np.isfinite(SPECIAL)] if name in POSITIVE_ONLY else SPECIAL
    if name not in OF_TWO:
        return (row,)
    x, y = (v.ravel() for v in np.meshgrid(row, row))
    keep = np.isfinite(x) | (name != "pseudo_huber")  # SciPy has NaN at an infinite delta, where the limit is r^2 / 2
    return x[keep], y[keep]


@pytest.mark.parametrize("name", special_functions.__all__)
def test_special_functions_are_scipys(name: str) -> None:
    """Values at special places, and gradients beside differences of SciPy's."""
    given, function = operands(name), getattr(wnp.special, name)
    with np.errstate(all="ignore"):
        expected = getattr(scipy.special, name)(*given)
        np.testing.assert_allclose(wg.jit(function)(*given), expected, rtol=3e-12, atol=1e-300)
        np.testing.assert_array_equal(function(*given), expected)
    inside = [np.linspace(0.15, 0.85, 5), np.linspace(0.95, 0.25, 5)][: len(given)]
    constant = 0
    if name == "zeta":  # has a derivative by its second operand only
        constant, inside[0] = 1, inside[0] + 2
    loss = lambda *a: wnp.sum(function(*inside[:constant], *a))
    for k, gradient in enumerate(wg.grad(loss, argnums=tuple(range(len(inside) - constant)))(*inside[constant:])):
        moved = [loss(*[x + sign * 1e-6 * (i == k) for i, x in enumerate(inside[constant:])]) for sign in (1, -1)]
        assert np.sum(gradient) == pytest.approx(float(moved[0] - moved[1]) / 2e-6, rel=2e-6, abs=1e-7)
    assert wg.jit(function)(*[x.astype(np.float32) for x in inside]).dtype == np.float32


def test_scipys_own_functions_take_traced_values() -> None:
    """Without SCIPY_ARRAY_API, as NumPy's functions do."""
    call = lambda x: scipy.special.erf(x) + scipy.special.gammaln(x + 1) + scipy.special.xlogy(x, x + 1) + np.cbrt(x)
    np.testing.assert_allclose(wg.jit(call)(X), call(X), rtol=1e-13)
    with pytest.raises(wg.TracingError, match="the ufunc jv does not take traced values"):
        wg.jit(lambda x: scipy.special.jv(x, x))(X)


def test_scipy_dispatches_to_the_namespace() -> None:
    """In a process of its own, as SciPy reads SCIPY_ARRAY_API when it is imported."""
    names = [
        "special.logsumexp",
        "stats.zscore",
        "stats.skewtest",
        "signal.hilbert",
        "optimize.rosen_hess",
        "spatial.transform.Rotation.as_euler",
        "signal.medfilt",
        "special.jv",
    ]
    command = [sys.executable, "-m", "benchmarks.array_api.scipy_functions", "--json", *names[:-1]]
    root = Path(__file__).parents[2]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=root, env={**os.environ, "PYTHONPATH": str(root)}, check=True)
    outcomes = {outcome["name"]: (outcome["status"], outcome["note"]) for outcome in json.loads(finished.stdout)}
    assert outcomes.pop("signal.medfilt") == ("refused", "a branch that looks at elements (`if`)")
    assert set(outcomes) == set(names[:-2])
    assert set(outcomes.values()) == {("values and gradients", "")}
    unknown = subprocess.run([*command, names[-1]], capture_output=True, text=True, cwd=root, check=False)
    assert unknown.returncode == 2
    assert "no call of special.jv is written down here" in unknown.stderr


def test_the_namespace_for_libraries_is_traced() -> None:
    seen: dict[str, Any] = {}

    def call(x: Any) -> Any:
        xp = x.__array_namespace__(api_version="2024.12")
        made = [xp.zeros((4,)), xp.asarray(2.0), xp.linspace(0, 1, 4), xp.fft.fftfreq(4), xp.linalg.matrix_norm(np.eye(2)), *xp.meshgrid(np.arange(4.0))]
        seen.update(types={type(m).__name__ for m in made}, same=xp is (x + 1).__array_namespace__(), pi=xp.pi, dtype=xp.finfo(x).bits)
        made[0][:2] = x[0, 0, :2]
        return made[0] + made[1] * made[2]

    result = wg.jit(call)(X)
    np.testing.assert_array_equal(result, np.array([*X[0, 0, :2], 0, 0]) + 2.0 * np.linspace(0, 1, 4))
    assert seen == {"types": {"TracedArray"}, "same": True, "pi": np.pi, "dtype": 64}
    with pytest.raises(wg.TracingError, match=r"there is no version .2030.12. of the array API standard here"):
        wg.jit(lambda x: x.__array_namespace__(api_version="2030.12").sin(x))(X)


def test_compatibility_layers_know_the_namespace() -> None:
    compat = pytest.importorskip("scipy._lib.array_api_compat", reason="SciPy's copy of array-api-compat")
    seen: list[Any] = []

    def call(x: Any) -> Any:
        xp = compat.array_namespace(x, 2.0, None)
        seen.extend([xp.__name__, compat.is_array_api_obj(x), compat.is_numpy_array(x), compat.is_lazy_array(x), compat.size(x), compat.device(x)])
        return xp.sin(compat.to_device(x, "cpu"))

    np.testing.assert_array_equal(wg.jit(call)(X), np.sin(X))
    assert seen == ["wengert.numpy", True, False, True, 24, "cpu"]


EXTRA: dict[str, Any] = {
    "kron": lambda xpx, x: xpx.kron(x, x),
    "cov": lambda xpx, x: xpx.cov(x[0]),
    "sinc": lambda xpx, x: xpx.sinc(x),
    "pad": lambda xpx, x: xpx.pad(x, 1),
    "create_diagonal": lambda xpx, x: xpx.create_diagonal(x[0, 0]),
    "atleast_nd": lambda xpx, x: xpx.atleast_nd(x, ndim=4),
    "apply_where": lambda xpx, x: xpx.apply_where(x > 1, (x,), lambda x: x * x, fill_value=0.0),
    "at": lambda xpx, x: xpx.at(x * 2, (0, 0)).set(1.0),
}


@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name: str) -> None:
    xpx = pytest.importorskip("array_api_extra", reason="array-api-extra is not installed")
    call = lambda x: EXTRA[name](xpx, x)
    np.testing.assert_allclose(wg.jit(call)(X), call(X), rtol=1e-12, atol=1e-12)
    assert np.isfinite(wg.grad(lambda x: wnp.sum(call(x) ** 2))(X)).all()


EINOPS: dict[str, Any] = {
    "rearrange": lambda e, x: e.rearrange(x, "a b c -> c (a b)"),
    "mean": lambda e, x: e.reduce(x, "a b (c d) -> a d", "mean", d=2),
    "max": lambda e, x: e.reduce(x, "a b c -> a", "max"),
    "repeat": lambda e, x: e.repeat(x, "a b c -> a b c r", r=3),
    "pack": lambda e, x: e.pack([x, x], "a b *")[0],
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops(name: str) -> None:
    einops = pytest.importorskip("einops.array_api", reason="einops is not installed")
    numpys = pytest.importorskip("einops")
    np.testing.assert_allclose(wg.jit(lambda x: EINOPS[name](einops, x))(X), EINOPS[name](numpys, X), rtol=1e-14)
    assert wg.grad(lambda x: wnp.sum(EINOPS[name](einops, x) ** 2))(X).any()


def test_opt_einsum() -> None:
    contract = pytest.importorskip("opt_einsum", reason="opt_einsum is not installed").contract
    call = lambda x, y: contract("abc,abd,dc->ac", x, x + 1, y, backend="wengert.numpy")
    y = np.cos(np.arange(16.0)).reshape(4, 4)
    np.testing.assert_allclose(wg.jit(call)(X, y), np.einsum("abc,abd,dc->ac", X, X + 1, y), rtol=1e-13)
    np.testing.assert_allclose(wg.grad(lambda y: wnp.sum(call(X, y)))(y), np.einsum("abc,abd->dc", X, X + 1), rtol=1e-13)
