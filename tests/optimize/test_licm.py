"""What does not change leaves loops, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import wengert as wg
import wengert.numpy as wnp
from wengert.dialects import core
from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.optimize.licm import licm

FOR = """
func.func public @main(%x: tensor<2xf64>, %w: tensor<2xf64>, %n: tensor<i64>) -> tensor<2xf64> {
  %0 = core.for %i to %n constants(%a = %w: tensor<2xf64>) carried(%s = %x: tensor<2xf64>) {
    BODY
    stablehlo.return %r : tensor<2xf64>
  }
  return %0 : tensor<2xf64>
}
"""
WHILE = """
func.func public @main(%x: tensor<f64>, %w: tensor<f64>) -> tensor<f64> {
  %0 = core.while constants(%a = %w: tensor<f64>) carried(%s = %x: tensor<f64>) cond {
    %e = stablehlo.exponential %a : tensor<f64>
    %p = stablehlo.compare LT, %s, %e, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %t = stablehlo.tanh %a : tensor<f64>
    %r = stablehlo.add %s, %t : tensor<f64>
    stablehlo.return %r : tensor<f64>
  }
  return %0 : tensor<f64>
}
"""
X, W = np.array([0.3, -0.2]), np.array([1.5, 0.4])


def inside(module: ModuleOp) -> list[str]:
    loops = [op for op in module.walk() if isinstance(op, core.ForOp | core.WhileOp)]
    return [op.name.partition(".")[2] for loop in loops for op in loop.walk() if op is not loop and op.name != "stablehlo.return"]


def moved(body: str) -> list[str]:
    module = parse_module(FOR.replace("BODY", body))
    expected = [run(module, [X, W, np.array(n)]) for n in (0, 3)]
    licm(module)
    verify(module)
    for n, before in zip((0, 3), expected, strict=True):
        np.testing.assert_array_equal(run(module, [X, W, np.array(n)]), before)
    return inside(module)


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("%t = stablehlo.sine %a : tensor<2xf64>\n %r = stablehlo.multiply %s, %t : tensor<2xf64>", ["multiply"]),
        ("%t = stablehlo.sine %a : tensor<2xf64>\n %u = stablehlo.cosine %t : tensor<2xf64>\n %r = stablehlo.multiply %s, %u : tensor<2xf64>", ["multiply"]),
        ("%c = stablehlo.constant dense<2.0> : tensor<2xf64>\n %r = stablehlo.multiply %s, %c : tensor<2xf64>", ["constant", "multiply"]),
        ("%t = stablehlo.reverse %a, dims = [0] : tensor<2xf64>\n %r = stablehlo.multiply %s, %t : tensor<2xf64>", ["reverse", "multiply"]),
        (
            "%c = stablehlo.constant dense<2.0> : tensor<2xf64>\n %t = stablehlo.multiply %a, %c : tensor<2xf64>\n"
            "%u = stablehlo.multiply %s, %t : tensor<2xf64>\n %r = stablehlo.add %u, %c : tensor<2xf64>",
            ["multiply", "add"],
        ),
        ("%r = stablehlo.sine %s : tensor<2xf64>", ["sine"]),
    ],
)
def test_counted_loops(body: str, left: list[str]) -> None:
    assert moved(body) == left


def test_conditions_and_bodies_of_other_loops() -> None:
    module = parse_module(WHILE)
    inputs = [np.array(0.1), np.array(0.7)]
    before = run(module, inputs)
    licm(module)
    verify(module)
    assert inside(module) == ["compare", "add"]
    np.testing.assert_array_equal(run(module, inputs), before)


def test_out_of_two_loops_at_once() -> None:
    body = """%k = stablehlo.constant dense<2> : tensor<i64>
    %r = core.for %j to %k constants(%b = %a: tensor<2xf64>) carried(%q = %s: tensor<2xf64>) {
      %t = stablehlo.sine %b : tensor<2xf64>
      %v = stablehlo.multiply %q, %t : tensor<2xf64>
      stablehlo.return %v : tensor<2xf64>
    }"""
    assert "sine" not in moved(body)


@pytest.mark.parametrize(
    ("trips", "moves"), [("stablehlo.constant dense<3> : tensor<i64>", True), ("stablehlo.constant dense<0> : tensor<i64>", False), (None, False)]
)
def test_only_out_of_loops_that_run(trips: str | None, moves: bool) -> None:
    text = FOR.replace("BODY", "%t = stablehlo.sine %a : tensor<2xf64>\n %r = stablehlo.multiply %s, %t : tensor<2xf64>")
    if trips is not None:
        text = text.replace("%0 = core.for %i to %n", f"%k = {trips}\n  %0 = core.for %i to %k")
    module = parse_module(text)
    licm(module, certain=True)
    assert inside(module) == (["multiply"] if moves else ["sine", "multiply"])


def test_a_derivative_keeps_nothing_that_does_not_change() -> None:
    text = """func.func public @main(%x: tensor<3xf64>, %w: tensor<3x3xf64>) -> tensor<3xf64> {
      %c0 = stablehlo.constant dense<0> : tensor<i32>
      %0:2 = stablehlo.while(%i = %c0, %s = %x) : tensor<i32>, tensor<3xf64>
        cond {
          %n = stablehlo.constant dense<5> : tensor<i32>
          %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %p : tensor<i1>
        } do {
          %e = stablehlo.exponential %w : tensor<3x3xf64>
          %m = stablehlo.dot_general %e, %s, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3xf64>) -> tensor<3xf64>
          %t = stablehlo.tanh %m : tensor<3xf64>
          %one = stablehlo.constant dense<1> : tensor<i32>
          %j = stablehlo.add %i, %one : tensor<i32>
          stablehlo.return %j, %t : tensor<i32>, tensor<3xf64>
        }
      return %0#1 : tensor<3xf64>
    }"""
    program = wg.parse(text)
    derivative = program.vjp()
    assert str(derivative).count("stablehlo.exponential") == 1
    assert "5x3x3" not in str(derivative)
    rng = np.random.default_rng(0)
    x, w, y_bar, h = rng.normal(size=3), 0.3 * rng.normal(size=(3, 3)), rng.normal(size=3), 1e-6
    direction = rng.normal(size=(3, 3))
    slope = (program(x, w + h * direction)[0] - program(x, w - h * direction)[0]) / (2 * h)
    np.testing.assert_allclose(np.vdot(derivative(x, w, y_bar)[2], direction), np.vdot(y_bar, slope), rtol=1e-7)


def test_linear_maps_stay_where_they_are_applied() -> None:
    """A pullback at a point that does not change is made in each iteration, until it is written out in ops, which may leave."""

    def powers(x, v):
        return wg.fori_loop(0, 3, lambda _, v: wg.vjp(wnp.sin, x)[1](v)[0], v)

    assert float(wg.jit(powers)(0.5, 2.0)) == pytest.approx(2 * np.cos(0.5) ** 3)
