"""Errors that the array API's suite asks for: the same kinds at once and traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

X = np.arange(6.0).reshape(2, 3)
WRONG: dict[str, tuple[type[Exception], Callable[[Any], Any]]] = {
    "a new dimension too far": (IndexError, lambda x: wnp.expand_dims(x, axis=3)),
    "and too far from the end": (IndexError, lambda x: wnp.expand_dims(x, axis=-4)),
    "a dimension that there is not": (ValueError, lambda x: wnp.sum(x, axis=2)),
    "squeezing an extent of two": (ValueError, lambda x: wnp.squeeze(x, axis=0)),
    "a mask of another shape": (IndexError, lambda x: x[np.ones((2, 2), bool)]),
    "a mask behind an ellipsis": (IndexError, lambda x: x[..., np.ones(2, bool)]),
    "a mask with too many dimensions": (IndexError, lambda x: x[np.ones((2, 3, 1), bool)]),
    "too many indices": (IndexError, lambda x: x[0, 0, 0]),
    "a position out of range": (IndexError, lambda x: x[2]),
    "vectors of two in a cross product": (ValueError, lambda x: wnp.linalg.cross(x[:, :2], x[:, 1:], axis=0)),
    "vectors of four": (ValueError, lambda x: wnp.linalg.cross(wnp.concat([x, x[:, :1]], axis=1), wnp.concat([x, x[:, :1]], axis=1))),
    "nonzero of a number": (Exception, lambda x: wnp.nonzero(x[0, 0])),
    "a product of unequal extents": (ValueError, lambda x: wnp.matmul(x, x)),
    "unequal vectors": (ValueError, lambda x: wnp.vecdot(x, x[:, :2])),
}


@pytest.mark.parametrize("name", WRONG)
def test_kinds_of_errors(name: str) -> None:
    kind, f = WRONG[name]
    with pytest.raises(kind):
        f(X)
    with pytest.raises(kind):
        wg.jit(f)(X)


def test_masks_that_are_known() -> None:
    rows, columns = np.array([True, False]), np.array([True, False, True])
    cube = np.arange(12.0).reshape(2, 3, 2)
    for f in (
        lambda x: x[rows],
        lambda x: x[..., rows],
        lambda x: x[:, columns],
        lambda x: x[0, columns],
        lambda x: x[..., columns, 0],
        lambda x: x[None, rows],
    ):
        np.testing.assert_array_equal(wg.jit(f)(cube), f(cube))
