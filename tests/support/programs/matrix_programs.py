"""Programs of one factorisation each, random matrices, and how far factors are from what they should be, in units of rounding errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from native_checks import DTYPES, function, tensor
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import all_ops
from wengert.ir.verification.verifier import verify
from wengert.runtime import interpreter
from wengert.transforms.linalg.factorizations_to_loops import FORMS
from wengert.transforms.pipelines import parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
TYPES = ["f64", "f32", "complex<f64>", "complex<f32>"]


def real(element: str) -> str:
    """The type of the real part."""
    return element[8:-1] if element.startswith("c") else element


def eps(element: str) -> float:
    """The distance from 1 to the next number."""
    return float(np.finfo(DTYPES[element]).eps)


def random(seed: int, shape: Sequence[int], element: str) -> Array:
    """Normally distributed elements."""
    rng = np.random.default_rng(seed)
    entries = rng.normal(size=shape) + (1j * rng.normal(size=shape) if element.startswith("c") else 0)
    return np.asarray(entries).astype(DTYPES[element])


def adjoint(a: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return np.conj(np.swapaxes(a, -1, -2))


def positive(seed: int, shape: Sequence[int], element: str) -> Array:
    """Positive definite matrices."""
    a = random(seed, shape, element)
    return (a @ adjoint(a) + np.eye(shape[-1])).astype(a.dtype)


def lu(shape: Sequence[int], element: str) -> str:
    """core.lu."""
    *batch, m, n = shape
    t, pivots, info = tensor(shape, element), tensor((*batch, min(m, n)), "i32"), tensor(batch, "i32")
    return function([t], [t, pivots, info], '"core.lu"($in) : $type')


def cholesky(shape: Sequence[int], element: str, *, lower: bool = True) -> str:
    """core.cholesky."""
    t, info = tensor(shape, element), tensor(shape[:-2], "i32")
    return function([t], [t, info], f'"core.cholesky"($in) <{{lower = {str(lower).lower()}}}> : $type')


def stable_cholesky(shape: Sequence[int], element: str, *, lower: bool = True) -> str:
    """stablehlo.cholesky."""
    t = tensor(shape, element)
    return function([t], [t], f'"stablehlo.cholesky"($in) <{{lower = {str(lower).lower()}}}> : $type')


def triangular(a: Sequence[int], b: Sequence[int], element: str, *, left: bool, lower: bool, unit: bool, how: str) -> str:
    """stablehlo.triangular_solve."""
    flags = ", ".join(f"{name} = {str(value).lower()}" for name, value in (("left_side", left), ("lower", lower), ("unit_diagonal", unit)))
    op = f'"stablehlo.triangular_solve"($in) <{{{flags}, transpose_a = #stablehlo<transpose {how}>}}> : $type'
    return function([tensor(a, element), tensor(b, element)], [tensor(b, element)], op)


def qr(shape: Sequence[int], element: str, *, full: bool = False) -> str:
    """core.qr."""
    *batch, m, n = shape
    k = m if full else min(m, n)
    results = [tensor((*batch, m, k), element), tensor((*batch, k, n), element)]
    return function([tensor(shape, element)], results, f'"core.qr"($in) <{{full = {str(full).lower()}}}> : $type')


def eigh(shape: Sequence[int], element: str, *, lower: bool = True) -> str:
    """core.eigh."""
    t, values, info = tensor(shape, element), tensor(shape[:-1], real(element)), tensor(shape[:-2], "i32")
    return function([t], [t, values, info], f'"core.eigh"($in) <{{lower = {str(lower).lower()}}}> : $type')


def svd(shape: Sequence[int], element: str, *, full: bool = False) -> str:
    """core.svd."""
    *batch, m, n = shape
    k = min(m, n)
    left, right = (m, n) if full else (k, k)
    results = [tensor((*batch, m, left), element), tensor((*batch, k), real(element)), tensor((*batch, right, n), element), tensor(batch, "i32")]
    return function([tensor(shape, element)], results, f'"core.svd"($in) <{{full = {str(full).lower()}}}> : $type')


def tridiagonal(extents: Sequence[int], k: int, element: str) -> str:
    """core.tridiagonal_solve."""
    diagonal, sides = tensor(extents, element), tensor((*extents, k), element)
    return function([diagonal] * 3 + [sides], [sides, tensor(extents[:-1], "i32")], '"core.tridiagonal_solve"($in) : $type')


def by_loops(text: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The results by loops, interpreted."""
    return tuple(interpreter.run(looped(text), inputs))


def looped(text: str) -> ModuleOp:
    """The program with loops, in which no factorisation is left."""
    module = parse_pipeline("factorizations-to-loops").run(parse_module(text))
    verify(module, "")
    assert not any(type(op) in FORMS for op in all_ops(module))
    return module


def by_lapack(text: str, inputs: Sequence[Array]) -> tuple[Array, ...]:
    """The results of the interpreter, which calls LAPACK."""
    return tuple(interpreter.run(parse_module(text), inputs))


def distance(mine: Array, theirs: Array, element: str) -> float:
    """The largest difference in units of rounding errors of the largest element."""
    wide = np.complex128
    a, b = mine.astype(wide), theirs.astype(wide)
    np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
    finite = np.isfinite(b)
    scale = np.max(np.abs(b[finite]), initial=0)
    return float(np.max(np.abs(a[finite] - b[finite]), initial=0) / (scale * eps(element))) if scale else float(np.max(np.abs(a[finite]), initial=0))


def orthogonality(q: Array, element: str) -> float:
    """How far columns are from orthonormal ones."""
    wide = q.astype(np.complex128)
    return float(np.max(np.abs(adjoint(wide) @ wide - np.eye(q.shape[-1])), initial=0) / eps(element))


def residual(a: Array, product: Array, element: str) -> float:
    """How far a product of factors is from the matrix, in units of rounding errors of its norm."""
    norm = np.linalg.norm(a.astype(np.complex128), axis=(-2, -1), keepdims=True)
    error = np.abs(product.astype(np.complex128) - a)
    return float(np.max(error / np.where(norm == 0, 1, norm), initial=0) / eps(element))
