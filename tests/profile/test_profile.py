"""Profiles: what is timed, that timing changes no result, and what reports and traces say. No test depends on how long anything takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import wengert as wg
import wengert.numpy as wnp
from wengert.lab.cli.main import main
from wengert.lab.inputs import random_inputs
from wengert.lab.inspection.subject import Request, subject_of
from wengert.lab.profile.devices import profile_on_opencl
from wengert.lab.profile.profile import profile
from wengert.lab.profile.timed import LOG, TimedProgram
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.errors import InputError
from wengert.transforms.codegen.cpu.clock import EMPTY, FIRST, WHOLE
from wengert.transforms.codegen.cpu.program import generate
from wengert.transforms.lowering import placed
from wengert.transforms.schedule.host import host

pytestmark = pytest.mark.skipif(host().target.family != "x86_64", reason="the counter is read on x86-64")

LOOP = """func.func public @main(%x: tensor<8xf64>, %w: tensor<8x8xf64>) -> tensor<8xf64> {
  %n = stablehlo.constant dense<10> : tensor<i64>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %r:2 = stablehlo.while(%i = %zero, %h = %x) : tensor<i64>, tensor<8xf64>
    cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %p = stablehlo.dot_general %w, %h, contracting_dims = [1] x [0] : (tensor<8x8xf64>, tensor<8xf64>) -> tensor<8xf64>
      %t = stablehlo.tanh %p : tensor<8xf64>
      %j = stablehlo.add %i, %one : tensor<i64>
      stablehlo.return %j, %t : tensor<i64>, tensor<8xf64>
    }
  return %r#1 : tensor<8xf64>
}
"""
INTERPRETED = """func.func @main(%x: tensor<4xui4>) -> tensor<4xui4> {
  %0 = stablehlo.add %x, %x : tensor<4xui4>
  return %0 : tensor<4xui4>
}
"""


def timed(program: wg.Program) -> TimedProgram:
    return TimedProgram(program, placed(runnable(program.optimized_module)))


def test_every_run_of_every_kernel_is_counted_and_logged() -> None:
    program = wg.parse(LOOP)
    code = timed(program)
    run = code.run(random_inputs(program.signature, 0), log=True)
    assert sorted(run.runs.tolist()) == [10] * len(code.ops)
    assert run.events == len(run.log) == int(run.runs.sum()) + 2  # the whole, and the empty interval
    numbers, begins, ends = run.log.T
    assert set(numbers.tolist()) == {WHOLE, EMPTY, *range(FIRST, FIRST + len(code.ops))}
    assert np.all(begins <= ends)
    whole = run.log[numbers == WHOLE][0]
    assert np.all((begins >= whole[1]) & (ends <= whole[2]))
    for number, ticks in enumerate(run.ticks, FIRST):
        assert int((ends - begins)[numbers == number].sum()) == ticks
    assert int(run.ticks.sum()) <= run.whole
    assert not len(code.run(random_inputs(program.signature, 0)).log)


def test_timed_code_computes_the_same() -> None:
    program = wg.load("examples/mlp.mlir").vjp()
    inputs = random_inputs(program.signature, 1)
    code = generate(placed(runnable(program.optimized_module)), host().target, check_schedules=False)
    assert "llvm.readcyclecounter" not in code.text
    assert code.timed == ()
    run = timed(program)
    run.run(inputs)
    for mine, plain in zip(run.results, program(*inputs), strict=True):
        np.testing.assert_array_equal(mine, plain)


def test_what_runs_in_the_interpreter_is_timed_too() -> None:
    report = profile(wg.parse(INTERPRETED), budget=0)
    assert report.kernels
    assert all(kernel.least > 0 for kernel in report.kernels)


def test_a_profile() -> None:
    program = wg.parse(LOOP, "p.mlir")
    report = program.profile(vjp=True, budget=0.05)
    assert report.calls >= 5
    assert {kernel.line[0] for kernel in report.kernels if kernel.line[1]} == {"p.mlir"}
    assert any(kernel.reverse for kernel in report.kernels)
    assert not all(kernel.reverse for kernel in report.kernels)
    assert {kernel.runs for kernel in report.kernels} <= {1, 10}
    assert all(0 < kernel.least <= kernel.median for kernel in report.kernels)
    product = next(kernel for kernel in report.kernels if kernel.name == "%p matmul")
    assert (product.runs, product.flops) == (10, 10 * 2 * 64)
    assert product.predicted > 0
    assert sum(forward + reverse for _, forward, reverse in report.lines) == pytest.approx(report.total)
    assert report.plain > 0
    assert "timing adds" in str(report)


def test_traces() -> None:
    report = profile(wg.parse(LOOP, "p.mlir"), budget=0)
    trace = json.loads(json.dumps(report.trace()))
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    (call,) = [event for event in events if event["name"] == "call"]
    assert len(events) == 1 + sum(kernel.runs for kernel in report.kernels)
    for event in events:
        assert {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args"} <= event.keys()
        assert call["ts"] <= event["ts"]
        assert event["ts"] + event["dur"] <= call["ts"] + call["dur"] + 1e-6
    assert {event["args"].get("source") for event in events} & {"p.mlir:10"}
    assert report.logged
    assert LOG > 1000


def test_lines_of_python_are_shown_under_the_name_of_their_file() -> None:
    x = np.linspace(-1.0, 1.0, 8)
    program = wg.jit(lambda x: wnp.sum(wnp.sin(x) * x)).program(x)  # the line that is shown
    text = profile(program, budget=0).text(200)
    assert re.search(r"test_profile\.py:\d+ +program = wg\.jit\(.*# the line that is shown", text), text


def test_json_and_html() -> None:
    report = profile(wg.parse(LOOP, "<b>.mlir"), budget=0)
    data = json.loads(json.dumps(report.to_json()))
    assert len(data["kernels"]) == len(report.kernels)
    html = report._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<b>." not in html
    assert not re.search(r"(src|href)=|https?:", html)
    assert all(len(line) <= 110 for line in report.text(110).splitlines()[5:])


def test_programs_without_kernels() -> None:
    report = profile(wg.parse("func.func @main(%x: tensor<3xf64>) -> tensor<3xf64> { return %x : tensor<3xf64> }"), budget=0)
    assert [kernel.name for kernel in report.kernels] == ["copy"]


def test_what_cannot_be_profiled() -> None:
    with pytest.raises(InputError, match="not both"):
        profile(wg.parse(LOOP), vjp=True, jvp=True)


def test_devices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.mlir"
    path.write_text(LOOP)
    program = wg.load(path)
    try:
        report = profile_on_opencl(subject_of(program, Request("vjp")), budget=0)
    except InputError as error:
        pytest.skip(str(error))
    assert report.kernels
    assert all(0 < kernel.least <= kernel.median for kernel in report.kernels)
    assert sum(kernel.runs for kernel in report.kernels) == len(report.events)
    assert {kernel.line[0] for kernel in report.kernels if kernel.line[1]} == {str(path)}
    assert len(report.trace()["traceEvents"]) == 2 + len(report.events)
    assert main(["profile", str(path), "--backend", "opencl", "--random", "0", "--budget", "0"]) == 0
    assert capsys.readouterr().out.startswith(f"profile of {path} on ")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, trace = tmp_path / "p.mlir", tmp_path / "trace.json"
    path.write_text(LOOP)
    assert main(["profile", str(path), "--vjp", "--random", "0", "--budget", "0", "--trace", str(trace)]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"profile of vjp of {path}: ")
    assert "%p = stablehlo.dot_general" in out
    assert json.loads(trace.read_text())["traceEvents"]
    assert main(["profile", str(path), "--random", "0", "--budget", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kernels"]
    assert main(["profile", str(path), "--backend", "interpreter"]) == 1
    assert "of 'interpreter' nothing says when a kernel ran" in capsys.readouterr().err
    assert main(["profile", str(path), "--backend", "cpuu"]) == 2
    assert "did you mean 'cpu'" in capsys.readouterr().err
    assert main(["profile", str(path), "--budget", "-1"]) == 2


ATTENTION = """func.func public @main(%q: tensor<2x1024x16xf32>, %k: tensor<2x1024x16xf32>) -> tensor<2x1024x16xf32> {
  %s = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x1024x16xf32>, tensor<2x1024x16xf32>) -> tensor<2x1024x1024xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %s : tensor<2x1024x1024xf32>
  %t = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [2] : (tensor<2x1024x1024xf32>, tensor<f32>) -> tensor<2x1024xf32>
  %b = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<2x1024xf32>) -> tensor<2x1024x1024xf32>
  %p = stablehlo.divide %e, %b : tensor<2x1024x1024xf32>
  %o = stablehlo.dot_general %p, %k, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x1024x1024xf32>, tensor<2x1024x16xf32>) -> tensor<2x1024x16xf32>
  return %o : tensor<2x1024x16xf32> }"""


def test_tiles_count_once_for_each_block_of_rows() -> None:
    report = profile(wg.parse(ATTENTION), budget=0)
    products = 2 * 2 * 2 * 1024 * 1024 * 16
    assert products <= sum(kernel.flops for kernel in report.kernels) <= 1.2 * products
