"""Passes count their rewrites, and stop behind a limit with IR that is valid and computes the same."""

from __future__ import annotations

import numpy as np
import pytest

import wengert as wg
from wengert.ir.construction import copy_module
from wengert.ir.pipeline.actions import Counted, may_rewrite
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.derived.derivation import with_main
from wengert.runtime.interpreter import run
from wengert.transforms.pipelines import parse_pipeline

TEXT = """func.func public @main(%x: tensor<3x4xf64>) -> tensor<4x3xf64> {
  %one = stablehlo.constant dense<1.0> : tensor<3x4xf64>
  %start = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.negate %x : tensor<3x4xf64>
  %1 = stablehlo.negate %0 : tensor<3x4xf64>
  %2 = stablehlo.multiply %1, %one : tensor<3x4xf64>
  %3 = stablehlo.sine %2 : tensor<3x4xf64>
  %4 = stablehlo.sine %2 : tensor<3x4xf64>
  %5 = stablehlo.add %3, %4 : tensor<3x4xf64>
  %6:4 = stablehlo.while(%i = %start, %a = %5, %b = %x, %c = %0) : tensor<i32>, tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %step : tensor<i32>
    %d = stablehlo.tanh %c : tensor<3x4xf64>
    %e = stablehlo.add %a, %d : tensor<3x4xf64>
    %f = stablehlo.cosine %b : tensor<3x4xf64>
    stablehlo.return %j, %e, %f, %c : tensor<i32>, tensor<3x4xf64>, tensor<3x4xf64>, tensor<3x4xf64>
  }
  %7 = stablehlo.transpose %6#1, dims = [1, 0] : (tensor<3x4xf64>) -> tensor<4x3xf64>
  return %7 : tensor<4x3xf64>
}"""
X = np.random.default_rng(0).standard_normal((3, 4))


@pytest.mark.parametrize("name", ["to-core", "simplify", "cse", "dce", "licm"])
def test_every_prefix_of_the_rewrites_leaves_a_valid_program(name: str) -> None:
    before = with_main(wg.parse(TEXT).module, "main")
    chain = ["to-core", "simplify", "cse", "dce", "licm"]
    parse_pipeline(",".join(chain[: chain.index(name)])).run(before) if name != "to-core" else None
    pass_ = parse_pipeline(name)
    with Counted() as every:
        whole = pass_.run(copy_module(before))
    (expected,) = run(before, [X])
    texts: list[str] = []
    for limit in range(len(every.actions) + 1):
        module = copy_module(before)
        with Counted(limit) as counted:
            pass_.run(module)
        assert counted.actions == every.actions[:limit]
        verify(module)
        np.testing.assert_allclose(run(module, [X])[0], expected, rtol=1e-14)
        texts.append(print_module(module))
    assert texts[0] == print_module(before) or name in ("to-core", "simplify")
    assert texts[-1] == print_module(whole)


def test_rewrites_have_names_ops_and_places() -> None:
    module = with_main(wg.parse(TEXT).module, "main")
    with Counted() as counted:
        parse_pipeline("to-core,simplify").run(module)
    by_name = {action.name: action for action in counted.actions}
    assert by_name["double-negation"].op == "stablehlo.negate"
    assert by_name["multiply-by-one"].op == "stablehlo.multiply"
    assert [action.number for action in counted.actions] == list(range(1, len(counted.actions) + 1))


def test_nothing_is_counted_unless_asked() -> None:
    (function,) = wg.parse(TEXT).module.ops
    with Counted(1) as counted:
        assert may_rewrite("one", function)
        assert not may_rewrite("two", function)
    assert may_rewrite("three", function)
    assert [action.name for action in counted.actions] == ["one"]
