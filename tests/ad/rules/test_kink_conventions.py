"""The conventions at kinks that docs/kinks.md states."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

import wengert as wg

KINKS = [
    ("maximum", (1.0, 1.0), (0.5, 0.5)),
    ("minimum", (1.0, 1.0), (0.5, 0.5)),
    ("abs", (0.0,), (1.0,)),
    ("abs", (-0.0,), (1.0,)),
    ("sign", (0.0,), (0.0,)),
    ("floor", (1.0,), (0.0,)),
    ("ceil", (1.0,), (0.0,)),
    ("round_nearest_even", (0.5,), (0.0,)),
    ("clamp", (0.0, -1.0, 1.0), (1.0, 0.0, 0.0)),
    ("clamp", (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    ("clamp", (0.0, 0.5, 1.0), (0.0, 1.0, 0.0)),
    ("clamp", (0.0, 1.0, 1.0), (0.0, 0.0, 0.0)),
    ("clamp", (0.0, 2.0, 1.0), (0.0, 0.0, 1.0)),
    ("sqrt", (0.0,), (inf,)),
    ("cbrt", (0.0,), (inf,)),
    ("log", (0.0,), (inf,)),
    ("power", (0.0, 2.0), (0.0, 0.0)),
    ("power", (0.0, 0.0), (nan, 0.0)),
    ("power", (0.0, 0.5), (inf, 0.0)),
    ("atan2", (0.0, 0.0), (nan, nan)),
    ("remainder", (4.0, 2.0), (1.0, -2.0)),
]


@pytest.mark.parametrize(("op", "at", "expected"), KINKS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_derivative_at_a_kink(op: str, at: tuple[float, ...], expected: tuple[float, ...]) -> None:
    names = [f"%x{i}" for i in range(len(at))]
    p = wg.parse(f"""func.func public @main({", ".join(f"{n}: tensor<f64>" for n in names)}) -> tensor<f64> {{
      %y = stablehlo.{op} {", ".join(names)} : tensor<f64>
      return %y : tensor<f64>
    }}""")
    gradient = [float(x) for x in p.vjp().compile("interpreter")(*at, 1.0)[1:]]
    np.testing.assert_array_equal(gradient, expected)
    for i, partial in enumerate(expected):
        np.testing.assert_array_equal(p.jvp(wrt=i).compile("interpreter")(*at, 1.0)[1], partial)


def test_ties_of_a_reduction_share_equally() -> None:
    p = wg.parse("""func.func public @main(%x: tensor<3xf64>) -> tensor<f64> {
      %c = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
      %y = stablehlo.reduce(%x init: %c) applies stablehlo.maximum across dimensions = [0] : (tensor<3xf64>, tensor<f64>) -> tensor<f64>
      return %y : tensor<f64>
    }""")
    np.testing.assert_array_equal(p.vjp().compile("interpreter")(np.array([1.0, 1.0, 0.0]), 1.0)[1], [0.5, 0.5, 0.0])
