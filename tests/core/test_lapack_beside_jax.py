"""Every LAPACK call that JAX writes for the CPU: values on both backends, and derivatives in both modes and by both strategies, beside JAX's.

A run takes one of the four element types and half of what is differentiated, others from day to day. What JAX has no derivative for is refused by the name of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from reference_programs import ROTATION, TAKE_ALL, share

jax = pytest.importorskip("jax", reason="JAX writes the calls")
import jax.numpy as jnp
import jax.scipy.linalg as jl
from jax._src.lax import linalg as lax

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError

pytestmark = pytest.mark.oracle

Array = np.ndarray[Any, np.dtype[Any]]
KINDS = "dDfF" if TAKE_ALL else "dDfF"[ROTATION % 4]


def drawn(text: str, kind: str, seed: int = 0) -> list[Array]:
    """Arrays by their extents; ``p3`` is positive definite of order 3, ``+4`` numbers around 4."""
    generator = np.random.default_rng(seed)

    def one(extents: Sequence[int]) -> Array:
        normal = generator.standard_normal(extents)
        return np.asarray(normal + 1j * generator.standard_normal(extents) if kind in "DF" else normal)

    arrays: list[Array] = []
    for part in text.split():
        shape = [int(n) for n in part.lstrip("p+").split("x")]
        if part[0] == "p":
            a = one([*shape, shape[-1]])
            arrays.append(a @ np.swapaxes(a, -1, -2).conj() + shape[-1] * np.eye(shape[-1]))
        else:
            arrays.append(one(shape) + 4 * (part[0] == "+"))
    return [np.asarray(x).astype(kind) for x in arrays]


def pivoted(full: bool) -> Callable[..., Any]:
    return lambda a: lax.qr(a, pivoting=True, full_matrices=full)


DIFFERENTIATED: dict[str, tuple[str, Callable[..., Any]]] = {
    "cholesky": ("p2x3", lax.cholesky),
    "eig": ("3x3", lambda a: lax.eig(a, enable_eigvec_derivs=True)),
    "eigenvalues": ("2x3x3", lambda a: lax.eig(a, compute_left_eigenvectors=False, compute_right_eigenvectors=False)),
    "eigh": ("p2x3", lax.eigh),
    "lu, tall": ("4x3", lax.lu),
    "lu, wide": ("2x3x4", lax.lu),
    "qr": ("4x3", jnp.linalg.qr),
    "qr, complete": ("2x5x2", lambda a: jnp.linalg.qr(a, mode="complete")),
    "qr, complete, r alone": ("5x3", lambda a: jnp.linalg.qr(a, mode="complete")[1]),
    "qr, wide": ("2x2x4", jnp.linalg.qr),
    "qr, wide, complete": ("3x5", lambda a: jnp.linalg.qr(a, mode="complete")),
    "qr, wide, r": ("3x5", lambda a: jnp.linalg.qr(a, mode="r")),
    "qr, wide, q": ("3x5", lambda a: jnp.linalg.qr(a)[0]),
    "qr, pivots": ("4x3", pivoted(False)),
    "qr, pivots, full": ("4x3", pivoted(True)),
    "svd": ("4x3", lambda a: lax.svd(a, full_matrices=False)),
    "svd by iteration": ("3x4", lambda a: lax.svd(a, full_matrices=False, algorithm=lax.SvdAlgorithm.QR)),
    "singular values": ("2x4x3", lambda a: lax.svd(a, compute_uv=False)),
    "triangular_solve": ("p3 3x2", lambda a, b: lax.triangular_solve(a, b, left_side=True, lower=True, transpose_a=True, conjugate_a=True)),
    "tridiagonal_solve": ("4 +4 4 4x2", lax.tridiagonal_solve),
}
REFUSED: dict[str, tuple[str, Callable[..., Any], str]] = {
    "hessenberg": ("4x4", lax.hessenberg, "gehrd"),
    "householder_product": ("4x3 3", lax.householder_product, "orgqr|ungqr"),
    "ormqr": ("4x3 3 4x2", lax.ormqr, "ormqr|unmqr"),
    "raw qr": ("4x3", lambda a: jnp.linalg.qr(a, mode="raw"), "geqrf"),
    "raw qr with pivots": ("4x3", lambda a: lax.geqp3(a, jnp.zeros(3, jnp.int32)), "geqp3"),
    "schur": ("4x4", lax.schur, "gees"),
    "sqrtm": ("p3", jl.sqrtm, "gees"),
    "tridiagonal": ("p4", lax.tridiagonal, "sytrd|hetrd"),
}


def close(actual: Sequence[Array], expected: Sequence[Any], kind: str) -> None:
    tolerance = 2e-3 if kind in "fF" else 1e-8
    for a, b in zip(actual, map(np.asarray, expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, float(np.max(np.abs(b), initial=0))))


@pytest.fixture(autouse=True)
def _wide() -> Any:
    with jax.enable_x64(True):
        yield


def lowered(function: Callable[..., Any], inputs: list[Array]) -> tuple[wg.Program, list[Array]]:
    """The program that JAX writes, its values on both backends compared with JAX's."""
    jitted = jax.jit(function)
    program, expected = wg.parse(jitted.lower(*inputs).as_text()), [np.asarray(x) for x in jax.tree.leaves(jitted(*inputs))]
    for backend in ("cpu", "interpreter"):
        close(program.compile(backend)(*inputs), expected, inputs[0].dtype.char)
    return program, expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", share(DIFFERENTIATED, 2))
