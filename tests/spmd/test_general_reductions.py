"""Reductions over devices by computations of no known kind, of whole tensors: on one device as on several, in groups of any sizes."""

from __future__ import annotations

import numpy as np
import pytest
from spmd_programs import CHANNEL, DEVICES, groups, one_op, reducer

import wengert as wg

TOGETHER = """({ ^bb0(%lhs: tensor<f64>, %rhs: tensor<f64>):
        %s = stablehlo.add %lhs, %rhs : tensor<f64>
        %p = stablehlo.multiply %lhs, %rhs : tensor<f64>
        %both = stablehlo.add %s, %p : tensor<f64>
        stablehlo.return %both : tensor<f64> })"""
"""a + b + a b = (1 + a)(1 + b) - 1"""


def manual(op: str, attributes: str, given: int, result: int) -> str:
    """The sine of a collective on the four blocks of a vector. The module does not say how many devices there are; its mesh does."""
    block, whole = f"tensor<{result}xf64>", f"tensor<{4 * result}xf64>"
    return f"""sdy.mesh @m = <["x"=4]>
func.func public @main(%x: tensor<{4 * given}xf64>) -> {whole} {{
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{{"x"}}]>] out_shardings=[<@m, [{{"x"}}]>] manual_axes={{"x"}} (%b: tensor<{given}xf64>) {{
    %1 = "stablehlo.{op}"(%b) <{{{attributes}}}> {TOGETHER} : (tensor<{given}xf64>) -> {block}
    %2 = stablehlo.sine %1 : {block}
    sdy.return %2 : {block}
  }} : (tensor<{4 * given}xf64>) -> {whole}
  return %0 : {whole}
}}"""


def expected(x, table, given, result):
    """The same in NumPy, by the closed form of the computation."""
    blocks, out = np.split(x, 4), [np.zeros(0)] * 4
    for group in table:
        total = np.prod([1 + blocks[d] for d in group], 0) - 1
        for place, d in enumerate(group):
            out[d] = total if given == result else np.split(total, len(group))[place]
    return np.sin(np.concatenate(out))


UNEVEN = [[2, 0, 1], [3]]
CASES = {
    "uneven": ("all_reduce", f"{groups(UNEVEN)}, {DEVICES}", UNEVEN, 2, 2),
    "even": ("all_reduce", f"{groups([[2, 0], [1, 3]])}, {DEVICES}", [[2, 0], [1, 3]], 2, 2),
    "all partitions of a replica": ("all_reduce", f"{groups([[0]])}, {CHANNEL}", [[0, 1, 2, 3]], 2, 2),
    "shares": ("reduce_scatter", f"scatter_dimension = 0 : i64, {groups([[2, 0], [1, 3]])}, {DEVICES}", [[2, 0], [1, 3]], 4, 2),
    "shares of all partitions": ("reduce_scatter", f"scatter_dimension = 0 : i64, {groups([[0]])}, {CHANNEL}", [[0, 1, 2, 3]], 4, 1),
}


@pytest.mark.parametrize("case", CASES)
def test_of_whole_tensors(case: str) -> None:
    op, attributes, table, given, result = CASES[case]
    p, rng = wg.parse(manual(op, attributes, given, result)), np.random.default_rng(0)
    x, x_dot, y_bar = rng.standard_normal(4 * given), rng.standard_normal(4 * given), rng.standard_normal(4 * result)
    step = 1e-6
    y_dot = (expected(x + step * x_dot, table, given, result) - expected(x - step * x_dot, table, given, result)) / (2 * step)
    for run in (p, p.compile("interpreter"), wg.spmd(p)):
        np.testing.assert_allclose(run(x)[0], expected(x, table, given, result), rtol=1e-12)
    for f in (p, wg.spmd(p)):
        np.testing.assert_allclose(f.jvp()(x, x_dot)[1], y_dot, rtol=1e-6, atol=1e-8)
        for strategy in ("transpose", "direct"):
            x_bar = f.vjp(strategy=strategy)(x, y_bar)[1]
            assert np.isclose(x_bar @ x_dot, y_bar @ f.jvp()(x, x_dot)[1], rtol=1e-11)


@pytest.mark.parametrize(("channel", "counts"), [("", "attribute mhlo.num_replicas"), (f", {CHANNEL}", "attributes mhlo.num_replicas and mhlo.num_partitions")])
@pytest.mark.parametrize("region", [reducer("multiply"), TOGETHER])
def test_a_group_of_all_of_unknown_number_runs_and_is_not_differentiated(region: str, channel: str, counts: str) -> None:
    """The text alone does not say between how many devices a product is; with their number it has derivatives."""
    text = one_op("all_reduce", groups([]) + channel, "2xf64", "2xf64", region)
    x = np.random.default_rng(0).standard_normal((4, 2))
    y = np.sin(np.prod(x, 0) if "multiply %lhs, %rhs : tensor<f64> stablehlo" in region else np.prod(1 + x, 0) - 1)
    np.testing.assert_allclose(wg.parse(text).distribute(4)(x)[0], np.broadcast_to(y, (4, 2)), rtol=1e-12)
    for derive in (wg.Program.jvp, wg.Program.vjp):
        with pytest.raises(wg.DiagnosticError, match=f"(?s)all.mlir:2:3.*does not say how many there are.*give the module the {counts}"):
            derive(wg.parse(text, "all.mlir"))
    said = f"module attributes {{mhlo.num_partitions = {4 if channel else 1} : i32, mhlo.num_replicas = {1 if channel else 4} : i32}} {{\n{text}}}"
    y_dot = wg.parse(said).jvp().distribute(4)(x, x)[1]
    x_bar = wg.parse(said).vjp().distribute(4)(x, y_dot)[1]
    assert np.isclose(np.vdot(x_bar, x), np.vdot(y_dot, y_dot), rtol=1e-11)
