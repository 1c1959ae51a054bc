"""Loops that overwrite whole what they carry: found where that is so, never where the first contents would be seen."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from device_backends import BACKENDS
from xdsl.dialects.func import FuncOp

import wengert as wg
from wengert.dialects import core
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of
from wengert.runtime.interpreter import run
from wengert.transforms.bufferize.footprint import footprint
from wengert.transforms.fuse.updates.whole_stacks import unread_operands
from wengert.transforms.lowering import lower
from wengert.transforms.pipelines import BUFFERIZE, parse_pipeline

ROWS = 4
INDICES = {
    "iteration": "%j = stablehlo.add %i, %zero : tensor<i64>",
    "backward": "%j = stablehlo.subtract %last, %i : tensor<i64>",
    "backward by a sum": "%k = stablehlo.subtract %rows, %i : tensor<i64>\n    %j = stablehlo.add %minus, %k : tensor<i64>",
    "shifted": "%j = stablehlo.add %one, %i : tensor<i64>",
    "shifted back": "%j = stablehlo.subtract %i, %one : tensor<i64>",
    "narrow": "%k = stablehlo.convert %i : (tensor<i64>) -> tensor<ui8>\n    %j = stablehlo.convert %k : (tensor<ui8>) -> tensor<i64>",
    "doubled": "%j = stablehlo.add %i, %i : tensor<i64>",
    "one row": "%j = stablehlo.add %zero, %one : tensor<i64>",
    "data": "%j = stablehlo.convert %first : (tensor<f64>) -> tensor<i64>",
}
UPDATES = {
    "row": "%u = stablehlo.dynamic_update_slice %s, %row, %j, %zero : (tensor<4x4xf64>, tensor<1x4xf64>, tensor<i64>, tensor<i64>) -> tensor<4x4xf64>",
    "column": "%col = stablehlo.reshape %row : (tensor<1x4xf64>) -> tensor<4x1xf64>\n    "
    "%u = stablehlo.dynamic_update_slice %s, %col, %j, %j : (tensor<4x4xf64>, tensor<4x1xf64>, tensor<i64>, tensor<i64>) -> tensor<4x4xf64>",
    "element": "%e = stablehlo.slice %row [0:1, 0:1] : (tensor<1x4xf64>) -> tensor<1x1xf64>\n    "
    "%u = stablehlo.dynamic_update_slice %s, %e, %j, %j : (tensor<4x4xf64>, tensor<1x1xf64>, tensor<i64>, tensor<i64>) -> tensor<4x4xf64>",
    "two rows": "%two = stablehlo.concatenate %row, %row, dim = 0 : (tensor<1x4xf64>, tensor<1x4xf64>) -> tensor<2x4xf64>\n    "
    "%u = stablehlo.dynamic_update_slice %s, %two, %j, %zero : (tensor<4x4xf64>, tensor<2x4xf64>, tensor<i64>, tensor<i64>) -> tensor<4x4xf64>",
    "whole": "%all = stablehlo.broadcast_in_dim %next, dims = [1] : (tensor<4xf64>) -> tensor<4x4xf64>\n    "
    "%u = stablehlo.dynamic_update_slice %s, %all, %j, %j : (tensor<4x4xf64>, tensor<4x4xf64>, tensor<i64>, tensor<i64>) -> tensor<4x4xf64>",
}
ENDS = {
    "written": "%end = stablehlo.optimization_barrier %next : tensor<4xf64>\n    stablehlo.return %end, %u",
    "read before": "%r = stablehlo.slice %s [3:4, 0:4] : (tensor<4x4xf64>) -> tensor<1x4xf64>\n    "
    "%q = stablehlo.reshape %r : (tensor<1x4xf64>) -> tensor<4xf64>\n    %end = stablehlo.add %next, %q : tensor<4xf64>\n    stablehlo.return %end, %u",
    "read behind": "%r = stablehlo.slice %u [3:4, 0:4] : (tensor<4x4xf64>) -> tensor<1x4xf64>\n    "
    "%q = stablehlo.reshape %r : (tensor<1x4xf64>) -> tensor<4xf64>\n    %end = stablehlo.add %next, %q : tensor<4xf64>\n    stablehlo.return %end, %u",
    "changed": "%v = stablehlo.add %u, %u : tensor<4x4xf64>\n    stablehlo.return %next, %v",
}
WHOLE = {("row", index, "written", trips) for index in ("iteration", "backward", "backward by a sum", "narrow") for trips in (4, 6)}
WHOLE |= {("column", index, "written", trips) for index in ("iteration", "backward", "backward by a sum", "narrow") for trips in (4, 6)}
WHOLE |= {("whole", index, "written", trips) for index in INDICES for trips in (1, 3, 4, 6)}
WHOLE |= {(update, "shifted back", "written", 6) for update in ("row", "column")}
"""The loops that are to be known; ``backward`` by six iterations comes to rows below 0, which are row 0."""


def loop(update: str, index: str, end: str, trips: int) -> str:
    return f"""
