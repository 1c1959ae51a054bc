"""Colourings: what shares a direction can be told apart, and known graphs take the colours that they need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from wengert.transforms.ad.colouring import columns as columns_module
from wengert.transforms.ad.colouring.both_sides import coloured_on_both_sides, coloured_with_fewer, divided, fewest_directions
from wengert.transforms.ad.colouring.columns import coloured, count, greedy
from wengert.transforms.ad.colouring.orders import ORDERS, neighbours
from wengert.transforms.ad.colouring.recovery import NotRecoverableError, Recovery, read_directly, read_symmetric, substituted
from wengert.transforms.ad.colouring.rounds import in_rounds
from wengert.transforms.ad.colouring.symmetric import acyclic_coloured, star_coloured


def _random(rows: int, columns: int, seed: int, density: float) -> Any:
    return sparse.csr_array(np.random.default_rng(seed).random((rows, columns)) < density)


def _symmetric(size: int, seed: int, density: float) -> Any:
    half = np.random.default_rng(seed).random((size, size)) < density
    return sparse.csr_array(half | half.T | np.eye(size, dtype=bool))


def _recovered(recovery: Recovery, matrix: Any, columns: Any, rows: Any) -> Any:
    """The elements of a matrix from its products with the directions."""
    width, height = count(columns), count(rows)
    forward = matrix @ (columns[:, None] == np.arange(width)) if width else np.zeros((matrix.shape[0], 0))
    reverse = matrix.T @ (rows[:, None] == np.arange(height)) if height else np.zeros((matrix.shape[1], 0))
    read = [(forward if ahead else reverse)[at, colour] for ahead, at, colour in zip(recovery.forward, recovery.at, recovery.colours, strict=True)]
    total = np.zeros(int(recovery.elements.max(initial=-1)) + 1)
    np.add.at(total, recovery.elements, np.asarray(read) * recovery.signs)
    return total


def _values(pattern: Any, seed: int, *, symmetric: bool = False) -> Any:
    values = np.random.default_rng(seed).standard_normal(pattern.shape)
    return np.where(pattern.toarray(), values + values.T if symmetric else values, 0)


SIZES = st.integers(1, 10)
DENSITIES = st.floats(0.02, 0.7)
SEEDS = st.integers(0, 2**32 - 1)


@given(SIZES, SIZES, SEEDS, DENSITIES, st.sampled_from(sorted(ORDERS)))
def test_columns_are_told_apart_in_every_order(rows: int, columns: int, seed: int, density: float, order: str):
    pattern = _random(rows, columns, seed, density)
    colours = greedy(pattern, ORDERS[order](neighbours(pattern)), columns + 1)
    assert colours is not None
    matrix, nobody = _values(pattern, seed), np.full(rows, -1)
    np.testing.assert_array_equal(_recovered(read_directly(pattern, colours, nobody), matrix, colours, nobody), matrix[pattern.toarray()])
    assert count(coloured(pattern)) <= count(colours)


@given(st.integers(1, 40), st.integers(1, 40), SEEDS, DENSITIES, st.integers(1, 41))
def test_many_columns_at_once_get_the_colours_of_one_after_the_other(rows: int, columns: int, seed: int, density: float, than: int):
    """A colour is that of the round which a column has its turn in, or of the loop behind the rounds."""
    pattern = _random(rows, columns, seed, density)
    order = np.random.default_rng(seed).permutation(columns)
    begun, expected = in_rounds(pattern, order), greedy(pattern, order, columns + 1)
    assert expected is not None
    is_done = ~np.isin(np.arange(columns), begun.rest)
    np.testing.assert_array_equal(begun.colours[is_done], expected[is_done])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns_module, "MANY_ELEMENTS", 0)
        at_once = greedy(pattern, order, than)
    assert (at_once is None) == (count(expected) >= than)
    if at_once is not None:
        np.testing.assert_array_equal(at_once, expected)


def test_blocks_are_coloured_in_rounds_and_bands_are_not():
    blocks = sparse.csr_array(sparse.kron(sparse.eye_array(2000), np.ones((2, 5), bool)))
    begun = in_rounds(blocks, np.arange(10000))
    assert not len(begun.rest)
    np.testing.assert_array_equal(begun.colours, np.tile(np.arange(5), 2000))
    assert len(in_rounds(_band(10000, 1), np.arange(10000)).rest) > 9000


@given(SIZES, SIZES, SEEDS, DENSITIES)
def test_both_sides_are_told_apart(rows: int, columns: int, seed: int, density: float):
    pattern = _random(rows, columns, seed, density)
    sides, matrix = coloured_on_both_sides(pattern), _values(pattern, seed)
    recovery = read_directly(pattern, sides.columns, sides.rows)
    np.testing.assert_array_equal(_recovered(recovery, matrix, sides.columns, sides.rows), matrix[pattern.toarray()])
    assert not (divided(pattern).toarray() & ~pattern.toarray()).any()
    assert fewest_directions(pattern) <= min(sides.directions, count(coloured(pattern)), count(coloured(sparse.csr_array(pattern.T))))
    fewer = coloured_with_fewer(pattern, sides.directions + 1)
    assert fewer is not None
    assert fewer.directions == sides.directions


@given(st.integers(1, 14), SEEDS, DENSITIES)
def test_symmetric_matrices_are_recovered(size: int, seed: int, density: float):
    pattern = _symmetric(size, seed, density)
    matrix, nobody = _values(pattern, seed, symmetric=True), np.full(size, -1)
    stars = star_coloured(pattern)
    np.testing.assert_array_equal(_recovered(read_symmetric(pattern, stars), matrix, stars, nobody), matrix[pattern.toarray()])
    trees = acyclic_coloured(pattern)
    assert count(trees) <= count(coloured(pattern))
    try:
        recovery = substituted(pattern, trees)
    except NotRecoverableError:
        return  # sums longer than is sensible
    np.testing.assert_allclose(_recovered(recovery, matrix, trees, nobody), matrix[pattern.toarray()], atol=1e-11)


def test_a_half_of_a_symmetric_pattern_is_enough():
    whole = _symmetric(9, 5, 0.3)
    half = sparse.csr_array(sparse.tril(whole).astype(bool))
    colours, matrix = star_coloured(half), _values(whole, 5, symmetric=True)
    recovery = read_symmetric(half, colours)
    np.testing.assert_array_equal(_recovered(recovery, matrix, colours, np.full(9, -1)), matrix[half.toarray()])


def _arrow(size: int) -> Any:
    dense = np.eye(size, dtype=bool)
    dense[0], dense[:, 0] = True, True
    return sparse.csr_array(dense)


def _band(size: int, width: int) -> Any:
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return sparse.csr_array(distance <= width)


def test_known_graphs():
    assert count(coloured(_band(60, 1))) == 3
    assert count(coloured(_band(60, 3))) == 7
    assert count(coloured(_arrow(30))) == 30
    assert coloured_on_both_sides(_arrow(30)).directions == 3
    assert (fewest_directions(_arrow(30)), fewest_directions(sparse.csr_array(np.ones((5, 8), bool)))) == (3, 5)
    assert (fewest_directions(_band(60, 1)), fewest_directions(sparse.csr_array((3, 4), dtype=bool))) == (3, 0)
    assert coloured_with_fewer(_band(60, 1), 3) is None
    assert count(star_coloured(_arrow(30))) == 2  # Coleman and More: an arrow is one star
    assert count(acyclic_coloured(_arrow(30))) == 2
    assert count(star_coloured(_band(60, 1))) == 3
    assert count(acyclic_coloured(_band(60, 1))) == 2  # a path is a tree


def test_colours_that_do_not_tell_apart_are_refused():
    with pytest.raises(NotRecoverableError):
        read_directly(_band(5, 1), np.zeros(5, np.int64), np.full(5, -1))
    with pytest.raises(NotRecoverableError):
        read_symmetric(_band(6, 1), np.arange(6) % 2)
