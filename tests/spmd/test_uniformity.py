"""Which values are the same on which devices: labels, refusals of programs that would wait for ever, collectives that are not needed."""

from __future__ import annotations

import numpy as np
import pytest
from spmd_programs import CHANNEL, DEVICES, check_derivatives, groups, reducer
from xdsl.dialects.func import FuncOp

import wengert as wg
from wengert.dialects.stablehlo.process_groups import Grid
from wengert.transforms.spmd.uniformity import analysed

SUM = reducer("add")


def module(body: str, arguments: str = "%x: tensor<f64>", result: str = "f64", devices: int = 4) -> str:
    return (
        f"module attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = 1 : i32}} {{\n"
        f"  func.func public @main({arguments}) -> tensor<{result}> {{\n{body}\n  }}\n}}"
    )


def reduce_over(table: list[list[int]], value: str, name: str) -> str:
    return f'    {name} = "stablehlo.all_reduce"({value}) <{{{groups(table)}, {DEVICES}}}> {SUM} : (tensor<f64>) -> tensor<f64>'


ROWS, COLUMNS, ALL = [[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 1, 2, 3]]
PLACE = """    %i = stablehlo.partition_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %row = stablehlo.divide %i, %two : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %c = stablehlo.compare EQ, %row, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
"""


def labels(body: str, value: int = -1) -> tuple[int, ...]:
    """The labels of what the entry returns."""
    p = wg.parse(module(body + "\n    return %r : tensor<f64>"))
    main = next(op for op in p.core_module.ops if isinstance(op, FuncOp))
    uniformity = analysed(main, Grid(1, 4))
    last = main.body.block.last_op
    assert last is not None
    return uniformity.known[last.operands[value]].labels


def test_labels() -> None:
    assert labels("    %r = stablehlo.sine %x : tensor<f64>") == (0, 1, 2, 3)
    assert labels("    %r = stablehlo.constant dense<1.0> : tensor<f64>") == (0, 0, 0, 0)
    assert labels(reduce_over(ROWS, "%x", "%r")) == (0, 0, 1, 1)
    assert labels(reduce_over(COLUMNS, "%x", "%r")) == (0, 1, 0, 1)
    assert labels(reduce_over(ROWS, "%x", "%a") + "\n" + reduce_over(COLUMNS, "%a", "%r")) == (0, 0, 0, 0)
    assert labels(PLACE + "    %r = stablehlo.convert %row : (tensor<ui32>) -> tensor<f64>") == (0, 0, 1, 1)


def branch(condition_body: str, table: list[list[int]]) -> str:
    inner = reduce_over(table, "%x", "%z")
    body = f"""{condition_body}
    %r = "stablehlo.if"(%c) ({{
  {inner}
      stablehlo.return %z : tensor<f64>
    }}, {{
      stablehlo.return %x : tensor<f64>
    }}) : (tensor<i1>) -> tensor<f64>
    return %r : tensor<f64>"""
    return module(body)


def test_a_collective_under_a_condition_that_differs_is_refused_with_both_places() -> None:
    p = wg.parse(branch(PLACE, ALL), "rows.mlir")
    for run in (lambda: p.distribute(4), lambda: p.vjp().distribute(4)):
        with pytest.raises(
            wg.DiagnosticError, match=r"(?s)rows\.mlir:10:7: error: stablehlo\.all_reduce stands under .*devices 0 and 2.*the branch at rows\.mlir:9:5"
        ):
            run()


def test_a_condition_may_differ_between_groups() -> None:
    x = np.array([1.0, 2, 3, 4])
    for backend in ("cpu", "interpreter"):
        np.testing.assert_array_equal(wg.parse(branch(PLACE, ROWS)).distribute(4, backend=backend)(x)[0], [3, 3, 3, 4])


SUMMED = f"""{reduce_over(ALL, "%x", "%s")}
    %one = stablehlo.constant dense<1.0> : tensor<f64>
    %c = stablehlo.compare GT, %s, %one : (tensor<f64>, tensor<f64>) -> tensor<i1>
"""
OWN = """    %one = stablehlo.constant dense<1.0> : tensor<f64>
    %c = stablehlo.compare GT, %x, %one : (tensor<f64>, tensor<f64>) -> tensor<i1>
"""


def test_a_batch_with_divergent_control_flow_needs_a_uniform_condition() -> None:
    p = wg.parse(branch(SUMMED, ALL))
    x = np.array([[0.1, 0.5, 2.0], [0.1, 0.5, 2.0], [0.1, 0.5, 2.0], [0.1, 0.5, 2.0]])
    one_by_one = np.stack([p.distribute(4)(np.ascontiguousarray(x[:, i]))[0] for i in range(3)], 1)
    np.testing.assert_array_equal(p.vmap(size=3).distribute(4)(x)[0], one_by_one)
    with pytest.raises(wg.DiagnosticError, match="cannot be batched: batch elements differ in whether they run it, and so may devices"):
        wg.parse(branch(OWN, ALL)).vmap(size=3)


