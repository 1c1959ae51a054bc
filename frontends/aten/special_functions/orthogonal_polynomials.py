"""Orthogonal polynomials of degrees that are values, by their recurrences, in a loop up to the highest degree (DLMF, chapter 18)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wengert.dialects.builder import Value
from wengert.frontends.aten.builder import AtenBuilder
from wengert.frontends.aten.meanings import Number, means
from wengert.frontends.aten.result_types.rules import floating
from wengert.frontends.aten.special_functions.recurrences import RECURRENCES, Step
from wengert.frontends.transforms.control_flow import fori_loop
from wengert.frontends.transforms.differentiation_control import stop_gradient
from wengert.ir.tensor_types import dtype_of, element
from wengert.numpy import astype, clip, int64, trunc, where
from wengert.numpy import max as largest


def _values(first: Callable[[Any], Any], step: Step, x: Any, degree: Any) -> Any:
    degree = trunc(stop_gradient(degree))

    def next_degree(i: Any, state: Any) -> Any:
        before, now, result = state
        k = astype(i, x.dtype) + 1.0
        before, now = now, step(x, now, before, k)
        return before, now, where(degree == k + 1, now, result)

    one, linear = 0 * x + 1, first(x)
    start = where(degree == 0, one, where(degree == 1, linear, 0.0))
    steps = astype(clip(largest(degree) - 1, 0, 1e6), int64)
    return fori_loop(0, steps, next_degree, (one, linear, start))[2]


def _meaning(first: Callable[[Any], Any], step: Step, is_shifted: bool) -> Callable[..., Value]:
    def meaning(b: AtenBuilder, x: Value | Number, degree: Value | Number) -> Value:
        x, degree = b.fitted(x), b.fitted(degree)
        if 0 in b.extents:
            return x
        if dtype_of(element(x)).itemsize < 4:
            raise b.refuse("orthogonal polynomials have no translation in half precision", "convert to float32")
        return b.by_numpy(lambda x, n: _values(first, step, 2 * x - 1 if is_shifted else x, n), x, degree)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]

    return meaning


for _name, (_first, _step) in RECURRENCES.items():
    for _prefix in ("", "shifted_") if _name.startswith("chebyshev") else ("",):
        means(*(f"special_{_prefix}{_name}.{overload}(x, n)" for overload in ("default", "x_scalar", "n_scalar")), results=floating)(
            _meaning(_first, _step, bool(_prefix))
        )
