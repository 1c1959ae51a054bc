"""Jobs of the entry: described by a constant where their pointers lie at fixed places, else by a frame that the entry fills."""

from __future__ import annotations

import numpy as np
import pytest

from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu import compile
from wengert.runtime.interpreter import run
from wengert.transforms.codegen.cpu.pointers.described_jobs import description
from wengert.transforms.codegen.cpu.pointers.frames import IN_ARENA, NOWHERE, Place
from wengert.transforms.schedule.chunks import Split

KIND = "tensor<400000xf32>"
CHAIN = f"""func.func public @main(%x: {KIND}) -> {KIND} {{
  %0 = stablehlo.tanh %x : {KIND}
  %1 = stablehlo.reverse %0, dims = [0] : {KIND}
  %2 = stablehlo.optimization_barrier %1 : {KIND}
  %3 = stablehlo.sine %2 : {KIND}
  return %3 : {KIND}
}}"""
LOOP = f"""func.func public @main(%x: {KIND}) -> {KIND} {{
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i64>, {KIND}
   cond {{
    %last = stablehlo.constant dense<5> : tensor<i64>
    %1 = stablehlo.compare LT, %i, %last : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }} do {{
    %one = stablehlo.constant dense<1> : tensor<i64>
    %1 = stablehlo.add %i, %one : tensor<i64>
    %2 = stablehlo.reverse %v, dims = [0] : {KIND}
    %3 = stablehlo.sine %2 : {KIND}
    stablehlo.return %1, %3 : tensor<i64>, {KIND}
  }}
  return %0#1 : {KIND}
}}"""


def test_a_description_lists_places() -> None:
    cut = Split(100, 16, 5000, joined=True)
    text = description("job3", "kernel7", [Place(2, 64), IN_ARENA.further(128)], cut, NOWHERE, 256)
    numbers = ", ".join([f"i64 {n}" for n in (7, 256, 5000, 1, 3, 3, -2, 0, 1, 0, 2, 64, 1, 0, -1, 128, 1, 0)])
    assert text == f"@job3 = internal constant {{ ptr, [18 x i64] }} {{ ptr @kernel7, [18 x i64] [{numbers}] }}, align 8\n"


@pytest.mark.parametrize(("text", "described"), [(CHAIN, True), (LOOP, False)], ids=["fixed places", "buffers that a loop swaps"])
def test_results_are_right(text: str, described: bool) -> None:
    module = parse_module(text)
    compiled = compile(module)
    assert ("call void @wg.pool.job(" in compiled.llvm_text) == described
    assert ("call void @wg.pool.run(" in compiled.llvm_text) != described
    x = np.linspace(-3, 3, 400000, dtype=np.float32)
    for result, expected in zip(compiled(x), run(module, [x]), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