def test_loops_are_looked_at_until_nothing_changes() -> None:
    body = f"""    %n = stablehlo.constant dense<3> : tensor<i64>
    %k = stablehlo.constant dense<0> : tensor<i64>
    %zero = stablehlo.constant dense<0.0> : tensor<f64>
    %w:3 = stablehlo.while(%i = %k, %a = %zero, %b = %x) : tensor<i64>, tensor<f64>, tensor<f64>
    cond {{
      %t = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    }} do {{
      %one = stablehlo.constant dense<1> : tensor<i64>
      %j = stablehlo.add %i, %one : tensor<i64>
  {reduce_over(ROWS, "%b", "%s")}
      %u = stablehlo.add %a, %s : tensor<f64>
      stablehlo.return %j, %u, %u : tensor<i64>, tensor<f64>, tensor<f64>
    }}
    %r = stablehlo.add %w#1, %w#1 : tensor<f64>"""
    assert labels(body) == (0, 0, 1, 1)


def collectives(p: wg.Program) -> list[str]:
    return [op.name for op in p.module.walk() if "all_" in op.name]


def test_needless_collectives_are_removed() -> None:
    body = f"""{reduce_over(ALL, "%x", "%s")}
{reduce_over(ROWS, "%s", "%t")}
    %v = stablehlo.reshape %t : (tensor<f64>) -> tensor<1xf64>
    %g = "stablehlo.all_gather"(%v) <{{all_gather_dim = 0 : i64, {groups(ALL)}, {DEVICES}}}> : (tensor<1xf64>) -> tensor<4xf64>
    %b = "stablehlo.collective_broadcast"(%g) <{{{groups(ALL)}, {CHANNEL}}}> : (tensor<4xf64>) -> tensor<4xf64>
    return %b : tensor<4xf64>"""
    p = wg.parse(module(body, result="4xf64"))
    q = p.apply("to-core,needless-collectives,simplify,cse,dce")
    assert collectives(q) == ["core.all_reduce"]
    x = np.array([1.0, 2, 3, 4])
    np.testing.assert_array_equal(p.distribute(4)(x)[0], q.distribute(4)(x)[0])
    np.testing.assert_array_equal(q.distribute(4)(x)[0], np.full((4, 4), 20.0))


def test_a_share_of_a_sum_of_what_is_the_same_is_computed_alone() -> None:
    scatter = (
        f'"stablehlo.reduce_scatter"(%g) <{{scatter_dimension = 0 : i64, {groups([[2, 0], [3, 1]])}, {DEVICES}}}> {SUM} : (tensor<4xf64>) -> tensor<2xf64>'
    )
    body = f"""    %v = stablehlo.reshape %x : (tensor<f64>) -> tensor<1xf64>
    %g = "stablehlo.all_gather"(%v) <{{all_gather_dim = 0 : i64, {groups(ALL)}, {DEVICES}}}> : (tensor<1xf64>) -> tensor<4xf64>
    %r = {scatter}
    return %r : tensor<2xf64>"""
    p = wg.parse(module(body, result="2xf64"))
    q = p.apply("to-core,needless-collectives,simplify,cse,dce")
    assert [op.name for op in q.module.walk() if "scatter" in op.name] == []
    x = np.array([1.0, 2, 3, 4])
    for made in (p, q):
        np.testing.assert_array_equal(made.distribute(4)(x)[0], [[6, 8], [6, 8], [2, 4], [2, 4]])


def test_collectives_of_what_may_differ_stay() -> None:
    q = wg.parse(module(reduce_over(ALL, "%x", "%r") + "\n    return %r : tensor<f64>")).apply("to-core,needless-collectives")
    assert collectives(q) == ["core.all_reduce"]


def test_simplify_removes_them_too() -> None:
    text = module(f"{reduce_over(ALL, '%x', '%s')}\n{reduce_over(ROWS, '%s', '%r')}\n    return %r : tensor<f64>")
    p = wg.parse(text)
    assert collectives(p.apply("to-core,simplify")) == ["core.all_reduce"]
    x = np.array([1.0, 2, 3, 4])
    np.testing.assert_array_equal(p.distribute(4)(x)[0], np.full(4, 20.0))
    unknown = text.replace("mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32", "")
    assert len(collectives(wg.parse(unknown).apply("to-core,simplify"))) == 2  # who has which number of devices is not said


def log_sum_exp(largest: list[list[int]], total: list[list[int]]) -> str:
    """The logarithm of a sum of exponentials over groups, of which a maximum over groups is taken away first and added at the end."""
    largest_of = f'"stablehlo.all_reduce"(%x) <{{{groups(largest)}, {DEVICES}}}> {reducer("maximum")} : (tensor<f64>) -> tensor<f64>'
    return module(
        f"    %m = {largest_of}\n    %d = stablehlo.subtract %x, %m : tensor<f64>\n    %e = stablehlo.exponential %d : tensor<f64>\n"
        f"{reduce_over(total, '%e', '%s')}\n    %l = stablehlo.log %s : tensor<f64>\n    %r = stablehlo.add %l, %m : tensor<f64>\n    return %r : tensor<f64>"
    )


def test_a_maximum_over_devices_that_cancels_has_no_derivative() -> None:
    check_derivatives(log_sum_exp(ALL, ALL), 4, np.array([0.3, -0.2, 1.1, 0.4]))
    for strategy in ("transpose", "direct"):
        derivative = wg.parse(log_sum_exp(ALL, ALL)).vjp(strategy=strategy)
        assert len([name for name in collectives(wg.parse(str(derivative))) if "all_reduce" in name]) == 3  # the maximum, the sum, and the sum's transpose


def test_a_maximum_over_other_devices_does_not_cancel() -> None:
    check_derivatives(log_sum_exp(ROWS, ALL), 4, np.array([0.3, -0.2, 1.1, 0.4]))
