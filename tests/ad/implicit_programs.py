"""Programs with implicit functions, in text, and what they compute as functions of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

# (4 + s^2) x + tanh(m) x / 4 = sin(b), by Jacobi's iteration; the solver is a counted loop of linear ops, so it has a transpose
MAP = """
func.func private @a(%m: tensor<3x3xf64>, %s: tensor<f64>, %x: tensor<3xf64>) -> tensor<3xf64> {
  %t = stablehlo.tanh %m : tensor<3x3xf64>
  %0 = stablehlo.dot_general %t, %x, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
  %q = stablehlo.constant dense<0.25> : tensor<3xf64>
  %1 = stablehlo.multiply %q, %0 : tensor<3xf64>
  %ss = stablehlo.multiply %s, %s : tensor<f64>
  %four = stablehlo.constant dense<4.0> : tensor<f64>
  %d = stablehlo.add %four, %ss : tensor<f64>
  %2 = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<f64>) -> tensor<3xf64>
  %3 = stablehlo.multiply %2, %x : tensor<3xf64>
  %4 = stablehlo.add %1, %3 : tensor<3xf64>
  return %4 : tensor<3xf64>
}
"""
SOLVER = """
func.func private @NAME(%m: tensor<3x3xf64>, %s: tensor<f64>, %b: tensor<3xf64>) -> (tensor<3xf64>AUX) {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %n = stablehlo.constant dense<80> : tensor<i64>
  %ss = stablehlo.multiply %s, %s : tensor<f64>
  %four = stablehlo.constant dense<4.0> : tensor<f64>
  %d = stablehlo.add %four, %ss : tensor<f64>
  %dd = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<f64>) -> tensor<3xf64>
  %x0 = stablehlo.constant dense<0.0> : tensor<3xf64>
  %t = stablehlo.tanh %m : tensor<3x3xf64>
  %q = stablehlo.constant dense<0.25> : tensor<3xf64>
  %r:2 = stablehlo.while(%i = %zero, %x = %x0) : tensor<i64>, tensor<3xf64>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %tx = stablehlo.dot_general %t, %x, contracting_dims = [DIM] x [0] : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
      %qx = stablehlo.multiply %q, %tx : tensor<3xf64>
      %e = stablehlo.subtract %b, %qx : tensor<3xf64>
      %y = stablehlo.divide %e, %dd : tensor<3xf64>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %y : tensor<i64>, tensor<3xf64>
    }
  return %r#1RETURN : tensor<3xf64>AUX
}
"""


def solver(name: str, dim: int = 1, aux: bool = False) -> str:
    """Jacobi's iteration for @a, or for its transpose."""
    text = SOLVER.replace("NAME", name).replace("DIM", str(dim))
    return text.replace("RETURN", ", %r#0" if aux else "").replace("AUX", ", tensor<i64>" if aux else "")


def linear_solve(options: str, extra: str = "") -> str:
    """x^2, where a(m, s) x = sin(b)."""
    return f"""{MAP}{extra}
func.func public @main(%m: tensor<3x3xf64>, %s: tensor<f64>, %b: tensor<3xf64>) -> tensor<3xf64> {{
  %c = stablehlo.sine %b : tensor<3xf64>
  %x = ad.custom_linear_solve @a(%m, %s) rhs(%c), {options} : (tensor<3x3xf64>, tensor<f64>, tensor<3xf64>) -> tensor<3xf64>
  %y = stablehlo.multiply %x, %x : tensor<3xf64>
  return %y : tensor<3xf64>
}}
"""


AUX = f"""{MAP}{solver("jacobi", aux=True)}{solver("jacobi_t", 0)}
func.func public @main(%m: tensor<3x3xf64>, %s: tensor<f64>, %b: tensor<3xf64>) -> (tensor<3xf64>, tensor<i64>) {{
  %c = stablehlo.sine %b : tensor<3xf64>
  %x, %n = ad.custom_linear_solve @a(%m, %s) rhs(%c), solve = @jacobi, transpose_solve = @jacobi_t, aux = 1
    : (tensor<3x3xf64>, tensor<f64>, tensor<3xf64>) -> (tensor<3xf64>, tensor<i64>)
  %y = stablehlo.multiply %x, %x : tensor<3xf64>
  return %y, %n : tensor<3xf64>, tensor<i64>
}}
"""

