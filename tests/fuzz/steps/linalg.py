"""Linear algebra, Fourier transforms, random bits."""

from __future__ import annotations

import numpy as np

from fuzz.grower import Grower, Value
from fuzz.steps.table import step
from fuzz.tensors import COMPLEX_OF, PART, Type, integers_text


def matrix_element(g: Grower) -> str:
    return g.pick([e for e in (g.style.main, *g.style.elements) if e in ("f32", "f64") or e in PART] or ["f32"])


def batch_of(g: Grower) -> tuple[int, ...]:
    return g.pick([(), (), (), (2,), (1,), (2, 3), (0,)])


@step("linalg")
def cholesky(g: Grower) -> list[Value]:
    n, batch = g.pick([1, 2, 3, 3, 4, 5, 0]), batch_of(g)
    type = Type(matrix_element(g), (*batch, n, n))
    a = g.bounded(g.of(type))
    rank = type.rank
    order = [*range(rank - 2), rank - 1, rank - 2]
    other = g.one("stablehlo.transpose", [a], type, f"permutation = {integers_text(order)}")
    if type.is_complex:
        other = g.one("chlo.conj", [other], type)
    both = list(range(rank - 2))
    numbers = f"lhs_batching_dimensions = {both}, rhs_batching_dimensions = {both}, " if both else ""
    attributes = f"dot_dimension_numbers = #stablehlo.dot<{numbers}lhs_contracting_dimensions = [{rank - 1}], rhs_contracting_dimensions = [{rank - 2}]>"
    square = g.one("stablehlo.dot_general", [a, other], type, attributes)
    shifted = np.broadcast_to(2.0 * np.eye(n), type.shape).astype(type.dtype)
    matrix = g.one("stablehlo.add", [square, g.constant(shifted, type)], type)
    return [g.one("stablehlo.cholesky", [matrix], type, f"lower = {str(g.chance(0.6)).lower()}")]


@step("linalg")
def triangular_solve(g: Grower) -> list[Value]:
    n, m, batch = g.pick([1, 2, 3, 3, 4, 5]), g.pick([1, 2, 3, 0]), batch_of(g)
    left, unit = g.chance(0.5), g.chance(0.3)
    type = Type(matrix_element(g), (*batch, n, n))
    a = g.bounded(g.of(type))
    shifted = np.broadcast_to(2.5 * np.eye(n), type.shape).astype(type.dtype)
    a = g.one("stablehlo.add", [a, g.constant(shifted, type)], type)
    b = g.of(Type(type.element, (*batch, n, m) if left else (*batch, m, n)))
    transpose = g.pick(["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
    flags = ", ".join(f"{name} = {str(flag).lower()}" for name, flag in (("left_side", left), ("lower", g.chance(0.5)), ("unit_diagonal", unit)))
    return [g.bounded(g.one("stablehlo.triangular_solve", [a, b], b.type, f"{flags}, transpose_a = #stablehlo<transpose {transpose}>"))]


@step("fourier")
def fourier(g: Grower) -> list[Value]:
    kind = g.pick(["FFT", "IFFT", "RFFT", "IRFFT"])
    part = g.pick([e for e in (g.style.main, *g.style.elements) if e in COMPLEX_OF] or ["f32"])
    dims = g.pick([1, 1, 2, 3])
    lengths = [g.pick([1, 2, 3, 4, 5, 6, 8]) for _ in range(dims)]
    while np.prod(lengths) > 64:
        lengths = lengths[1:]
    batch = g.pick([(), (2,), (3,), (1, 2), (0,)])
    half = (*batch, *lengths[:-1], lengths[-1] // 2 + 1)
    full = (*batch, *lengths)
    whole = COMPLEX_OF[part]
    given = Type(part, full) if kind == "RFFT" else Type(whole, half if kind == "IRFFT" else full)
    result = Type(part, full) if kind == "IRFFT" else Type(whole, half if kind == "RFFT" else full)
    return [g.one("stablehlo.fft", [g.of(given)], result, f"fft_type = #stablehlo<fft_type {kind}>, fft_length = {integers_text(lengths)}")]


@step("random")
def random_bits(g: Grower) -> list[Value]:
    algorithm, words = g.pick([("THREE_FRY", 2), ("PHILOX", 2), ("PHILOX", 3)])
    state = Type("ui64", (words,))
    bits = Type(g.pick(["ui32", "ui64", "ui32", "ui16", "ui8"]), g.random_shape((0, 1, 1, 2, 3)))
    return g.emit("stablehlo.rng_bit_generator", [g.of(state)], [state, bits], f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>")
