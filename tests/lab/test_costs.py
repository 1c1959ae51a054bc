"""Counted costs agree with the counting interpreter, and the report recommends the right mode.

WENGERT_UPDATE_GOLDEN=1 writes the golden files anew.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wengert as wg
from wengert.lab.costs import CostReport, report
from wengert.lab.costs.decision import decide
from wengert.lab.inputs import random_inputs
from wengert.lab.tables import count, seconds, size, table
from wengert.runtime.interpreter import Counter, run
from wengert.transforms.analysis.liveness import peak_bytes
from wengert.transforms.analysis.program_cost import measured, program_cost
from wengert.transforms.analysis.symbolic.polynomial import Polynomial
from wengert.transforms.analysis.trip_count import trip_count

GOLDEN = Path(__file__).parent / "golden"
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def loop(start: int, step: int, direction: str, bound: int, form: str = "add %i, %s") -> str:
    return f"""func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {{
  %c = stablehlo.constant dense<{start}> : tensor<i32>
  %r:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i32>, tensor<3xf64>
  cond {{
    %b = stablehlo.constant dense<{bound}> : tensor<i32>
    %p = stablehlo.compare {direction}, %i, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %s = stablehlo.constant dense<{step}> : tensor<i32>
    %j = stablehlo.{form} : tensor<i32>
    %z = stablehlo.sine %y : tensor<3xf64>
    stablehlo.return %j, %z : tensor<i32>, tensor<3xf64>
  }}
  return %r#1 : tensor<3xf64>
}}"""


BRANCHES = """func.func public @main(%x: tensor<3xf64>, %i: tensor<i32>) -> tensor<3xf64> {
  %r = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<3xf64>
  }, {
    %0 = stablehlo.sine %x : tensor<3xf64>
    %1 = stablehlo.multiply %0, %0 : tensor<3xf64>
    stablehlo.return %1 : tensor<3xf64>
  }) : (tensor<i32>) -> tensor<3xf64>
  return %r : tensor<3xf64>
}"""

DATA_DEPENDENT = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %r = stablehlo.while(%y = %x) : tensor<f64>
  cond {
    %b = stablehlo.constant dense<10.0> : tensor<f64>
    %p = stablehlo.compare LT, %y, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %z = stablehlo.add %y, %y : tensor<f64>
    stablehlo.return %z : tensor<f64>
  }
  return %r : tensor<f64>
}"""


@pytest.mark.parametrize(
    ("text", "trips"),
    [
        (loop(0, 1, "LT", 7), 7),
        (loop(0, 1, "LE", 7), 8),
        (loop(3, 2, "LT", 8), 3),
        (loop(10, -1, "GT", 0), 10),
        (loop(10, -3, "GE", 1), 4),
        (loop(10, 3, "GT", 1, "subtract %i, %s"), 3),
        (loop(0, 1, "NE", 5), 5),
        (loop(5, 1, "LT", 5), 0),
        (loop(0, 2, "NE", 5), None),
        (loop(0, 1, "GT", -1), None),
        (loop(0, 1, "LT", 7, "multiply %i, %s"), None),
        (loop(0, 0, "LT", 7), None),
        (DATA_DEPENDENT, None),
    ],
)
def test_trip_counts(text: str, trips: int | None) -> None:
    (loop,) = [op for op in wg.parse(text).module.walk() if op.name == "stablehlo.while"]
    assert trip_count(loop) == trips


def counted(program: wg.Program, inputs: list[Any]) -> Counter:
    counter = Counter()
    run(program.module, inputs, entry="main", counter=counter)
    return counter


@pytest.mark.parametrize("name", ["scalar", "decay_curve", "mlp", "transformer_block"])
@pytest.mark.parametrize("mode", ["primal", "jvp", "vjp"])
def test_counts_are_those_of_the_counting_interpreter(name: str, mode: str) -> None:
    program = wg.load(EXAMPLES / f"{name}.mlir")
    program = program if mode == "primal" else getattr(program, mode)()
    compare_with_the_interpreter(program, random_inputs(program.signature, 0))


