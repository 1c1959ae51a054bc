"""What programs on buffers must keep to, each broken once in a text; and what they say of the program that they came from."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

from wengert.ir.diagnostics import DiagnosticError
from wengert.ir.parsing.parser import parse_module
from wengert.ir.printing.printer import print_module
from wengert.ir.verification.verifier import verify
from wengert.runtime.errors import InputError
from wengert.runtime.interpreter import run
from wengert.runtime.loading import parse
from wengert.transforms.bufferize.footprint import footprint
from wengert.transforms.pipelines import parse_pipeline

SUM = """
func.func public @main(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.dot_general %0, %y, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %2 = stablehlo.tanh %1 : tensor<8x8xf32>
  %3 = stablehlo.dot_general %2, %2, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = stablehlo.add %3, %2 : tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
"""
LOOP = """
func.func public @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x8xf32>
   cond {
    %n = stablehlo.constant dense<10> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %z = stablehlo.dot_general %y, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %j, %z : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
"""


def on_buffers(text: str) -> str:
    return print_module(parse_pipeline("to-core,fuse,schedule,bufferize").run(parse_module(text)))


BROKEN = {
    "a view beyond the arena": (SUM, r"(kernel\.view %arena)\[0\]", r"\1[704]", "must lie in the 768 bytes"),
    "a view that is not aligned": (SUM, r"(kernel\.view %arena)\[0\]", r"\1[4]", "begin at a multiple of 64"),
    "another space": (SUM, r"to memref<8x8xf32, #kernel\.space<arena>>", "to memref<8x8xf32>", "address space|is used here as"),
    "an input is written": (SUM, r"outs\(%out: memref<8x8xf32>\)", "outs(%x: memref<4x8xf32>)", "hold|not written"),
    "a product in place": (SUM, r"outs\(%1(: memref<8x8xf32, #kernel\.space<arena>>\) scratch)", r"outs(%0\1", "kernel.matmul does not overwrite"),
    "the wrong buffer at the end of a loop": (LOOP, r"kernel\.end %(\w+) : memref<8x8xf32>", "kernel.end %arg2 : memref<8x8xf32>", "left in its own buffer|defined"),
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_refused(what: str) -> None:
    program, pattern, other, message = BROKEN[what]
    text = on_buffers(program)
    verify(parse_module(text))
    broken, count = re.subn(pattern, other, text, count=1)
    assert count == 1, text
    with pytest.raises(DiagnosticError, match=message):
        verify(parse_module(broken))


def test_a_nest_that_reads_elsewhere_is_not_run_in_place() -> None:
    text = on_buffers(SUM)
    broken, count = re.subn(r"(kernel\.load %\w+)\[d0, d1\]", r"\1[d1, d0]", text, count=1)
    assert count == 1, text
    with pytest.raises(DiagnosticError, match="reads other elements than it writes"):
        verify(parse_module(broken))


def test_values_that_share_memory_spoil_each_other() -> None:
    """The interpreter's memory is real: with the last kernel's operand where another value is, the result is wrong."""
    program = SUM.replace("return %4", "%5 = stablehlo.multiply %4, %3 : tensor<8x8xf32>\n  return %5").replace("%3, %2 : tensor", "%3, %1 : tensor")
    x, y = np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32)
    text = on_buffers(program)
    offsets = sorted({int(at) for at in re.findall(r"kernel\.view %arena\[(\d+)\]", text)})
    assert len(offsets) > 1
    overlapping = text.replace(f"kernel.view %arena[{offsets[1]}]", f"kernel.view %arena[{offsets[0]}]")
    expected = run(parse_module(program), [x, y])[0]
    np.testing.assert_allclose(run(parse_module(text), [x, y])[0], expected, rtol=1e-5)
    assert not np.allclose(run(parse_module(overlapping), [x, y])[0], expected, rtol=1e-2)


def test_the_signature_is_that_of_the_program() -> None:
    text = 'func.func public @main(%x: tensor<3xf64> {wengert.name = "x"}, %n: tensor<i32>) -> (tensor<3xf64> {wengert.name = "y"}, tensor<i32>) {\n  return %x, %n : tensor<3xf64>, tensor<i32>\n}'
    program, lowered = parse(text), parse(print_module(parse_pipeline("to-core,fuse,bufferize").run(parse_module(text))))
    assert str(lowered.signature) == str(program.signature)
    for backend in ("interpreter", "cpu"):
        compiled = lowered.compile(backend)
        y, n = compiled(np.arange(3.0), np.int32(7))
        np.testing.assert_array_equal(y, np.arange(3.0))
        assert n == 7
        with pytest.raises(InputError, match="argument 0"):
            compiled(np.arange(4.0), np.int32(7))


@pytest.mark.parametrize("program", [SUM, LOOP])
def test_bufferize_keeps_what_is_on_buffers(program: str) -> None:
    text = on_buffers(program)
    assert print_module(parse_pipeline("bufferize").run(parse_module(text))) == text


@pytest.mark.parametrize("program", [SUM, LOOP])
def test_the_text_says_how_much_is_allocated(program: str) -> None:
    (function,) = parse_module(on_buffers(program)).ops
    assert isinstance(function, FuncOp)
    memory, stats = footprint(function), parse(program).compile().stats
    assert (memory.arena, memory.constants, memory.results) == (stats.arena_bytes, stats.constant_bytes, stats.result_bytes)
    assert memory.inputs == 4 * 64, "two arrays of 32 numbers, or one of 64"
    assert stats.peak_bytes == memory.arena + memory.constants + memory.results
