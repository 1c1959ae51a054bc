"""Where gradients are stopped survives plain text, which JAX reads too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp

X = np.array([0.3, -1.2, 2.0])
STOPPED = wg.jit(lambda x: wg.stop_gradient(wnp.sin(x)) * x)


def test_text_keeps_it() -> None:
    program = STOPPED.program(X)
    text = str(program)
    assert 'stablehlo.convert %0 {mhlo.frontend_attributes = {wengert = "stop_gradient"}} : tensor<3xf64>' in text
    again = wg.parse(text)
    assert str(again) == text
    for p in (program, again, wg.parse(str(again))):
        np.testing.assert_allclose(p.vjp()(X, np.ones(3))[1], np.sin(X), rtol=1e-15)
        np.testing.assert_allclose(p(X)[0], np.sin(X) * X, rtol=1e-15)
        np.testing.assert_allclose(p.compile("interpreter")(X)[0], np.sin(X) * X, rtol=1e-15)


def test_derivatives_keep_it() -> None:
    """The second derivative of x sin(c) x at c = x, from text of the first one."""
    first = wg.jit(lambda x: wg.stop_gradient(wnp.sin(x)) * x * x).program(X).jvp()
    second = wg.parse(str(first)).jvp(wrt=0, of=1)
    np.testing.assert_allclose(second(X, np.ones(3), np.ones(3))[-1], 2 * np.sin(X), rtol=1e-14)


def test_what_is_run_has_none_of_it() -> None:
    from wengert.ir.printing.printer import print_module
    from wengert.runtime.derived.derivation import runnable

    for program in (STOPPED.program(X), wg.parse(str(STOPPED.program(X)))):
        text = print_module(runnable(program.optimized_module))
        assert "stop_gradient" not in text
        assert "convert" not in text


@pytest.mark.oracle
def test_jax_reads_it(xla: Callable[[str], Callable[[Any], list[Any]]]) -> None:
    np.testing.assert_allclose(xla(str(STOPPED.program(X)))([X])[0], np.sin(X) * X, rtol=1e-14)


def test_other_conversions_are_not_taken_for_it() -> None:
    text = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
      %0 = stablehlo.convert %x {mhlo.frontend_attributes = {other = "stop_gradient"}} : tensor<f64>
      %1 = stablehlo.convert %0 : tensor<f64>
      return %1 : tensor<f64>
    }"""
    assert wg.parse(text).vjp()(2.0, 3.0)[1] == 3.0
