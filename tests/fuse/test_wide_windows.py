"""Wide windows by general regions, compiled, against a log-sum-exp in extended precision and against the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.dialects import stablehlo
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.runtime import interpreter
from wengert.transforms.pipelines import parse_pipeline

Array = np.ndarray[Any, Any]
LOGADDEXP = """({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %m = stablehlo.maximum %a, %b : tensor<f64>
    %d = stablehlo.subtract %a, %b : tensor<f64>
    %e = stablehlo.abs %d : tensor<f64>
    %n = stablehlo.negate %e : tensor<f64>
    %w = stablehlo.exponential %n : tensor<f64>
    %l = stablehlo.log_plus_one %w : tensor<f64>
    %s = stablehlo.add %m, %l : tensor<f64>
    %u = stablehlo.compare NE, %d, %d : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %t = stablehlo.add %a, %b : tensor<f64>
    %r = stablehlo.select %u, %t, %s : tensor<i1>, tensor<f64>
    stablehlo.return %r : tensor<f64>
  })"""
LAST = """({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %z = stablehlo.constant dense<-1.0> : tensor<f64>
    %c = stablehlo.compare EQ, %b, %z : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %s = stablehlo.select %c, %a, %b : tensor<i1>, tensor<f64>
    stablehlo.return %s : tensor<f64>
  })"""
"""The last element that is not -1: associative, and not commutative."""
WINDOWS = {
    # operand, window, strides, dilations, padding, result
    "from the beginning": ((300,), (300,), (1,), (1,), ((299, 0),), (300,)),
    "to the end": ((3, 200), (1, 200), (1, 1), (1, 1), ((0, 0), (0, 199)), (3, 200)),
    "sliding": ((700,), (37,), (3,), (1,), ((5, 0),), (223,)),
    "dilated": ((600,), (19,), (1,), (2,), ((0, 0),), (564,)),
    "squares": ((40, 40), (7, 7), (1, 1), (1, 1), ((3, 3), (3, 3)), (40, 40)),
}


def program(name: str, region: str, initial: str) -> str:
    operand, window, strides, dilations, padding, result = WINDOWS[name]
    whole, made = ("x".join(map(str, extents)) for extents in (operand, result))
    lists = {"window_dimensions": window, "window_strides": strides, "window_dilations": dilations}
    attributes = ", ".join(f"{key} = array<i64: {', '.join(map(str, given))}>" for key, given in lists.items())
    padded = f"padding = dense<{[list(pair) for pair in padding]}> : tensor<{len(padding)}x2xi64>"
    return f"""func.func public @main(%x: tensor<{whole}xf64>) -> tensor<{made}xf64> {{
  %i = stablehlo.constant dense<{initial}> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %i) <{{{attributes}, {padded}}}> {region} : (tensor<{whole}xf64>, tensor<f64>) -> tensor<{made}xf64>
  return %0 : tensor<{made}xf64>
}}"""


def operand(name: str) -> Array:
    return np.random.default_rng(3).standard_normal(WINDOWS[name][0])


@pytest.mark.parametrize("name", WINDOWS)
def test_any_wide_window_is_as_the_interpreter_has_it(name: str) -> None:
    text, x = program(name, LOGADDEXP, "0xFFF0000000000000"), operand(name)
    module = parse_pipeline("to-core,double-windows{reassociate=true}").run(parse_module(text))
    assert not ops_of(module, stablehlo.ReduceWindowOp)
    (expected,) = interpreter.run(parse_module(text), [x])
    (got,) = wg.parse(text).compile()(x)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", WINDOWS)
def test_elements_stay_in_order(name: str) -> None:
    x = operand(name)
    x[np.random.default_rng(4).random(x.shape) < 0.7] = -1
    text = program(name, LAST, "-1.0")
    (expected,) = interpreter.run(parse_module(text), [x])
    (got,) = wg.parse(text).compile()(x)
    np.testing.assert_array_equal(got, expected)


def test_a_strict_program_keeps_its_order() -> None:
    text, x = program("from the beginning", LOGADDEXP, "0xFFF0000000000000"), operand("from the beginning")
    (expected,) = interpreter.run(parse_module(text), [x])
    (got,) = wg.parse(text).compile(strict=True)(x)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)


def test_a_running_log_sum_exp_of_infinite_operands() -> None:
    name = "from the beginning"
    x = operand(name)
    x[:3], x[7] = -np.inf, -np.inf
    (got,) = wg.parse(program(name, LOGADDEXP, "0xFFF0000000000000")).compile()(x)
    expected = np.logaddexp.accumulate(x.astype(np.longdouble)).astype(np.float64)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)
