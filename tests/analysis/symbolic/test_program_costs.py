"""Costs with measured symbols put in are exactly what the interpreter counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_programs import in_all_precisions, needs_corpus, share

import wengert as wg
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.interpreter import Counter, run
from wengert.transforms.analysis.program_cost import ProgramCost, measured, program_cost
from wengert.transforms.analysis.symbolic.unknowns import Unknowns

NESTED = """func.func public @main(%x: tensor<3xf64>, %n: tensor<i32>) -> tensor<3xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %many = stablehlo.constant dense<15> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<3xf64>
  cond {
    %p = stablehlo.compare LT, %i, BOUND, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %q:2 = stablehlo.while(%j = START, %z = %y) : tensor<i32>, tensor<3xf64>
    cond {
      %p = stablehlo.compare LT, %j, %many, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %next = stablehlo.STEP : tensor<i32>
      %w = stablehlo.sine %z : tensor<3xf64>
      stablehlo.return %next, %w : tensor<i32>, tensor<3xf64>
    }
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %q#1 : tensor<i32>, tensor<3xf64>
  }
  return %r#1 : tensor<3xf64>
}"""

CALLS = """func.func private @f(%x: tensor<f64>, %n: tensor<i32>) -> tensor<f64> {
  %r:2 = stablehlo.while(%i = %n, %y = %x) : tensor<i32>, tensor<f64>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.compare GT, %i, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.subtract %i, %one : tensor<i32>
    %z = stablehlo.cosine %y : tensor<f64>
    stablehlo.return %next, %z : tensor<i32>, tensor<f64>
  }
  return %r#1 : tensor<f64>
}
func.func public @main(%x: tensor<f64>) -> tensor<f64> {
  %five = stablehlo.constant dense<5> : tensor<i32>
  %0 = call @f(%x, %five) : (tensor<f64>, tensor<i32>) -> tensor<f64>
  %1 = call @f(%0, COUNT) : (tensor<f64>, tensor<i32>) -> tensor<f64>
  return %1 : tensor<f64>
}"""


def nested(bound: str = "%many", start: str = "%i", step: str = "add %j, %one") -> wg.Program:
    return wg.parse(NESTED.replace("BOUND", bound).replace("START", start).replace("STEP", step), "nested.mlir")


def assert_exact(program: wg.Program, inputs: list[Any], unknowns: Unknowns | None = None) -> ProgramCost:
    """The costs, which are what a run counts with what it measures put in."""
    predicted, counter = program_cost(program.module, unknowns=unknowns), Counter()
    run(program.module, [np.asarray(x) for x in inputs], counter=counter)
    at = predicted.at(measured(predicted, counter.blocks))
    assert not at.symbols
    assert at.ops == dict(counter.ops)
    counted = (counter.flops, counter.transcendentals, counter.bytes_read, counter.bytes_written)
    assert (at.flops, at.transcendentals, at.bytes_read, at.bytes_written) == counted
    return predicted


def forms(program: wg.Program) -> list[tuple[wg.Program, int]]:
    """The text, its core form, and its derivatives, with the number of arrays that each takes besides."""
    core = wg.Program(program.optimized_module)
    return [(program, 0), (core, 0), (program.jvp(), 1), (program.vjp(), 1), (program.vjp(strategy="direct"), 1)]


@pytest.mark.parametrize(("bound", "start", "step", "sines"), [("%many", "%i", "add %j, %one", 120), ("%many", "%zero", "add %j, %one", 225)])
def test_nests_of_counted_loops_are_summed(bound: str, start: str, step: str, sines: int) -> None:
    for program, others in forms(nested(bound, start, step)):
        cost = assert_exact(program, [np.ones(3), np.int32(9), *[np.ones(3)] * others])
        assert not cost.symbols
        assert cost.ops["stablehlo.sine"] == sines


def test_a_step_of_more_than_one_is_summed_too() -> None:
    text = NESTED.replace("BOUND", "%many").replace("START", "%i").replace("STEP", "add %j, %two")
    program = wg.parse(text.replace("  %many =", "  %two = stablehlo.constant dense<2> : tensor<i32>\n  %many ="))
    for form, others in forms(program):
        assert assert_exact(form, [np.ones(3), np.int32(9), *[np.ones(3)] * others]).ops["stablehlo.sine"] == sum(-(-(15 - i) // 2) for i in range(15))


ONE_LOOP = """func.func public @main(%x: tensor<f64>) -> tensor<f64> {{
  %start = stablehlo.constant dense<{start}> : tensor<i32>
  %r:2 = stablehlo.while(%i = %start, %y = %x) : tensor<i32>, tensor<f64>
  cond {{
    %bound = stablehlo.constant dense<{bound}> : tensor<i32>
    %p = stablehlo.compare {direction}, {sides}, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }} do {{
    %step = stablehlo.constant dense<{step}> : tensor<i32>
    %next = stablehlo.{form} %i, %step : tensor<i32>
    %z = stablehlo.sine %y : tensor<f64>
    stablehlo.return %next, %z : tensor<i32>, tensor<f64>
  }}
  return %r#1 : tensor<f64>
}}"""


@settings(deadline=None, max_examples=150)
@given(
    st.integers(-9, 9),
    st.integers(-4, 4),
    st.integers(-9, 9),
    st.sampled_from(["LT", "LE", "GT", "GE", "NE", "EQ"]),
    st.sampled_from(["%i, %bound", "%bound, %i"]),
    st.sampled_from(["add", "subtract", "multiply"]),
)
def test_iterations_are_those_that_are_made(start: int, step: int, bound: int, direction: str, sides: str, form: str) -> None:
    program = wg.parse(ONE_LOOP.format(start=start, step=step, bound=bound, direction=direction, sides=sides, form=form))
    cost = program_cost(program.module)
    if not cost.symbols:  # else it may go on for ever
        assert_exact(program, [np.float64(1.0)])


def test_a_loop_whose_length_is_an_argument_has_a_symbol() -> None:
    for program, others in forms(nested("%n", "%zero")):
        cost = assert_exact(program, [np.ones(3), np.int32(9), *[np.ones(3)] * others])
        assert cost.symbols == {"T0"}
        assert str(cost.ops["stablehlo.sine"]) == "15 T0"


def test_a_counter_that_doubles_is_followed_where_its_start_is_known() -> None:
    for program, others in forms(nested("%many", "%one", "add %j, %j")):
        cost = assert_exact(program, [np.ones(3), np.int32(9), *[np.ones(3)] * others])
        assert cost.ops["stablehlo.sine"] == 15 * 4
    doubled = program_cost(nested("%many", "%i", "add %j, %j").module)
    assert doubled.symbols == {"T0"}  # from 0 it goes on for ever


def test_loops_of_a_derivative_share_the_symbol_of_theirs() -> None:
    program, unknowns = nested("%n", "%i"), Unknowns()
    inputs = [np.ones(3), np.int32(9)]
    costs = [assert_exact(wg.Program(program.optimized_module), inputs, unknowns)]
    costs += [assert_exact(derivative, [*inputs, np.ones(3)], unknowns) for derivative in (program.jvp(), program.vjp(), program.vjp(strategy="direct"))]
    assert all(cost.symbols == {"T0", "T1"} for cost in costs)
    assert [symbol.place for symbol in costs[0].unknown] == ["nested.mlir:5:3", "nested.mlir:10:5"]


def test_loops_that_one_location_does_not_tell_apart_have_symbols_of_their_own() -> None:
    text = CALLS.replace("COUNT", "%five").replace(
        "%five = stablehlo.constant dense<5> : tensor<i32>", "%five = stablehlo.convert %x : (tensor<f64>) -> tensor<i32>"
    )
    cost = assert_exact(wg.Program(wg.parse(text).optimized_module), [np.float64(3.0)])
    assert len(cost.unknown) == 2


def test_what_is_called_runs_as_often_as_its_calls_together() -> None:
    once = assert_exact(wg.parse(CALLS.replace("COUNT", "%five")), [np.float64(1.0)])
    assert once.ops["stablehlo.cosine"] == 10
    text = CALLS.replace("COUNT", "%six").replace("  %0 = call", "  %six = stablehlo.constant dense<6> : tensor<i32>\n  %0 = call")
    assert str(assert_exact(wg.parse(text), [np.float64(1.0)]).ops["stablehlo.cosine"]) == "T0"


def test_a_call_of_unknown_code_is_named() -> None:
    text = """func.func public @main(%x: tensor<3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.custom_call @mystery(%x) : (tensor<3xf64>) -> tensor<3xf64>
  return %0 : tensor<3xf64>
}"""
    assert program_cost(wg.parse(text, "p.mlir").module).uncounted == ("p.mlir:2:3",)


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 6))
def test_costs_of_reference_programs_are_what_is_counted(program: CorpusProgram, precision: str) -> None:
    d, primal, unknowns = program.reference(precision), wg.load(program.path(precision)), Unknowns()
    wrt, of = tuple(sorted(d.tangents)), tuple(sorted(d.cotangents))
    tangents, cotangents = [d.tangents[i] for i in wrt], [d.cotangents[j] for j in of]
    derived = [(primal.jvp(wrt, of), tangents), (primal.vjp(wrt, of), cotangents), (primal.vjp(wrt, of, strategy="direct"), cotangents)]
    for form, others in ((wg.Program(primal.optimized_module), []), *derived):
        assert_exact(form, [*d.inputs, *others], unknowns)
