"""Triangular systems and matrix factorisations in native code against the interpreter, failures included."""

from typing import Any

import numpy as np
import pytest
from native_checks import DTYPES, check, function, tensor

from wengert.ir.parsing.parser import parse_module
from wengert.runtime import interpreter
from wengert.runtime.cpu import compile

Array = np.ndarray[Any, np.dtype[Any]]
TYPES = ["f64", "f32", "complex<f64>", "complex<f32>"]
TOLERANCE = {"f64": 1e-10, "complex<f64>": 1e-10, "f32": 3e-4, "complex<f32>": 3e-4}
SQUARE = [((), 1), ((3,), 5), ((2,), 20), ((0,), 3), ((3, 7), 6)]


def matrix(seed: int, shape: tuple[int, ...], element: str) -> Array:
    rng = np.random.default_rng(seed)
    entries = rng.normal(size=shape) + (1j * rng.normal(size=shape) if element.startswith("c") else 0)
    return np.asarray(entries).astype(DTYPES[element])


def adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def real(element: str) -> str:
    return element[8:-1] if element.startswith("c") else element


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "n", "m"), [(2, 1, 1), (2, 4, 1), (2, 5, 3), (2, 16, 9), (2, 24, 2), (2, 3, 0), (19, 2, 1), (18, 7, 6)])
@pytest.mark.parametrize("side", ["true", "false"])
def test_triangular_solve(element: str, batch: int, n: int, m: int, side: str) -> None:
    """All triangles, transpositions and diagonals in one program; the other triangle holds NaN. Many matrices are solved in lanes."""
    a: Array = matrix(1, (batch, n, n), element)
    a += 3 * np.eye(n)
    b = matrix(2, (batch, n, m) if side == "true" else (batch, m, n), element)
    ta, tb = tensor(a.shape, element), tensor(b.shape, element)
    lines: list[str] = []
    for lower in ("true", "false"):
        for unit in ("true", "false"):
            for transpose in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
                listed = f"left_side = {side}, lower = {lower}, unit_diagonal = {unit}, transpose_a = #stablehlo<transpose {transpose}>"
                operand = "%l" if lower == "true" else "%u"
                lines.append(f'%r{len(lines)} = "stablehlo.triangular_solve"({operand}, %b) <{{{listed}}}> : ({ta}, {tb}) -> {tb}')
    names = [f"%r{number}" for number in range(len(lines))]
    types = ", ".join([tb] * len(names))
    text = f"func.func @main(%l: {ta}, %u: {ta}, %b: {tb}) -> ({types}) {{\n" + "\n".join(lines) + f"\nreturn {', '.join(names)} : {types}\n}}"
    nan = np.full_like(a, np.nan)
    lower_a, upper_a = np.where(np.tri(n, dtype=bool), a, nan), np.where(np.tri(n, dtype=bool).T, a, nan)
    actual = check(text, [lower_a, upper_a, b], 100 * TOLERANCE[element])
    assert all(np.isfinite(x).all() for x in actual)


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "n"), SQUARE)
@pytest.mark.parametrize("lower", ["true", "false"])
def test_cholesky(element: str, batch: tuple[int, ...], n: int, lower: str) -> None:
    a = matrix(3, (*batch, n, n), element)
    positive = (a @ adjoint(a) + n * np.eye(n)).astype(a.dtype)
    t, info = tensor(a.shape, element), tensor(batch, "i32")
    core = function([t], [t, info], f'"core.cholesky"($in) <{{lower = {lower}}}> : $type')
    stable = function([t], [t], f'"stablehlo.cholesky"($in) <{{lower = {lower}}}> : $type')
    for text in (core, stable):
        check(text, [positive], TOLERANCE[element])
    check(stable, [-positive], TOLERANCE[element])


@pytest.mark.parametrize("n", [4, 20])
@pytest.mark.parametrize("batch", [4, 19])
def test_failed_cholesky(n: int, batch: int) -> None:
    """info is the order of the first minor that is not positive (LAPACK lets NaN pass); the rest of a batch is not affected."""
    t, info = tensor((batch, n, n), "f64"), tensor((batch,), "i32")
    a = np.stack([np.eye(n)] * batch)
    a[1, 2, 2], a[2, 3, 3] = -1.0, np.nan
    actual = check_info(function([t], [t, info], '"core.cholesky"($in) <{lower = true}> : $type'), a)
    assert actual[1][1] == 3
    assert actual[1][3] == 0
    np.testing.assert_array_equal(actual[0][[0, *range(4, batch)]], np.stack([np.eye(n)] * (batch - 3)))


def check_info(text: str, a: Array) -> tuple[Array, ...]:
    """The results, of which the infos agree with the interpreter's."""
    module = parse_module(text)
    actual, wanted = compile(module)(a), interpreter.run(module, [a])
    np.testing.assert_array_equal(actual[-1], wanted[-1])
    return actual


RECTANGLES = [((), 4, 4), ((2,), 5, 3), ((2,), 3, 5), ((), 20, 30)]
BATCHES = [((19,), 1, 2), ((3, 7), 8, 8), ((17,), 7, 5), ((17,), 5, 7), ((33,), 20, 20)]


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "m", "n"), RECTANGLES + BATCHES)
def test_lu(element: str, batch: tuple[int, ...], m: int, n: int) -> None:
    t, pivots, info = tensor((*batch, m, n), element), tensor((*batch, min(m, n)), "i32"), tensor(batch, "i32")
    text = function([t], [t, pivots, info], '"core.lu"($in) : $type')
    a = matrix(4, (*batch, m, n), element)
    check(text, [a], 10 * TOLERANCE[element])
    a[..., 0] = np.sign(a[..., 0].real)  # of pivots of one size, the first
    check(text, [a], 10 * TOLERANCE[element])
    a[..., 1] = 0  # singular: info says where
    check(text, [a], 10 * TOLERANCE[element])


