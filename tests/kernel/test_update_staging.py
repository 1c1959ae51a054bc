"""Small updates of arrays that are read elsewhere by the same nest: nothing is copied, and values are those of the interpreter."""

import numpy as np
import pytest
from native_checks import check
from xdsl.dialects.func import FuncOp

from wengert.dialects import core
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.transforms.bufferize.layout import assign
from wengert.transforms.lowering import lower

LOOP = """func.func @main(%x: tensor<40x12xf64>) -> tensor<40x12xf64> {
  %k = stablehlo.constant dense<11> : tensor<i64>
  %0 = core.for %i to %k carried(%a = %x: tensor<40x12xf64>) {
    %o = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    BODY
    stablehlo.return %b : tensor<40x12xf64>
  }
  return %0 : tensor<40x12xf64>
}"""
READ = "(tensor<40x12xf64>, tensor<i64>, tensor<i64>) -> tensor<40xNxf64>"
WRITE = "(tensor<40x12xf64>, tensor<40xNxf64>, tensor<i64>, tensor<i64>) -> tensor<40x12xf64>"
COLUMNS = f"""%p = stablehlo.dynamic_slice %a, %o, %i, sizes = [40, N] : {READ}
    %q = stablehlo.dynamic_slice %a, %o, %j, sizes = [40, N] : {READ}
    %s = stablehlo.add %p, %q : tensor<40xNxf64>
    %b = stablehlo.dynamic_update_slice %a, %s, %o, %j : {WRITE}"""
ELEMENT = """%p = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 1] : (tensor<40x12xf64>, tensor<i64>, tensor<i64>) -> tensor<1x1xf64>
    %s = stablehlo.sine %p : tensor<1x1xf64>
    %b = stablehlo.dynamic_update_slice %a, %s, %j, %i : (tensor<40x12xf64>, tensor<1x1xf64>, tensor<i64>, tensor<i64>) -> tensor<40x12xf64>"""
SCATTERED = """%p = stablehlo.dynamic_slice %a, %o, %i, sizes = [40, 1] : (tensor<40x12xf64>, tensor<i64>, tensor<i64>) -> tensor<40x1xf64>
    %v = stablehlo.reshape %p : (tensor<40x1xf64>) -> tensor<40xf64>
    %w = stablehlo.reshape %j : (tensor<i64>) -> tensor<1xi64>
    %b = core.scatter add %a, %w, %v, dims = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], scatter_dims_to_operand_dims = [1]>,
      sorted = false, unique = false : (tensor<40x12xf64>, tensor<1xi64>, tensor<40xf64>) -> tensor<40x12xf64>"""
NEEDED_LATER = f"""%p = stablehlo.dynamic_slice %a, %o, %i, sizes = [40, 1] : {READ.replace("N", "1")}
    %c = stablehlo.dynamic_update_slice %a, %p, %o, %j : {WRITE.replace("N", "1")}
    %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<40x12xf64>) -> tensor<12x40xf64>
    %m = stablehlo.dot_general %c, %t, contracting_dims = [1] x [0] : (tensor<40x12xf64>, tensor<12x40xf64>) -> tensor<40x40xf64>
    %n = stablehlo.slice %m [0:40, 0:12] : (tensor<40x40xf64>) -> tensor<40x12xf64>
    %b = stablehlo.tanh %n : tensor<40x12xf64>"""


@pytest.mark.parametrize(
    ("body", "copies"),
    [(COLUMNS.replace("N", "1"), 0), (COLUMNS.replace("N", "2"), 0), (COLUMNS.replace("N", "6"), 1), (ELEMENT, 0), (SCATTERED, 0), (NEEDED_LATER, 1)],
    ids=["a column", "two columns", "half of the array", "an element", "scattered", "needed later"],
)
def test_updates_kept_apart(body: str, copies: int) -> None:
    text = LOOP.replace("BODY", body)
    check(text, [np.random.default_rng(0).normal(size=(40, 12))], 1e-12)
    module = lower(parse_module(text))
    (function,), (loop,) = ops_of(module, FuncOp), ops_of(module, core.ForOp)
    assert len(assign(function.body.block).inner[loop.block].initial) == copies


PAIR = """func.func @main(%x: tensor<40x12xf64>, %y: tensor<40x12xf64>) -> (tensor<40x12xf64>, tensor<40x12xf64>, tensor<40x1xf64>) {
  %k = stablehlo.constant dense<11> : tensor<i64>
  %z = stablehlo.constant dense<0.0> : tensor<40x1xf64>
  %0:3 = core.for %i to %k carried(%a = %x: tensor<40x12xf64>, %d = %y: tensor<40x12xf64>, %l = %z: tensor<40x1xf64>) {
    %o = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %j = stablehlo.add %i, %one : tensor<i64>
    %p = stablehlo.dynamic_slice %a, %o, %i, sizes = [40, 1] : (tensor<40x12xf64>, tensor<i64>, tensor<i64>) -> tensor<40x1xf64>
    %q = stablehlo.dynamic_slice %d, %o, %i, sizes = [40, 1] : (tensor<40x12xf64>, tensor<i64>, tensor<i64>) -> tensor<40x1xf64>
    %s = stablehlo.multiply %p, %p : tensor<40x1xf64>
    %t = stablehlo.multiply %p, %q : tensor<40x1xf64>
    %b = stablehlo.dynamic_update_slice %a, %s, %o, %j : (tensor<40x12xf64>, tensor<40x1xf64>, tensor<i64>, tensor<i64>) -> tensor<40x12xf64>
    %e = stablehlo.dynamic_update_slice %d, %t, %o, %j : (tensor<40x12xf64>, tensor<40x1xf64>, tensor<i64>, tensor<i64>) -> tensor<40x12xf64>
    stablehlo.return %b, %e, %t : tensor<40x12xf64>, tensor<40x12xf64>, tensor<40x1xf64>
  }
  return %0#0, %0#1, %0#2 : tensor<40x12xf64>, tensor<40x12xf64>, tensor<40x1xf64>
}"""


def test_several_arrays_and_what_is_no_update() -> None:
    """A value and its tangent, changed by one nest that has another result besides."""
    check(PAIR, list(np.random.default_rng(0).normal(size=(2, 40, 12))), 1e-12)
    module = lower(parse_module(PAIR))
    (function,), (loop,) = ops_of(module, FuncOp), ops_of(module, core.ForOp)
    assert not assign(function.body.block).inner[loop.block].initial
