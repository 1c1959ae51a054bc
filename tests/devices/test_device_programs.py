"""Programs of every kind on devices: results, repeated calls, memory full of wrong values, threads, dumps, refusals."""

from __future__ import annotations

import re
import shlex
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from device_backends import BACKENDS, needs_opencl

import wengert as wg
from wengert.ir.pipeline.passes import PASSES
from wengert.lab.cli.main import main as command_line
from wengert.lab.inputs import random_inputs
from wengert.lab.opt import main as opt
from wengert.runtime.errors import InputError
from wengert.runtime.loading import load

SUM = "%{0} = stablehlo.reduce(%{1} init: %zero) applies stablehlo.add across dimensions = [{2}] : (tensor<{3}xf32>, tensor<f32>) -> tensor<{4}xf32>"
PROGRAMS = {
    "elementwise": """func.func @main(%x: tensor<7x13xf32>, %y: tensor<7x13xf32>) -> tensor<7x13xf32> {
  %0 = stablehlo.tanh %x : tensor<7x13xf32>
  %1 = stablehlo.multiply %0, %y : tensor<7x13xf32>
  return %1 : tensor<7x13xf32> }""",
    "row sums": f"""func.func @main(%x: tensor<5x300xf32>) -> tensor<5xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {SUM.format("0", "x", "1", "5x300", "5")}
  return %0 : tensor<5xf32> }}""",
    "column sums": f"""func.func @main(%x: tensor<300x5xf32>) -> tensor<5xf32> {{
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  {SUM.format("0", "x", "0", "300x5", "5")}
  return %0 : tensor<5xf32> }}""",
    "product": """func.func @main(%x: tensor<17x33xf64>, %y: tensor<33x9xf64>) -> tensor<17x9xf64> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<17x33xf64>, tensor<33x9xf64>) -> tensor<17x9xf64>
  return %0 : tensor<17x9xf64> }""",
    "transposed": """func.func @main(%x: tensor<6x11xi32>) -> tensor<11x6xi32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<6x11xi32>) -> tensor<11x6xi32>
  return %0 : tensor<11x6xi32> }""",
    "complex": """func.func @main(%x: tensor<9xcomplex<f64>>, %y: tensor<9xcomplex<f64>>) -> tensor<9xcomplex<f64>> {
  %0 = stablehlo.multiply %x, %y : tensor<9xcomplex<f64>>
  %1 = stablehlo.exponential %0 : tensor<9xcomplex<f64>>
  return %1 : tensor<9xcomplex<f64>> }""",
    "booleans": """func.func @main(%x: tensor<10xf32>, %y: tensor<10xf32>) -> tensor<10xi1> {
  %0 = stablehlo.compare LT, %x, %y : (tensor<10xf32>, tensor<10xf32>) -> tensor<10xi1>
  return %0 : tensor<10xi1> }""",
    "a solver on the host": """func.func @main(%a: tensor<3x3xf64>) -> tensor<3xf64> {
  %0 = stablehlo.add %a, %a : tensor<3x3xf64>
  %1:4 = "core.eig"(%0) : (tensor<3x3xf64>) -> (tensor<3xcomplex<f64>>, tensor<3x3xcomplex<f64>>, tensor<3x3xcomplex<f64>>, tensor<i32>)
  %2 = stablehlo.real %1#0 : (tensor<3xcomplex<f64>>) -> tensor<3xf64>
  return %2 : tensor<3xf64> }""",
    "a factorisation": """func.func @main(%a: tensor<3x3xf64>) -> tensor<3x3xf64> {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x3xf64>) -> tensor<3x3xf64>
  %1 = stablehlo.dot_general %a, %0, contracting_dims = [1] x [0] : (tensor<3x3xf64>, tensor<3x3xf64>) -> tensor<3x3xf64>
  %2 = stablehlo.cholesky %1, lower = true : tensor<3x3xf64>
  %3 = stablehlo.add %2, %a : tensor<3x3xf64>
  return %3 : tensor<3x3xf64> }""",
    "counted loop": """func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %last = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf64>
    cond { %c = stablehlo.compare LT, %i, %last : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %n = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.sine %v : tensor<4xf64>
      %w = stablehlo.add %s, %v : tensor<4xf64>
      stablehlo.return %n, %w : tensor<i32>, tensor<4xf64> }
  return %0#1 : tensor<4xf64> }""",
    "conditional loop": """func.func @main(%x: tensor<f64>) -> tensor<f64> {
  %limit = stablehlo.constant dense<100.0> : tensor<f64>
  %half = stablehlo.constant dense<1.5> : tensor<f64>
  %0 = stablehlo.while(%v = %x) : tensor<f64>
    cond { %a = stablehlo.abs %v : tensor<f64>
      %c = stablehlo.compare LT, %a, %limit : (tensor<f64>, tensor<f64>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %w = stablehlo.multiply %v, %half : tensor<f64>
      stablehlo.return %w : tensor<f64> }
  return %0 : tensor<f64> }""",
    "branch": """func.func @main(%i: tensor<i32>, %x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.case"(%i) ({
    %1 = stablehlo.negate %x : tensor<3xf32>
    stablehlo.return %1 : tensor<3xf32>
  }, {
    %1 = stablehlo.add %x, %x : tensor<3xf32>
    stablehlo.return %1 : tensor<3xf32>
  }) : (tensor<i32>) -> tensor<3xf32>
  return %0 : tensor<3xf32> }""",
    "a result that is an argument": """func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
  %0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  return %x, %0 : tensor<3xf32>, tensor<2xf32> }""",
    "nothing": """func.func @main(%x: tensor<0x3xf32>) -> tensor<0x3xf32> {
  %0 = stablehlo.negate %x : tensor<0x3xf32>
  return %0 : tensor<0x3xf32> }""",
}
NATIVE_ON_A_CPU = {
    "convolution": """func.func @main(%x: tensor<2x4x9x8xf32>, %w: tensor<6x2x3x3xf32>) -> tensor<2x6x5x9xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [2, 1], pad = [[1, 2], [2, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]}
    {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x4x9x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x5x9xf32>
  return %0 : tensor<2x6x5x9xf32> }""",
    "a kernel's gradient": """func.func @main(%x: tensor<3x40x2xf64>, %y: tensor<3x38x4xf64>) -> tensor<3x2x4xf64> {
  %0 = stablehlo.convolution(%x, %y) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {}
    {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<3x40x2xf64>, tensor<3x38x4xf64>) -> tensor<3x2x4xf64>
  return %0 : tensor<3x2x4xf64> }""",
    "windows": """func.func @main(%x: tensor<5x9xf32>) -> tensor<5x5xf32> {
  %0 = core.window_reduce max %x, window = [3, 3], strides = [1, 2], base_dilations = [1, 1], window_dilations = [1, 1], padding = [1, 1, 1, 1] :
    (tensor<5x9xf32>) -> tensor<5x5xf32>
  return %0 : tensor<5x5xf32> }""",
    "running sums": """func.func @main(%x: tensor<3x20xf32>, %y: tensor<1500x2xf64>, %z: tensor<100xi32>) -> (tensor<3x20xf32>, tensor<1500x2xf64>, tensor<100xi32>) {
  %0 = core.cumulative add %x along 1 reverse : tensor<3x20xf32>
  %1 = core.cumulative add %y along 0 : tensor<1500x2xf64>
  %2 = core.cumulative max %z along 0 : tensor<100xi32>
  return %0, %1, %2 : tensor<3x20xf32>, tensor<1500x2xf64>, tensor<100xi32> }""",
    "the greatest": """func.func @main(%x: tensor<7x30xf32>) -> (tensor<7xf32>, tensor<7xi32>) {
  %0:2 = core.argreduce max %x along 1 : (tensor<7x30xf32>) -> (tensor<7xf32>, tensor<7xi32>)
  return %0#0, %0#1 : tensor<7xf32>, tensor<7xi32> }""",
}
PROGRAMS |= NATIVE_ON_A_CPU


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_of_repeated_calls_in_wrong_memory(name: str, backend: str) -> None:
    program = wg.parse(PROGRAMS[name])
    compiled = program.compile(backend, poison=True)
    for seed in (0, 1):
        inputs = random_inputs(program.signature, seed)
        expected = program.compile("interpreter")(*inputs)
        results = compiled(*inputs)
        for result, wanted in zip(results, expected, strict=True):
            assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(result, wanted, rtol=2e-5 if wanted.dtype == np.float32 else 1e-12, atol=1e-5 if wanted.dtype == np.float32 else 1e-13)
        assert [r.tobytes() for r in compiled(*inputs)] == [r.tobytes() for r in results], "the same inputs, the same bits"


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_counted(backend: str) -> None:
    compiled = wg.parse(PROGRAMS["a solver on the host"]).compile(backend)
    assert compiled.stats.launches == 0, "nothing has run"
    compiled(np.eye(3))
    stats = compiled.stats
    assert (stats.host, stats.kernels, stats.result_bytes, stats.recorded) == ({"core.eig": 1}, 2, 24, False)
    assert stats.launches == stats.kernels
    assert set(stats.compile_ms) >= {"fuse", "codegen", "llvm", "load"}
    assert stats.device in str(stats)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NATIVE_ON_A_CPU)
