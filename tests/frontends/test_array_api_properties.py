"""Arrays drawn by Hypothesis's strategies for the array API, which the standard's own suite is written with: traced as at once.

Other than in the table of functions, dtypes are mixed, and elements, shapes, axes and subscripts are drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("array_api_strict", reason="the table of functions is made beside the standard's reference")
from benchmarks.array_api.checks import Tally, applied, arrays_of, count, resolved
from benchmarks.array_api.entries import Call, Entry
from benchmarks.array_api.table import SECTIONS
from hypothesis.extra.array_api import make_strategies_namespace

import wengert as wg
import wengert.numpy as wnp

xps = make_strategies_namespace(wnp, api_version="2024.12")
ENTRIES = {entry.name: entry for entries in SECTIONS.values() for entry in entries}
ELEMENTWISE = [entry for entry in SECTIONS["Elementwise"] if entry.name not in ("clip", "where")]
OPERANDS = {entry.name: len(entry.calls(np.dtype("bool" if entry.kinds == "b" else "complex128" if entry.kinds == "c" else "int64" if "i" in entry.kinds else "float64"))[0].arguments) for entry in ELEMENTWISE}  # fmt: skip
PROFILE = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def arrays(shape: Any, kinds: str = "biufc") -> Any:
    return xps.arrays(dtype=xps.scalar_dtypes().filter(lambda d: np.dtype(d).kind in kinds), shape=shape)


def check(entry: Entry, call: Call) -> None:
    """The traced call gives what it gives at once, or is refused where NumPy refuses it."""
    function, operands = resolved(wnp, entry.name), arrays_of(call)
    try:
        expected = applied(function, call)
    except (TypeError, ValueError):
        with pytest.raises((wg.TracingError, TypeError, ValueError)):
            wg.jit(lambda *given: applied(function, call, given)).program(*operands)
        return
    (actual,) = wg.jit(lambda *given: applied(function, call, given)).program(*operands).compile("interpreter")(*operands)
    dtype = np.result_type(*operands)
    tally = Tally()
    count(tally, entry, dtype, call, _difference(actual, expected, entry))
    assert tally.failures == []


def _difference(actual: Any, expected: Any, entry: Entry) -> str:
    from benchmarks.array_api.agreement import difference

    return difference(actual, np.asarray(expected), entry)


@PROFILE
@given(st.data())
def test_elementwise_functions_of_mixed_dtypes(data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from(ELEMENTWISE))
    shapes = data.draw(xps.mutually_broadcastable_shapes(OPERANDS[entry.name], max_dims=3, max_side=3)).input_shapes
    operands = [np.asarray(data.draw(arrays(shape, entry.kinds))) for shape in shapes]
    if entry.name in ("bitwise_left_shift", "bitwise_right_shift", "pow") and operands[1].dtype.kind in "iu":
        operands[1] = np.abs(operands[1] % 7).astype(operands[1].dtype)
    check(entry, Call(tuple(operands)))


@PROFILE
@given(st.data())
def test_reductions_along_drawn_axes(data: st.DataObject) -> None:
    entry = data.draw(
        st.sampled_from([ENTRIES[n] for n in ("sum", "prod", "max", "min", "all", "any", "argmax", "sort", "argsort", "cumulative_sum", "flip", "mean")])
    )
    x = np.asarray(data.draw(arrays(xps.array_shapes(min_dims=1, max_dims=3, max_side=3), entry.kinds)))
    if x.dtype.kind in "fc" and entry.name in ("sum", "prod", "mean", "cumulative_sum"):
        x = np.clip(np.nan_to_num(x.real), -9, 9).astype(x.dtype)  # sums of large numbers of both signs differ by their order
    check(entry, Call((x,), {"axis": data.draw(st.integers(-x.ndim, x.ndim - 1))}))


@PROFILE
@given(st.data())
def test_drawn_subscripts(data: st.DataObject) -> None:
    x = np.asarray(data.draw(arrays(xps.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=4))))
    check(ENTRIES["__getitem__"], Call((x, data.draw(xps.indices(x.shape, allow_newaxis=True)))))


@PROFILE
@given(st.data())
def test_drawn_changes_in_place(data: st.DataObject) -> None:
    x = np.asarray(data.draw(arrays(xps.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4), "if")))
    key = data.draw(xps.indices(x.shape))
    y = data.draw(xps.arrays(dtype=x.dtype, shape=x[key].shape))

    def changed(x: Any, y: Any) -> Any:
        z = x.copy()
        z[key] = y
        return z

    np.testing.assert_array_equal(wg.jit(changed).program(x, np.asarray(y)).compile("interpreter")(x, np.asarray(y))[0], changed(x, y))
