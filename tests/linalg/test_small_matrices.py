"""Very small matrices are factored, and systems of few unknowns solved, without a loop, by the operations of the loops: to the bit."""

from __future__ import annotations

import numpy as np
import pytest
from matrix_programs import TYPES, Array, by_loops, cholesky, looped, lu, positive, random, triangular

from wengert.dialects import core
from wengert.ir.traversal import ops_of
from wengert.transforms.linalg import small_matrices
from wengert.transforms.linalg import triangular as systems


def programs(element: str) -> list[tuple[str, list[Array]]]:
    """Programs on matrices up to three by three and 2 x 4, and their inputs, some of them singular, with NaN, and with pivots of one size."""
    square, wide = random(1, (6, 3, 3), element), random(2, (5, 2, 4), element)
    square[1, :, 1], square[2, 1, 1], square[3, 2, 0] = 0, np.nan, np.nan
    square[4, :, 0] = 1
    definite = positive(3, (5, 3, 3), element)
    definite[1, 1, 1], definite[2, 0, 0], definite[3, 2, 2] = -1, 0, np.nan
    a, b = positive(4, (3, 4, 4), element), random(5, (3, 4, 2), element)
    system = triangular(a.shape, b.shape, element, left=True, lower=True, unit=False, how="ADJOINT")
    lower, upper = cholesky(definite.shape, element), cholesky(definite.shape, element, lower=False)
    return [(lu(square.shape, element), [square]), (lu(wide.shape, element), [wide]), (lower, [definite]), (upper, [definite]), (system, [a, b])]


@pytest.mark.parametrize("element", TYPES)
def test_the_bits_are_those_of_the_loops(element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for text, inputs in programs(element):
        assert not ops_of(looped(text), core.ForOp)
        mine = by_loops(text, inputs)
        with monkeypatch.context() as patch:
            for module, name in (
                (small_matrices, "MOST_ELEMENTS"),
                (small_matrices, "MOST_COMPLEX_ELEMENTS"),
                (systems, "MOST_UNROLLED"),
                (systems, "MOST_COMPLEX_UNROLLED"),
            ):
                patch.setattr(module, name, 0)
            assert ops_of(looped(text), core.ForOp)
            theirs = by_loops(text, inputs)
        np.testing.assert_array_equal(mine[-1], theirs[-1])
        valid = np.ones(len(inputs[0]), bool) if len(mine) == 1 else np.isfinite(theirs[0]).reshape(len(inputs[0]), -1).all(axis=1) & (mine[-1] == 0)
        assert valid.sum() >= 2
        for x, y in zip(mine, theirs, strict=True):
            assert x[valid].tobytes() == y[valid].tobytes()


def test_larger_ones_are_loops() -> None:
    assert ops_of(looped(lu((2, 5, 5), "f64")), core.ForOp)
    assert ops_of(looped(cholesky((2, 4, 4), "complex<f32>")), core.ForOp)
    assert ops_of(looped(triangular((2, 9, 9), (2, 9, 1), "f64", left=True, lower=True, unit=True, how="TRANSPOSE")), core.ForOp)
