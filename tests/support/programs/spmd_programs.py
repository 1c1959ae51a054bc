"""Texts for many devices, and the dense map of all devices that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert as wg

Array = np.ndarray[Any, np.dtype[Any]]
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
DEVICES = f"{CHANNEL}, use_global_device_ids"
"""Groups of device numbers."""


def reducer(op: str, element: str = "f64") -> str:
    """A region of one op."""
    scalar = f"tensor<{element}>"
    return f"({{ ^bb0(%lhs: {scalar}, %rhs: {scalar}): %both = stablehlo.{op} %lhs, %rhs : {scalar} stablehlo.return %both : {scalar} }})"


def groups(table: Sequence[Sequence[int]]) -> str:
    """The attribute of a table of groups; shorter ones are filled up with -1."""
    width = max((len(row) for row in table), default=0)
    filled = [[*row, *[-1] * (width - len(row))] for row in table]
    return f"replica_groups = dense<{filled or ''}> : tensor<{len(table)}x{width}xi64>"


def one_op(op: str, attributes: str, given: str, result: str, region: str = "", head: str = "") -> str:
    """A module whose @main is the sine of a collective on its argument."""
    line = f'%0 = "stablehlo.{op}"(%x) <{{{attributes}}}>{" " + region if region else ""} : (tensor<{given}>) -> tensor<{result}>'
    body = f"  {line}\n  %1 = stablehlo.sine %0 : tensor<{result}>\n  return %1 : tensor<{result}>\n"
    return f"{head}func.func public @main(%x: tensor<{given}>) -> tensor<{result}> {{\n{body}}}\n"


def numerical_jacobian(run: Any, x: Array, step: float = 1e-6) -> Array:
    """The Jacobian of the map of all devices' inputs to all devices' outputs, by central differences: ``[outputs, inputs]``."""
    columns: list[Array] = []
    for place in range(x.size):
        moved = np.zeros(x.size)
        moved[place] = step
        columns.append((run(x + moved.reshape(x.shape)) - run(x - moved.reshape(x.shape))).ravel() / (2 * step))
    return np.stack(columns, 1)


def check_derivatives(text: str, devices: int, x: Array, rtol: float = 1e-6) -> None:
    """Compares the JVP and both VJPs of a program of one argument and one result, on both backends, with differences of all devices."""
    p, rng = wg.parse(text), np.random.default_rng(1)
    run = p.distribute(devices)
    y = run(x)[0]
    np.testing.assert_allclose(y, p.distribute(devices, backend="interpreter")(x)[0], rtol=1e-14)
    jacobian = numerical_jacobian(lambda at: run(at)[0], x)
    x_dot, y_bar = rng.standard_normal(x.shape), rng.standard_normal(y.shape)
    for backend in ("cpu", "interpreter"):
        y_dot = p.jvp().distribute(devices, backend=backend)(x, x_dot)[1]
        np.testing.assert_allclose(y_dot.ravel(), jacobian @ x_dot.ravel(), rtol=rtol, atol=1e-8)
        for strategy in ("transpose", "direct"):
            x_bar = p.vjp(strategy=strategy).distribute(devices, backend=backend)(x, y_bar)[1]
            np.testing.assert_allclose(x_bar.ravel(), jacobian.T @ y_bar.ravel(), rtol=rtol, atol=1e-8)
            assert np.isclose(np.vdot(y_bar, y_dot), np.vdot(x_bar, x_dot), rtol=1e-11), "the dot-product test over all devices"
