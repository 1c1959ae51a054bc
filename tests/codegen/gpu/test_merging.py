"""Programs whose loops and branches one work-group does, against the same programs as they were: in the interpreter, which refuses races, divergent barriers
and reads of what nobody has written, on an OpenCL device and as PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from core_programs import core_of
from device_backends import BACKENDS
from reference_programs import assert_agrees, in_all_precisions, needs_corpus, share
from xdsl.dialects.builtin import ModuleOp

from wengert.dialects.gpu import LaunchFuncOp
from wengert.dialects.kernel.buffers import CaseOp, ForOp, WhileOp
from wengert.ir.traversal import ops_of
from wengert.ir.verification.verifier import verify
from wengert.lab.corpus import CorpusProgram
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.interpreter import run
from wengert.runtime.loading import parse
from wengert.transforms.lowering import alone
from wengert.transforms.pipelines import gpu_lowering, parse_pipeline

Array = np.ndarray[Any, np.dtype[Any]]
draw = np.random.default_rng(0)
F32 = draw.uniform(0.2, 1.5, 300).astype(np.float32)


def loop(carried: str, condition: str, body: str, result: str) -> str:
    """A program with one loop, on ``%x`` of 30 and ``%a`` of no dimensions."""
    return f"""
func.func public @main(%x: tensor<30xf32>, %a: tensor<f32>, %k: tensor<i64>) -> {result} {{
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %nought = stablehlo.constant dense<0.0> : tensor<f32>
  {carried} cond {{
    {condition}
    stablehlo.return %c : tensor<i1>
  }} do {{
    {body}
  }}
  return %0#1 : {result}
}}"""


COUNTED = "%c = stablehlo.compare LT, %i, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>"
NEXT = "%n = stablehlo.add %i, %one : tensor<i64>"
SUM = "stablehlo.reduce(%{} init: %nought) applies stablehlo.add across dimensions = [0] : (tensor<30xf32>, tensor<f32>) -> tensor<f32>"
VECTOR = "%0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<30xf32>"
PROGRAMS = {
    "a count that is an argument": loop(
        VECTOR,
        COUNTED,
        f"""%f = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<30xf32>
    %r = stablehlo.reverse %y, dims = [0] : tensor<30xf32>
    %s = stablehlo.add %r, %b : tensor<30xf32>
    {NEXT}
    stablehlo.return %n, %s : tensor<i64>, tensor<30xf32>""",
        "tensor<30xf32>",
    ),
    "sums that decide": loop(
        VECTOR,
        f"""%q = stablehlo.multiply %y, %y : tensor<30xf32>
    %s = {SUM.format("q")}
    %c = stablehlo.compare GT, %s, %half : (tensor<f32>, tensor<f32>) -> tensor<i1>""",
        f"""%t = {SUM.format("y")}
    %u = stablehlo.broadcast_in_dim %t, dims = [] : (tensor<f32>) -> tensor<30xf32>
    %r = stablehlo.reverse %y, dims = [0] : tensor<30xf32>
    %d = stablehlo.divide %r, %u : tensor<30xf32>
    {NEXT}
    stablehlo.return %n, %d : tensor<i64>, tensor<30xf32>""",
        "tensor<30xf32>",
    ),
    "scalars that change places": loop(
        "%0:3 = stablehlo.while(%i = %zero, %y = %a, %z = %half) : tensor<i64>, tensor<f32>, tensor<f32>",
        COUNTED,
        f"""%s = stablehlo.add %y, %half : tensor<f32>
    {NEXT}
    stablehlo.return %n, %z, %s : tensor<i64>, tensor<f32>, tensor<f32>""",
        "tensor<f32>",
    ),
    "a loop in a loop, and a branch": loop(
        VECTOR,
        COUNTED,
        f"""%three = stablehlo.constant dense<3> : tensor<i64>
    %1:2 = stablehlo.while(%j = %zero, %z = %y) : tensor<i64>, tensor<30xf32> cond {{
      %e = stablehlo.compare LT, %j, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %e : tensor<i1>
    }} do {{
      %r = stablehlo.reverse %z, dims = [0] : tensor<30xf32>
      %p = stablehlo.add %i, %j : tensor<i64>
      %f = stablehlo.convert %p : (tensor<i64>) -> tensor<f32>
      %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<30xf32>
      %s = stablehlo.subtract %b, %r : tensor<30xf32>
      %m = stablehlo.add %j, %one : tensor<i64>
      stablehlo.return %m, %s : tensor<i64>, tensor<30xf32>
    }}
    %t = {SUM.format("1#1")}
    %w = stablehlo.compare GT, %t, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = "stablehlo.if"(%w) ({{
      %g = stablehlo.reverse %1#1, dims = [0] : tensor<30xf32>
      %h = stablehlo.sine %g : tensor<30xf32>
      %l = stablehlo.reverse %h, dims = [0] : tensor<30xf32>
      stablehlo.return %l : tensor<30xf32>
    }}, {{
      stablehlo.return %1#1 : tensor<30xf32>
    }}) : (tensor<i1>) -> tensor<30xf32>
    {NEXT}
    stablehlo.return %n, %v : tensor<i64>, tensor<30xf32>""",
        "tensor<30xf32>",
    ),
    "complex numbers": loop(
        "%z = stablehlo.complex %x, %x : tensor<30xcomplex<f32>>\n  %0:2 = stablehlo.while(%i = %zero, %y = %z) : tensor<i64>, tensor<30xcomplex<f32>>",
        COUNTED,
        f"""%r = stablehlo.reverse %y, dims = [0] : tensor<30xcomplex<f32>>
    %s = stablehlo.multiply %r, %y : tensor<30xcomplex<f32>>
    {NEXT}
    stablehlo.return %n, %s : tensor<i64>, tensor<30xcomplex<f32>>""",
        "tensor<30xcomplex<f32>>",
    ),
}
INPUTS: list[Array] = [F32[:30], np.float32(0.7).reshape(()), np.int64(4).reshape(())]


def core_program(text: str) -> ModuleOp:
    """A program at core level."""
    return alone(core_form(runnable(parse(text).optimized_module)), "main")


def placed(text: str, options: str = "") -> ModuleOp:
    """The kernels of a program, merged with options of the pass."""
    return parse_pipeline(gpu_lowering().replace("merge-launches", f"merge-launches{options}")).run(core_program(text))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("options", ["", "{launch-cycles=0}", "{loops=false}", "{launch-cycles=1000000000}", "{target=sm_90}"])
def test_the_interpreter_gives_the_same(name: str, options: str) -> None:
    module = placed(PROGRAMS[name], options)
    verify(module)
    for count in (4, 0):
        inputs = [*INPUTS[:2], np.int64(count).reshape(())]
        expected = run(core_program(PROGRAMS[name]), inputs)
        for one, other in zip(run(module, inputs), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_is_one_launch(name: str) -> None:
    module = placed(PROGRAMS[name])
    assert len(ops_of(module, LaunchFuncOp)) == 1
    assert not ops_of(module, ForOp, WhileOp, CaseOp)


@pytest.mark.parametrize("name", PROGRAMS)
def test_options_leave_loops_to_the_host(name: str) -> None:
    assert ops_of(placed(PROGRAMS[name], "{loops=false}"), ForOp, WhileOp)
    assert len(ops_of(placed(PROGRAMS[name], "{launch-cycles=0}"), LaunchFuncOp)) > 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_devices_give_the_same(name: str, backend: str) -> None:
    compiled = parse(PROGRAMS[name]).compile(backend, poison=True)
    expected = run(core_program(PROGRAMS[name]), INPUTS)
    for _ in range(2):
        for one, other in zip(compiled(*INPUTS), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
    assert compiled.stats.launches == 1


ROWS = """
func.func public @main(%x: tensor<300xf32>, %y: tensor<600x7xf32>) -> (tensor<300xf32>, tensor<600xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reverse %x, dims = [0] : tensor<300xf32>
  %1 = stablehlo.sine %0 : tensor<300xf32>
  %2 = stablehlo.reverse %1, dims = [0] : tensor<300xf32>
  %3 = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<600x7xf32>, tensor<f32>) -> tensor<600xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<600xf32>, tensor<f32>) -> tensor<f32>
  return %2, %3, %4 : tensor<300xf32>, tensor<600xf32>, tensor<f32>
}"""


def test_one_group_does_the_work_of_many() -> None:
    """Groups of other sizes than that of the merged launch, threads that wait among them."""
    inputs: list[Array] = [F32, draw.normal(size=(600, 7)).astype(np.float32)]
    module = placed(ROWS, "{launch-cycles=1000000000}")
    assert len(ops_of(module, LaunchFuncOp)) == 1
    for one, other in zip(run(module, inputs), run(core_program(ROWS), inputs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@needs_corpus
@pytest.mark.corpus
@pytest.mark.parametrize(("program", "precision"), share(in_all_precisions(), 20))
def test_reference_programs_by_one_group(program: CorpusProgram, precision: str) -> None:
    """Everything that one group can do at all, whatever it costs."""
    core, inputs, outputs = core_of(program, precision, "vjp")
    module = parse_pipeline(gpu_lowering().replace("merge-launches", "merge-launches{launch-cycles=1000000000}")).run(core)
    verify(module)
    assert_agrees(program, "vjp", precision, run(module, inputs), outputs)
