"""What reverse mode costs: a stated multiple of the primal for every rule, and memory linear in the iterations of a loop."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.interpreter import Counter, run
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.derive import vjp
from wengert.transforms.ad.rules import ALL_CASES
from wengert.transforms.pipelines import OPTIMIZE, parse_pipeline

sys.path.insert(0, str(Path(__file__).parents[1]))
from ad_checks import active_results, derived, random_like

OMEGA = 4.0
"""A VJP's flops beyond the primal's are at most this many times the primal's, an element moved counting as one flop."""

EXCEPTIONS = {
    "chlo.bessel_i1e": (65, "i0e, which is no op of its own, is a Chebyshev series of 30 terms"),
    "zeta in both": (48, "zeta counts as one flop, its derivative in the exponent is a sum of powers and logarithms written out"),
    "power of complex": (8, "a complex logarithm and a complex power are counted as one flop each, their products as six"),
    "stablehlo.tanh of complex": (5, "a complex tanh is counted as one flop, a complex product as six"),
    "stablehlo.sign of complex": (5, "the sign counts as five flops, the projection that is its derivative as many products"),
    **dict.fromkeys(("running maximum", "running minimum from the end"), (5, "a tree of 2 n comparisons, and two shares for each")),
    "strided convolution": (4.5, "both transposes visit the zeros that strides leave"),
    "negative padding": (4.5, "both transposes visit what the padding cropped"),
    "cholesky of one triangle": (5, "n = 2: the cubic terms do not yet dominate"),
    "lu, diagonal, complex, batched": (6, "two triangular solves with as many sides as the order, against n^3/3"),
    **dict.fromkeys(
        ("lu", "lu with exchanges, batched", "lu, tall", "lu, wide", "lu, complex"),
        (11, "two triangular solves and two full products against n^3/3, and n is at most 4 here"),
    ),
}


def flops(module: object, inputs: list[np.ndarray]) -> int:
    counter = Counter()
    run(module, inputs, counter=counter)  # type: ignore[arg-type]
    return counter.flops


@pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])
def test_flops_of_a_vjp(case: Case) -> None:
    rng = np.random.default_rng(0)
    module, inputs = case.module(), [arg.draw(rng) for arg in case.args]
    outputs = run(module, inputs)
    y_bars = random_like([outputs[j] for j in active_results(module)], rng)
    gradient = derived(module, vjp)
    parse_pipeline(OPTIMIZE).run(gradient)
    primal = flops(module, inputs)
    size = primal + sum(x.size for x in inputs) + sum(np.size(y) for y in outputs)
    bound, _ = EXCEPTIONS.get(case.name, (OMEGA, ""))
    assert flops(gradient, [*inputs, *y_bars]) - primal <= bound * size


def test_exceptions_are_needed() -> None:
    assert EXCEPTIONS.keys() <= {case.name for case in ALL_CASES}


SCAN = """
func.func public @main(%s: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%x = %s, %i = %c) : tensor<4xf64>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<TRIP_COUNT> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a = stablehlo.multiply %x, %w : tensor<4xf64>
    %b = stablehlo.sine %a : tensor<4xf64>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %b, %j : tensor<4xf64>, tensor<i32>
  }
  return %0#0 : tensor<4xf64>
}
"""
UNTIL = """
func.func public @main(%s: tensor<f64>, %limit: tensor<f64>) -> tensor<f64> {
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %0:2 = stablehlo.while(%x = %s, %t = %z) : tensor<f64>, tensor<f64>
  cond {
    %p = stablehlo.compare LT, %t, %limit, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %a = stablehlo.sine %x : tensor<f64>
    %one = stablehlo.constant dense<1.0> : tensor<f64>
    %u = stablehlo.add %t, %one : tensor<f64>
    stablehlo.return %a, %u : tensor<f64>, tensor<f64>
  }
  return %0#0 : tensor<f64>
}
"""


def peak_of_scan(trip_count: int) -> int:
    counter = Counter()
    ones = np.ones(4)
    run(derived(parse_module(SCAN.replace("TRIP_COUNT", str(trip_count))), vjp), [ones, ones, ones], counter=counter)
    return counter.peak_bytes


def test_memory_of_a_counted_loop_is_linear_in_its_trip_count() -> None:
    """Two residuals of 32 bytes per iteration, which the interpreter stores twice: the initial stacks of a loop live as long as it."""
    short, long = peak_of_scan(1_000), peak_of_scan(10_000)
    assert long <= 10_000 * 4 * 32 + 4_096
    assert (long - short) / 9_000 <= 4 * 32


@pytest.mark.parametrize("trip_count", [0, 1, 7, 1_000, 100_000])
def test_memory_of_an_uncounted_loop_is_linear_in_its_trip_count(trip_count: int) -> None:
    """The tape stores one number of 8 bytes per iteration, and the reverse loop has the trip count of the forward one."""
    counter = Counter() if trip_count <= 1_000 else None
    actual = run(derived(parse_module(UNTIL), vjp), [np.array(0.5), np.array(float(trip_count)), np.array(1.0)], counter=counter)
    x, expected = 0.5, 1.0
    for _ in range(trip_count):
        expected *= np.cos(x)
        x = np.sin(x)
    np.testing.assert_allclose(actual, [x, expected, 0.0], rtol=1e-12)
    if counter is not None:
        assert counter.peak_bytes <= 24 * trip_count + 512
        assert counter.ops["stablehlo.sine"] == trip_count
