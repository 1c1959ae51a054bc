"""What noisy runs leave open, and what they do not: each kind of freedom that an implementation has, and a mistake beside it that is still seen."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from fuzz.case import Case, noise_of
from fuzz.checks.eliminations import WAYS, elimination
from fuzz.generator import Program
from wengert.lab.agreement.agreement import Mismatch, assert_agree, near
from wengert.lab.agreement.noise.backward_error import backward_error, inverse_by


def of_text(body: str, *inputs: np.ndarray) -> Case:
    return Case(Program(body, inputs))


def agrees(case: Case, *given: np.ndarray) -> bool:
    try:
        assert_agree("a test", list(given), case.outputs, noise_of(case.program, case.inputs))
    except Mismatch:
        return False
    return True


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


def test_a_quotient_of_a_quotient_may_overflow_at_a_singularity() -> None:
    """(x / y) / z by y z, which vanishes: rounding leads away from it, so only runs without rounding show that."""
    case = of_text(
        """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
          %one = stablehlo.constant dense<1.0> : tensor<f64>
          %0 = stablehlo.exponential %x : tensor<f64>
          %1 = stablehlo.multiply %0, %0 : tensor<f64>
          %2 = stablehlo.tanh %x : tensor<f64>
          %3 = stablehlo.add %one, %2 : tensor<f64>
          %4 = stablehlo.add %3, %1 : tensor<f64>
          %5 = stablehlo.divide %4, %4 : tensor<f64>
          %6 = stablehlo.divide %5, %4 : tensor<f64>
          return %6 : tensor<f64>
        }""",
        np.array(-335.0),
    )
    noisy = noise_of(case.program, case.inputs, flushing=True)
    assert_agree("a test", [np.array(np.inf)], case.outputs, noisy)
    with pytest.raises(Mismatch):
        assert_agree("a test", [np.array(np.inf)], case.outputs, noise_of(case.program, case.inputs))


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


BATCH = """func.func public @main(%x: tensor<2x2x2xf64>) -> tensor<2x2x2xf64> {
  %0 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> tensor<2x2x2xf64>
  %1 = stablehlo.cholesky %0, lower = true : tensor<2x2x2xf64>
  return %1 : tensor<2x2x2xf64>
}"""


def test_what_overflows_in_one_matrix_says_nothing_of_another() -> None:
    definite, singular = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[np.inf, 1e308], [1.0, -1e308]])
    case = of_text(BATCH, np.stack([definite, singular]))
    [expected] = case.outputs
    other = np.array(expected)
    other[1] = [[3.0, 0.0], [np.nan, np.inf]]
    assert agrees(case, other)
    for wrong in (1 + 1e-9, np.nan, 0.0):
        other = np.array(expected)
        other[0] *= wrong
        assert not agrees(case, other)


def test_a_nearly_singular_matrix_beside_one_that_is_not_finite_may_have_a_factor_or_none() -> None:
    """All rows are multiples of one but for rounding, so that the last pivot may have either sign."""
    row = np.array([1.0, 1 / 3])
    case = of_text(BATCH, np.stack([np.outer(row, row), np.full((2, 2), np.inf)]))
    factors = np.linalg.norm(row) * np.array([[1.0, 0], [1 / 3, 1e-9]])
    for factor in (factors, np.where([[1, 0], [1, 1]], np.nan, 0.0)):
        assert agrees(case, np.stack([factor, case.outputs[0][1]]))


PRODUCT = """func.func public @main(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<i1> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.compare LT, %0, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %1 : tensor<i1>
}"""


def test_a_product_that_overflows_in_one_order_may_be_of_any_size() -> None:
    y = np.array(1.0, np.float32)
    overflowing = of_text(PRODUCT, np.array([3e38, 10, 1e-20, 1e-30], np.float32), y)
    assert agrees(overflowing, np.array(True))
    assert agrees(overflowing, np.array(False))
    in_range = of_text(PRODUCT, np.array([3e8, 10, 1e-2, 1e-3], np.float32), y)
    assert agrees(in_range, in_range.outputs[0])
    assert not agrees(in_range, ~in_range.outputs[0])


def test_a_sum_that_may_overflow_in_every_iteration_of_a_loop_may_do_so_in_none() -> None:
    """The sine of a number near the end of the range is any: h is finite after five iterations if no sum of two such numbers overflowed."""
    text = """func.func public @main(%h: tensor<1x2xf64>, %w: tensor<2x2xf64>) -> tensor<1x2xf64> {
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %a = %h) : tensor<i32>, tensor<1x2xf64>
       cond {
        %n = stablehlo.constant dense<5> : tensor<i32>
        %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      } do {
        %one = stablehlo.constant dense<1> : tensor<i32>
        %p = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<1x2xf64>, tensor<2x2xf64>) -> tensor<1x2xf64>
        %s = stablehlo.sine %p : tensor<1x2xf64>
        %j = stablehlo.add %i, %one : tensor<i32>
        stablehlo.return %j, %s : tensor<i32>, tensor<1x2xf64>
      }
      return %r#1 : tensor<1x2xf64>
    }"""
    most = np.finfo(np.float64).max
    case = of_text(text, np.array([[0.3, 0.4]]), np.array([[0.9 * most, 0.5 * most], [-0.8 * most, 0.6 * most]]))
    assert np.isfinite(case.outputs[0]).all() or agrees(case, np.array([[0.5, 0.25]]))
    assert agrees(case, np.array([[np.nan, np.nan]]))


def test_a_product_with_a_zero_may_overflow_before_it_meets_that() -> None:
    """Zero in the order in which it is computed; NaN in another."""
    text = """func.func public @main(%x: tensor<2x4xf32>) -> tensor<2xf32> {
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }"""
    case = of_text(text, np.array([[0, 1e20, 1e20, 1], [0, 3, 10, 1]], np.float32))
    assert case.outputs[0].tolist() == [0, 0]
    assert agrees(case, np.array([np.nan, 0], np.float32))
    assert not agrees(case, np.array([0, np.nan], np.float32))


def test_a_complex_product_that_overflows_may_be_an_infinity_or_nan() -> None:
    """An infinity has a hyperbolic tangent of one, NaN has none."""
    text = """func.func public @main(%x: tensor<24xcomplex<f32>>) -> tensor<complex<f32>> {
      %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
      %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<24xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
      %1 = stablehlo.tanh %0 : tensor<complex<f32>>
      return %1 : tensor<complex<f32>>
    }"""
    overflowing = of_text(text, np.full(24, 30 + 40j, np.complex64))
    assert agrees(overflowing, np.array(np.nan + 1j * np.nan, np.complex64))
    assert agrees(overflowing, np.array(-1, np.complex64))
    in_range = of_text(text, np.full(24, 3 + 4j, np.complex64))
    assert not agrees(in_range, np.array(np.nan + 1j * np.nan, np.complex64))


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


CONTRACTED = """func.func public @main(%x: tensor<3xf64>, %y: tensor<3xf64>, %z: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.multiply %x, %y : tensor<3xf64>
  %1 = stablehlo.OP %0, %z : tensor<3xf64>
  return %1 : tensor<3xf64>
}"""


def test_a_product_that_is_added_to_in_one_operation_does_not_overflow() -> None:
    x, y, z = np.array([1e200, 1e200, 2.0]), np.array([1e200, 1e108 * 1.7, 3.0]), np.array([-np.inf, -1e308, 1.0])
    case = of_text(CONTRACTED.replace("OP", "add"), x, y, z)
    assert np.isnan(case.outputs[0][0])
    assert agrees(case, np.array([-np.inf, case.outputs[0][1], 7.0]))
    assert not agrees(case, np.array([case.outputs[0][0], case.outputs[0][1], np.inf]))


def test_a_product_in_a_sum_of_several_does_not_overflow() -> None:
    """6 a - 4 a with a near the largest number: inf - inf where each product is rounded; an infinity where the second is added without being rounded."""
    text = """func.func public @main(%x: tensor<2x1xf32>, %a: tensor<2x1xf32>) -> tensor<f32> {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %0 = stablehlo.multiply %x, %a : tensor<2x1xf32>
      %1 = stablehlo.negate %0 : tensor<2x1xf32>
      %2 = stablehlo.reshape %1 : (tensor<2x1xf32>) -> tensor<2xf32>
      %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
      return %3 : tensor<f32>
    }"""
    factors, most = np.array([[-6], [4]], np.float32), np.full((2, 1), np.finfo(np.float32).max)
    case = of_text(text, factors, most)
    assert np.isnan(case.outputs[0])
    assert agrees(case, np.array(np.inf, np.float32))
    assert not agrees(of_text(text, factors, np.ones((2, 1), np.float32)), np.array(np.inf, np.float32))


def test_a_product_that_is_added_to_in_one_operation_is_not_rounded() -> None:
    """The same product, rounded, is taken away from it: what is left is its rounding."""
    x, y = np.array([0.1, 0.3, 2.0]), np.array([0.7, 0.9, 3.0])
    case = of_text(
        """func.func public @main(%x: tensor<3xf64>, %y: tensor<3xf64>) -> tensor<3xf64> {
          %0 = stablehlo.multiply %x, %y : tensor<3xf64>
          %1 = stablehlo.reverse %0, dims = [0] : tensor<3xf64>
          %2 = stablehlo.reverse %1, dims = [0] : tensor<3xf64>
          %3 = stablehlo.subtract %0, %2 : tensor<3xf64>
          return %3 : tensor<3xf64>
        }""",
        x,
        y,
    )
    assert case.outputs[0].tolist() == [0.0, 0.0, 0.0]
    assert agrees(case, np.array([-2e-18, 1e-17, 0.0]))
    assert not agrees(case, np.array([-2e-15, 1e-17, 0.0]))


def test_a_product_of_vanishing_numbers_and_an_infinity_is_anything_of_its_kinds() -> None:
    case = of_text(
        """func.func public @main(%x: tensor<4xf32>) -> tensor<f32> {
          %one = stablehlo.constant dense<1.0> : tensor<f32>
          %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
          return %0 : tensor<f32>
        }""",
        np.array([-1e-40, 1e-30, 1.0, np.inf], np.float32),
    )
    assert np.isnan(case.outputs[0])
    assert agrees(case, np.array(-np.inf, np.float32))
    finite = Case(Program(case.text, (np.array([2.0, 3.0, 1.0, 1.0], np.float32),)))
    assert not agrees(finite, np.array(np.inf, np.float32))


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
