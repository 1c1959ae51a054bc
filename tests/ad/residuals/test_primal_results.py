"""Differentiating, linearizing and batching never change what a program computes (the invariant of ``primal_results``)."""

from __future__ import annotations

import numpy as np
import pytest
from primal_results import Array, assert_primal_results_are_kept
from reference_programs import PROGRAMS, needs_corpus, share

from wengert.lab.corpus import CorpusProgram
from wengert.runtime.loading import parse
from wengert.runtime.program import Program
from wengert.transforms.ad.case import Case
from wengert.transforms.ad.rules import ALL_CASES

NAN = float("nan")
X = np.array([1.0, 1.0, 2.0, 2.0, NAN, 0.0, -0.0, 1.0])


@pytest.mark.parametrize("case", ALL_CASES, ids=[case.name for case in ALL_CASES])
def test_rules(case: Case) -> None:
    rng = np.random.default_rng(3)
    assert assert_primal_results_are_kept(Program(case.module(), name=case.name), [arg.draw(rng) for arg in case.args]) >= 2


def region(body: str, arguments: str = "%a: tensor<f64>, %b: tensor<f64>") -> str:
    return f"({{\n^bb0({arguments}):\n{body}\n}}"


def selection(direction: str, window: int = 2, stride: int = 1, padding: tuple[int, int] = (0, 0)) -> str:
    count = (8 + sum(padding) - window) // stride + 1
    compare = f"%c = stablehlo.compare {direction}, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>\nstablehlo.return %c : tensor<i1>"
    add = "%c = stablehlo.add %a, %b : tensor<f64>\nstablehlo.return %c : tensor<f64>"
    return f"""func.func @main(%x: tensor<8xf64>) -> tensor<8xf64> {{
      %z = stablehlo.constant dense<0.5> : tensor<f64>
      %i = stablehlo.iota dim = 0 : tensor<{count}xf64>
      %0 = "stablehlo.select_and_scatter"(%x, %i, %z) <{{window_dimensions = array<i64: {window}>, window_strides = array<i64: {stride}>,
        padding = dense<[[{padding[0]}, {padding[1]}]]> : tensor<1x2xi64>}}> {region(compare)}, {region(add)[1:]})
        : (tensor<8xf64>, tensor<{count}xf64>, tensor<f64>) -> tensor<8xf64>
      return %0 : tensor<8xf64>
    }}"""


def scatter(combine: str, count: int, *, unique: str = "false") -> str:
    body = f"%c = {combine}\nstablehlo.return %c : tensor<f64>" if combine else "stablehlo.return %b : tensor<f64>"
    return f"""func.func @main(%x: tensor<8xf64>, %i: tensor<{count}x1xi32>) -> tensor<8xf64> {{
      %u = stablehlo.slice %x [0:{count}] : (tensor<8xf64>) -> tensor<{count}xf64>
      %v = stablehlo.negate %u : tensor<{count}xf64>
      %0 = "stablehlo.scatter"(%x, %i, %v) <{{unique_indices = {unique}, scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> {region(body)})
        : (tensor<8xf64>, tensor<{count}x1xi32>, tensor<{count}xf64>) -> tensor<8xf64>
      return %0 : tensor<8xf64>
    }}"""


def whole_window(start: int) -> str:
    """A scatter of one window that is as large as its operand: where it begins elsewhere than at 0, nothing is written."""
    return f"""func.func @main(%x: tensor<8xf64>) -> tensor<8xf64> {{
      %i = stablehlo.constant dense<{start}> : tensor<1xi32>
      %u = stablehlo.negate %x : tensor<8xf64>
      %0 = "stablehlo.scatter"(%x, %i, %u) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0],
        scatter_dims_to_operand_dims = [0]>}}> {region("stablehlo.return %b : tensor<f64>")})
        : (tensor<8xf64>, tensor<1xi32>, tensor<8xf64>) -> tensor<8xf64>
      return %0 : tensor<8xf64>
    }}"""


def reduced(op: str, extra: str = "") -> str:
    return f"""func.func @main(%x: tensor<8xf64>) -> tensor<f64> {{
      %z = stablehlo.constant dense<1.5> : tensor<f64>
      %0 = stablehlo.reduce(%x init: %z) applies stablehlo.{op} across dimensions = [0] : (tensor<8xf64>, tensor<f64>) -> tensor<f64>
      return %0 : tensor<f64>
    }}"""


def windowed(op: str) -> str:
    return f"""func.func @main(%x: tensor<8xf64>) -> tensor<5xf64> {{
      %z = stablehlo.constant dense<1.5> : tensor<f64>
      %0 = "stablehlo.reduce_window"(%x, %z) <{{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>,
        padding = dense<[[1, 2]]> : tensor<1x2xi64>}}> {region(f"%c = stablehlo.{op} %a, %b : tensor<f64>" + chr(10) + "stablehlo.return %c : tensor<f64>")})
        : (tensor<8xf64>, tensor<f64>) -> tensor<5xf64>
      return %0 : tensor<5xf64>
    }}"""


def ordered(direction: str, order: str = "TOTALORDER") -> str:
    return f"""func.func @main(%x: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xi32>) {{
      %i = stablehlo.iota dim = 0 : tensor<8xi32>
      %0:2 = "stablehlo.sort"(%x, %i) <{{dimension = 0 : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<f64>, %b: tensor<f64>, %c: tensor<i32>, %d: tensor<i32>):
        %e = stablehlo.compare {direction}, %a, %b, {order} : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %e : tensor<i1>
      }}) : (tensor<8xf64>, tensor<8xi32>) -> (tensor<8xf64>, tensor<8xi32>)
      return %0#0, %0#1 : tensor<8xf64>, tensor<8xi32>
    }}"""


INDICES = np.array([[2], [2], [-1], [8], [0], [7], [0]], np.int32)
FINITE = np.where(np.isnan(X), 2.0, X)
AT_TIES: dict[str, tuple[str, list[Array]]] = {
    **{
        f"select_and_scatter {d} {w} {s} {p}": (selection(d, w, s, p), [X])
        for d in ("GE", "GT", "LE", "LT", "EQ", "NE")
        for w, s, p in [(2, 1, (0, 0)), (3, 2, (2, 3))]
    },
    **{
        f"scatter {name or 'set'}": (scatter(f"stablehlo.{name} %a, %b : tensor<f64>" if name else "", 7), [FINITE, INDICES])
        for name in ("add", "multiply", "maximum", "minimum", "")
    },
    **{f"scatter of a whole window at {start}": (whole_window(start), [X]) for start in (0, 1, -1)},
    **{f"reduce {op}": (reduced(op), [x]) for op, x in [("add", FINITE), ("multiply", FINITE), ("maximum", X), ("minimum", X)]},
    **{f"reduce_window {op}": (windowed(op), [x]) for op, x in [("add", FINITE), ("multiply", FINITE), ("maximum", X), ("minimum", X)]},
    **{f"sort {direction}": (ordered(direction), [X]) for direction in ("LT", "GT")},
}


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("name", AT_TIES)
def test_ties_nan_and_indices_out_of_bounds(name: str, backend: str) -> None:
    text, inputs = AT_TIES[name]
    assert assert_primal_results_are_kept(parse(text, name), inputs, backend=backend) >= 9


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize("program", share(PROGRAMS, 6), ids=lambda program: program.name)
def test_reference_programs(program: CorpusProgram) -> None:
    from wengert.runtime.loading import load

    assert assert_primal_results_are_kept(load(program.path("f64")), program.reference("f64").inputs, tolerance=1e-9) >= 2
