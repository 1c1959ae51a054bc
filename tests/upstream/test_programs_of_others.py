"""Programs in the manner of LAGrad, Enzyme-MLIR, Polygeist and upstream's own tests: values, tangents and cotangents, in f64 and f32."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.special as special
from upstream.support import Array, check, check_derivative

PROGRAMS = {
    f"{file.stem}/{(lines := part.strip().splitlines())[0].removeprefix('// ')}": "\n".join(lines[1:])
    for file in sorted((Path(__file__).parent / "programs").glob("*.mlir"))
    for part in file.read_text().split("// -----")
}

rng = np.random.default_rng(0)
normal = rng.standard_normal
x3, x4, x5, x6, x8, x20, pair = normal(3), normal(4), normal(5), normal(6), normal(8), normal(20), np.array([2.0, 3.0])
positive = np.abs(normal(6)) + 0.5
S, M, N, K = normal((4, 4)), normal((4, 5)), normal((5, 3)), normal((4, 6))
lower = np.tril(S) + 3 * np.eye(4)
image, window, planes = normal((1, 6, 6, 2)), normal((2, 2, 2, 3)), normal((1, 2, 4, 4))
batch, batch_b, batch_v = normal((2, 3, 4)), normal((2, 4, 3)), normal((2, 4))
tiles, tiles_b = normal((2, 2, 2, 3)), normal((1, 2, 4, 3))
signal, taps, rows = normal((1, 6, 2)), normal((3, 2)), normal((3, 1))
two, two_b = normal((2, 3)), normal((2, 3))
z, w = 0.7 + 0.4j, 1.5 - 0.5j
squared_row = np.vstack([M[:2], M[2:3] ** 2, M[3:]])
bits = -(-(((40 >> 3) ^ 40).bit_count() + 29 + 3) // 3)


def dilated(image: Array, window: Array) -> Array:
    """A convolution of stride 2 and dilation 2."""
    out = np.zeros((1, 2, 2, 3))
    for i, j, a, b in np.ndindex(2, 2, 2, 2):
        out[:, i, j] += image[:, 2 * i + 2 * a, 2 * j + 2 * b] @ window[a, b]
    return out


def counted(x: float) -> tuple[float, int]:
    """What the loop with values computed before its condition yields."""
    a, k = x * 1.5, 1
    while a < 3:
        a, k = (a + x) * 1.5, k + 1
    return a, k


def many(x: float, y: float) -> float:
    """The sum of math's functions."""
    of_x = x + x**3 + np.cbrt(x) + x**-0.5 + np.log1p(x) + x + np.log2(x) + np.log10(x)
    of_y = special.erf(y) + np.expm1(y) + abs(y) + 2**y + np.arcsinh(y) + special.erfc(y)
    return of_x + of_y + x * y + x**y + np.arctan2(y, x)


def steps(a: float, b: float) -> float:
    """Two calls in a loop."""
    for _ in range(2):
        a, b = a + b, (a + b) * b
    return b


def written(x: Array, at: list[Any], values: list[Any]) -> Array:
    """A copy with these values at these positions."""
    out = x.copy()
    for k, v in zip(at, values, strict=True):
        out[k] = v
    return out


CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "affine/affine_if_set": ([x6], [x6[[0, 1, 5]].sum() + (x6[2:5] ** 2).sum()]),
    "affine/affine_if_equalities": ([S], [np.tril(S, -1) + np.diag(np.exp(np.diag(S))) + np.triu(S * S.T, 1)]),
    "affine/affine_parallel_reduce": ([M], [np.exp(M).sum()]),
    "affine/affine_parallel_max_two": ([M], [M[::2].max(), M[::2].prod()]),
    "affine/affine_tiled_min": ([x6, np.zeros(6)], [(x6 * x6[np.arange(6) % 3])[::-1]]),
    "affine/max_bounds_symbols": ([x8, 6], [sum(x8[i] * x8[(i + 6) % 8] for i in range(3, 6))]),
    "affine/linearize": ([x20, np.zeros((4, 5))], [x20.reshape(5, 4).T ** 2]),
    "affine/calls_in_loop": ([0.3, 0.8], [steps(0.3, 0.8)]),
    "scf/scf_parallel_reduce": ([M], [1 + np.tanh(M).sum()]),
    "scf/parallel_two_inits": ([x6], [max(0, x6.max()), x6.prod()]),
    "scf/forall_insert": ([M, np.zeros((4, 5))], [np.exp(M)]),
    "scf/forall_memref_steps": ([S, np.zeros((4, 4))], [S.T]),
    "scf/while_tensor": ([x6], [np.sin(np.sin(np.sin(x6))), 3]),
    "scf/while_before_values": ([0.3], [*counted(0.3)]),
    "scf/while_with_a_counter_in_memory": ([np.int32(4), x6], [(x6[:4] ** 2).sum()]),
    "scf/for_i32": ([1.1, np.int32(3)], [(1.1**3 + 1) * 1.1 + 2]),
    "scf/index_switch_execute": ([2.25, 4], [3.75]),
    "scf/triangular_dynamic": ([lower, x4], [np.linalg.solve(lower, x4)]),
    "scf/branches_store_differently": ([x6, np.zeros(6), 0.1], [np.where(x6 < 0.1, x6, x6 * 0.1), np.where(x6 < 0.1, -x6, x6)]),
    "memref/alloca_if_store": ([1.5, True], [4.5]),
    "memref/subview_matmul": ([M, N, np.zeros((4, 3))], [np.vstack([2 * M[1::2] @ N, np.zeros((2, 3))])]),
    "memref/strided_argument": ([S], [np.trace(S)]),
    "memref/global_constant": ([x6], [x6 @ np.arange(6.0, 0, -1)]),
    "memref/bufferization_ops": ([x6], [np.cumsum(x6)]),
    "memref/atomic_rmw": ([x6, np.ones(3)], [1 + x6.reshape(3, 2).sum(1)]),
    "memref/rank_reducing_views": ([M, np.zeros(20)], [squared_row, squared_row.reshape(-1)]),
    "memref/reinterpret_and_expand": ([x6], [x6[5] * x6[4]]),
    "memref/returns_alloc": ([x6], [x6**4]),
    "memref/autodiff_memref": ([x6, np.ones(6), 2.0], [1 + 4 * x6]),
    "memref/nested_calls": ([0.7, pair], [np.array([2 * 0.7 * np.sin(0.7), 3.0])]),
    "memref/scope_and_alignment": ([x6], [x6[2] ** 2]),
    "linalg/generic_index": ([M], [np.tril(M) * np.arange(4)[:, None]]),
    "linalg/generic_window_access": ([x8, x3, np.zeros(6)], [np.array([x8[i : i + 3] @ x3 for i in range(6)])]),
    "linalg/generic_constant_map": ([M, x5], [M[0] * x5 + x5]),
    "linalg/captured_in_generic": ([x6, np.arange(5, -1, -1), 0.1], [np.where(x6 > 0.1, x6 * 0.1, x6)[::-1]]),
    "linalg/argmax_generic": ([M], [M.max(1), M.argmax(1)]),
    "linalg/conv_dilated": ([image, window], [dilated(image, window)]),
    "linalg/pooling_two": ([planes], [planes.reshape(1, 2, 2, 2, 2, 2).max((3, 5)), planes.reshape(1, 2, 2, 2, 2, 2).sum((3, 5))]),
    "linalg/matmul_maps": ([M.T.copy(), N.T.copy(), np.ones((4, 3))], [M @ N + 1, 2 * M @ N + 1]),
    "linalg/structured_ops": ([M, x5], [M @ x5, (M * x5).T]),
    "linalg/short_map_and_reduce": ([M], [np.repeat(np.sin(M).sum(1)[:, None], 5, 1)]),
    "linalg/pack_unpack": ([K], [K.reshape(2, 2, 2, 3).transpose(0, 2, 1, 3), K**2]),
    "linalg/mmt4d": ([tiles, tiles_b], [np.einsum("mkab,nkcb->mnac", tiles, tiles_b)]),
    "linalg/batched_named": ([batch, batch_b, batch_v], [batch @ batch_b, np.einsum("bij,bj->bi", batch, batch_v), (batch @ batch_b).sum(0)]),
    "linalg/named_elementwise": ([x6, positive], [(np.maximum(x6**2, positive**-0.5) - positive**x6) * special.erf(x6) * positive]),
    "linalg/softmax": ([M], [special.softmax(M, 1)]),
    "linalg/depthwise_1d": ([signal, taps], [sum(signal[:, k : k + 4] * taps[k] for k in range(3))]),
    "tensor/pad_generate": ([M, 2.5], [np.pad(M, ((1, 2), (0, 1)), constant_values=2.5), 2.5 * M[:3, :2]]),
    "tensor/shapes_dynamic": ([S], [np.cos(S).reshape(4, 2, 2)]),
    "tensor/gather_rows": ([M, np.array([[2], [0], [2]])], [np.exp(M[[2, 0, 2]])[:, None]]),
    "tensor/scatter_rows": ([rows, x6, np.array([[4], [0], [2]])], [written(x6, [4, 0, 2], list(rows[:, 0]))]),
    "tensor/insert_slice_strided": ([x6, pair], [written(x6, [0, 4, 2, 3], [x6[1] * 2, x6[4] * 3, 3.0, 3.0])]),
    "tensor/concat_reshape": ([two, two_b], [-np.hstack([two, two_b]).reshape(-1)]),
    "tensor/slices_of_unknown_extents": ([M, 2], [M[2] @ M[2]]),
    "tensor/sparse_constant": ([S[:3, :3].copy()], [S[:3, :3] * np.eye(3)]),
    "scalars/complex_scalar": ([0.7, 0.4], [abs(np.exp(z) * z), np.sqrt(np.exp(z) * z).imag]),
    "scalars/complex_more": ([0.7, 0.4], [-(np.sin(np.log(np.conj(z / w))) - np.tanh(z**w)).real, np.angle(z**w)]),
    "scalars/math_many": ([1.3, 0.6], [many(1.3, 0.6)]),
    "scalars/math_sincos_clamp": ([0.5, -0.2, 0.3], [np.sin(0.5), np.cos(0.5), 0.3]),
    "scalars/index_dialect": ([x6, 5], [x6[3] * 3]),
    "scalars/integer_bits": ([np.int32(5), np.int32(3), 1.5], [bits, bits * 1.5]),
    "scalars/splat_remainder_division": ([1.6, 7], [np.full(3, 1.6), math.fmod(1.6, 0.7), -3]),
    "scalars/fwddiff_loop": ([1.2, 0.5], [30 * 1.2**2 * 0.5]),
}


def test_every_program_has_a_case() -> None:
    assert sorted(PROGRAMS) == sorted(CASES)


@pytest.mark.parametrize("name", CASES)
def test_value_and_derivatives(name: str) -> None:
    inputs, expected = CASES[name]
    check(PROGRAMS[name], inputs, *expected, tolerance=1e-9)
    check_derivative(PROGRAMS[name], inputs)


@pytest.mark.parametrize("name", CASES)
def test_in_single_precision(name: str) -> None:
    inputs, expected = ([np.float32(v) if np.asarray(v).dtype.kind == "f" else v for v in values] for values in CASES[name])
    text = PROGRAMS[name].replace("f64", "f32").replace("0xFFF0000000000000", "0xFF800000")
    check(text, inputs, *expected, tolerance=3e-5)