def test_values_and_derivatives(name: str, kind: str) -> None:
    arguments, function = DIFFERENTIATED[name]
    inputs, x_dots = drawn(arguments, kind), drawn(arguments, kind, 1)
    program, values = lowered(function, inputs)
    inexact = [i for i, y in enumerate(values) if y.dtype.kind in "fc"]

    def floats(*xs: Any) -> list[Any]:
        return [jax.tree.leaves(function(*xs))[i] for i in inexact]

    close(program.jvp()(*inputs, *x_dots)[len(values) :], jax.jvp(floats, tuple(inputs), tuple(x_dots))[1], kind)
    y_bars = [drawn("x".join(map(str, values[i].shape)), values[i].dtype.char, 2)[0] for i in inexact]
    expected = jax.vjp(floats, *inputs)[1](y_bars)
    for strategy in ("transpose", "direct"):
        close(program.vjp(strategy=strategy)(*inputs, *y_bars)[len(values) :], expected, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", REFUSED)
def test_what_jax_does_not_differentiate_is_refused_by_name(name: str, kind: str) -> None:
    arguments, function, routine = REFUSED[name]
    program, _ = lowered(function, drawn(arguments, kind))
    for derive in (program.jvp, program.vjp, lambda: program.vjp(strategy="direct")):
        with pytest.raises(DiagnosticError, match=rf"stablehlo\.custom_call of @lapack_[sdcz]({routine})_ffi has no"):
            derive()


@pytest.mark.parametrize("kind", KINDS)
def test_wide_matrices_with_pivots_against_differences(kind: str) -> None:
    """JAX 0.10.2 multiplies by the columns in their old order there."""
    if kind in "fF":
        kind = kind.translate({ord("f"): "d", ord("F"): "D"})
    (a,), (a_dot,) = drawn("3x5", kind), drawn("3x5", kind, 1)
    program, values = lowered(pivoted(False), [a])
    tangents = program.jvp()(a, a_dot)[len(values) :]
    ends = [program(a + step * a_dot) for step in (1e-6, -1e-6)]
    for have, x, y in zip(tangents, *ends, strict=False):
        np.testing.assert_allclose(have, (x - y) / 2e-6, rtol=1e-6, atol=1e-6)
