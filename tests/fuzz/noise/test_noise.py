"""What noisy runs leave open, and what they do not: each kind of freedom that an implementation has, and a mistake beside it that is still seen."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from fuzz.case import Case, interpreted, noise_of
from fuzz.checks.eliminations import WAYS, elimination
from fuzz.generator import Program
from fuzz.noise.noisy_cases import agrees, of_text
from wengert.lab.agreement.agreement import Mismatch, assert_agree, near
from wengert.lab.agreement.noise.backward_error import backward_error, inverse_by


def test_bits_of_what_is_rounded_may_be_any_finite_numbers() -> None:
    case = of_text(
        """func.func public @main(%x: tensor<6xf64>) -> tensor<6x2xf32> {
          %0 = stablehlo.sine %x : tensor<6xf64>
          %1 = stablehlo.bitcast_convert %0 : (tensor<6xf64>) -> tensor<6x2xf32>
          %2 = stablehlo.is_finite %1 : (tensor<6x2xf32>) -> tensor<6x2xi1>
          %3 = stablehlo.constant dense<0.0> : tensor<6x2xf32>
          %4 = stablehlo.select %2, %1, %3 : tensor<6x2xi1>, tensor<6x2xf32>
          return %4 : tensor<6x2xf32>
        }""",
        np.arange(1.0, 7.0),
    )
    assert agrees(case, np.full((6, 2), 3e38, np.float32))
    exact = of_text(
        """func.func public @main(%x: tensor<2xf64>) -> tensor<2x2xf32> {
          %0 = stablehlo.add %x, %x : tensor<2xf64>
          %1 = stablehlo.bitcast_convert %0 : (tensor<2xf64>) -> tensor<2x2xf32>
          return %1 : tensor<2x2xf32>
        }""",
        np.array([1.0, 2.0]),
    )
    assert not agrees(exact, exact.outputs[0] + np.float32(1))


FOLD = """func.func public @main(%x: tensor<1xELEMENT>) -> tensor<ELEMENT> {
  %init = stablehlo.constant dense<0INIT> : tensor<ELEMENT>
  %0 = stablehlo.reduce(%x init: %init) across dimensions = [0] : (tensor<1xELEMENT>, tensor<ELEMENT>) -> tensor<ELEMENT>
    reducer(%a: tensor<ELEMENT>, %b: tensor<ELEMENT>) {
      stablehlo.return %a : tensor<ELEMENT>
    }
  return %0 : tensor<ELEMENT>
}"""


@pytest.mark.parametrize(("element", "init"), [("f32", ".0"), ("i32", "")])
def test_a_fold_that_keeps_one_of_its_operands_may_keep_either(element: str, init: str) -> None:
    dtype = {"f32": np.float32, "i32": np.int32}[element]
    case = of_text(FOLD.replace("ELEMENT", element).replace("INIT", init), np.array([7], dtype))
    assert agrees(case, np.array(7, dtype))
    assert agrees(case, np.array(0, dtype))
    if element == "f32":
        assert not agrees(case, np.array(1000, dtype))


def test_a_fold_of_pairs_is_combined_in_any_order() -> None:
    """(a, b), (c, d) -> a c - b, a: over three elements two orders give two results."""
    case = of_text(
        """func.func public @main(%x: tensor<3xf32>) -> tensor<f32> {
          %one = stablehlo.constant dense<1.0> : tensor<f32>
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %0:2 = stablehlo.reduce(%x init: %one), (%x init: %zero) across dimensions = [0]
              : (tensor<3xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
            reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<f32>, %d: tensor<f32>) {
              %1 = stablehlo.multiply %a, %c : tensor<f32>
              %2 = stablehlo.subtract %1, %b : tensor<f32>
              stablehlo.return %2, %a : tensor<f32>, tensor<f32>
            }
          return %0#0 : tensor<f32>
        }""",
        np.array([2, 3, 5], np.float32),
    )
    in_order = ((1 * 2 - 0) * 3 - 1) * 5 - 2
    pairs = 5 * (2 * 3 - 2) - 2
    assert in_order != pairs
    assert agrees(case, np.array(in_order, np.float32))
    assert agrees(case, np.array(pairs, np.float32))
    assert not agrees(case, np.array(1e6, np.float32))


def test_a_sum_has_its_initial_value_once() -> None:
    text = """func.func public @main(%x: tensor<2xf32>) -> tensor<f32> {
      %init = stablehlo.constant dense<5.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
      return %0 : tensor<f32>
    }"""
    case = of_text(text, np.array([1, 2], np.float32))
    assert not agrees(case, np.array(3, np.float32))


SORTED = """func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %0 = stablehlo.log %x : tensor<4xf64>
  %1 = "stablehlo.sort"(%0) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %2 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  }) : (tensor<4xf64>) -> tensor<4xf64>
  return %1 : tensor<4xf64>
}"""


def test_all_nans_that_are_made_may_have_the_other_sign() -> None:
    case = of_text(SORTED, np.array([-1.0, 1.0, -2.0, np.e]))
    one, e = 0.0, 1.0
    assert agrees(case, np.array([np.nan, np.nan, one, e]))
    assert agrees(case, np.array([one, e, np.nan, np.nan]))
    settled = of_text(SORTED, np.array([4.0, 1.0, 2.0, np.e]))
    assert not agrees(settled, settled.outputs[0][::-1])


def test_a_mean_may_be_subtracted_after_scaling() -> None:
    x, scale = np.array([7.245683224e9, 7.2456832241e9]), np.array([7.25e9])
    case = of_text(
        """func.func public @main(%x: tensor<1x2xf64>, %s: tensor<1xf64>, %m: tensor<1xf64>, %v: tensor<1xf64>) -> tensor<1x2xf64> {
          %0 = "stablehlo.batch_norm_inference"(%x, %s, %m, %m, %v) <{epsilon = 0.5 : f32, feature_index = 0 : i64}>
            : (tensor<1x2xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>, tensor<1xf64>) -> tensor<1x2xf64>
          return %0 : tensor<1x2xf64>
        }""",
        x[None],
        scale,
        x[:1],
        np.zeros(1),
    )
    factor = scale / np.sqrt(0.5)
    assert agrees(case, (x * factor + (x[0] - x[0] * factor))[None])
    assert not agrees(case, (2 * x)[None])


def test_a_variance_may_be_a_difference_of_squares() -> None:
    """Of equal numbers it is zero, or as large as the rounding of their squares, with either sign."""
    x = np.full((3, 1), -0.44397064)
    case = of_text(
        """func.func public @main(%x: tensor<3x1xf64>, %s: tensor<1xf64>) -> tensor<1xf64> {
          %0:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 0.5 : f32, feature_index = 1 : i64}>
            : (tensor<3x1xf64>, tensor<1xf64>, tensor<1xf64>) -> (tensor<3x1xf64>, tensor<1xf64>, tensor<1xf64>)
          return %0#2 : tensor<1xf64>
        }""",
        x,
        np.ones(1),
    )
    assert agrees(case, np.array([-2.8e-17]))
    assert agrees(case, np.array([5.6e-17]))
    assert not agrees(case, np.array([1e-12]))


def test_half_of_a_small_part_may_be_lost() -> None:
    """Inverse functions of complex numbers are computed from half of them, which is subnormal below twice the smallest normal number."""
    tiny = float(np.finfo(np.float32).tiny)
    text = """func.func public @main(%x: tensor<1xcomplex<f32>>) -> tensor<1xcomplex<f32>> {
      %0 = chlo.acos %x : tensor<1xcomplex<f32>> -> tensor<1xcomplex<f32>>
      return %0 : tensor<1xcomplex<f32>>
    }"""
    near, further = (of_text(text, np.array([1 + 1j * factor * tiny], np.complex64)) for factor in (1.5, 2.5))
    assert agrees(near, np.zeros(1, np.complex64), flushing=True)
    assert not agrees(near, np.zeros(1, np.complex64))
    assert not agrees(further, np.zeros(1, np.complex64), flushing=True)


def test_a_triangular_system_may_be_solved_by_an_inverse() -> None:
    """With elements of very different sizes the product with an inverse is far less exact than substitution."""
    a = np.array([[1e9, 7.0, -1e6], [0, 7e8, 4e-6], [0, 0, 1.47]])
    b = a @ np.array([1.0, 2.0, 3.0])
    case = of_text(
        """func.func public @main(%a: tensor<3x3xf64>, %b: tensor<3x1xf64>) -> tensor<3x1xf64> {
          %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}>
            : (tensor<3x3xf64>, tensor<3x1xf64>) -> tensor<3x1xf64>
          return %0 : tensor<3x1xf64>
        }""",
        a,
        b[:, None],
    )
    assert agrees(case, np.linalg.inv(a) @ b[:, None])
    assert not agrees(case, case.outputs[0] * (1 + 1e-9))


def test_errors_of_factors_are_measured_by_rows_and_columns() -> None:
    a = np.array([[4.0, 0.0], [1e-9, 1e-6]])
    np.testing.assert_allclose(backward_error("cholesky", a), [[4, 2e-3], [2e-3, 1e-6]])
    np.testing.assert_allclose(backward_error("lu", a), [[4, 1e-6], [4, 1e-6]])
    np.testing.assert_allclose(backward_error("eigh", a), np.full((2, 2), 4.0))
    assert backward_error("triangular_solve", a) is None
    assert backward_error("eigh", np.zeros((2, 0))) is None


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_an_inverse_in_pieces(width: int) -> None:
    a = np.random.default_rng(0).normal(size=(2, 3, 3))
    np.testing.assert_allclose(inverse_by(np.linalg.solve, a, width, left=True) @ a, np.broadcast_to(np.eye(3), a.shape), atol=1e-12)

    def from_the_right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        assert b.shape == (2, width, 3)
        return b @ np.linalg.inv(a)

    np.testing.assert_allclose(inverse_by(from_the_right, a, width, left=False) @ a, np.broadcast_to(np.eye(3), a.shape), atol=1e-12)


TRANSFORMED = """func.func public @main(%x: tensor<2x5xcomplex<f64>>) -> tensor<2x5xcomplex<f64>> {
  %0 = stablehlo.fft %x, type = FFT, length = [5] : (tensor<2x5xcomplex<f64>>) -> tensor<2x5xcomplex<f64>>
  %1 = stablehlo.rsqrt %0 : tensor<2x5xcomplex<f64>>
  %2 = stablehlo.tanh %1 : tensor<2x5xcomplex<f64>>
  return %2 : tensor<2x5xcomplex<f64>>
}"""


def test_one_part_of_a_sum_that_cancels_may_be_exact() -> None:
    """The square root of a negative number is imaginary, however small that number: its real part is no rounding error of what cancelled."""
    case = of_text(TRANSFORMED, np.ones((2, 5), np.complex128))
    [expected] = case.outputs
    other = np.array(expected)
    other[:, 1:] = 1j * np.array([2.8, -0.7, -0.7, 2.8])
    assert agrees(case, other)
    other[0, 0] += 1e-12  # the sum of ones does not cancel
    assert not agrees(case, other)


def test_the_order_of_a_function_is_a_whole_number_in_every_run() -> None:
    text = """func.func public @main(%x: tensor<f64>) -> tensor<i1> {
      %n = stablehlo.constant dense<2.0> : tensor<f64>
      %0 = chlo.polygamma %n, %x : tensor<f64>, tensor<f64> -> tensor<f64>
      %1 = stablehlo.sine %0 : tensor<f64>
      %y = stablehlo.constant dense<0.5> : tensor<f64>
      %2 = stablehlo.compare LT, %1, %y : (tensor<f64>, tensor<f64>) -> tensor<i1>
      return %2 : tensor<i1>
    }"""
    lost, exact = of_text(text, np.array(1e-8)), of_text(text, np.array(1.5))
    assert agrees(lost, ~lost.outputs[0])
    assert agrees(exact, exact.outputs[0])
    assert not agrees(exact, ~exact.outputs[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_an_infinity_is_near_to_itself_only(dtype: type) -> None:
    case = of_text(
        "func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {\n  %0 = stablehlo.exponential %x : tensor<3xf64>\n  return %0 : tensor<3xf64>\n}",
        np.full(3, 1e4),
    )
    expected = np.full(3, np.inf, dtype)
    assert near(expected, expected).all()
    others = [1.0, -np.inf, np.nan] if dtype is not np.complex128 else [1.0, 1j, 0.0]  # complex infinities have no signs
    assert not near(np.array(others, dtype), expected).any()
    if dtype is np.float64:
        assert agrees(case, expected)
        for wrong in (1.0, -np.inf, np.nan):
            assert not agrees(case, np.array([np.inf, np.inf, wrong]))


WINDOWS = """func.func public @main(%x: tensor<4xf64>) -> tensor<2xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<f64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    %1 = stablehlo.multiply %a, %b : tensor<f64>
    %2 = stablehlo.OP %one, %1 : tensor<f64>
    stablehlo.return %2 : tensor<f64>
  }) : (tensor<4xf64>, tensor<f64>) -> tensor<2xf64>
  return %0 : tensor<2xf64>
}"""


def test_windows_are_combined_in_any_order() -> None:
    """1 + a b: (0, 2, 3, 4) makes 17 in order, 1 + (1 + 2 * 3) 4 = 29 without the initial value, which stands in front or behind."""
    case = of_text(WINDOWS.replace("OP", "add"), np.array([2.0, 3.0, 4.0, 5.0]))
    assert case.outputs[0].tolist() == [17.0, 26.0]
    assert agrees(case, np.array([29.0, 66.0]))
    assert not agrees(case, np.array([2900.0, 66.0]))


def test_windows_without_elements_have_no_order() -> None:
    case = of_text(
        WINDOWS.replace("OP", "add")
        .replace("4x", "2x")
        .replace("tensor<2xf64> {", "tensor<0xf64> {")
        .replace("-> tensor<2xf64>\n", "-> tensor<0xf64>\n")
        .replace("return %0 : tensor<2xf64>", "return %0 : tensor<0xf64>"),
        np.ones(2),
    )
    assert agrees(case, np.zeros(0))


def test_an_elimination_may_add_up_products_of_which_a_mode_multiplies_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    """a + b + a b has the derivative 1 + b, which cancels where b is nearly -1: as y + b y it has lost digits that (1 + b) y has."""
    text = """func.func public @main(%x: tensor<6x6xf64>) -> tensor<f64> {
      %s = stablehlo.sine %x : tensor<6x6xf64>
      %zero = stablehlo.constant dense<0.0> : tensor<f64>
      %p = stablehlo.reduce(%s init: %zero) across dimensions = [0, 1] : (tensor<6x6xf64>, tensor<f64>) -> tensor<f64>
        reducer(%a: tensor<f64>, %b: tensor<f64>) {
          %sum = stablehlo.add %a, %b : tensor<f64>
          %product = stablehlo.multiply %a, %b : tensor<f64>
          %both = stablehlo.add %sum, %product : tensor<f64>
          stablehlo.return %both : tensor<f64>
        }
      return %p : tensor<f64>
    }"""
    x = np.random.default_rng(0).choice([-1.1, -2.0, -0.4, 0.3, 0.9], (6, 6))
    elimination(Case(Program(text, (x,), WAYS.index("order=widest granularity=tensors"))))
    jacobian = wg.Program.jacobian

    wrong = wg.parse(text.replace("return %p", "%c = stablehlo.constant dense<1.001> : tensor<f64>\n%q = stablehlo.multiply %p, %c : tensor<f64>\nreturn %q"))
    monkeypatch.setattr(wg.Program, "jacobian", lambda _, **request: jacobian(wrong, **request))
    with pytest.raises(Mismatch, match="wrong"):
        elimination(Case(Program(text, (x,), WAYS.index("order=widest granularity=tensors"))))


def test_an_elimination_may_round_other_terms_to_few_bits() -> None:
    """sin(r(x)) r(x): forward mode rounds its seeds, an elimination the products with both factors, each to six bits."""
    case = of_text(
        """func.func public @main(%x: tensor<f32>) -> tensor<f32> {
          %0 = stablehlo.reduce_precision %x, format = e8m6 : tensor<f32>
          %1 = stablehlo.sine %0 : tensor<f32>
          %2 = stablehlo.multiply %1, %0 : tensor<f32>
          return %2 : tensor<f32>
        }""",
        np.array(2.25, np.float32),
    )
    made = case.program.jacobian(wrt=(0,), of=(0,), strategy="eliminate{order=best granularity=tensors}")
    right = interpreted(made, case.inputs)
    exact = np.array(np.sin(2.25) + 2.25 * np.cos(2.25), np.float32)
    assert_agree("a test", [exact], right, noise_of(made, case.inputs, other_terms=True))
    for wrong, noise in ((exact, noise_of(made, case.inputs)), (exact * 2, noise_of(made, case.inputs, other_terms=True))):
        with pytest.raises(Mismatch):
            assert_agree("a test", [np.asarray(wrong, np.float32)], right, noise)
