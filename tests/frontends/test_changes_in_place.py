"""Traced arrays that change in place: as NumPy's do, or an error where another array would have to change with them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from reference_programs import share

import wengert as wg
import wengert.numpy as wnp
from wengert.frontends.tracing.tracer import TracedArray

pytest.importorskip("array_api_strict", reason="the calls of each function are made beside the standard's reference")
from benchmarks.array_api.agreement import leaves
from benchmarks.array_api.checks import applied, arrays_of, resolved
from benchmarks.array_api.table import ENTRIES

X = np.arange(6.0)


def several(x: Any) -> Any:
    y = x * 2
    y[0] = 7
    y[1:3] += 10
    y[y > 9] = 0
    y[-1:] = y[:1]
    return y


def by_traced_index(x: Any) -> Any:
    y = x.copy()
    i = wnp.argmax(x)
    y[i] = x[0] - 1
    y[wnp.stack([i - 1, i - 2])] = 5.0
    return y + x


def in_two_dimensions(x: Any) -> Any:
    y = wnp.reshape(x, (2, 3)) + 0.0
    y[:, 1] = y[:, 0] * 3
    y[1] = wnp.sin(y[0])
    y[..., -1] -= 1
    return y


@pytest.mark.parametrize("function", [several, by_traced_index, in_two_dimensions])
def test_changes_are_those_of_numpy(function: Any) -> None:
    np.testing.assert_array_equal(wg.jit(function)(X), function(X.copy()))
    loss = lambda x: wnp.sum(wnp.sin(function(x)))
    step = 1e-6 * np.cos(np.arange(6.0))
    directional = float(wg.grad(loss)(X) @ step)
    assert directional == pytest.approx(float(loss(X + step) - loss(X - step)) / 2, rel=1e-6)


def test_a_change_in_a_branch_is_of_the_branch() -> None:
    def branch(x: Any) -> Any:
        y = x * 2
        y[0] = 1.0
        return y

    call = lambda x: wg.cond(wnp.sum(x) > 0, branch, lambda x: x, x)
    np.testing.assert_array_equal(wg.jit(call)(X), branch(X))


def a_view_is_used(x: Any) -> Any:
    y = x * 1
    view = y[1:3]
    y[0] = 5.0
    return view


def a_view_is_changed(x: Any) -> Any:
    y = x * 1
    y.reshape((2, 3))[0, 0] = 9.0
    return y


def an_argument(x: Any) -> Any:
    x[0] = 1
    return x


def a_view_of_an_argument(x: Any) -> Any:
    view = x[1:]
    view[0] = 1
    return view


def an_array_outside(x: Any) -> Any:
    y = x * 1

    def body(i: Any, state: Any) -> Any:
        y[0] = state[0]
        return state

    return wg.fori_loop(0, 3, body, x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (a_view_is_used, "shares its elements with an array that was changed in place since"),
        (a_view_is_changed, "shares its elements with an array that was changed in place since"),
        (an_argument, "an argument of a traced function cannot be changed in place"),
        (a_view_of_an_argument, "an argument of a traced function cannot be changed in place"),
        (an_array_outside, "an array of the function around this one cannot be changed in place"),
    ],
)
def test_what_others_would_see_is_refused(function: Any, message: str) -> None:
    with pytest.raises(wg.TracingError, match=message):
        wg.jit(function)(X)


@pytest.mark.parametrize("entry", share(ENTRIES, 3), ids=lambda entry: entry.name)
def test_results_share_elements_where_numpys_do(entry: Any) -> None:
    """Where NumPy gives a view, the traced array knows of its source; where it gives a new array, it is not the operand itself."""
    function = resolved(wnp, entry.name)
    dtype = np.dtype("float64" if "f" in entry.kinds else "complex128" if "c" in entry.kinds else "int64")
    for call in entry.calls(dtype):
        operands = arrays_of(call)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [r for r in leaves(applied(function, call)) if isinstance(r, np.ndarray)]
        views = [[bool(r.size) and np.shares_memory(r, x) for x in operands] for r in results]
        kept: list[list[bool]] = []

        def traced(*given: Any, call: Any = call, kept: list[list[bool]] = kept) -> Any:
            copies = [x.copy() for x in given]
            made = [r for r in leaves(applied(function, call, copies)) if isinstance(r, TracedArray)]
            kept[:] = [[r is x or (r.shared is not None and r.shared is x.shared) for x in copies] for r in made]
            assert all(r is not x or view or not x.size for r, row in zip(made, views, strict=False) for x, view in zip(copies, row, strict=True))
            return made

        try:
            wg.jit(traced).program(*operands)
        except wg.TracingError:
            continue
        if len(kept) == len(views):
            assert all(shared or not view for ours, theirs in zip(kept, views, strict=True) for shared, view in zip(ours, theirs, strict=True))
