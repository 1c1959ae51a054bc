"""Sharing and removing: across regions, with effects, with loops that carry what nobody needs."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.core.to_core import to_core
from wengert.transforms.optimize.cse import cse
from wengert.transforms.optimize.dce import dce


def ops(module: ModuleOp) -> list[str]:
    return [op.name.split(".")[1] for op in module.walk() if op.name not in ("builtin.module", "func.func", "func.return")]


def function(body: str, arguments: str = "%x: tensor<f64>", results: str = "tensor<f64>") -> ModuleOp:
    module = parse_module(f"func.func public @main({arguments}) -> ({results}) {{ {body} }}")
    verify(module)
    return module


def test_equal_ops_are_shared_and_different_ones_are_not() -> None:
    module = function("""
      %0 = stablehlo.sine %x : tensor<f64>
      %1 = stablehlo.sine %x : tensor<f64>
      %2 = stablehlo.constant dense<0.0> : tensor<f64>
      %3 = stablehlo.constant dense<-0.0> : tensor<f64>
      %4 = stablehlo.constant dense<0.0> : tensor<f64>
      %5 = stablehlo.add %0, %2 : tensor<f64>
      %6 = stablehlo.add %1, %3 : tensor<f64>
      %7 = stablehlo.add %1, %4 : tensor<f64>
      %8 = stablehlo.multiply %5, %6 : tensor<f64>
      %9 = stablehlo.multiply %8, %7 : tensor<f64>
      return %9 : tensor<f64>""")
    assert cse(module)
    verify(module)
    assert ops(module) == ["sine", "constant", "constant", "add", "add", "multiply", "multiply"]


def test_regions_share_with_what_is_before_them_and_not_with_each_other() -> None:
    module = function(
        """
      %0 = stablehlo.sine %x : tensor<f64>
      %1 = "stablehlo.if"(%p) ({
        %2 = stablehlo.sine %x : tensor<f64>
        %3 = stablehlo.cosine %x : tensor<f64>
        %4 = stablehlo.add %2, %3 : tensor<f64>
        stablehlo.return %4 : tensor<f64>
      }, {
        %2 = stablehlo.cosine %x : tensor<f64>
        stablehlo.return %2 : tensor<f64>
      }) : (tensor<i1>) -> tensor<f64>
      %5 = stablehlo.cosine %x : tensor<f64>
      %6 = stablehlo.add %0, %1 : tensor<f64>
      %7 = stablehlo.add %6, %5 : tensor<f64>
      return %7 : tensor<f64>""",
        "%x: tensor<f64>, %p: tensor<i1>",
    )
    cse(module)
    verify(module)
    assert ops(module) == ["sine", "if", "cosine", "add", "return", "cosine", "return", "cosine", "add", "add"]


def test_closed_regions_share_nothing_with_what_is_around_them() -> None:
    module = function("""
      %0 = stablehlo.constant dense<2.0> : tensor<f64>
      %n = stablehlo.constant dense<3> : tensor<i64>
      %1 = "core.for"(%n, %x) <{constants = 0 : i64}> ({
      ^bb0(%i: tensor<i64>, %y: tensor<f64>):
        %2 = stablehlo.constant dense<2.0> : tensor<f64>
        %3 = stablehlo.multiply %y, %2 : tensor<f64>
        stablehlo.return %3 : tensor<f64>
      }) : (tensor<i64>, tensor<f64>) -> tensor<f64>
      %4 = stablehlo.add %1, %0 : tensor<f64>
      return %4 : tensor<f64>""")
    assert not cse(module)
    verify(module)


def test_equal_ops_with_regions_are_shared() -> None:
    reduce = """ = "stablehlo.reduce"(%x, %z) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %s = stablehlo.multiply %a, %b : tensor<f64>
        %t = stablehlo.OP %s, %a : tensor<f64>
        stablehlo.return %t : tensor<f64>
      }) : (tensor<3xf64>, tensor<f64>) -> tensor<f64>"""
    lines = [f"%r{i}{reduce.replace('OP', op)}" for i, op in enumerate(["add", "add", "subtract"])]
    end = "%s0 = stablehlo.add %r0, %r1 : tensor<f64>\n%s1 = stablehlo.add %s0, %r2 : tensor<f64>\nreturn %s1 : tensor<f64>"
    module = function("\n".join(["%z = stablehlo.constant dense<1.0> : tensor<f64>", *lines, end]), "%x: tensor<3xf64>")
    cse(module)
    verify(module)
    assert ops(module).count("reduce") == 2


RANDOM = """
  %s = stablehlo.constant dense<[3]> : tensor<1xi64>
  %l = stablehlo.constant dense<0.0> : tensor<f64>
  %h = stablehlo.constant dense<1.0> : tensor<f64>
  %0 = stablehlo.rng %l, %h, %s, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<3xf64>
  %1 = stablehlo.rng %l, %h, %s, distribution = UNIFORM : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<3xf64>
  %2 = stablehlo.subtract %0, %1 : tensor<3xf64>
