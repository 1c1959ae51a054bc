"""Subnormal numbers: kept unless asked otherwise; flushed on every thread that runs the program, and nowhere else."""

import platform
import subprocess
import sys

import numpy as np
import pytest

import wengert as wg
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile, pool
from wengert.runtime.cpu.pool_code import available
from wengert.runtime.cpu.thread_count import default_threads
from wengert.transforms.codegen.cpu.symbols import POOL_JOB
from wengert.transforms.schedule import chunks as parallel

TEXT = """func.func public @main(%x: tensor<NxTYPE>) -> tensor<NxTYPE> {
  %h = stablehlo.constant dense<0.5> : tensor<NxTYPE>
  %0 = stablehlo.multiply %x, %h : tensor<NxTYPE>
  return %0 : tensor<NxTYPE>
}"""
SMALL = {"f32": np.float32(1e-40), "f64": np.float64(1e-310)}
LEAST = {"f32": np.finfo(np.float32).tiny, "f64": np.finfo(np.float64).tiny}

known = pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64", "aarch64", "arm64"), reason="there is no such mode that we know of")


def text(count: int, element_type: str) -> str:
    return TEXT.replace("N", str(count)).replace("TYPE", element_type)


@known
@pytest.mark.parametrize("element_type", ["f32", "f64"])
def test_results_and_operands(element_type: str) -> None:
    program = wg.parse(text(3, element_type))
    x = np.array([SMALL[element_type], LEAST[element_type], 1.0], SMALL[element_type].dtype)
    kept, flushed = program.compile()(x)[0], program.compile(flush_subnormals=True)(x)[0]
    np.testing.assert_array_equal(kept, x * x.dtype.type(0.5))
    assert kept[0] > 0
    assert kept[1] > 0
    np.testing.assert_array_equal(flushed, [0, 0, 0.5])


@known
def test_the_environment_decides_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.full(3, SMALL["f64"])
    monkeypatch.setenv("WENGERT_FLUSH_SUBNORMALS", "1")
    assert wg.parse(text(3, "f64")).compile()(x)[0].max() == 0
    assert wg.parse(text(3, "f64")).compile(flush_subnormals=False)(x)[0].min() > 0


@known
def test_the_mode_ends_with_the_call() -> None:
    x = np.full(4, SMALL["f64"])
    assert wg.parse(text(4, "f64")).compile(flush_subnormals=True)(x)[0].max() == 0
    assert (x * 0.5 > 0).all()


@known
def test_the_mode_ends_with_a_call_that_fails() -> None:
    failing = """func.func public @main(%x: tensor<4xf64>) -> tensor<4xf64> {
      %0 = stablehlo.custom_call @nobody_knows_this(%x) : (tensor<4xf64>) -> tensor<4xf64>
      return %0 : tensor<4xf64>
    }"""
    x = np.full(4, SMALL["f64"])
    with pytest.raises(Exception, match="nobody_knows_this"):
        compile(parse_module(failing), flush_subnormals=True)(x)
    assert (x * 0.5 > 0).all()


@known
@pytest.mark.skipif(not available(), reason="there are no threads here")
def test_every_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "GRAIN_NS", 20.0)
    monkeypatch.setattr(parallel, "LEAST_NS", 40.0)
    pool.set_threads(4)
    try:
        compiled = compile(parse_module(text(100000, "f32")), flush_subnormals=True)
        assert POOL_JOB in compiled.llvm_text
        for _ in range(20):
            assert compiled(np.full(100000, SMALL["f32"]))[0].max() == 0
    finally:
        pool.set_threads(default_threads())


RUNNING = """func.func public @main(%x: tensor<3000xf32>) -> tensor<3000xf32> {
  %0 = "core.cumulative"(%x) <{kind = #core<kind add>, dimension = 0 : i64, reverse = false}> : (tensor<3000xf32>) -> tensor<3000xf32>
  return %0 : tensor<3000xf32>
}"""
ORDERED = """func.func public @main(%x: tensor<3000xf32>) -> tensor<3000xf32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<3000xf32>) -> tensor<3000xf32>
  return %0 : tensor<3000xf32>
}"""


@known
@pytest.mark.skipif(not available(), reason="there are no threads here")
def test_stages_of_long_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flushed subnormal numbers add up to nothing, and are all equal to those that compare them; the mode is that of every stage."""
    monkeypatch.setattr(parallel, "GRAIN_NS", 20.0)
    monkeypatch.setattr(parallel, "LEAST_NS", 40.0)
    x = np.arange(3000, 0, -1, dtype=np.float32) * np.finfo(np.float32).smallest_subnormal  # their sums are subnormal too, so none is rounded
    pool.set_threads(4)
    try:
        for program, kept, flushed in ((RUNNING, np.add.accumulate(x), np.zeros_like(x)), (ORDERED, np.sort(x), x)):
            for mode, expected in ((False, kept), (True, flushed)):
                compiled = compile(parse_module(program), flush_subnormals=mode)
                assert ".finish(" in compiled.llvm_text
                np.testing.assert_array_equal(compiled(x)[0], expected)
    finally:
        pool.set_threads(default_threads())


INHERITED = f"""
import numpy as np
import wengert as wg
from wengert.runtime.cpu import pool

pool.set_threads(4)
p = wg.parse({text(10**6, "f32")!r})
x = np.full(10**6, np.float32(1e-40))
flushing, keeping = p.compile(flush_subnormals=True), p.compile()
for _ in range(50):
    assert flushing(x)[0].max() == 0
for _ in range(200):
    assert keeping(x)[0].min() > 0
"""


@known
@pytest.mark.skipif(not available(), reason="there are no threads here")
def test_workers_that_a_flushing_program_starts_keep_the_numbers_of_others() -> None:
    """A thread inherits the mode of the one that starts it."""
    done = subprocess.run([sys.executable, "-c", INHERITED], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_the_interpreter_has_no_such_mode() -> None:
    with pytest.raises(wg.InputError, match="flush_subnormals"):
        wg.parse(text(3, "f64")).compile("interpreter", flush_subnormals=True)
