"""Custom calls to LAPACK as JAX writes them for the CPU, and their namesakes for other devices.

A target such as ``lapack_dgetrf_ffi`` names a routine; options are in the dictionary ``mhlo.backend_config`` (or
``backend_config``), those of type ``ui8`` being ASCII letters. Leading dimensions are batch dimensions. What LAPACK
leaves undefined (workspace, the input after an SVD, vectors that were not asked for) is zero here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert.dialects import stablehlo
from wengert.ir.tensor_types import dtype_of, element, rank, shape
from wengert.runtime.errors import UnsupportedOpError
from wengert.runtime.interpreter.ops.linalg import lapack_function, over_batches, triangular_solver
from wengert.runtime.interpreter.rules import Array, Binary, Ternary, Unary, Variadic, one_or_tuple

Options = dict[str, Any]
Routine = Callable[..., Sequence[Any]]
Maker = Callable[[np.dtype[Any], Options], Routine]

ROUTINES: dict[str, Maker] = {}
"""By LAPACK name: from dtype and options to a function from one matrix (and its companions) to the call's results."""


def _routine(*names: str) -> Callable[[Maker], Maker]:
    def register(maker: Maker) -> Maker:
        ROUTINES.update(dict.fromkeys(names, maker))
        return maker

    return register


_TARGET = re.compile(r"(?:lapack_[sdcz]|cusolver_|hipsolver_)(\w+?)_ffi")
_NAMESAKES = {"Qr": "geqrf", "ProductOfElementaryHouseholderReflectors": "orgqr"}


def lapack_routine(target: str) -> str | None:
    """The LAPACK routine that a call target stands for, or None."""
    match = _TARGET.fullmatch(target)
    name = match.group(1) if match else _NAMESAKES.get(target)
    return name if name in ROUTINES else None


def lapack_call(op: stablehlo.CustomCallOp, name: str) -> Variadic:
    """The routine over all matrices of a batch."""
    dtype = dtype_of(element(op.inputs[-1 if name == "trsm" else 0]))
    if dtype.char not in "fdFD":
        raise UnsupportedOpError(op, f"@{op.call_target_name.data} is not defined for elements of type {dtype}")
    try:
        routine = ROUTINES[name](dtype, op.options)
    except (KeyError, ValueError, TypeError):  # options that are missing, or are no letters of the routine's
        raise UnsupportedOpError(op, f"calls @{op.call_target_name.data} with options that the routine does not have: {op.options}") from None
    batch = rank(op.inputs[0]) - (1 if name == "gtsv" else 2)
    ranks = [rank(x) - batch for x in op.inputs]
    results = [(shape(r), dtype_of(element(r))) for r in op.results]

    def run(*operands: Any) -> Any:
        try:
            return one_or_tuple(op, over_batches(routine, operands, ranks, results, op))
        except UnsupportedOpError:
            raise
        except Exception as error:  # of SciPy's wrappers, each of which has a class of its own for extents that do not fit
            if not (isinstance(error, ValueError) or type(error).__module__.startswith(("_flapack", "_fblas", "scipy"))):
                raise
            raise UnsupportedOpError(op, f"calls @{op.call_target_name.data} with operands that do not fit each other: {error}") from None

    return run


@_routine("trsm")
def trsm(dtype: np.dtype[Any], options: Options) -> Routine:
    """(a, b) -> x with op(a) x = b, or x op(a) = b on the right side."""
    letters = {key: chr(options[key]) for key in ("side", "uplo", "trans_x", "diag")}
    return triangular_solver(
        dtype, left=letters["side"] == "L", lower=letters["uplo"] == "L", unit=letters["diag"] == "U", transpose="NTC".index(letters["trans_x"])
    )


def _is_lower(options: Options) -> bool:
    return bool(abs(options["lower"])) if "lower" in options else chr(options["uplo"]) == "L"


@_routine("potrf")
def potrf(dtype: np.dtype[Any], options: Options) -> Unary:
    """a -> (factor, info); the other triangle stays as it was."""
    function, lower = lapack_function("potrf", dtype), _is_lower(options)
    return lambda a: function(a, lower=lower, clean=False)


@_routine("getrf")
def getrf(dtype: np.dtype[Any], options: Options) -> Routine:
    """a -> (LU, pivots counted from 1, info)."""
    function = lapack_function("getrf", dtype)

    def run(a: Array) -> Sequence[Any]:
        lu, pivots, info = function(a)
        return lu, pivots + 1, info

    return run


@_routine("geqrf")
def geqrf(dtype: np.dtype[Any], options: Options) -> Unary:
    """a -> (R and the reflectors, their scales)."""
    function = lapack_function("geqrf", dtype)
    return lambda a: function(a)[:2]


@_routine("geqp3")
def geqp3(dtype: np.dtype[Any], options: Options) -> Routine:
    """(a, pivots) -> (R and the reflectors, pivots counted from 1, their scales). Columns cannot be fixed in front."""
    function = lapack_function("geqp3", dtype)

    def run(a: Array, fixed: Array) -> Sequence[Any]:
        if np.any(fixed):
            raise NotImplementedError("geqp3 with columns fixed in front is not supported")
        return function(a)[:3]

    return run


@_routine("orgqr", "ungqr")
def orgqr(dtype: np.dtype[Any], options: Options) -> Binary:
    """(reflectors, scales) -> the first columns of their product."""
    function = lapack_function("ungqr" if dtype.kind == "c" else "orgqr", dtype)
    return lambda a, tau: (function(a, tau)[0],)


