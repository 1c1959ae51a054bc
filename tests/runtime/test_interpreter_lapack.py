"""Custom calls to LAPACK: each factorisation multiplies back to its matrix, for real and complex, batched and singular."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter import run

TYPES = {"f32": ("s", np.float32), "f64": ("d", np.float64), "complex<f32>": ("c", np.complex64), "complex<f64>": ("z", np.complex128)}
each_type = pytest.mark.parametrize("element", TYPES)


def call(name: str, element: str, operands: list[Any], results: list[str], **options: Any) -> list[Any]:
    """Calls a LAPACK routine; letters are passed as their codes, ``$T`` in results is the element type, ``$R`` its real type."""
    prefix = TYPES[element][0]
    config = ", ".join(f"{k} = {_attribute(v)}" for k, v in options.items())
    target = name if name[0].isupper() or "_" in name else f"lapack_{prefix}{name}_ffi"
    return custom_call(target, element, operands, results, f"mhlo.backend_config = {{{config}}}")


def _attribute(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{ord(value)} : ui8" if isinstance(value, str) else f"{value} : i32"


def custom_call(target: str, element: str, operands: list[Any], results: list[str], attributes: str) -> list[Any]:
    """Runs one custom call."""
    real = element.removeprefix("complex<").removesuffix(">")
    names = {np.dtype(t): e for e, (_, t) in TYPES.items()} | {np.dtype(np.int32): "i32"}
    types = [f"tensor<{''.join(f'{n}x' for n in x.shape)}{names[x.dtype]}>" for x in operands]
    result_types = [f"tensor<{r.replace('$T', element).replace('$R', real)}>" for r in results]
    args = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    passed, returned = ", ".join(f"%a{i}" for i in range(len(types))), ", ".join(f"%r#{i}" if len(result_types) > 1 else "%r" for i in range(len(result_types)))
    many = f":{len(result_types)}" if len(result_types) > 1 else ""
    text = (
        f"func.func public @main({args}) -> ({', '.join(result_types)}) {{\n"
        f'  %r{many} = "stablehlo.custom_call"({passed}) <{{call_target_name = "{target}"}}> {{{attributes}}} '
        f": ({', '.join(types)}) -> ({', '.join(result_types)})\n  return {returned} : {', '.join(result_types)}\n}}"
    )
    return run(parse_module(text, "call.mlir"), operands)


def random(element: str, *extents: int) -> Any:
    rng = np.random.default_rng(len(extents) + sum(extents))
    values = rng.normal(size=extents) + (1j * rng.normal(size=extents) if element.startswith("complex") else 0)
    return values.astype(TYPES[element][1])


def hermitian(element: str, n: int) -> Any:
    a = random(element, n, n)
    return a + a.conj().T


def close(a: Any, b: Any) -> None:
    single = {np.asarray(a).dtype.char, np.asarray(b).dtype.char} & set("fF")
    np.testing.assert_allclose(a, b, rtol=1e-4 if single else 1e-12, atol=2e-5 if single else 1e-12)


@each_type
def test_lu(element: str) -> None:
    a = random(element, 2, 4, 3)
    lu, pivots, info = call("getrf", element, [a], ["2x4x3x$T", "2x3xi32", "2xi32"])
    for k in range(2):
        rows = np.arange(4)
        for i, p in enumerate(pivots[k] - 1):
            rows[[i, p]] = rows[[p, i]]
        close((np.tril(lu[k], -1) + np.eye(4, 3)) @ np.triu(lu[k][:3]), a[k][rows])
    np.testing.assert_array_equal(info, 0)


def test_lu_of_a_singular_matrix_reports_it() -> None:
    assert call("getrf", "f64", [np.zeros((2, 2))], ["2x2x$T", "2xi32", "i32"])[2] == 1


@each_type
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_cholesky(element: str, uplo: str) -> None:
    b = random(element, 3, 3)
    a = (b @ b.conj().T + np.eye(3)).astype(b.dtype)
    c, info = call("potrf", element, [a], ["3x3x$T", "i32"], uplo=uplo)
    close(np.tril(c) @ np.tril(c).conj().T if uplo == "L" else np.triu(c).conj().T @ np.triu(c), a)
    assert info == 0
    assert call("potrf", element, [-a], ["3x3x$T", "i32"], uplo=uplo)[1] > 0


@each_type
def test_qr(element: str) -> None:
    a = random(element, 2, 5, 3)
    r, tau = call("geqrf", element, [a], ["2x5x3x$T", "2x3x$T"])
    (q,) = call("ungqr" if element.startswith("complex") else "orgqr", element, [r, tau], ["2x5x3x$T"])
    close(q @ np.triu(r[:, :3]), a)


@each_type
@pytest.mark.parametrize(("left", "transpose"), [(True, False), (True, True), (False, False)])
def test_product_with_q(element: str, left: bool, transpose: bool) -> None:
    r, tau = call("geqrf", element, [random(element, 4, 4)], ["4x4x$T", "4x$T"])
    (q,) = call("ungqr" if element.startswith("complex") else "orgqr", element, [r, tau], ["4x4x$T"])
    c = random(element, 4, 4) + 1
    (product,) = call("unmqr" if element.startswith("complex") else "ormqr", element, [r, tau, c], ["4x4x$T"], left=left, transpose=transpose)
    factor = q.conj().T if transpose else q
    close(product, factor @ c if left else c @ factor)


@each_type
def test_pivoted_qr(element: str) -> None:
    a = random(element, 4, 3)
    r, pivots, tau = call("geqp3", element, [a, np.zeros(3, np.int32)], ["4x3x$T", "3xi32", "3x$T"])
    (q,) = call("ungqr" if element.startswith("complex") else "orgqr", element, [r, tau], ["4x3x$T"])
    close(q @ np.triu(r[:3]), a[:, pivots - 1])


@each_type
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_hermitian_eigenvalues(element: str, uplo: str) -> None:
    a = hermitian(element, 4)
    half = np.tril(a) if uplo == "L" else np.triu(a)
    v, w, info = call("heevd" if element.startswith("complex") else "syevd", element, [half], ["4x4x$T", "4x$R", "i32"], mode="V", uplo=uplo)
    close(v * w @ v.conj().T, a)
    assert np.all(np.diff(w) >= 0)
    assert info == 0


@each_type
@pytest.mark.parametrize(("mode", "u_extents", "v_extents"), [("A", "5x5", "3x3"), ("S", "5x3", "3x3"), ("N", "5x3", "3x3")])
def test_singular_values(element: str, mode: str, u_extents: str, v_extents: str) -> None:
    a = random(element, 5, 3)
    _, s, u, vt, info = call("gesdd", element, [a], ["5x3x$T", "3x$R", f"{u_extents}x$T", f"{v_extents}x$T", "i32"], mode=mode)
    close(s, np.linalg.svd(a, compute_uv=False))
    if mode != "N":
        close(u[:, :3] * s @ vt, a)
    assert info == 0


@each_type
def test_eigenvalues(element: str) -> None:
    a = random(element, 4, 4)
    values = ["4x$T"] if element.startswith("complex") else ["4x$R", "4x$R"]
    vectors = "4x4x" + (element if element.startswith("complex") else f"complex<{element}>")
    *w, left, right, info = call("geev", element, [a], [*values, vectors, vectors, "i32"], compute_left="V", compute_right="V")
    w = w[0] if len(w) == 1 else w[0] + 1j * w[1]
    close(a @ right, right * w)
    close(left.conj().T @ a, w[:, None] * left.conj().T)
    assert info == 0


@each_type
def test_schur(element: str) -> None:
    a = random(element, 4, 4)
    values = ["4x$T"] if element.startswith("complex") else ["4x$R", "4x$R"]
    t, z, *_, info = call("gees", element, [a], ["4x4x$T", "4x4x$T", *values, "i32", "i32"], mode="V", sort="N")
    close(z @ t @ z.conj().T, a)
    assert info == 0


@each_type
def test_hessenberg(element: str) -> None:
    a = random(element, 4, 4)
    h, tau, info = call("gehrd", element, [a], ["4x4x$T", "3x$T", "i32"], low=1, high=4)
    q = np.eye(4, dtype=a.dtype)
    for k in range(3):
        v = np.concatenate([np.zeros(k + 1), [1], h[k + 2 :, k]]).astype(a.dtype)
        q = q @ (np.eye(4) - tau[k] * np.outer(v, v.conj()))
    close(q.astype(a.dtype) @ np.triu(h, -1) @ q.conj().T, a)
    assert info == 0


@each_type
def test_tridiagonal_form(element: str) -> None:
    a = hermitian(element, 4)
    name = "hetrd" if element.startswith("complex") else "sytrd"
    _, d, e, _, info = call(name, element, [a], ["4x4x$T", "4x$R", "3x$R", "3x$T", "i32"], uplo="L")
    close(np.linalg.eigvalsh(np.diag(d) + np.diag(e, 1) + np.diag(e, -1)), np.linalg.eigvalsh(a))
    assert info == 0


@each_type
def test_tridiagonal_solve(element: str) -> None:
    dl, d, du, b = random(element, 4), random(element, 4) + 5, random(element, 4), random(element, 4, 2)
    *_, x, info = call("gtsv", element, [dl, d, du, b], ["4x$T", "4x$T", "4x$T", "4x2x$T", "i32"])
    close((np.diag(d) + np.diag(du[:-1], 1) + np.diag(dl[1:], -1)).astype(b.dtype) @ x, b)
    assert info == 0


@each_type
@pytest.mark.parametrize("side", ["L", "R"])
@pytest.mark.parametrize("trans_x", ["N", "T", "C"])
def test_triangular_solve(element: str, side: str, trans_x: str) -> None:
    a, b = random(element, 2, 3, 3) + 3 * np.eye(3, dtype=TYPES[element][1]), random(element, 2, 3, 3)
    (x,) = call("trsm", element, [a, b], ["2x3x3x$T"], side=side, uplo="L", trans_x=trans_x, diag="N")
    m = np.tril(a)
    m = {"N": m, "T": m.swapaxes(1, 2), "C": m.conj().swapaxes(1, 2)}[trans_x]
    close(m @ x if side == "L" else x @ m, b)


def test_namesakes_of_other_devices() -> None:
    a = random("f64", 4, 4)
    lu, pivots, permutation = custom_call("LuDecomposition", "f64", [a], ["4x4x$T", "4xi32", "4xi32"], "")
    close((np.tril(lu, -1) + np.eye(4)) @ np.triu(lu), a[permutation])
    (again,) = custom_call("cu_lu_pivots_to_permutation", "f64", [pivots], ["4xi32"], "")
    np.testing.assert_array_equal(again, permutation)
    v, w = custom_call("Eigh", "f64", [a + a.T], ["4x4x$T", "4x$T"], 'backend_config = "1,1,100,1e-6"')
    close(v * w @ v.T, a + a.T)
    r, tau = custom_call("Qr", "f64", [a], ["4x4x$T", "4x$T"], "")
    (q,) = custom_call("ProductOfElementaryHouseholderReflectors", "f64", [r, tau], ["4x4x$T"], "")
    close(q @ np.triu(r), a)


def test_what_is_not_supported_is_refused() -> None:
    with pytest.raises(UnsupportedOpError, match="sorted"):
        call("gees", "f64", [np.eye(2)], ["2x2x$T", "2x2x$T", "2x$T", "2x$T", "i32", "i32"], mode="V", sort="S")