"""


def test_random_numbers_are_not_shared_and_go_when_unused() -> None:
    used = function(RANDOM + "return %2 : tensor<3xf64>", results="tensor<3xf64>")
    assert not cse(used)
    assert not dce(used)
    unused = function(RANDOM + "return %x : tensor<f64>")
    assert dce(unused)
    assert ops(unused) == []


@pytest.mark.parametrize(("effect", "left"), [("", 0), ("{has_side_effect = false}", 0), ("{has_side_effect = true}", 2)])
def test_calls_with_effects_stay_and_are_not_shared(effect: str, left: int) -> None:
    call = f"stablehlo.custom_call @f(%x) {effect} : (tensor<f64>) -> tensor<f64>"
    module = function(f"%0 = {call}\n%1 = {call}\nreturn %x : tensor<f64>")
    assert not cse(module)
    dce(module)
    assert ops(module) == ["custom_call"] * left


def test_an_effect_keeps_the_loop_around_it() -> None:
    module = function("""
      %n = stablehlo.constant dense<3> : tensor<i64>
      %1 = "core.for"(%n, %x) <{constants = 0 : i64}> ({
      ^bb0(%i: tensor<i64>, %y: tensor<f64>):
        %2 = stablehlo.custom_call @print(%i) {has_side_effect = true} : (tensor<i64>) -> tensor<f64>
        %3 = stablehlo.sine %y : tensor<f64>
        stablehlo.return %3 : tensor<f64>
      }) : (tensor<i64>, tensor<f64>) -> tensor<f64>
      return %x : tensor<f64>""")
    assert dce(module)
    verify(module)
    assert ops(module) == ["constant", "for", "custom_call", "return"]


LOOP = """
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:5 = "stablehlo.while"(%c, %x, %x, %x, %y) ({
  ^bb0(%i: tensor<i32>, %live: tensor<f64>, %source: tensor<f64>, %dead: tensor<f64>, %cycle: tensor<f64>):
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %live: tensor<f64>, %source: tensor<f64>, %dead: tensor<f64>, %cycle: tensor<f64>):
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.add %live, %source : tensor<f64>
    %3 = stablehlo.sine %source : tensor<f64>
    %4 = stablehlo.cosine %cycle : tensor<f64>
    %5 = stablehlo.tanh %dead : tensor<f64>
    stablehlo.return %1, %2, %3, %4, %5 : tensor<i32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>
  }) : (tensor<i32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<i32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>)
  return %0#1 : tensor<f64>
"""


def test_carried_values_that_only_feed_each_other_are_dropped() -> None:
    module = function(LOOP, "%x: tensor<f64>, %y: tensor<f64>")
    inputs = [np.array(0.3), np.array(0.4)]
    expected = run(module, inputs)
    assert dce(module)
    verify(module)
    loop = next(op for op in module.walk() if op.name == "stablehlo.while")
    assert len(loop.results) == len(loop.operands) == 3
    assert ops(module) == ["constant", "while", "constant", "compare", "return", "constant", "add", "add", "sine", "return"]
    np.testing.assert_array_equal(expected, run(module, inputs))


@pytest.mark.parametrize("loop", ["core.for", "core.while"])
def test_closed_loops_lose_constants_and_carried_values(loop: str) -> None:
    condition = """({
      ^bb0(%k: tensor<f64>, %unused: tensor<f64>, %a: tensor<f64>, %b: tensor<f64>):
        %1 = stablehlo.compare LT, %a, %k, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %1 : tensor<i1>
      }, {"""
    head = ("(%n, %x, %y, %x, %y)", "({", "%i: tensor<i64>, ", "tensor<i64>, ") if loop == "core.for" else ("(%x, %y, %x, %y)", condition, "", "")
    module = function(
        f"""
      %n = stablehlo.constant dense<3> : tensor<i64>
      %0:2 = "{loop}"{head[0]} <{{constants = 2 : i64}}> {head[1]}
      ^bb0({head[2]}%k: tensor<f64>, %unused: tensor<f64>, %a: tensor<f64>, %b: tensor<f64>):
        %1 = stablehlo.add %a, %k : tensor<f64>
        %2 = stablehlo.add %b, %unused : tensor<f64>
        stablehlo.return %1, %2 : tensor<f64>, tensor<f64>
      }}) : ({head[3]}tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>) -> (tensor<f64>, tensor<f64>)
      return %0#0 : tensor<f64>""",
        "%x: tensor<f64>, %y: tensor<f64>",
    )
    inputs = [np.array(0.3), np.array(0.4)]
    expected = run(module, inputs)
    assert dce(module)
    verify(module)
    made = next(op for op in module.walk() if op.name == loop)
    assert (len(made.results), len(made.operands)) == (1, 3 if loop == "core.for" else 2)
    assert not dce(module)
    np.testing.assert_array_equal(expected, run(module, inputs))


BRANCHES = """
  %0:2 = "stablehlo.case"(%i) ({
    %1 = stablehlo.sine %x : tensor<f64>
    %2 = stablehlo.cosine %x : tensor<f64>
    stablehlo.return %1, %2 : tensor<f64>, tensor<f64>
  }, {
    stablehlo.return %x, %x : tensor<f64>, tensor<f64>
  }) : (tensor<i32>) -> (tensor<f64>, tensor<f64>)
  return %0#1 : tensor<f64>
"""


@pytest.mark.parametrize("closed", [False, True])
def test_branches_lose_results(closed: bool) -> None:
    module = function(BRANCHES, "%x: tensor<f64>, %i: tensor<i32>")
    if closed:
        to_core(module)
    assert dce(module)
    verify(module)
    assert ops(module) == ["case", "cosine", "return", "return"]
