"""Buffers: values that are live at the same time never overlap, by a liveness computed independently here."""

import numpy as np
import pytest
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from wengert.dialects import stablehlo
from wengert.dialects.kernel import NestOp
from wengert.dialects.kernel.memory import byte_size
from wengert.ir.parsing.parser import parse_module
from wengert.runtime.cpu.compilation import core_form
from wengert.transforms.bufferize.layout import Origin, assign
from wengert.transforms.lowering import lower


def chain(count: int) -> str:
    """Sums of rows added back, so that each step needs a kernel of its own and the one before."""
    lines = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
    for i in range(count):
        lines += [
            f"%s{i} = stablehlo.reduce(%x{i} init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x32xf32>, tensor<f32>) -> tensor<16xf32>",
            f"%b{i} = stablehlo.broadcast_in_dim %s{i}, dims = [0] : (tensor<16xf32>) -> tensor<16x32xf32>",
            f"%e{i} = stablehlo.tanh %x{i} : tensor<16x32xf32>",
            f"%x{i + 1} = stablehlo.multiply %e{i}, %b{i} : tensor<16x32xf32>",
        ]
    body = "\n".join(lines)
    return f"func.func public @main(%x0: tensor<16x32xf32>) -> (tensor<16x32xf32>, tensor<16xf32>) {{\n{body}\nreturn %x{count}, %s0 : tensor<16x32xf32>, tensor<16xf32>\n}}"


CONCATENATED = """func.func public @main(%x: tensor<8x8xf64>, %y: tensor<8x8xf64>) -> (tensor<16x8xf64>, tensor<8x8xf64>, tensor<64xf64>) {
  %a = stablehlo.tanh %x : tensor<8x8xf64>
  %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x8xf64>) -> tensor<8x8xf64>
  %d = stablehlo.dot_general %t, %y, contracting_dims = [1] x [0] : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %c = stablehlo.concatenate %d, %a, dim = 0 : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<16x8xf64>
  %e = stablehlo.sine %c : tensor<16x8xf64>
  %r = stablehlo.reshape %y : (tensor<8x8xf64>) -> tensor<64xf64>
  return %e, %a, %r : tensor<16x8xf64>, tensor<8x8xf64>, tensor<64xf64>
}"""


def lowered_block(text: str):
    module = lower(core_form(parse_module(text)))
    (function,) = module.ops
    return function.body.block


def lifetimes(block) -> dict[SSAValue, tuple[int, int]]:
    """From the op that makes a value to the last that reads it, reading through reshapes and results that continue it."""
    ops = list(block.ops)
    born = {result: number for number, op in enumerate(ops) for result in op.results}
    dies = dict(born)
    for number, op in enumerate(ops):
        for operand in op.operands:
            if operand in dies:
                dies[operand] = max(dies[operand], number)
    for op in reversed(ops):  # a value lives on in what shares its memory
        pairs = [(op.operand, op.result)] if isinstance(op, stablehlo.ReshapeOp) else []
        if isinstance(op, NestOp):
            pairs = [(op.into[tie], result) for result, tie in zip(op.results, op.tied, strict=True) if tie >= 0]
        for before, after in pairs:
            if before in dies:
                dies[before] = max(dies[before], dies[after])
    return {value: (born[value], dies[value]) for value in born}


def shared(block) -> dict[SSAValue, SSAValue]:
    """For values that are another value's memory by design, the first of them."""
    root: dict[SSAValue, SSAValue] = {}
    for op in block.ops:
        if isinstance(op, stablehlo.ReshapeOp):
            root[op.result] = root.get(op.operand, op.operand)
        if isinstance(op, NestOp):
            for result, tie in zip(op.results, op.tied, strict=True):
                if tie >= 0:
                    root[result] = root.get(op.into[tie], op.into[tie])
    return root


@pytest.mark.parametrize("text", [chain(1), chain(7), CONCATENATED])
def test_live_values_do_not_overlap(text: str) -> None:
    block = lowered_block(text)
    layout = assign(block)
    live, root = lifetimes(block), shared(block)
    placed = [v for v in live if layout.places[v].origin is Origin.ARENA]
    for i, one in enumerate(placed):
        for other in placed[i + 1 :]:
            if root.get(one, one) is root.get(other, other):
                continue
            (first, last), (start, end) = live[one], live[other]
            apart = layout.places[one].at + byte_size(one) <= layout.places[other].at or layout.places[other].at + byte_size(other) <= layout.places[one].at
            strictly_before = last < start or end < first
            overwrites = last == start or end == first
            assert apart or strictly_before or (overwrites and layout.places[one] == layout.places[other]), (one, other)
        assert layout.places[one].at + byte_size(one) <= layout.arena_bytes
        assert layout.places[one].at % 64 == 0


def test_arena_does_not_grow_with_the_length_of_a_chain() -> None:
    assert assign(lowered_block(chain(30))).arena_bytes == assign(lowered_block(chain(6))).arena_bytes


def test_returned_values_are_written_to_outputs_and_inputs_are_copied() -> None:
    block = lowered_block(CONCATENATED)
    layout = assign(block)
    last = block.last_op
    assert isinstance(last, ReturnOp)
    assert [layout.places[v].origin for v in last.operands] == [Origin.OUTPUT, Origin.OUTPUT, Origin.INPUT]
    assert [(copy.source, copy.output) for copy in layout.copies] == [(last.operands[2], 2)]
    assert all(layout.places[v].origin is not Origin.INPUT for op in block.ops if isinstance(op, NestOp) for v in op.results)


def test_elementwise_result_overwrites_a_dying_operand() -> None:
    block = lowered_block(chain(4))
    layout = assign(block)
    pairs = [(v, r) for op in block.ops if isinstance(op, NestOp) for v in op.inputs for r in op.results if layout.places[v] == layout.places[r]]
    assert all(np.prod(v.type.get_shape()) == np.prod(r.type.get_shape()) for v, r in pairs)
    assert any(layout.places[v].origin is Origin.ARENA for v, r in pairs)
