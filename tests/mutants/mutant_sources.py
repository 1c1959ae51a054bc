"""The programs that mutants are made of: one for every op, whose results are returned, and a few of many kinds of text."""

from __future__ import annotations

import re
from collections.abc import Generator
from pathlib import Path

from reference_programs import CORPUS, HAVE_CORPUS
from typing_cases.every_op import WELL_TYPED
from xdsl.dialects.builtin import ModuleOp

import wengert as wg
from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.verification.verifier import verify

TESTS = Path(__file__).parents[1]

_END = re.compile(r"^(func\.func @main\([^\n]*\)) \{\n(.*) -> \(([^()\n]*)\)\nreturn\n\}\n$", re.DOTALL)


def returning(text: str) -> str:
    """A program of one op that returns what the op computes."""
    match = _END.match(text)
    results = re.search(r"^%r(?::(\d+))? = ", text, re.MULTILINE)
    if match is None or results is None:
        return text
    count = int(results.group(1) or 1)
    values = "%r" if count == 1 else ", ".join(f"%r#{number}" for number in range(count))
    head, body, types = match.groups()
    return f"{head} -> ({types}) {{\n{body} -> ({types})\nreturn {values} : {types}\n}}\n"


LOOPS = """module @loops attributes {mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<4xf64> {jax.arg_info = "x"} loc("x"), %n: tensor<i64>) -> (tensor<4xf64> {jax.result_info = "result"}) {
    %c = stablehlo.constant dense<0> : tensor<i64>
    %c_0 = stablehlo.constant dense<1> : tensor<i64>
    %three = stablehlo.constant dense<3> : tensor<i64>
    %0:2 = stablehlo.while(%i = %c, %y = %x) : tensor<i64>, tensor<4xf64>
     cond {
      %2 = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %2 = func.call @step(%y) : (tensor<4xf64>) -> tensor<4xf64>
      %3 = stablehlo.add %i, %c_0 : tensor<i64>
      stablehlo.return %3, %2 : tensor<i64>, tensor<4xf64>
    }
    %even = stablehlo.compare EQ, %n, %c : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %1 = "stablehlo.if"(%even) ({
      stablehlo.return %0#1 : tensor<4xf64>
    }, {
      %4 = stablehlo.negate %0#1 : tensor<4xf64>
      stablehlo.return %4 : tensor<4xf64>
    }) : (tensor<i1>) -> tensor<4xf64> loc("branch"("a.py":3:4))
    return %1 : tensor<4xf64>
  }
  func.func private @step(%y: tensor<4xf64>) -> tensor<4xf64> {
    %0 = stablehlo.sine %y {note = [1, "a", @step, #stablehlo<precision HIGH>, 0x7FF0000000000000 : f64]} : tensor<4xf64>
    %1 = chlo.erf %0 : tensor<4xf64> -> tensor<4xf64> loc(callsite("f" at fused["a.py":1:2, unknown]))
    return %1 : tensor<4xf64>
  }
}
"""
SHORT_FORMS = """#loc1 = loc("f.py":1:2)
func.func @main(%x: tensor<4x4xf32>, %s: tensor<f32>, %w: tensor<1x4x4x2xf32>, %k: tensor<3x3x2x2xf32>) -> (tensor<4xf32>, tensor<2x2xf32>, tensor<1x4x4x2xf32>) {
  %cst = stablehlo.constant dense<[[1.0, 0x7F800000], [2.5e-3, -4.0]]> : tensor<2x2xf32>
  %0 = stablehlo.reduce(%x init: %s) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.slice %1 [0:2, 0:4:2] : (tensor<4x4xf32>) -> tensor<2x2xf32>
  %3 = stablehlo.compare LT, %2, %cst, FLOAT : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xi1> loc(#loc1)
  %4 = stablehlo.select %3, %2, %cst : tensor<2x2xi1>, tensor<2x2xf32>
  %5 = stablehlo.convolution(%w, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x2xf32>, tensor<3x3x2x2xf32>) -> tensor<1x4x4x2xf32>
  return %0, %4, %5 : tensor<4xf32>, tensor<2x2xf32>, tensor<1x4x4x2xf32>
}
"""
OTHER_DIALECTS = """module attributes {a.r = dense_resource<r> : tensor<2xi32>} {
  func.func @main(%n: tensor<i64>, %i: i32, %z: tensor<2xcomplex<f32>>) -> tensor<i64> {
    %1 = core.for %j to %n carried(%e = %n: tensor<i64>) {
      stablehlo.return %e : tensor<i64>
    }
    %2 = arith.addi %i, %i : i32
    "test.op"(%i)[^bb1] ({
    ^bb0(%x: i32):
      "test.end"() {a = #test.x<[(<"y">)]>, b = !test.t<1>, c = affine_map<(d0) -> (d0 + 1)>, d = array<i64: 1, 2>} : () -> ()
    }) : (i32) -> ()
  ^bb1:
    %4 = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f32>>
    stablehlo.custom_call @sink(%z, %4) {backend_config = {k = 1.5 : f32}, operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], result_layouts = []} : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()
    sdy.mesh @mesh = <["x"=2]> {a = 1}
    return %1 : tensor<i64>
  }
}
{-# dialect_resources: {builtin: {r: "0x040000000100000002000000"}} #-}
"""

SOURCES = (LOOPS, SHORT_FORMS, OTHER_DIALECTS, *map(returning, WELL_TYPED))


def programs_of_tests() -> Generator[ModuleOp]:
    """The programs of the FileCheck tests, at every level of the lowering."""
    for path in sorted(TESTS.rglob("*.mlir")):
        for part in path.read_text().split("// -----"):
            try:
                module = parse_module(part)
                verify(module)
            except DiagnosticError:
                continue
            yield module


def programs_in_upstream_dialects() -> Generator[ModuleOp]:
    """The programs that the tests of upstream dialects have, as far as they are accepted: those of the corpus too, where there is one."""
    folders = [TESTS / "upstream", *([CORPUS / "upstream"] if HAVE_CORPUS else [])]
    for path in sorted(path for folder in folders for path in folder.rglob("*.mlir")):
        for part in path.read_text().split("// -----"):
            try:
                wg.parse(part)
            except DiagnosticError:
                continue
            yield parse_module(part)
