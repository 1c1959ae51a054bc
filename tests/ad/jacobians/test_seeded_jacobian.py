"""Compressed Jacobians by seeds: the pattern holds every nonzero, colours share no row, and the blocks are those of one mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import wengert as wg
from wengert import numpy as wnp
from wengert.frontends.transforms.control_flow import fori_loop
from wengert.transforms.ad.colouring.columns import coloured
from wengert.transforms.ad.jacobians.seeded import compressed_directions
from wengert.transforms.ad.requests.request import function_named, make_request
from wengert.transforms.analysis.sparsity.pattern import jacobian_pattern

CASES: list[tuple[str, Callable[..., Any], list[tuple[int, ...]], int]] = [
    ("band", lambda x: wnp.sin(x[1:] * x[:-1]) + wnp.pad(x[2:], (1, 0)), [(12,)], 2),
    ("diagonal", lambda x: wnp.exp(x) * x, [(9,)], 1),
    ("rows", lambda x, w: wnp.tanh(x @ w), [(5, 3), (3, 2)], 3),
    ("rows, transposed", lambda x: wnp.sum(wnp.transpose(x) ** 2, axis=0), [(5, 3)], 3),
    ("batched products", lambda x: x @ wnp.matrix_transpose(x), [(4, 2, 3)], 6),
    ("two arguments", lambda x, y: (x * y, wnp.flip(y), wnp.concat([x[:2], y])), [(6,), (6,)], 2),
    ("one element for all", lambda x: x * x[0], [(7,)], 2),
    ("blocks", lambda x: wnp.sum(wnp.reshape(x, (3, 4)) ** 2, axis=1), [(12,)], 4),
    ("a loop in rows", lambda x: x[:, 0] * fori_loop(0, 2, lambda i, y: wnp.sin(y), 0.3), [(5, 2)], 1),
]
_WRT = {"rows": (0,)}


def _program(name: str, function: Callable[..., Any], shapes: list[tuple[int, ...]], dtype: Any = np.float64) -> tuple[wg.Program, tuple[int, ...], list[Any]]:
    generator = np.random.default_rng(0)
    inputs = [generator.standard_normal(shape).astype(dtype) for shape in shapes]
    return wg.jit(function).program(*inputs), _WRT.get(name, tuple(range(len(shapes)))), inputs


@pytest.mark.parametrize(("name", "function", "shapes", "colours"), CASES)
def test_the_pattern_holds_every_nonzero(name: str, function: Callable[..., Any], shapes: list[tuple[int, ...]], colours: int):
    program, wrt, inputs = _program(name, function, shapes)
    of = tuple(range(len(program.signature.results)))
    pattern = jacobian_pattern(make_request(function_named(program.optimized_module, "main"), wrt, of))
    blocks = iter(program.jacfwd(wrt)(*inputs))
    rows = [np.concatenate([np.reshape(next(blocks), (-1, inputs[i].size)) for i in wrt], axis=1) for _ in of]
    jacobian = np.concatenate(rows) != 0
    assert not (jacobian & ~pattern.toarray()).any()
    assert compressed_directions(program.optimized_module, "columns", wrt, of, 100) == (colours, 0)


@pytest.mark.parametrize(("name", "function", "shapes", "colours"), CASES)
@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_the_jacobian(name: str, function: Callable[..., Any], shapes: list[tuple[int, ...]], colours: int, mode: str, dtype: Any):
    program, wrt, inputs = _program(name, function, shapes, dtype)
    of = ",".join(map(str, range(len(program.signature.results))))
    compressed = program.apply(f"seeded-jacobian{{mode={mode} wrt={','.join(map(str, wrt))} of={of}}},simplify,cse,dce")
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    for blocks in (compressed(*inputs), compressed.compile("interpreter")(*inputs)):
        for block, reference in zip(blocks, program.jacfwd(wrt)(*inputs), strict=True):
            assert block.shape == reference.shape
            np.testing.assert_allclose(block, reference, rtol=tolerance, atol=tolerance)


def test_a_value_that_is_not_finite_stays_in_its_place():
    program = wg.jit(wnp.log).program(np.ones(4))
    (block,) = program.apply("seeded-jacobian{wrt=0 of=0},simplify,cse,dce")(np.array([1.0, 0.0, 2.0, -1.0]))
    assert np.isinf(block[1, 1])
    assert np.isfinite(block[~np.eye(4, dtype=bool)]).all()


def test_a_dense_jacobian_is_not_compressed():
    program = wg.jit(lambda x, w: wnp.tanh(w @ x)).program(np.zeros(6), np.zeros((5, 6)))
    assert compressed_directions(program.optimized_module, "columns", (0,), (0,), 6) is None


@given(st.integers(1, 12), st.integers(0, 12), st.integers(0, 2**32 - 1), st.floats(0.05, 0.6))
def test_columns_of_a_colour_have_no_row_in_common(columns: int, rows: int, seed: int, density: float):
    pattern = np.random.default_rng(seed).random((rows, columns)) < density
    colours = coloured(sparse.csr_array(pattern))
    for colour in set(colours.tolist()):
        assert (pattern[:, colours == colour].sum(axis=1) <= 1).all()
