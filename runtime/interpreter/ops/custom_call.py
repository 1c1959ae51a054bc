"""custom_call: LAPACK, Python functions, matrix routines of other devices, top-k, annotations; anything else is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from wengert.dialects import sdy, stablehlo
from wengert.dialects.host_calls import called_function, host_call
from wengert.ir.tensor_types import dtype_of, element, shape
from wengert.runtime import host_functions
from wengert.runtime.errors import ExecutionError, UnsupportedOpError
from wengert.runtime.interpreter.numerics.precision import working_dtype
from wengert.runtime.interpreter.ops.lapack import lapack_call, lapack_routine
from wengert.runtime.interpreter.ops.linalg import lapack_function, over_batches
from wengert.runtime.interpreter.ops.offload import fetch, offload
from wengert.runtime.interpreter.ops.sorting import top_k_of
from wengert.runtime.interpreter.rules import Array, Function, Scope, Unary, Variadic, evaluates, evaluates_in_scope, one_or_tuple
from wengert.transforms.core.offloads import FETCH, OFFLOAD
from wengert.transforms.core.recognisers.shardings import IDENTITIES

TARGETS: dict[str, Callable[[stablehlo.CustomCallOp], Function]] = {}


def _target(name: str) -> Callable[[Callable[[stablehlo.CustomCallOp], Function]], Callable[[stablehlo.CustomCallOp], Function]]:
    def register(rule: Callable[[stablehlo.CustomCallOp], Function]) -> Callable[[stablehlo.CustomCallOp], Function]:
        TARGETS[name] = rule
        return rule

    return register


@evaluates(*sdy.IDENTITIES)
def split_otherwise(op: Operation) -> Unary:
    """The operand: where its parts lie says nothing about their values."""
    return lambda x: x


@evaluates_in_scope(stablehlo.CustomCallOp)
def custom_call(op: stablehlo.CustomCallOp, scope: Scope) -> Variadic:
    """Runs the known function of the call target."""
    target = op.call_target_name.data
    if target in IDENTITIES and len(op.inputs) == len(op.results):
        return lambda *operands: one_or_tuple(op, operands)
    if target in TARGETS:
        return TARGETS[target](op)
    if (called := called_function(op)) is not None:
        return host_function_call(op, called)
    routine = lapack_routine(target)
    if routine is None:
        raise UnsupportedOpError(op, f"calls @{target}, which the interpreter does not know")
    try:
        return lapack_call(op, routine)
    except NotImplementedError as refusal:
        raise UnsupportedOpError(op, f"calls @{target}: {refusal}") from None


def host_function_call(op: stablehlo.CustomCallOp, called: str) -> Variadic:
    """Calls a Python function of this process, on copies; what it returns has to have the types that the program says."""
    call = host_call(op)
    function = None if call is None else host_functions.host_function(call.process, call.number)
    if function is None:
        raise UnsupportedOpError(
            op, f"calls {called}, which lives in the process that made this text; import the program where the function is (wengert.from_jax)"
        )
    expected = _results(op)

    def run(*operands: Any) -> Any:
        results = tuple(np.asarray(y) for y in function.call(*(np.array(x) for x in operands)))
        if [(y.shape, y.dtype) for y in results] != expected:
            shown = [", ".join(f"{dtype}{list(shape)}" for shape, dtype in types) for types in ([(y.shape, y.dtype) for y in results], expected)]
            raise ExecutionError(op, f"calls {called}, which returned {shown[0]} for {shown[1]}")
        return one_or_tuple(op, results)

    return run


def _results(op: stablehlo.CustomCallOp) -> list[tuple[tuple[int, ...], np.dtype[Any]]]:
    return [(shape(r), dtype_of(element(r))) for r in op.results]


TARGETS[OFFLOAD], TARGETS[FETCH] = offload, fetch


@_target("LuDecomposition")
def lu_decomposition(op: stablehlo.CustomCallOp) -> Unary:
    """a -> (LU, pivots counted from 0, the permutation of the rows)."""
    function = lapack_function("getrf", dtype_of(element(op.inputs[0])))

    def run(a: Array) -> tuple[Array, Array, Array]:
        lu, pivots, _ = function(a)
        return lu, pivots, permutation_of(pivots, a.shape[0])

    return lambda a: over_batches(run, [a], [2], _results(op), op)


def permutation_of(pivots: Array, n: int) -> Array:
    """The permutation that swapping row i with row pivots[i], for one i after the other, makes of n rows."""
    permutation = np.arange(n)
    for i, j in enumerate(pivots):
        permutation[[i, j]] = permutation[[j, i]]
    return permutation


@_target("cu_lu_pivots_to_permutation")
@_target("hip_lu_pivots_to_permutation")
def lu_pivots_to_permutation(op: stablehlo.CustomCallOp) -> Unary:
    """Pivots counted from 0 -> the permutation of the rows."""
    n = shape(op.results[0])[-1]

    def run(pivots: Array) -> tuple[Array]:
        return (permutation_of(pivots, n),)

    return lambda pivots: over_batches(run, [pivots], [1], _results(op), op)[0]


@_target("cusolver_gesvdj_ffi")
def gesvdj(op: stablehlo.CustomCallOp) -> Unary:
    """a -> (zeros, singular values, U, V, info): V itself, not its adjoint."""
    options = op.options
    vectors, full = bool(abs(options["compute_uv"])), bool(abs(options["full_matrices"]))
    function = lapack_function("gesdd", dtype_of(element(op.inputs[0])))

    def run(a: Array) -> tuple[Any, ...]:
        u, s, vt, info = function(a, compute_uv=vectors, full_matrices=full)
        return 0, s, (u if vectors else 0), (vt.conj().T if vectors else 0), info

    return lambda a: over_batches(run, [a], [2], _results(op), op)


@_target("Eigh")
def eigh(op: stablehlo.CustomCallOp) -> Unary:
    """a -> (eigenvectors, eigenvalues in ascending order); the configuration is ``lower,sort,iterations,tolerance``."""
    config = op.backend_config
    lower = isinstance(config, StringAttr) and config.data.startswith("1")
    dtype = dtype_of(element(op.inputs[0]))
    function = lapack_function("heevd" if dtype.kind == "c" else "syevd", dtype)

    def run(a: Array) -> tuple[Array, Array]:
        w, v, _ = function(a, lower=lower)
        return v, w

    return lambda a: over_batches(run, [a], [2], _results(op), op)


@_target("ApproxTopK")
def approx_top_k(op: stablehlo.CustomCallOp) -> Function:
    """(values, positions, initial value, initial position) -> the k largest and their positions, here exactly."""
    axis = op.options.get("reduction_dim")
    shapes = [shape(value) for value in (*op.inputs, *op.results)]
    kinds = [element(value) for value in (*op.inputs[:2], *op.results)]
    if len(op.inputs) != 4 or len(op.results) != 2 or shapes[0] != shapes[1] or shapes[4] != shapes[5] or kinds[:2] != kinds[2:]:
        raise UnsupportedOpError(
            op, f"calls @ApproxTopK of {', '.join(str(v.type) for v in op.inputs)}, where it takes values, their positions, and an initial one of each"
        )
    if (
        not isinstance(axis, int)
        or not 0 <= axis < len(shapes[0])
        or [n for d, n in enumerate(shapes[0]) if d != axis] != [n for d, n in enumerate(shapes[4]) if d != axis]
    ):
        raise UnsupportedOpError(op, f"calls @ApproxTopK along dimension {axis} of {op.inputs[0].type} for {op.results[0].type}")
    k = shapes[4][axis]
    if k > shapes[0][axis]:
        raise UnsupportedOpError(op, f"calls @ApproxTopK for {k} of {shapes[0][axis]} elements")
    comparator = str(op.called_computations or "")
    if not _orders_by_value(comparator):
        raise UnsupportedOpError(op, "calls @ApproxTopK with an unknown comparator")
    descending = "gt" in comparator
    wide = working_dtype(element(op.inputs[0]))

    def run(values: Any, positions: Any, *_: Any) -> tuple[Array, Array]:
        moved = np.moveaxis(values, axis, -1)
        best, order = top_k_of(moved.astype(wide), moved, k, descending, np.dtype(np.int64))
        best_positions = np.take_along_axis(np.moveaxis(positions, axis, -1), order, -1)
        return np.moveaxis(best, -1, axis), np.moveaxis(best_positions, -1, axis)

    return run


def _orders_by_value(comparator: str) -> bool:
    """Whether the comparator's name says that it is a plain greater-than or less-than."""
    return "top_k_gt" in comparator or "top_k_lt" in comparator


@_target("shape_assertion")
def shape_assertion(op: stablehlo.CustomCallOp) -> Function:
    """(holds, values...) -> nothing, or the error that the program was given for this case."""
    message = op.attributes.get("error_message")
    text = message.data if isinstance(message, StringAttr) else "shape assertion failed"

    def run(holds: Any, *values: Any) -> tuple[()]:
        if not holds:
            raise ExecutionError(op, text.format(*[int(v) for v in values]))
        return ()

    return run