@pytest.mark.parametrize(
    ("text", "inputs"), [(loop(0, 1, "LT", 7), [np.ones(3)]), (loop(10, -3, "GE", 1), [np.ones(3)]), (BRANCHES, [np.ones(3), np.int32(1)])]
)
@pytest.mark.parametrize("mode", ["primal", "core", "jvp", "vjp"])
def test_counts_of_loops_and_branches(text: str, inputs: list[Any], mode: str) -> None:
    program = wg.parse(text)
    program = program if mode == "primal" else wg.Program(program.optimized_module) if mode == "core" else getattr(program, mode)()
    compare_with_the_interpreter(program, [np.asarray(x) for x in inputs] + [np.ones(3)] * (mode in ("jvp", "vjp")))


def compare_with_the_interpreter(program: wg.Program, inputs: list[Any]) -> None:
    cost, actual = program_cost(program.module), counted(program, inputs)
    predicted = cost.at(measured(cost, actual.blocks))
    assert predicted.ops == dict(actual.ops)
    assert (predicted.flops, predicted.transcendentals, predicted.bytes) == (actual.flops, actual.transcendentals, actual.bytes)
    # the interpreter knows which results share an array with an operand, so it may find less
    assert actual.peak_bytes <= predicted.peak_bytes
    assert predicted.peak_bytes <= 1.3 * actual.peak_bytes


def test_peak_of_a_chain_is_two_values_beside_the_input() -> None:
    ops = "".join(f"  %{i + 1} = stablehlo.sine %{i if i else 'x'} : tensor<100xf64>\n" for i in range(20))
    text = f"func.func public @main(%x: tensor<100xf64>) -> tensor<100xf64> {{\n{ops}  return %20 : tensor<100xf64>\n}}".replace("%0 ", "%x ")
    assert peak_bytes(wg.parse(text).module) == 3 * 800


@pytest.mark.parametrize(
    ("name", "decision"),
    [
        ("mlp", "Use reverse: 1 VJP instead of 6410 JVPs"),
        ("transformer_block", "Use reverse: 1024 VJPs instead of"),
        ("decay_curve", "Use forward: 2 JVPs instead of 1000 VJPs"),
    ],
)
def test_recommendations(name: str, decision: str) -> None:
    costs = report(wg.load(EXAMPLES / f"{name}.mlir"))
    assert costs.decision.startswith(decision)
    assert decision in str(costs)


def test_measuring_confirms_what_was_counted() -> None:
    costs = report(wg.load(EXAMPLES / "decay_curve.mlir"), measure=True)
    assert costs.measured_decision is not None
    assert costs.measured_decision.mode == costs.predicted_decision.mode == costs.mode == "forward"
    assert "as measured" in costs.decision
    assert all(row.measured is not None and row.measured.minimum <= row.measured.median for row in costs.rows)
    assert "measured min" in str(costs)
    assert all(row.compiled is not None and row.measured is not None and row.measured.peak_bytes == row.compiled.memory.total for row in costs.rows)


def test_what_is_not_known_is_said() -> None:
    loop = report(wg.parse(DATA_DEPENDENT, "p.mlir"))
    assert loop.symbols == {"T0"}
    assert "T0: iterations in all of the loop at p.mlir:2:3" in str(loop)
    branches = report(wg.parse(BRANCHES, "p.mlir"))
    assert branches.symbols == {"B0_1"}  # the other branch computes nothing
    assert "B0_1: how often branch 1 was taken at p.mlir:2:3" in str(branches)


def test_a_measured_point_gives_symbols_their_values() -> None:
    costs = report(wg.parse(DATA_DEPENDENT, "p.mlir"), [np.float64(3.0)], measure=True)
    assert costs.symbols == frozenset()
    assert costs.primal.values == {"T0": 2}
    assert "p.mlir:2:3, 2 here" in str(costs)


