"""Everything that a program is asked for: both backends, both modes, both strategies of reverse mode, and a batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import wengert
from wengert.runtime.program import Program

Array = np.ndarray[Any, np.dtype[Any]]


def function(arguments: str, body: str, results: str, returned: str = "%r") -> str:
    """The text of a program: ``%x: 2xf64`` and result types in short notation, in which ``2xf64`` stands for ``tensor<2xf64>``."""
    signature = ", ".join(f"{part.split(':')[0]}: {tensor(part.split(':')[1])}" for part in arguments.split(",") if part)
    types = ", ".join(tensor(part) for part in results.split(","))
    return f"func.func public @main({signature}) -> ({types}) {{\n{body}\nreturn {returned} : {types}\n}}"


def tensor(short: str) -> str:
    """A tensor type."""
    return f"tensor<{short.strip()}>"


def inputs_of(program: Program, seed: int = 0) -> list[Array]:
    """Arguments: floats between 0.3 and 1.5, complex numbers beside them, small integers, booleans."""
    rng = np.random.default_rng(seed)
    inputs: list[Array] = []
    for parameter in program.signature.arguments:
        if parameter.dtype.kind in "biu":
            inputs.append(rng.integers(0, 2 if parameter.dtype.kind == "b" else 3, parameter.shape).astype(parameter.dtype))
        else:
            x = rng.uniform(0.3, 1.5, parameter.shape)
            inputs.append(np.asarray(x + 1j * rng.uniform(-1, 1, parameter.shape) if parameter.dtype.kind == "c" else x).astype(parameter.dtype))
    return inputs


def assert_close(actual: Sequence[Any], expected: Sequence[Any], tolerance: float) -> None:
    """Arrays have the same shapes and types, and elements that differ by little."""
    assert len(actual) == len(expected)
    for x, y in zip(actual, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(x.astype(complex), y.astype(complex), rtol=tolerance, atol=tolerance)


def values(text: str, inputs: Sequence[Array] | None = None, tolerance: float = 1e-12) -> tuple[list[Array], list[Array]]:
    """The inputs, and the results, on which both backends agree, and with them a batch of two; the text is kept as it was written."""
    program = wengert.parse(text)
    given = inputs_of(program) if inputs is None else list(inputs)
    results = list(program.compile("interpreter")(*given))
    assert_close(program.compile()(*given), results, tolerance)
    if given:
        batch = program.vmap()(*[np.stack([x, x]) for x in given])
        assert_close([y[1] for y in batch], results, tolerance)
    assert [(y.shape, y.dtype) for y in results] == [(p.shape, p.dtype) for p in program.signature.results]
    return given, results


def derivatives(text: str, inputs: Sequence[Array] | None = None, tolerance: float = 1e-10) -> None:
    """Forward and reverse mode against differences and each other, the two strategies against each other, and a cost."""
    program = wengert.parse(text)
    given = inputs_of(program) if inputs is None else list(inputs)
    report = program.check(*given)
    assert report.ok, str(report)
    rng = np.random.default_rng(1)
    y_bars = [np.asarray(rng.standard_normal(p.shape)).astype(p.dtype) for p in program.signature.results if p.dtype.kind in "fc"]
    by_transposition = program.vjp().compile("interpreter")(*given, *y_bars)
    assert_close(program.vjp(strategy="direct").compile("interpreter")(*given, *y_bars), by_transposition, tolerance)
    assert program.costs() is not None
