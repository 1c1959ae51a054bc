"""Compressed Jacobians: sums of the Jacobian over the rows of its arguments, at the cost of what each column changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import wengert as wg

jax.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(3)
N = 5
X, P, W, T = RNG.normal(size=(N, 3)), RNG.normal(size=(4, 2)), RNG.normal(size=N), RNG.normal(size=(N, 2, 2))
PICKS = np.array([3, 0, 1, 1, 2], np.int32)
FEW = RNG.normal(size=2)


def by_rows(x: Any, w: Any) -> Any:
    return jnp.stack([jnp.sin(x[:, 0]) * w, x[:, 1] * x[:, 2]], 1), w**3


def picked(p: Any, i: Any, w: Any) -> Any:
    return jax.vmap(lambda q, s: s * jnp.exp(q[0]) * q)(p[i], w)


def mixing(x: Any, w: Any) -> Any:
    return jnp.tanh(x @ x.T) @ w


def in_a_loop(x: Any, w: Any) -> Any:
    return jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) * w[:, None] + y[:, ::-1], x)


def of_matrices(t: Any, scale: Any) -> Any:
    return jnp.einsum("nij,njk->nik", t, t) * scale


def with_a_solve(t: Any, w: Any) -> Any:
    return jnp.linalg.solve(t, jnp.stack([w, w**2], 1)[..., None])


def of_many_columns(x: Any, w: Any) -> Any:
    return jnp.exp(jnp.sum(x * w[:, None], 1)), jnp.zeros(2, x.dtype), w[::-1] * x[:, 2]


def picked_by_many(p: Any, i: Any, t: Any) -> Any:
    return jnp.sum(jnp.sin(p[i]), 1) * jnp.sum(t, (1, 2))


def column_picked(t: Any, i: Any, w: Any) -> Any:
    return jax.lax.dynamic_slice(t.reshape(N, 4), (0 * i[0], i[0]), (N, 1))[:, 0] * w


def both_ends(p: Any, i: Any, t: Any) -> Any:
    return jnp.sum((p[i] - p[i[::-1]]) ** 2, 1) * jnp.sum(t, (1, 2))


def some_rows(t: Any) -> Any:
    return jnp.concatenate([jnp.sum(t[:2], (1, 2)), jnp.sin(t[2:, 0, 0])])


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "by rows": (by_rows, (X, W)),
    "picked": (picked, (P, PICKS, W)),
    "mixing": (mixing, (X, W)),
    "loop": (in_a_loop, (X, W)),
    "rank 3 and rank 0": (of_matrices, (T, np.float64(1.5))),
    "solve": (with_a_solve, (T, W)),
    "reverse mode": (of_many_columns, (X, W)),
    "picked, reverse mode": (picked_by_many, (P, PICKS, T)),
    "a column that only a run tells": (column_picked, (T, PICKS % 3, W)),
    "two rows of one argument": (both_ends, (P, PICKS, T)),
    "columns that some rows depend on": (some_rows, (T,)),
    "no columns": (lambda x, w: jnp.sum(x) * w, (np.zeros((N, 0)), W)),
    "few": (lambda x: jnp.outer(x, x), (FEW,)),
}


def summed_over_rows(program: wg.Program, inputs: tuple[Any, ...]) -> list[np.ndarray[Any, Any]]:
    """The definition: for each result its Jacobian summed over the rows of the argument, columns side by side."""
    wrt = [i for i, x in enumerate(inputs) if np.asarray(x).dtype.kind == "f"]
    blocks = iter(program.jacfwd()(*inputs))
    summed = list[np.ndarray[Any, Any]]()
    for result in program.signature.results:
        columns = list[np.ndarray[Any, Any]]()
        for i in wrt:
            rank, block = np.ndim(inputs[i]), next(blocks)
            rows = block.sum(axis=len(result.shape)) if rank else block
            columns.append(rows.reshape(*result.shape, int(np.prod(np.shape(inputs[i])[1:]))))
        summed.append(np.concatenate(columns, -1))
    return summed


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_it_is_the_jacobian_summed_over_rows(name: str, backend: str) -> None:
    function, inputs = CASES[name]
    program = wg.from_jax(function, *inputs).program
    compressed = program.compressed_jacobian()
    expected = summed_over_rows(program, inputs)
    actual = compressed.compile(backend)(*inputs)
    assert [p.shape for p in compressed.signature.results] == [y.shape for y in expected]
    for y, z in zip(actual, expected, strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-12, atol=1e-13)


def test_a_column_costs_what_depends_on_it() -> None:
    program = wg.from_jax(lambda x: jnp.sin(x[:, 0]) + jnp.exp(x[:, 1]) + jnp.tanh(x[:, 2]), X).program
    text = str(program.compressed_jacobian())
    assert [text.count(f"stablehlo.{op} ") for op in ("cosine", "exponential", "tanh", "sine", "add")] == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("name", ["by rows", "picked, reverse mode", "reverse mode", "columns that some rows depend on"])
def test_in_single_precision(name: str) -> None:
    function, inputs = CASES[name]
    single = tuple(np.asarray(x, np.float32) if np.asarray(x).dtype.kind == "f" else x for x in inputs)
    program = wg.from_jax(function, *single).program
    for y, z in zip(program.compressed_jacobian()(*single), summed_over_rows(program, single), strict=True):
        assert y.dtype == np.float32
        np.testing.assert_allclose(y, z, rtol=1e-5, atol=1e-5)


def test_many_columns_of_one_number_a_row_are_read_from_one_pullback() -> None:
    program = wg.from_jax(picked_by_many, P, PICKS, T).program
    assert str(program.compressed_jacobian()).count("stablehlo.cosine ") == 1, "of all columns together"
    assert str(program.sparse_jacobian().program).count("stablehlo.cosine ") == 1


def test_choices_and_names() -> None:
    program = wg.from_jax(by_rows, X, W).program
    assert [p.shape for p in program.compressed_jacobian().signature.results] == [(N, 2, 4), (N, 4)]
    chosen = program.compressed_jacobian(wrt=1, of=1)
    np.testing.assert_allclose(chosen(X, W)[0], 3 * W[:, None] ** 2, rtol=1e-14)
    assert chosen is program.compressed_jacobian(wrt=(1,), of=(1,))
    assert "columns of" in str(chosen)


def test_it_is_a_program_that_can_be_differentiated_again() -> None:
    program = wg.from_jax(lambda x: x[:, 0] ** 3 * x[:, 1], X).program
    *_, x_bar = program.compressed_jacobian().vjp()(X, np.ones((N, 3)))
    np.testing.assert_allclose(x_bar[:, 0], 6 * X[:, 0] * X[:, 1] + 3 * X[:, 0] ** 2, rtol=1e-12)
    np.testing.assert_allclose(x_bar[:, 1], 3 * X[:, 0] ** 2, rtol=1e-12)


def test_complex_arguments_are_refused() -> None:
    program = wg.from_jax(lambda z: z * z, X[:, 0] + 1j).program
    with pytest.raises(wg.InputError, match="complex"):
        program.compressed_jacobian()