UNKNOWN_CALL = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.custom_call @mystery(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}"""


def test_there_is_no_recommendation_where_a_cost_is_not_known() -> None:
    row = report(wg.parse(CHAIN)).primal
    unknown = program_cost(wg.parse(UNKNOWN_CALL, "p.mlir").module)
    costs = CostReport("p", row, replace(row, cost=unknown), row, (0,), (0,))
    assert costs.mode is None
    assert costs.decision.startswith("No recommendation")
    assert "p.mlir:2:3" in costs.decision


n, t = Polynomial.symbol("n"), Polynomial.symbol("T0")


@pytest.mark.parametrize(
    ("forward", "reverse", "verdict", "condition"),
    [
        (100, 200, "forward", ""),
        (100, 99, "tie", ""),
        (0, 0, "tie", ""),
        (3 * t + 1, 3 * t + 1, "tie", ""),
        (3 * t + 1, 4 * t + 2, "forward", ""),
        (4 * t * n, 3 * t * n, "reverse", ""),
        (4 * t + 1, 3 * t + 10, "conditional", "T0 < 9"),
        (3 * t + 10, 4 * t + 1, "conditional", "T0 > 9"),
        (n**2, 3 * n, "conditional", "n < 3"),
        (2 * n, 3 * t + 4, "conditional", "n < 3 T0/2 + 2"),
        (10 + 5 * Polynomial.symbol("B0_0"), 12 + Polynomial.symbol("B0_0") + 5 * Polynomial.symbol("B0_1"), "conditional", ""),
        (10 + 2 * Polynomial.symbol("B0_0"), 11 + 2 * Polynomial.symbol("B0_0") + 5 * Polynomial.symbol("B0_1"), "forward", ""),
        (11 + 2 * Polynomial.symbol("B0_0"), 10 + 2 * Polynomial.symbol("B0_0") + 2 * Polynomial.symbol("B0_1"), "conditional", ""),
        (11 + 0 * n, 10 + Polynomial.symbol("B0_0") + Polynomial.symbol("B0_1"), "tie", ""),
    ],
)
def test_decisions(forward: Any, reverse: Any, verdict: str, condition: str) -> None:
    decision = decide(Polynomial.of(forward), Polynomial.of(reverse), [(("B0_0", "B0_1"), Polynomial.of(1))])
    assert decision.verdict == verdict
    if condition:
        assert decision.condition == condition


def test_json() -> None:
    costs = json.loads(json.dumps(report(wg.load(EXAMPLES / "scalar.mlir")).to_json()))
    assert costs["rows"]["primal"]["transcendentals"] == 2
    assert "to-core" in costs["stage"]
    assert set(costs["rows"]) == {"primal", "forward", "reverse"}
    assert costs["rows"]["primal"]["compiled"]["memory"]["peak"] == report(wg.load(EXAMPLES / "scalar.mlir")).primal.compiled.memory.total  # pyright: ignore
    assert costs["rows"]["primal"]["predicted"]["seconds"] > 0


def test_through_the_program() -> None:
    assert wg.load(EXAMPLES / "decay_curve.mlir").costs(wrt=0).forward.runs == 1


CHAIN = """func.func public @main(%x: tensor<4xf64>, %n: tensor<i32>) -> tensor<f64> {
  %0 = stablehlo.sine %x : tensor<4xf64>
  %1 = stablehlo.multiply %0, %x : tensor<4xf64>
  %z = stablehlo.constant dense<0.0> : tensor<f64>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<4xf64>, tensor<f64>) -> tensor<f64>
  return %2 : tensor<f64>
}"""


TIME = re.compile(r"[\d.e+]+ (?:ns|us|ms|s)\b")


@pytest.mark.parametrize(("name", "text"), [("chain", CHAIN), ("loop_of_unknown_length", DATA_DEPENDENT)])
def test_the_text_of_the_report(name: str, text: str) -> None:
    """Without predicted times, which depend on the machine, and so without columns of their width and what they decide."""
    shown = str(report(wg.parse(text, f"{name}.mlir")))
    shown = re.sub(r" +", " ", TIME.sub("TIME", shown)).rpartition("\n")[0].replace("T0 + TIME", "TIME")
    shown = re.sub(r"\d+ TIME", "TIME", shown) + "\n"
    path = GOLDEN / f"costs_{name}.txt"
    if os.environ.get("WENGERT_UPDATE_GOLDEN"):
        path.write_text(shown)
    assert shown == path.read_text()


def test_numbers_as_people_read_them() -> None:
    assert [count(n) for n in (0, 99_999, 100_000, 1_234_567, 999_600, 5 * 10**12)] == ["0", "99999", "100 k", "1.23 M", "1 M", "5 T"]
    assert [size(n) for n in (0, 1023, 1024, 1536, 2**20, 3 * 2**40)] == ["0 B", "1023 B", "1 KiB", "1.5 KiB", "1 MiB", "3 TiB"]
    assert [seconds(s) for s in (2.0, 0.0123, 4.5e-6, 7e-9)] == ["2 s", "12.3 ms", "4.5 us", "7 ns"]
    assert table(["", "a"], [["row", "12"], ["x", "3"]]) == ["      a", "row  12", "x     3"]
