"""Code for processors with narrower registers and fewer instructions than the one that runs the tests, run on it."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = '''
import sys

import llvmlite.binding as llvm

level = sys.argv[1]
here = llvm.get_host_cpu_features()
LACKING = {"x86-64-v2": ("avx", "fma", "f16c", "bmi", "lzcnt", "vaes", "vpclmul", "amx"), "x86-64-v3": ("avx512", "avx10", "amx")}


def features():
    less = type(here)(here)
    less.update({name: False for name in less if name.startswith(LACKING[level])})
    return less


llvm.get_host_cpu_features, llvm.get_host_cpu_name = features, lambda: level

import numpy as np

import wengert as wg
from wengert.transforms.schedule.host import host

assert host().target.vector_bytes == {"x86-64-v2": 16, "x86-64-v3": 32}[level]
draw = np.random.default_rng(0)


def drawn(shape, dtype):
    if dtype.kind in "iu":
        return draw.integers(0, 100, shape).astype(dtype)
    return (draw.standard_normal(shape) + (1j * draw.standard_normal(shape) if dtype.kind == "c" else 0)).astype(dtype)


for kind in ("f32", "f64", "f16", "bf16", "complex<f32>", "complex<f64>", "i16"):
    t, row = f"tensor<5x7x{kind}>", f"tensor<7x{kind}>"
    more = "" if kind == "i16" else f"%3 = stablehlo.tanh %2 : {t}"
    last = "%2" if kind == "i16" else "%3"
    text = f"""
    func.func @main(%x: {t}, %y: {t}, %r: {row}) -> ({t}, {t}, {row}, {t}) {{
      %z = stablehlo.constant dense<{"(0.0, 0.0)" if "complex" in kind else 0 if kind == "i16" else "0.0"}> : tensor<{kind}>
      %0 = stablehlo.reverse %x, dims = [1] : {t}
      %1 = stablehlo.broadcast_in_dim %r, dims = [1] : ({row}) -> {t}
      %p = stablehlo.multiply %0, %1 : {t}
      %2 = stablehlo.add %p, %y : {t}
      {more}
      %4 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : ({t}, tensor<{kind}>) -> {row}
      %5 = stablehlo.slice %y [0:5, 1:7] : ({t}) -> tensor<5x6x{kind}>
      %6 = stablehlo.pad %5, %z, low = [0, 1], high = [0, 0], interior = [0, 0] : (tensor<5x6x{kind}>, tensor<{kind}>) -> {t}
      return %2, {last}, %4, %6 : {t}, {t}, {row}, {t}
    }}"""
    program = wg.parse(text)
    sides = [program] if kind == "i16" else [program, program.vjp()]
    for side in sides:
        inputs = [drawn(p.shape, np.dtype(p.dtype) if p.dtype.kind != "V" else p.dtype) for p in side.signature.arguments]
        for actual, expected in zip(side(*inputs), side.compile(backend="interpreter")(*inputs), strict=True):
            wide = np.complex128 if actual.dtype.kind == "c" else np.float64
            tolerance = {"f16": 1e-2, "bf16": 6e-2, "f32": 1e-5, "complex<f32>": 1e-5}.get(kind, 1e-12)
            np.testing.assert_allclose(actual.astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance, err_msg=kind)
'''


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the processor is of another family")
@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3"])
def test_programs_run(level: str) -> None:
    made = subprocess.run([sys.executable, "-c", SCRIPT, level], capture_output=True, text=True, env={"WENGERT_CACHE": "off", "PATH": ""}, check=False)
    assert made.returncode == 0, made.stderr[-2000:]
