"""``complex`` beside NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.upstream.support import check, run

from wengert.ir.diagnostics import DiagnosticError

Z, W = 0.6 - 0.4j, -0.3 + 0.8j
UNARY: dict[str, Any] = {
    "conj": np.conj, "cos": np.cos, "exp": np.exp, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "neg": np.negative, "rsqrt": lambda z: 1 / np.sqrt(z),
    "sign": lambda z: z / np.abs(z), "sin": np.sin, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip
PARTS: dict[str, Any] = {"abs": np.abs, "angle": np.angle, "re": np.real, "im": np.imag}


@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str) -> None:
    check(f"func.func @main(%z: complex<f64>) -> complex<f64> {{ %y = complex.{name} %z : complex<f64> return %y : complex<f64> }}", [Z], UNARY[name](Z))


@pytest.mark.parametrize("name", PARTS)
def test_parts(name: str) -> None:
    check(f"func.func @main(%z: complex<f64>) -> f64 {{ %y = complex.{name} %z : complex<f64> return %y : f64 }}", [Z], PARTS[name](Z))


def test_arithmetic() -> None:
    text = """func.func @main(%z: complex<f64>, %w: complex<f64>, %x: f64) -> (complex<f64>, complex<f64>, complex<f64>, complex<f64>, complex<f64>, i1, i1, complex<f64>) {
      %c = complex.constant [1.0, -2.0] : complex<f64>
      %n = arith.constant 3 : i32
      %a = complex.add %z, %c : complex<f64>
      %b = complex.sub %a, %w : complex<f64>
      %d = complex.div %z, %w : complex<f64>
      %e = complex.pow %z, %w : complex<f64>
      %f = complex.powi %z, %n : complex<f64>, i32
      %g = complex.eq %z, %z : complex<f64>
      %h = complex.neq %z, %z : complex<f64>
      %i = complex.create %x, %x : complex<f64>
      %j = complex.mul %i, %w : complex<f64>
      return %a, %b, %d, %e, %f, %g, %h, %j : complex<f64>, complex<f64>, complex<f64>, complex<f64>, complex<f64>, i1, i1, complex<f64> }"""
    c = 1 - 2j
    check(text, [Z, W, 0.5], Z + c, Z + c - W, Z / W, Z**W, Z**3, np.bool_(True), np.bool_(False), (0.5 + 0.5j) * W)


def test_refused() -> None:
    with pytest.raises(DiagnosticError, match=r"complex\.atan2: the complex arc tangent"):
        run("func.func @main(%z: complex<f64>) -> complex<f64> { %y = complex.atan2 %z, %z : complex<f64> return %y : complex<f64> }", Z)
