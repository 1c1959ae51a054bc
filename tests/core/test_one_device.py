"""Communication on one device: what is exact there is computed and differentiated, the rest is refused by name, reason and place where it is run."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError

X = np.array([0.3, -0.7, 2.0, 5.0])
SUM = """({ ^bb0(%a: tensor<E>, %b: tensor<E>): %s = stablehlo.add %a, %b : tensor<E> stablehlo.return %s : tensor<E> })"""


def groups(table: list[list[int]]) -> str:
    return f"replica_groups = dense<{table or ''}> : tensor<{len(table)}x{len(table[0]) if table else 0}xi64>"


def module(op: str, attributes: str, region: str = "", result: str = "4xf64") -> str:
    nested = f" {region}" if region else ""
    line = f'%0 = "stablehlo.{op}"(%x) <{{{attributes}}}>{nested} : (tensor<4xf64>) -> tensor<{result}>'
    return f"func.func public @main(%x: tensor<4xf64>) -> tensor<{result}> {{\n  {line}\n  return %0 : tensor<{result}>\n}}\n"


ALONE, EVERYONE, APART = groups([[0]]), groups([]), groups([[0], [1]])
EXACT = {
    **{
        f"{op} {name}": module(op, f"{attributes}{which}", region)
        for name, which in (("alone", ALONE), ("everyone", EVERYONE), ("apart", APART))
        for op, attributes, region in (
            ("all_reduce", "", SUM.replace("E", "f64")),
            ("all_gather", "all_gather_dim = 0 : i64, ", ""),
            ("reduce_scatter", "scatter_dimension = 0 : i64, ", SUM.replace("E", "f64")),
            ("all_to_all", "split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 1 : i64, ", ""),
            ("cross-replica-sum", "", ""),
        )
    },
    "uneven groups": module("all_reduce", groups([[1, 2], [0, -1]]), SUM.replace("E", "f64")),
    "broadcast": module("collective_broadcast", ALONE),
    "permute": module("collective_permute", "source_target_pairs = dense<[[0, 0]]> : tensor<1x2xi64>"),
}
ZEROS = {
    "broadcast to others": module("collective_broadcast", groups([[1, 2]])),
    "broadcast to nobody": module("collective_broadcast", EVERYONE),
    "permute nothing": module("collective_permute", "source_target_pairs = dense<> : tensor<0x2xi64>"),
    "permute among others": module("collective_permute", "source_target_pairs = dense<[[1, 2]]> : tensor<1x2xi64>"),
}
REFUSED = {
    "reduce": (module("all_reduce", groups([[0, 1]]), SUM.replace("E", "f64")), "needs the devices 0, 1 of one of its replica_groups"),
    "gather": (module("all_gather", f"all_gather_dim = 0 : i64, {EVERYONE}", result="8xf64"), "makes tensor<8xf64> of tensor<4xf64>"),
    "scatter": (
        module("reduce_scatter", f"scatter_dimension = 0 : i64, {EVERYONE}", SUM.replace("E", "f64"), "2xf64"),
        "makes tensor<2xf64> of tensor<4xf64>, which takes several devices",
    ),
    "broadcast": (module("collective_broadcast", groups([[1, 0]])), "needs the devices 1, 0"),
    "receive": (module("collective_permute", "source_target_pairs = dense<[[1, 0]]> : tensor<1x2xi64>"), "sends from device 1 to device 0"),
    "send": (module("collective_permute", "source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>"), "sends from device 0 to device 1"),
    "mesh": (
        'sdy.mesh @mesh = <["a"=2]>\n'
        + module(
            "all_reduce", 'replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "a">]>', SUM.replace("E", "f64")
        ),
        "needs the devices 0, 1 of one of its replica_groups",
    ),
}


@pytest.mark.parametrize("name", [*EXACT, *ZEROS])
def test_values_and_derivatives(name: str) -> None:
    p, factor = wg.parse({**EXACT, **ZEROS}[name]), float(name in EXACT)
    for run in (p, p.compile("interpreter")):
        np.testing.assert_array_equal(run(X)[0], factor * X)
    np.testing.assert_array_equal(p.jvp()(X, X)[1], factor * X)
    np.testing.assert_array_equal(p.vjp()(X, X + 1)[1], factor * (X + 1))
    np.testing.assert_array_equal(p.vmap(size=2)(np.stack([X, X]))[0], factor * np.stack([X, X]))


def test_a_reduction_in_a_wider_type() -> None:
    text = (
        module("all_reduce", ALONE, SUM.replace("E", "f64"), "4xf64")
        .replace("%x: tensor<4xf64>", "%x: tensor<4xf32>")
        .replace("(tensor<4xf64>)", "(tensor<4xf32>)")
    )
    p = wg.parse(text)
    for run in (p, p.compile("interpreter")):
        (actual,) = run(X.astype(np.float32))
        assert actual.dtype == np.float64
        np.testing.assert_array_equal(actual, X.astype(np.float32))


@pytest.mark.parametrize("op", ["partition_id", "replica_id"])
def test_the_only_device_is_number_0(op: str) -> None:
    p = wg.parse(f"func.func public @main() -> tensor<ui32> {{\n  %0 = stablehlo.{op} : tensor<ui32>\n  return %0 : tensor<ui32>\n}}\n")
    assert p() == p.compile("interpreter")() == (0,)


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_other_devices_is_refused(name: str) -> None:
    text, message = REFUSED[name]
    p = wg.parse(text, "many.mlir")
    for run in (lambda: p(X), lambda: p.jvp()(X, X)):
        with pytest.raises(DiagnosticError, match=rf"many\.mlir:\d:3: error: stablehlo\.\w+ {message}"):
            run()
    with pytest.raises((wg.ExecutionError, DiagnosticError), match=rf"many\.mlir:\d:3: error: '?stablehlo\.\w+'? {message}"):
        p.compile("interpreter")(X)


def test_an_asynchronous_collective_is_run_where_it_starts() -> None:
    start = (
        '"stablehlo.async_start"(%x) ({ ^bb0(%a: tensor<4xf64>): %b = "stablehlo.slice"(%a) <{start_indices = array<i64: 1>, limit_indices = array<i64: 3>, '
    )
    text = f"""func.func public @main(%x: tensor<4xf64>) -> tensor<2xf64> {{
  %f = {start}strides = array<i64: 1>}}> : (tensor<4xf64>) -> tensor<2xf64> stablehlo.return %b : tensor<2xf64> }}) : (tensor<4xf64>) -> !stablehlo.future<tensor<2xf64>>
  %y = stablehlo.sine %x : tensor<4xf64>
  %d = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xf64>>) -> tensor<2xf64>
  %e = stablehlo.slice %y [1:3] : (tensor<4xf64>) -> tensor<2xf64>
  %r = stablehlo.multiply %d, %e : tensor<2xf64>
  return %r : tensor<2xf64>
}}
"""
    p = wg.parse(text)
    for run in (p, p.compile("interpreter")):
        np.testing.assert_allclose(run(X)[0], (X * np.sin(X))[1:3])
    assert p.check(X).ok