# x^3 + exp(p) x = q by Newton's method, until it is done
ROOT = """
func.func private @f(%p: tensor<2xf64>, %q: tensor<2xf64>, %x: tensor<2xf64>) -> tensor<2xf64> {
  %0 = stablehlo.multiply %x, %x : tensor<2xf64>
  %1 = stablehlo.exponential %p : tensor<2xf64>
  %2 = stablehlo.add %0, %1 : tensor<2xf64>
  %3 = stablehlo.multiply %2, %x : tensor<2xf64>
  %4 = stablehlo.subtract %3, %q : tensor<2xf64>
  return %4 : tensor<2xf64>
}
func.func private @slope(%p: tensor<2xf64>, %x: tensor<2xf64>) -> tensor<2xf64> {
  %three = stablehlo.constant dense<3.0> : tensor<2xf64>
  %0 = stablehlo.multiply %x, %x : tensor<2xf64>
  %1 = stablehlo.multiply %three, %0 : tensor<2xf64>
  %2 = stablehlo.exponential %p : tensor<2xf64>
  %3 = stablehlo.add %1, %2 : tensor<2xf64>
  return %3 : tensor<2xf64>
}
func.func private @newton(%p: tensor<2xf64>, %q: tensor<2xf64>, %x0: tensor<2xf64>) -> tensor<2xf64> {
  %r = stablehlo.while(%x = %x0) : tensor<2xf64>
    cond {
      %y = func.call @f(%p, %q, %x) : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %yy = stablehlo.multiply %y, %y : tensor<2xf64>
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %n = stablehlo.reduce(%yy init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf64>, tensor<f64>) -> tensor<f64>
      %small = stablehlo.constant dense<1.0e-26> : tensor<f64>
      %c = stablehlo.compare GT, %n, %small : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %y = func.call @f(%p, %q, %x) : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %s = func.call @slope(%p, %x) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %d = stablehlo.divide %y, %s : tensor<2xf64>
      %z = stablehlo.subtract %x, %d : tensor<2xf64>
      stablehlo.return %z : tensor<2xf64>
    }
  return %r : tensor<2xf64>
}
func.func private @tangent(%p: tensor<2xf64>, %q: tensor<2xf64>, %x: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
  %s = call @slope(%p, %x) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %0 = stablehlo.divide %b, %s : tensor<2xf64>
  return %0 : tensor<2xf64>
}
func.func public @main(%p: tensor<2xf64>, %q: tensor<2xf64>, %x0: tensor<2xf64>) -> tensor<2xf64> {
  %x = ad.custom_root @f(%p, %q) initial(%x0), solve = @newton, tangent_solve = @tangent : (tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %y = stablehlo.sine %x : tensor<2xf64>
  return %y : tensor<2xf64>
}
"""

# x = cos(p + x) / 2 by iteration
FIXED_POINT = """
func.func private @g(%p: tensor<2xf64>, %x: tensor<2xf64>) -> tensor<2xf64> {
  %half = stablehlo.constant dense<0.5> : tensor<2xf64>
  %0 = stablehlo.add %p, %x : tensor<2xf64>
  %1 = stablehlo.cosine %0 : tensor<2xf64>
  %2 = stablehlo.multiply %half, %1 : tensor<2xf64>
  return %2 : tensor<2xf64>
}
func.func private @iterate(%p: tensor<2xf64>, %x0: tensor<2xf64>) -> tensor<2xf64> {
  %i0 = stablehlo.constant dense<0> : tensor<i64>
  %r:2 = stablehlo.while(%i = %i0, %x = %x0) : tensor<i64>, tensor<2xf64>
    cond {
      %n = stablehlo.constant dense<60> : tensor<i64>
      %c = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i64>
      %y = func.call @g(%p, %x) : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %y : tensor<i64>, tensor<2xf64>
    }
  return %r#1 : tensor<2xf64>
}
func.func private @tangent(%p: tensor<2xf64>, %x: tensor<2xf64>, %b: tensor<2xf64>) -> tensor<2xf64> {
  %half = stablehlo.constant dense<0.5> : tensor<2xf64>
  %one = stablehlo.constant dense<1.0> : tensor<2xf64>
  %0 = stablehlo.add %p, %x : tensor<2xf64>
  %1 = stablehlo.sine %0 : tensor<2xf64>
  %2 = stablehlo.multiply %half, %1 : tensor<2xf64>
  %3 = stablehlo.add %one, %2 : tensor<2xf64>
  %4 = stablehlo.divide %b, %3 : tensor<2xf64>
  return %4 : tensor<2xf64>
}
func.func public @main(%p: tensor<2xf64>, %x0: tensor<2xf64>) -> tensor<2xf64> {
  %x = ad.custom_fixed_point @g(%p) initial(%x0), solve = @iterate, tangent_solve = @tangent : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
  %y = stablehlo.multiply %x, %p : tensor<2xf64>
  return %y : tensor<2xf64>
}
"""


def squared_solution(m: Array, s: Array, b: Array) -> Array:
    """What the linear systems compute; complex arguments are for complex steps."""
    return np.linalg.solve(np.tanh(m) / 4 + (4 + s**2) * np.eye(3), np.sin(b)) ** 2


def sine_of_root(p: Array, q: Array, x0: Array) -> Array:
    """What ROOT computes."""
    x = np.asarray(x0) + 0 * (p + q)
    for _ in range(60):
        x = x - (x**3 + np.exp(p) * x - q) / (3 * x**2 + np.exp(p))
    return np.sin(x)


def scaled_fixed_point(p: Array, x0: Array) -> Array:
    """What FIXED_POINT computes."""
    x = np.asarray(x0) + 0 * p
    for _ in range(100):
        x = np.cos(p + x) / 2
    return x * p


@dataclass(frozen=True)
class ImplicitProgram:
    """A program, what it computes, and arguments for it; the last ones may have no influence."""

    name: str
    text: str
    reference: Callable[..., Array]
    shapes: tuple[tuple[int, ...], ...]

    def inputs(self, seed: int = 0) -> list[Array]:
        """Arguments."""
        rng = np.random.default_rng(seed)
        return [rng.normal(size=shape) for shape in self.shapes]


_SYSTEM = ((3, 3), (), (3,))
PROGRAMS = (
    ImplicitProgram("system", linear_solve("solve = @jacobi", solver("jacobi")), squared_solution, _SYSTEM),
    ImplicitProgram(
        "system, both solvers",
        linear_solve("solve = @jacobi, transpose_solve = @jacobi_t", solver("jacobi") + solver("jacobi_t", 0)),
        squared_solution,
        _SYSTEM,
    ),
    ImplicitProgram("system with a count", AUX, squared_solution, _SYSTEM),
    ImplicitProgram("root", ROOT, sine_of_root, ((2,), (2,), (2,))),
    ImplicitProgram("fixed point", FIXED_POINT, scaled_fixed_point, ((2,), (2,))),
)
