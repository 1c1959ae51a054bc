"""Programs in which the host decides nothing: their launches are recorded once and asked for again, on one allocation, and give what they gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_backends import BACKENDS

import wengert as wg
from wengert.lab.inputs import random_inputs
from wengert.runtime.cpu.compilation import core_form
from wengert.runtime.derived.derivation import runnable
from wengert.runtime.devices.compile import compile
from wengert.runtime.devices.interface import Buffer, Command, Copy, Launch
from wengert.runtime.devices.ptx import PTXInterpreter

LOOP = """func.func @main(%x: tensor<70000xf32>) -> tensor<70000xf32> {{
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %count = stablehlo.constant dense<{count}> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<70000xf32> cond {{
    %c = stablehlo.compare LT, %i, %count : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }} do {{
    %f = stablehlo.convert %i : (tensor<i64>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<70000xf32>
    %r = stablehlo.reverse %y, dims = [0] : tensor<70000xf32>
    %s = stablehlo.subtract %b, %r : tensor<70000xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %n, %s : tensor<i64>, tensor<70000xf32>
  }}
  return %0#1 : tensor<70000xf32>
}}"""
WHILE = """func.func @main(%x: tensor<70000xf32>, %k: tensor<i64>) -> tensor<70000xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i64>, tensor<70000xf32> cond {
    %c = stablehlo.compare LT, %i, %k : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %r = stablehlo.reverse %y, dims = [0] : tensor<70000xf32>
    %s = stablehlo.sine %r : tensor<70000xf32>
    %n = stablehlo.add %i, %one : tensor<i64>
    stablehlo.return %n, %s : tensor<i64>, tensor<70000xf32>
  }
  return %0#1 : tensor<70000xf32>
}"""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("count", [0, 1, 6])
def test_a_counted_loop_is_recorded(count: int, backend: str) -> None:
    program = wg.parse(LOOP.format(count=count))
    compiled = program.compile(backend, poison=True)
    for seed in (0, 1, 2):
        inputs = random_inputs(program.signature, seed)
        for result, wanted in zip(compiled(*inputs), program.compile("interpreter")(*inputs), strict=True):
            np.testing.assert_array_equal(result, wanted)
    assert compiled.stats.recorded
    assert compiled.stats.launches == count
    assert "launches as recorded" in str(compiled.stats)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_count_that_is_an_argument_is_read(backend: str) -> None:
    program = wg.parse(WHILE)
    compiled = program.compile(backend)
    x = np.linspace(-1, 1, 70000, dtype=np.float32)
    for count in (3, 0, 5):
        inputs = (x, np.int64(count).reshape(()))
        np.testing.assert_allclose(compiled(*inputs)[0], program.compile("interpreter")(*inputs)[0], rtol=1e-6)
        assert compiled.stats.launches == 1 + count, "one computes the count"
    assert not compiled.stats.recorded


class Watched(PTXInterpreter):
    """The interpreter of PTX, which notes what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.allocations: list[int] = []
        self.captured: list[list[Command]] = []
        self.asked = 0

    def allocate(self, size: int) -> Buffer:
        self.allocations.append(size)
        return super().allocate(size)

    def capture(self, commands: Any) -> Any:
        self.captured.append(list(commands))
        return super().capture(commands)

    def read(self, buffer: Buffer) -> Any:
        self.asked += 1
        return super().read(buffer)


def test_memory_is_allocated_once_and_only_results_are_read() -> None:
    device = Watched()
    compiled = compile(core_form(runnable(wg.parse(LOOP.format(count=5)).optimized_module)), "", device)
    assert len(device.allocations) == 4, "the input, the result, what the program uses besides, its constants"
    x = np.linspace(-1, 1, 70000, dtype=np.float32)
    for _ in range(3):
        compiled(x)
    assert len(device.allocations) == 4
    assert device.asked == 3
    (commands,) = device.captured
    assert sum(isinstance(command, Launch) for command in commands) == 5
    memories = {id(buffer.memory) for command in commands for buffer in ((command.source, command.target) if isinstance(command, Copy) else command.arguments)}
    assert len(memories) <= 4
