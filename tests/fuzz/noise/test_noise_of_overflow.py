"""What noisy runs leave open where numbers on the way leave the range of a format or are not finite, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from fuzz.case import Case, noise_of
from fuzz.generator import Program
from fuzz.noise.noisy_cases import agrees, of_text
from wengert.lab.agreement.agreement import Mismatch, assert_agree


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
    weights = np.random.default_rng(0).uniform(-1, 1, (2, 2))
    case = of_text(text, np.array([[0.3, 0.4]]), weights * np.finfo(np.float64).max)
    assert np.isnan(case.outputs[0]).all()
    noisy = noise_of(case.program, case.inputs)
    assert sum(np.isfinite(noisy(seed)[0]).all() for seed in range(32)) >= 4
    assert agrees(case, np.array([[0.5, 0.25]]))
    assert not agrees(of_text(text, np.array([[0.3, 0.4]]), weights), np.array([[0.5, 0.25]]))


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


def test_a_normalisation_may_scale_before_it_subtracts_the_mean() -> None:
    x, scale, mean = np.array([[522.0, 300.0]], np.float16), np.array([262.0], np.float16), np.array([262.0], np.float16)
    case = of_text(
        """func.func public @main(%x: tensor<1x2xf16>, %s: tensor<1xf16>, %m: tensor<1xf16>, %v: tensor<1xf16>) -> tensor<1x2xf16> {
          %0 = "stablehlo.batch_norm_inference"(%x, %s, %m, %m, %v) <{epsilon = 0.5 : f32, feature_index = 0 : i64}>
            : (tensor<1x2xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>, tensor<1xf16>) -> tensor<1x2xf16>
          return %0 : tensor<1x2xf16>
        }""",
        x,
        scale,
        mean,
        np.ones(1, np.float16),
    )
    assert np.isfinite(case.outputs[0]).all()
    [right] = case.outputs
    assert agrees(case, np.where([True, False], np.inf, right).astype(np.float16))
    assert not agrees(case, np.where([False, True], np.inf, right).astype(np.float16))
    assert not agrees(case, np.where([False, True], right / 2, right).astype(np.float16))


def test_an_angle_of_subnormal_numbers_may_be_lost_where_they_are_flushed() -> None:
    tiny = np.array([1e-40, 1e-30, 1e-40], np.float32)
    case = of_text(
        """func.func public @main(%y: tensor<3xf32>, %x: tensor<3xf32>) -> tensor<3xf32> {
          %0 = stablehlo.atan2 %y, %x : tensor<3xf32>
          return %0 : tensor<3xf32>
        }""",
        tiny,
        np.array([1e-40, 1e-30, 1.0], np.float32),
    )
    flushing = noise_of(case.program, case.inputs, flushing=True)
    right = case.outputs[0]
    assert_agree("a test", [np.where([True, False, False], np.nan, right).astype(np.float32)], case.outputs, flushing)
    for place in range(1, 3):
        wrong = np.where(np.arange(3) == place, np.nan, right).astype(np.float32)
        with pytest.raises(Mismatch):
            assert_agree("a test", [wrong], case.outputs, flushing)
    with pytest.raises(Mismatch):
        assert_agree("a test", [np.full(3, np.nan, np.float32)], case.outputs, noise_of(case.program, case.inputs))


@pytest.mark.parametrize(
    "written", ['"stablehlo.einsum"(%x, %y) <{einsum_config = "i,m->mi"}>', '"stablehlo.dot_general"(%y, %x) <{dot_dimension_numbers = #stablehlo.dot<>}>']
)
def test_a_sum_of_an_outer_product_may_be_a_product_of_sums(written: str) -> None:
    x, y = np.array([1e30, 1.0], np.float32), np.array([1e10, -1e10, 5.0], np.float32)
    case = of_text(
        f"""func.func public @main(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<f32> {{
          %0 = {written} : (tensor<{"2xf32>, tensor<3" if "einsum" in written else "3xf32>, tensor<2"}xf32>) -> tensor<3x2xf32>
          %zero = stablehlo.constant dense<0.0> : tensor<f32>
          %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x2xf32>, tensor<f32>) -> tensor<f32>
          return %1 : tensor<f32>
        }}""",
        x,
        y,
    )
    assert np.isnan(case.outputs[0])
    assert agrees(case, np.array(np.sum(x) * np.sum(y)))