@pytest.mark.parametrize("element", ["f64", "f32"])
def test_lu_of_different_matrices(element: str) -> None:
    """What is singular, NaN or in order already is so in its own lane only."""
    t, pivots, info = tensor((17, 6, 6), element), tensor((17, 6), "i32"), tensor((17,), "i32")
    a = matrix(5, (17, 6, 6), element)
    a[3] = np.eye(6)
    a[4, :, 2] = 0
    a[5] = 0
    a[16, 0, 0] = 0
    text = function([t], [t, pivots, info], '"core.lu"($in) : $type')
    kept = check(text, [a], 10 * TOLERANCE[element])
    a[9, 2, 2] = np.nan
    for before, after in zip(kept, compile(parse_module(text))(a), strict=True):
        np.testing.assert_array_equal(np.delete(before, 9, 0), np.delete(after, 9, 0))


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "n", "k"), [((), 1, 1), ((2,), 5, 3), ((), 20, 1), ((3, 7), 8, 8), ((17,), 7, 1), ((33,), 20, 3), ((0,), 3, 2), ((), 3, 0)])
def test_lu_solve(element: str, batch: tuple[int, ...], n: int, k: int) -> None:
    rng = np.random.default_rng(8)
    lu, b = matrix(6, (*batch, n, n), element), matrix(7, (*batch, n, k), element)
    lu += (2 * n * np.eye(n)).astype(lu.dtype)
    order = rng.permuted(np.broadcast_to(np.arange(n, dtype=np.int32), (*batch, n)), axis=-1)
    t, sides = tensor(lu.shape, element), tensor(b.shape, element)
    for turned in ("false", "true"):
        text = function([t, t, tensor(order.shape, "i32"), sides], [sides], f'"core.lu_solve"($in) <{{transpose = {turned}}}> : $type')
        check(text, [np.full_like(lu, np.nan), lu, order, b], 10 * TOLERANCE[element])
        check(text, [lu, lu, order + n // 2, b], 10 * TOLERANCE[element]) if turned == "false" else None


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "n", "k"), [((), 1, 1), ((2,), 5, 3), ((), 20, 1), ((3, 7), 8, 8), ((17,), 7, 1), ((0,), 3, 2), ((), 3, 0)])
def test_cholesky_solve(element: str, batch: tuple[int, ...], n: int, k: int) -> None:
    factor, b = matrix(6, (*batch, n, n), element), matrix(7, (*batch, n, k), element)
    factor += (2 * n * np.eye(n)).astype(factor.dtype)
    t, sides = tensor(factor.shape, element), tensor(b.shape, element)
    for lower in ("false", "true"):
        text = function([t, t, sides], [sides], f'"core.cholesky_solve"($in) <{{lower = {lower}, a_lower = true}}> : $type')
        check(text, [np.full_like(factor, np.nan), factor, b], 10 * TOLERANCE[element])


@pytest.mark.parametrize(("batch", "k", "m"), [((), 4, 4), ((3,), 3, 5), ((40, 5), 6, 6), ((), 0, 2)])
def test_pivots_to_permutation(batch: tuple[int, ...], k: int, m: int) -> None:
    pivots = np.random.default_rng(9).integers(0, m + 3, (*batch, k), dtype=np.int32)  # those out of bounds count as the nearest
    check(function([tensor(pivots.shape, "i32")], [tensor((*batch, m), "i32")], '"core.pivots_to_permutation"($in) : $type'), [pivots])


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "m", "n"), RECTANGLES)
@pytest.mark.parametrize("full", ["true", "false"])
def test_qr_and_svd(element: str, batch: tuple[int, ...], m: int, n: int, full: str) -> None:
    k = min(m, n)
    columns, rows = (m, n) if full == "true" else (k, k)
    a = matrix(5, (*batch, m, n), element)
    t, info = tensor(a.shape, element), tensor(batch, "i32")
    q, r = tensor((*batch, m, columns), element), tensor((*batch, columns, n), element)
    check(function([t], [q, r], f'"core.qr"($in) <{{full = {full}}}> : $type'), [a], 10 * TOLERANCE[element])
    s, vh = tensor((*batch, k), real(element)), tensor((*batch, rows, n), element)
    check(function([t], [q, s, vh, info], f'"core.svd"($in) <{{full = {full}}}> : $type'), [a], 1000 * TOLERANCE[element])


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize(("batch", "n"), SQUARE)
def test_eigenvalues(element: str, batch: tuple[int, ...], n: int) -> None:
    a = matrix(6, (*batch, n, n), element)
    t, values, info = tensor(a.shape, element), tensor((*batch, n), real(element)), tensor(batch, "i32")
    for lower in ("true", "false"):
        text = function([t], [t, values, info], f'"core.eigh"($in) <{{lower = {lower}}}> : $type')
        check(text, [(a + adjoint(a)).astype(a.dtype)], 100 * TOLERANCE[element])
    wide = element if element.startswith("c") else f"complex<{element}>"
    vectors, values = tensor(a.shape, wide), tensor((*batch, n), wide)
    check(function([t], [values, vectors, vectors, info], '"core.eig"($in) : $type'), [a], 1000 * TOLERANCE[element])


def test_narrow_types_are_interpreted() -> None:
    """16-bit floats are factored in f32, which LAPACK does not do; the interpreter does."""
    t = tensor((2, 2), "bf16")
    text = function([t], [t], '"stablehlo.cholesky"($in) <{lower = true}> : $type')
    check(text, [np.eye(2).astype(DTYPES["bf16"])], native=False)
