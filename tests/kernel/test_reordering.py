"""What reads an array goes before what overwrites it, so that nothing is copied; nothing moves where data forbid it."""

import numpy as np
import pytest
from native_checks import check
from xdsl.dialects.func import FuncOp

from wengert.dialects import core
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.transforms.bufferize.layout import assign
from wengert.transforms.lowering import lower

LOOP = """func.func @main(%x: tensor<40x50xf64>, %n: tensor<i64>) -> (tensor<40x50xf64>, tensor<50xf64>) {
  %z = stablehlo.constant dense<0.0> : tensor<50xf64>
  %k = stablehlo.constant dense<40> : tensor<i64>
  %0:2 = core.for %i to %k carried(%a = %x: tensor<40x50xf64>, %s = %z: tensor<50xf64>) {
    %c = stablehlo.constant dense<0> : tensor<i64>
    BODY
    stablehlo.return %b, %t : tensor<40x50xf64>, tensor<50xf64>
  }
  return %0#0, %0#1 : tensor<40x50xf64>, tensor<50xf64>
}"""
ROW = "(tensor<40x50xf64>, tensor<i64>, tensor<i64>) -> tensor<1x50xf64>"
WRITE = "(tensor<40x50xf64>, tensor<1x50xf64>, tensor<i64>, tensor<i64>) -> tensor<40x50xf64>"

READ_BEHIND = f"""%f = stablehlo.constant dense<1.0> : tensor<1x50xf64>
    %b = stablehlo.dynamic_update_slice %a, %f, %i, %c : {WRITE}
    %q = stablehlo.reshape %s : (tensor<50xf64>) -> tensor<1x50xf64>
    %r = stablehlo.dynamic_slice %a, %i, %c, sizes = [1, 50] : {ROW}
    %u = stablehlo.add %q, %r : tensor<1x50xf64>
    %t = stablehlo.reshape %u : (tensor<1x50xf64>) -> tensor<50xf64>"""
"""The row is read for a sum that fusion computes behind the change."""

NEEDS_BOTH = f"""%f = stablehlo.constant dense<1.0> : tensor<1x50xf64>
    %b = stablehlo.dynamic_update_slice %a, %f, %i, %c : {WRITE}
    %o = stablehlo.dynamic_slice %b, %c, %c, sizes = [1, 50] : {ROW}
    %m = stablehlo.tanh %o : tensor<1x50xf64>
    %r = stablehlo.dynamic_slice %a, %i, %c, sizes = [1, 50] : {ROW}
    %u = stablehlo.add %m, %r : tensor<1x50xf64>
    %t = stablehlo.reshape %u : (tensor<1x50xf64>) -> tensor<50xf64>"""
"""What reads the old array reads the new one as well."""


@pytest.mark.parametrize(("body", "copies"), [(READ_BEHIND, 0), (NEEDS_BOTH, 1)], ids=["read behind", "needs both"])
def test_reads_go_first(body: str, copies: int) -> None:
    text = LOOP.replace("BODY", body)
    check(text, [np.random.default_rng(0).normal(size=(40, 50)), np.array(3)], 1e-13)
    module = lower(parse_module(text))
    (function,), (loop,) = ops_of(module, FuncOp), ops_of(module, core.ForOp)
    assert len(assign(function.body.block).inner[loop.block].initial) == copies
