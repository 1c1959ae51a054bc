"""JAX's approximate top-k is the exact one here: values, positions and derivatives."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="JAX lowers the programs")
import jax.numpy as jnp

import wengert as wg

pytestmark = pytest.mark.oracle

CASES = {
    "largest": (lambda x: jax.lax.approx_max_k(x, 3), (5, 20)),
    "smallest along the first": (lambda x: jax.lax.approx_min_k(x, 3, reduction_dimension=0), (20, 4)),
    "in the middle": (lambda x: jax.lax.approx_max_k(x, 2, reduction_dimension=1), (3, 20, 4)),
    "a vector": (lambda x: jax.lax.approx_min_k(x, 4), (30,)),
}


@pytest.mark.parametrize("case", CASES)
def test_values_positions_and_gradients(case: str) -> None:
    function, extents = CASES[case]
    x = np.random.default_rng(0).normal(size=extents).astype(np.float32)
    program = wg.parse(jax.jit(function).lower(x).as_text())
    compiled = program.compile()
    assert not compiled.stats.interpreted
    for actual, interpreted, expected in zip(compiled(x), program.compile("interpreter")(x), function(x), strict=True):
        np.testing.assert_array_equal(actual, np.asarray(expected))
        np.testing.assert_array_equal(interpreted, np.asarray(expected))
    y_bar = np.random.default_rng(1).normal(size=program.signature.results[0].shape).astype(np.float32)
    x_bar = program.vjp()(x, y_bar)[-1]
    np.testing.assert_allclose(x_bar, jax.vjp(lambda x: function(x)[0], x)[1](jnp.asarray(y_bar))[0], rtol=1e-6)


def test_what_is_not_numbered_stays_a_call() -> None:
    text = """
    func.func @top_k_gt_f32_comparator(%a: tensor<f32>, %b: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>) -> tensor<i1> {
      %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }
    func.func public @main(%x: tensor<4xf32>, %p: tensor<4xi32>) -> (tensor<2xf32>, tensor<2xi32>) {
      %c = stablehlo.constant dense<-1> : tensor<i32>
      %l = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %1:2 = stablehlo.custom_call @ApproxTopK(%x, %p, %l, %c) {called_computations = [@top_k_gt_f32_comparator], mhlo.backend_config = {reduction_dim = 0 : i64, top_k = 2 : i64}}
        : (tensor<4xf32>, tensor<4xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
      return %1#0, %1#1 : tensor<2xf32>, tensor<2xi32>
    }"""
    actual = wg.parse(text).compile()(np.array([1.0, 4.0, 2.0, 3.0], np.float32), np.array([10, 20, 30, 40], np.int32))
    np.testing.assert_array_equal(actual[1], [20, 40])