func.func public @main(%x: tensor<4xf64>, %z: tensor<4x4xf64>) -> (tensor<4xf64>, tensor<4x4xf64>) {{
  %n = stablehlo.constant dense<{trips}> : tensor<i64>
  %0:2 = core.for %i to %n carried(%c = %x: tensor<4xf64>, %s = %z: tensor<4x4xf64>) {{
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %one = stablehlo.constant dense<1> : tensor<i64>
    %minus = stablehlo.constant dense<-1> : tensor<i64>
    %last = stablehlo.constant dense<3> : tensor<i64>
    %rows = stablehlo.constant dense<{ROWS}> : tensor<i64>
    %next = stablehlo.sine %c : tensor<4xf64>
    %row = stablehlo.reshape %next : (tensor<4xf64>) -> tensor<1x4xf64>
    %head = stablehlo.slice %c [0:1] : (tensor<4xf64>) -> tensor<1xf64>
    %first = stablehlo.reshape %head : (tensor<1xf64>) -> tensor<f64>
    {INDICES[index]}
    {UPDATES[update]}
    {ENDS[end]} : tensor<4xf64>, tensor<4x4xf64>
  }}
  return %0#0, %0#1 : tensor<4xf64>, tensor<4x4xf64>
}}"""


@pytest.mark.parametrize(("update", "index"), list(product(UPDATES, INDICES)))
def test_first_contents_are_dropped_only_where_nobody_sees_them(update: str, index: str) -> None:
    x = np.array([0.3, 1.2, -0.7, 2.0])
    for end, trips in product(ENDS, (0, 1, 3, 4, 6)):
        module = parse_module(loop(update, index, end, trips))
        (op,) = ops_of(module, core.ForOp)
        seen = [run(module, [x, np.full((4, 4), number)]) for number in (0.0, 7.0)]
        unread = unread_operands(op)
        if unread:
            assert unread == {2}
            np.testing.assert_array_equal(*(outputs[1] for outputs in seen))
        assert bool(unread) == ((update, index, end, trips) in WHOLE)
        expected = run(module, [x, np.ones((4, 4))])
        for actual, wanted in zip(run(parse_pipeline(BUFFERIZE).run(lower(module)), [x, np.ones((4, 4))]), expected, strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-15)


SCAN = """
func.func public @main(%x: tensor<3xf64>) -> (tensor<3xf64>, tensor<50x3xf64>, tensor<50x3xf64>) {
  %n = stablehlo.constant dense<50> : tensor<i64>
  %z = stablehlo.constant dense<0.0> : tensor<50x3xf64>
  %0:3 = core.for %i to %n carried(%c = %x: tensor<3xf64>, %s = %z: tensor<50x3xf64>, %t = %z: tensor<50x3xf64>) {
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %1 = stablehlo.sine %c : tensor<3xf64>
    %2 = stablehlo.cosine %1 : tensor<3xf64>
    %3 = stablehlo.reshape %1 : (tensor<3xf64>) -> tensor<1x3xf64>
    %4 = stablehlo.reshape %2 : (tensor<3xf64>) -> tensor<1x3xf64>
    %5 = stablehlo.dynamic_update_slice %s, %3, %i, %zero : (tensor<50x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<50x3xf64>
    %6 = stablehlo.dynamic_update_slice %t, %4, %i, %zero : (tensor<50x3xf64>, tensor<1x3xf64>, tensor<i64>, tensor<i64>) -> tensor<50x3xf64>
    stablehlo.return %2, %5, %6 : tensor<3xf64>, tensor<50x3xf64>, tensor<50x3xf64>
  }
  return %0#0, %0#1, %0#2 : tensor<3xf64>, tensor<50x3xf64>, tensor<50x3xf64>
}"""


def test_results_are_written_where_the_caller_wants_them() -> None:
    """No array of zeros, no copy of one: the arena has no row of what is recorded."""
    program = wg.parse(SCAN)
    placed = parse_pipeline(BUFFERIZE).run(lower(program.module))
    (function,) = ops_of(placed, FuncOp)
    assert footprint(function).arena < 50 * 3 * 8


@pytest.mark.parametrize("backend", ["cpu", *BACKENDS])
def test_compiled_derivatives_of_scans(backend: str) -> None:
    program = wg.parse(SCAN)
    x = np.array([0.3, -1.2, 2.0])
    rng = np.random.default_rng(0)
    bars = [rng.standard_normal(n) for n in ((3,), (50, 3), (50, 3))]
    for derived, inputs in ((program, [x]), (program.vjp(), [x, *bars]), (program.jvp(), [x, x])):
        compiled = derived.compile(backend) if backend == "cpu" else derived.compile(backend, poison=True)
        for actual, wanted in zip(compiled(*inputs), derived.compile("interpreter")(*inputs), strict=True):
            np.testing.assert_allclose(actual, wanted, rtol=1e-12)
