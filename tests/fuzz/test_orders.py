"""Comparators that are strict weak orders, and reductions of programs that keep them."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.case import Case, lowered
from fuzz.generator import Program, generate
from fuzz.orders import has_orders, is_strict_weak_order, sorts_by_orders
from fuzz.reduction import reduced

SORT = """func.func public @main(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %0 = stablehlo.sine %x : tensor<2x3xf64>
  %1 = "stablehlo.sort"(%0) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    BODY
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<2x3xf64>) -> tensor<2x3xf64>
  return %1 : tensor<2x3xf64>
}"""
X = np.array([[0.1, 0.2, 0.3], [0.5, 0.4, 0.5]])
COMPARE = "%2 = stablehlo.compare {}, %a, %b, {} : (tensor<f64>, tensor<f64>) -> tensor<i1>"


@pytest.mark.parametrize(
    ("body", "x", "is_order"),
    [
        (COMPARE.format("LT", "FLOAT"), X, True),
        (COMPARE.format("GT", "TOTALORDER"), X * np.nan, True),
        (COMPARE.format("LE", "FLOAT"), X, False),
        ("%2 = stablehlo.constant dense<true> : tensor<i1>", X, False),
        ("%2 = stablehlo.constant dense<false> : tensor<i1>", X, True),
        # neither of NaN and 1, of NaN and 2, is before the other, yet 1 is before 2
        (COMPARE.format("LT", "FLOAT"), np.where(np.arange(3) == 1, np.nan, X), False),
    ],
)
def test_orders(body: str, x: np.ndarray, is_order: bool) -> None:
    program = Program(SORT.replace("BODY", body), (x,))
    assert sorts_by_orders(lowered(Case(program).program), program.inputs) is is_order


def test_a_cycle_is_no_order() -> None:
    assert not is_strict_weak_order([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert is_strict_weak_order([[0, 1, 1], [0, 0, 0], [0, 0, 0]])


def test_the_generator_sorts_by_orders() -> None:
    sorting = [p for p in map(generate, range(200)) if "stablehlo.sort" in p.text and "TOTALORDER" in p.text]
    assert len(sorting) > 3
    assert all(map(has_orders, sorting))


def test_a_reduction_keeps_orders() -> None:
    def fails(candidate: Program) -> bool:
        return "stablehlo.sort" in candidate.text

    whole = Program(SORT.replace("BODY", COMPARE.format("LT", "TOTALORDER")), (X,))
    assert has_orders(whole)
    smaller = reduced(whole, fails, 20)
    assert "stablehlo.sort" in smaller.text
    assert "sine" not in smaller.text
    assert has_orders(smaller)


def test_one_nan_among_many_is_seen() -> None:
    text = SORT.replace("2x3", "1x90").replace("BODY", COMPARE.format("GT", "FLOAT"))
    x = np.linspace(0, 1, 90)[None]
    assert has_orders(Program(text, (x,)))
    assert not has_orders(Program(text, (np.where(np.arange(90) == 80, np.inf, x),)))  # its sine is NaN