@_routine("ormqr", "unmqr")
def ormqr(dtype: np.dtype[Any], options: Options) -> Ternary:
    """(reflectors, scales, c) -> op(Q) c, or c op(Q)."""
    function = lapack_function("unmqr" if dtype.kind == "c" else "ormqr", dtype)
    side = "L" if abs(options["left"]) else "R"
    trans = ("C" if dtype.kind == "c" else "T") if abs(options["transpose"]) else "N"
    return lambda a, tau, c: (function(side, trans, a, tau, c, max(1, 64 * max(c.shape)))[0],)


@_routine("syevd", "heevd")
def syevd(dtype: np.dtype[Any], options: Options) -> Routine:
    """a -> (eigenvectors, eigenvalues in ascending order, info); reads one triangle."""
    function, lower = lapack_function("heevd" if dtype.kind == "c" else "syevd", dtype), _is_lower(options)
    vectors = chr(options.get("mode", ord("V"))) == "V"

    def run(a: Array) -> Sequence[Any]:
        w, v, info = function(a, compute_v=vectors, lower=lower)
        return v, w, info

    return run


@_routine("sytrd", "hetrd")
def sytrd(dtype: np.dtype[Any], options: Options) -> Unary:
    """a -> (reflectors, diagonal, off-diagonal, scales, info)."""
    function, lower = lapack_function("hetrd" if dtype.kind == "c" else "sytrd", dtype), _is_lower(options)
    return lambda a: function(a, lower=lower)


@_routine("gehrd")
def gehrd(dtype: np.dtype[Any], options: Options) -> Unary:
    """a -> (Hessenberg form and reflectors, scales, info)."""
    function = lapack_function("gehrd", dtype)
    return lambda a: function(a, lo=options["low"] - 1, hi=options["high"] - 1)


@_routine("gebrd")
def gebrd(dtype: np.dtype[Any], options: Options) -> Routine:
    """Refused: SciPy does not offer it."""
    raise NotImplementedError("gebrd is not supported")


@_routine("gesdd")
def gesdd(dtype: np.dtype[Any], options: Options) -> Routine:
    """a -> (zeros, singular values, U, V adjoint, info); mode N: no vectors, S: thin, A: square."""
    return _singular_values("gesdd", dtype, options)


@_routine("gesvd")
def gesvd(dtype: np.dtype[Any], options: Options) -> Routine:
    """The same by QR iteration: vectors may have other signs."""
    return _singular_values("gesvd", dtype, options)


def _singular_values(name: str, dtype: np.dtype[Any], options: Options) -> Routine:
    function, mode = lapack_function(name, dtype), chr(options["mode"])

    def run(a: Array) -> Sequence[Any]:
        u, s, vt, info = function(a, compute_uv=mode != "N", full_matrices=mode == "A")
        return 0, s, (u if mode != "N" else 0), (vt if mode != "N" else 0), info

    return run


@_routine("geev")
def geev(dtype: np.dtype[Any], options: Options) -> Routine:
    """a -> (eigenvalues: real and imaginary parts apart if a is real, left and right eigenvectors, info)."""
    function = lapack_function("geev", dtype)
    left, right = (chr(options[key]) == "V" for key in ("compute_left", "compute_right"))

    def run(a: Array) -> Sequence[Any]:
        *w, vl, vr, info = function(a, compute_vl=left, compute_vr=right)
        pairs = w[1] if len(w) == 2 else None
        return *w, (_unpacked(pairs, vl) if left else 0), (_unpacked(pairs, vr) if right else 0), info

    return run


def _unpacked(imaginary: Array | None, v: Array) -> Array:
    """Eigenvectors of a real matrix as complex columns: LAPACK stores a conjugate pair as real part, imaginary part."""
    if imaginary is None:
        return v
    vectors = v.astype(np.result_type(v.dtype, np.complex64))
    for j in np.flatnonzero(imaginary > 0):
        vectors[:, j] = v[:, j] + 1j * v[:, j + 1]
        vectors[:, j + 1] = vectors[:, j].conj()
    return vectors


def _select_none(*_: Any) -> None:
    """The selection that is not used."""


@_routine("gees")
def gees(dtype: np.dtype[Any], options: Options) -> Routine:
    """a -> (Schur form, Schur vectors, eigenvalues, number selected, info)."""
    if chr(options["sort"]) != "N":
        raise NotImplementedError("gees with sorted eigenvalues is not supported")
    function, vectors = lapack_function("gees", dtype), chr(options["mode"]) == "V"

    def run(a: Array) -> Sequence[Any]:
        t, selected, *w, vs, _, info = function(_select_none, a, compute_v=vectors, sort_t=0)
        return t, (vs if vectors else 0), *w, selected, info

    return run


@_routine("gtsv")
def gtsv(dtype: np.dtype[Any], options: Options) -> Routine:
    """(lower, main, upper diagonal, b) -> (the diagonals after elimination, x, info); the first element of the lower
    and the last of the upper diagonal are outside of the matrix."""
    function = lapack_function("gtsv", dtype)

    def run(lower: Array, main: Array, upper: Array, b: Array) -> Sequence[Any]:
        n = len(main)
        if b.size == 0:
            return lower, main, upper, b, 0
        beside = [np.append(x, np.zeros(int(n == 1), x.dtype)) for x in (lower[1:], upper[:-1])]  # SciPy wants one element at least
        _, d, du, x, info = function(beside[0], main, beside[1], b)
        return lower, d, np.append(du[: n - 1], upper[-1:]), x, info

    return run