def test_nothing_runs_on_the_host(name: str, backend: str) -> None:
    program = wg.parse(NATIVE_ON_A_CPU[name])
    compiled = program.compile(backend)
    compiled(*random_inputs(program.signature, 0))
    assert compiled.stats.host == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads(backend: str) -> None:
    """Calls of one program from several threads do not mix."""
    compiled = wg.parse(PROGRAMS["elementwise"]).compile(backend)
    ones = np.ones((7, 13), np.float32)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda k: compiled(ones, np.float32(k) * ones)[0], range(24)))
    for k, result in enumerate(results):
        np.testing.assert_allclose(result, k * np.tanh(ones), rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_arguments_that_do_not_fit(backend: str) -> None:
    compiled = wg.parse(PROGRAMS["elementwise"]).compile(backend)
    with pytest.raises(InputError, match="expected 2 inputs, found 1"):
        compiled(np.ones((7, 13), np.float32))
    with pytest.raises(InputError, match="argument 1 must be float32"):
        compiled(np.ones((7, 13), np.float32), np.ones((7, 13)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_memory_than_there_is(backend: str) -> None:
    program = wg.parse("""func.func @main(%x: tensor<1048576x1048576xf64>) -> tensor<1048576x1048576xf64> {
  %0 = stablehlo.negate %x : tensor<1048576x1048576xf64>
  return %0 : tensor<1048576x1048576xf64> }""")
    with pytest.raises(InputError, match=r"@main needs 16\.0 TiB of memory, of which "):
        program.compile(backend)


def test_options() -> None:
    program = wg.parse(PROGRAMS["elementwise"])
    with pytest.raises(InputError, match="has no option 'posion'; did you mean 'poison'"):
        program.compile("ptx-interpreter", posion=True)


@needs_opencl
def test_a_device_that_is_not_there() -> None:
    with pytest.raises(InputError, match="no OpenCL device is named 'Abacus'; there are: "):
        wg.parse(PROGRAMS["elementwise"]).compile("opencl", device="Abacus")


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_can_go_on_from_every_dump(backend: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = wg.parse(PROGRAMS["row sums"])
    inputs = random_inputs(program.signature, 0)
    expected = program.compile(backend, dump_dir=tmp_path)(*inputs)
    files = sorted(tmp_path.glob("[0-9]*"))
    assert [path.suffix for path in files[-4:]] == [".ll", ".ll", ".isa", ".mlir"]
    for path in files:
        text = path.read_text()
        if path.suffix == ".mlir":
            (result,) = load(path).compile(backend)(*inputs)
            assert result.tobytes() == expected[0].tobytes(), path.name
        following = re.search(r"go on with: wengert-opt (.*)", text)
        if following and "-p" in following[1]:
            assert opt(shlex.split(following[1])) == 0
            assert capsys.readouterr().out.strip() == re.sub(r"(?m)\A(//.*\n)+\n", "", files[-2].read_text()).strip(), path.name


@pytest.mark.parametrize(("backend", "wanted"), [pytest.param("opencl", "spirv.target_env", marks=needs_opencl), ("ptx-interpreter", "nvvm.target")])
def test_objects_for_another_device(backend: str, wanted: str, tmp_path: Path) -> None:
    program = wg.parse(PROGRAMS["row sums"])
    program.compile("ptx-interpreter", dump_dir=tmp_path)
    made = load(max(tmp_path.glob("*gpu-module-to-binary.mlir")))
    if wanted == "nvvm.target":
        made.compile(backend)
    else:
        with pytest.raises(InputError, match=f"(?s)@kernels is compiled for #nvvm.target.*takes {wanted}"):
            made.compile(backend)


def test_the_passes_are_registered() -> None:
    assert {"gpu-module-to-binary", "emit-gpu-llvm", "optimize-gpu-llvm", "emit-gpu-asm"} <= set(PASSES)


def test_the_command_that_lists_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["devices"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed if not line.startswith("opencl")] == ["cpu", "interpreter", "ptx-interpreter", "cuda"]
    assert any(line.startswith("opencl") for line in listed)
