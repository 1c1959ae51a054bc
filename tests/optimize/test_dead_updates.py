"""Rows that a loop overwrites behind itself: the loop hands on what it was given, and values stay what they were."""

import numpy as np
import pytest

from wengert.dialects import core
from wengert.dialects.stablehlo import DynamicUpdateSliceOp
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.runtime.interpreter import run
from wengert.transforms.optimize.simplify import simplify

LOOP = """func.func @main(%x: tensor<5x3xf64>) -> (RESULT) {
  %z = stablehlo.constant dense<0.0> : tensor<1x3xf64>
  %k = stablehlo.constant dense<TRIPS> : tensor<i64>
  %0:2 = core.for %i to %k carried(%a = %x: tensor<5x3xf64>, %s = %z: tensor<1x3xf64>) {
    %o = stablehlo.constant dense<0> : tensor<i64>
    %l = stablehlo.constant dense<LAST> : tensor<i64>
    %j = stablehlo.subtract %l, %i : tensor<i64>
    %f = stablehlo.constant dense<0.0> : tensor<1x3xf64>
    %r = stablehlo.dynamic_slice %a, READ, %o, sizes = [1, 3] : (tensor<5x3xf64>, tensor<i64>, tensor<i64>) -> tensor<1x3xf64>
    %t = stablehlo.subtract %r, %s : tensor<1x3xf64>
    %b = stablehlo.dynamic_update_slice %a, %f, WRITE, %o : (tensor<5x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<5x3xf64>
    stablehlo.return %b, %t : tensor<5x3xf64>, tensor<1x3xf64>
  }
  return RETURN
}"""
LAST_SUM = ("tensor<1x3xf64>", "%0#1 : tensor<1x3xf64>")
BOTH = ("tensor<5x3xf64>, tensor<1x3xf64>", "%0#0, %0#1 : tensor<5x3xf64>, tensor<1x3xf64>")


@pytest.mark.parametrize(
    ("trips", "last", "read", "write", "result", "kept"),
    [
        (5, 4, "%j", "%j", LAST_SUM, False),
        (5, 4, "%i", "%i", LAST_SUM, False),
        (3, 3, "%j", "%j", LAST_SUM, False),
        (5, 4, "%j", "%j", BOTH, True),  # somebody looks at it in the end
        (5, 4, "%i", "%j", LAST_SUM, True),  # rows are read that other trips have overwritten
        (5, 4, "%o", "%o", LAST_SUM, True),  # always the same row
        (5, 3, "%j", "%j", LAST_SUM, True),  # clamped in the last trip
        (6, 5, "%i", "%i", LAST_SUM, True),
    ],
)
def test_what_nobody_reads_again_is_not_overwritten(trips: int, last: int, read: str, write: str, result: tuple[str, str], kept: bool) -> None:
    text = LOOP
    for name, value in {"RESULT": result[0], "RETURN": result[1], "TRIPS": trips, "LAST": last, "READ": read, "WRITE": write}.items():
        text = text.replace(name, str(value))
    module = parse_module(text)
    x = np.random.default_rng(0).normal(size=(5, 3))
    expected = run(module, [x])
    simplify(module)
    verify(module)
    (loop,) = ops_of(module, core.ForOp)
    assert bool(ops_of(module, DynamicUpdateSliceOp)) == kept
    assert len(loop.results) == (2 if kept else 1)
    for actual, value in zip(run(module, [x]), expected, strict=True):
        np.testing.assert_array_equal(actual, value)
