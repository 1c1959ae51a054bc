"""Every collective on several devices: values against NumPy, derivatives in both modes and by both strategies against differences of all devices."""

from __future__ import annotations

import numpy as np
import pytest
from spmd_programs import CHANNEL, DEVICES, check_derivatives, groups, one_op, reducer

import wengert as wg

PAIRS, ALL, UNEVEN = groups([[0, 2], [3, 1]]), groups([[0, 1, 2, 3]]), groups([[0, 3, 1], [2]])
TO_ALL = "split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, "
PRODUCT_PLUS = (
    "({ ^bb0(%a: tensor<f64>, %b: tensor<f64>): %p = stablehlo.multiply %a, %b : tensor<f64> "
    "%s = stablehlo.add %a, %b : tensor<f64> %r = stablehlo.add %p, %s : tensor<f64> stablehlo.return %r : tensor<f64> })"
)
"""a + b + a b, which is associative and of no known kind."""
PROGRAMS = {
    **{
        f"all_reduce {op} {name}": one_op("all_reduce", table, "3xf64", "3xf64", reducer(op))
        for op in ("add", "multiply", "maximum", "minimum")
        for name, table in (("pairs", PAIRS), ("uneven", UNEVEN), ("all", f"{ALL}, {DEVICES}"))
    },
    **{
        f"reduce_scatter {op}": one_op("reduce_scatter", f"scatter_dimension = 1 : i64, {PAIRS}", "2x4xf64", "2x2xf64", reducer(op))
        for op in ("add", "multiply", "maximum", "minimum")
    },
    "all_gather": one_op("all_gather", f"all_gather_dim = 1 : i64, {PAIRS}", "2x2xf64", "2x4xf64"),
    "all_gather everyone": one_op("all_gather", f"all_gather_dim = 0 : i64, {groups([])}", "2xf64", "8xf64"),
    "all_to_all": one_op("all_to_all", TO_ALL + PAIRS, "2x4xf64", "4x2xf64"),
    "all_to_all of partitions": one_op("all_to_all", f"{TO_ALL}{PAIRS}, {CHANNEL}", "2x4xf64", "4x2xf64"),
    "permute": one_op("collective_permute", "source_target_pairs = dense<[[0, 1], [1, 3], [2, 2]]> : tensor<3x2xi64>", "3xf64", "3xf64"),
    "broadcast": one_op("collective_broadcast", groups([[2, 0], [1, 3]]), "3xf64", "3xf64"),
    "broadcast of partitions": one_op("collective_broadcast", f"{groups([[2, 0, 1, 3]])}, {CHANNEL}", "3xf64", "3xf64"),
    "broadcast to some": one_op("collective_broadcast", groups([[3, 1]]), "3xf64", "3xf64"),
    "cross-replica-sum": one_op("cross-replica-sum", PAIRS, "3xf64", "3xf64"),
    "a computation of no known kind": one_op("all_reduce", groups([[0, 3, 1], [2, 4, 5]]), "3xf64", "3xf64", PRODUCT_PLUS),
    "a shared computation of no known kind": one_op("reduce_scatter", f"scatter_dimension = 0 : i64, {PAIRS}", "4xf64", "2xf64", PRODUCT_PLUS),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    p = wg.parse(PROGRAMS[name])
    devices = 6 if "no known kind" in name and "shared" not in name else 4
    x = np.random.default_rng(0).uniform(0.5, 1.5, (devices, *p.signature.arguments[0].shape))
    check_derivatives(PROGRAMS[name], devices, x)


def test_products_with_zeros_have_derivatives() -> None:
    x = np.array([[2.0, 0.0], [3.0, 5.0], [4.0, 0.0], [1.0, 7.0]])
    check_derivatives(one_op("all_reduce", ALL, "2xf64", "2xf64", reducer("multiply")), 4, x)


def test_devices_that_attain_an_extremum_share_its_derivative() -> None:
    p = wg.parse(one_op("all_reduce", ALL, "1xf64", "1xf64", reducer("maximum")).replace("stablehlo.sine", "stablehlo.negate"))
    x = np.array([[1.0], [3.0], [3.0], [2.0]])
    for strategy in ("transpose", "direct"):
        x_bar = p.vjp(strategy=strategy).distribute(4)(x, np.ones((4, 1)))[1]
        np.testing.assert_array_equal(x_bar.ravel(), [0, -2, -2, 0])


def test_values() -> None:
    x = np.arange(16.0).reshape(4, 2, 2)
    undone = [
        (one_op("all_reduce", PAIRS, "2x2xf64", "2x2xf64", reducer("add")), np.stack([x[0] + x[2], x[1] + x[3], x[0] + x[2], x[1] + x[3]])),
        (one_op("all_gather", f"all_gather_dim = 0 : i64, {PAIRS}", "2x2xf64", "4x2xf64"), np.stack([np.vstack(x[[a, b]]) for a, b in ((0, 2), (3, 1)) * 2])),
        (
            one_op("reduce_scatter", f"scatter_dimension = 0 : i64, {PAIRS}", "2x2xf64", "1x2xf64", reducer("add")),
            np.stack([(x[0] + x[2])[:1], (x[1] + x[3])[1:], (x[0] + x[2])[1:], (x[1] + x[3])[:1]]),
        ),
        (
            one_op("collective_permute", "source_target_pairs = dense<[[0, 1], [3, 0]]> : tensor<2x2xi64>", "2x2xf64", "2x2xf64"),
            np.stack([x[3], x[0], 0 * x[0], 0 * x[0]]),
        ),
    ]
    for text, wanted in undone:
        np.testing.assert_allclose(wg.parse(text).distribute(4)(x)[0], np.sin(wanted), rtol=1e-15)


def test_groups_of_replicas_of_partitions_and_of_both() -> None:
    head = "module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 3 : i32} {\n"
    x = 10.0 ** np.arange(6).reshape(6, 1)
    modes = {
        f"{groups([[0, 1]])}": [1001, 10010, 100100, 1001, 10010, 100100],
        f"{groups([[0], [1]])}, {CHANNEL}": [111, 111, 111, 111000, 111000, 111000],
        f"{groups([[0, 1, 5], [2, 3, 4]])}, {DEVICES}": [100011, 100011, 11100, 11100, 11100, 100011],
    }
    for attributes, wanted in modes.items():
        text = head + one_op("all_reduce", attributes, "1xf64", "1xf64", reducer("add")).replace("stablehlo.sine", "stablehlo.negate") + "}"
        np.testing.assert_array_equal(wg.parse(text).distribute(6)(x)[0].ravel(), -np.array(wanted))
    pairs = f"source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>, {CHANNEL}"
    text = head + one_op("collective_permute", pairs, "1xf64", "1xf64").replace("stablehlo.sine", "stablehlo.negate") + "}"
    np.testing.assert_array_equal(wg.parse(text).distribute()(x)[0].ravel(), [0, -1, 0, 0, -1000, 0])


def test_groups_by_the_axes_of_a_mesh() -> None:
    named = 'replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @m, axes = [#stablehlo.axis_ref<name = "b">]>'
    text = one_op("all_reduce", named, "1xf64", "1xf64", reducer("add"), 'sdy.mesh @m = <["a"=2, "b"=2]>\n')
    x = np.array([[0.1], [0.2], [0.4], [0.8]])
    for backend in ("cpu", "interpreter"):
        np.testing.assert_allclose(wg.parse(text).distribute(4, backend=backend)(x)[0].ravel(), np.sin([0.3, 0.3, 1.2, 1.2]))
    check_derivatives(text, 4, x)


def test_several_operands_and_a_wider_computation() -> None:
    text = f"""func.func public @main(%x: tensor<2xf32>, %y: tensor<3xf64>) -> (tensor<2xf64>, tensor<3xf64>) {{
      %z:2 = "stablehlo.all_reduce"(%x, %y) <{{{ALL}}}> {reducer("add")} : (tensor<2xf32>, tensor<3xf64>) -> (tensor<2xf64>, tensor<3xf64>)
      return %z#0, %z#1 : tensor<2xf64>, tensor<3xf64>
    }}"""
    x, y = np.float32([[0.1, 0.2]] * 4), np.arange(12.0).reshape(4, 3)
    for backend in ("cpu", "interpreter"):
        u, v = wg.parse(text).distribute(4, backend=backend)(x, y)
        np.testing.assert_array_equal(u, np.tile(4 * x[:1].astype(np.float64), (4, 1)))
        np.testing.assert_array_equal(v, np.tile(y.sum(0), (4, 1)))


def test_a_batch_is_sent_along() -> None:
    rng = np.random.default_rng(3)
    for name in ("all_reduce add pairs", "reduce_scatter maximum", "all_gather", "all_to_all", "permute", "broadcast"):
        p = wg.parse(PROGRAMS[name])
        x = rng.uniform(0.5, 1.5, (4, 5, *p.signature.arguments[0].shape))
        batched = p.vmap(size=5).distribute(4)(x)[0]
        one_by_one = np.stack([p.distribute(4)(np.ascontiguousarray(x[:, i]))[0] for i in range(5)], 1)
        np.testing.assert_allclose(batched, one_by_one, rtol=1e-14)


def test_long_sums_are_the_same_on_all_devices_to_the_bit() -> None:
    p = wg.parse(one_op("all_reduce", ALL, "1001xf32", "1001xf32", reducer("add", "f32")).replace("stablehlo.sine", "stablehlo.negate"))
    x = np.random.default_rng(0).standard_normal((4, 1001)).astype(np.float32)
    (y,) = p.distribute(4)(x)
    in_order = -(((x[0] + x[1]) + x[2]) + x[3])
    assert all(np.array_equal(part, in_order) for part in y)


def test_second_derivatives() -> None:
    p = wg.parse(one_op("all_reduce", ALL, "2xf64", "2xf64", reducer("multiply")))
    rng = np.random.default_rng(5)
    x, v, y_bar = rng.uniform(0.5, 1.5, (4, 2)), rng.standard_normal((4, 2)), rng.standard_normal((4, 2))
    gradient = p.vjp().distribute(4)
    hvp = p.vjp().jvp(wrt=(0,)).distribute(4)(x, y_bar, v)[-1]
    differences = (gradient(x + 1e-6 * v, y_bar)[1] - gradient(x - 1e-6 * v, y_bar)[1]) / 2e-6
    np.testing.assert_allclose(hvp, differences, rtol=1e-6, atol=1e-8)
