"""Costs of single ops against formulas worked out by hand, and that every op of the dialects has a cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.ir import Attribute, Block, Operation

from wengert.dialects import core
from wengert.dialects.builder import OpBuilder
from wengert.ir.parsing.parser import parse_module
from wengert.ir.tensor_types import c128, f32, f64, i32, tensor
from wengert.runtime.interpreter import Counter, run
from wengert.transforms.analysis.opcost import Cost, cost, total


def _block(*types: tuple[tuple[int, ...], Attribute]) -> tuple[Block, OpBuilder]:
    block = Block(arg_types=[tensor(shape, element_type) for shape, element_type in types])
    return block, OpBuilder(block)


def _last(block: Block) -> Operation:
    op = block.last_op
    assert op is not None
    return op


def test_elementwise() -> None:
    block, b = _block(((4, 5), f32), ((4, 5), c128), ((4, 5), i32))
    x, z, n = block.args
    expected: list[tuple[Any, Cost]] = [
        (lambda: b.add(x, x), Cost(20, 0, 160, 80)),
        (lambda: b.tanh(x), Cost(20, 20, 80, 80)),
        (lambda: b.multiply(z, z), Cost(120, 0, 640, 320)),
        (lambda: b.add(n, n), Cost(0, 0, 160, 80)),
        (lambda: b.convert(n, f32), Cost(0, 0, 80, 80)),
        (lambda: b.compare("LT", x, x), Cost(20, 0, 160, 20)),
    ]
    for make, wanted in expected:
        make()
        assert cost(_last(block)) == wanted, _last(block).name


def test_contraction() -> None:
    block, b = _block(((2, 3, 4), f64), ((2, 4, 5), f64))
    b.dot_general(*block.args, ((2,), (1,)), ((0,), (0,)))
    assert cost(_last(block)) == Cost(2 * 2 * 3 * 5 * 4, 0, (24 + 40) * 8, 30 * 8)


def test_reductions() -> None:
    block, b = _block(((3, 4), f32))
    (x,) = block.args
    b.reduce_sum(x, [0])
    assert cost(_last(block)) == Cost(8, 0, 48, 16)
    b.cumulative(core.Kind.add, x, 1)
    assert cost(_last(block)) == Cost(9, 0, 48, 48)


def test_indexing_costs_what_it_touches() -> None:
    block, b = _block(((1000, 4), f32), ((2, 4), f32), ((), i32))
    x, update, start = block.args
    b.dynamic_slice(x, [start, start], [2, 4])
    assert cost(_last(block)) == Cost(0, 0, 32 + 8, 32)
    b.dynamic_update_slice(x, update, [start, start])
    assert cost(_last(block)) == Cost(0, 0, 32 + 8, 32)


@pytest.mark.parametrize(("n", "flops"), [(3, 9), (6, 72)])
def test_cholesky(n: int, flops: int) -> None:
    matrices = f"tensor<2x{n}x{n}xf64>"
    text = f"func.func @main(%a: {matrices}) -> {matrices} {{\n  %r = stablehlo.cholesky %a, lower = true : {matrices}\n  return %r : {matrices}\n}}"
    op = next(op for op in parse_module(text).walk() if op.name == "stablehlo.cholesky")
    assert cost(op).flops == 2 * flops


def test_convolution() -> None:
    text = """func.func @main(%x: tensor<2x8x8x3xf32>, %w: tensor<3x3x3x16xf32>) -> tensor<2x6x6x16xf32> {
      %r = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<2x6x6x16xf32>
      return %r : tensor<2x6x6x16xf32>
    }"""
    op = next(op for op in parse_module(text).walk() if op.name == "stablehlo.convolution")
    assert cost(op).flops == 2 * (2 * 6 * 6 * 16) * (3 * 3 * 3)


def test_regions_count_once_per_combination() -> None:
    text = """func.func @main(%x: tensor<10xf64>, %v: tensor<f64>) -> tensor<f64> {
      %r = "stablehlo.reduce"(%x, %v) <{dimensions = array<i64: 0>}> ({
      ^bb0(%a: tensor<f64>, %b: tensor<f64>):
        %c = stablehlo.multiply %a, %b : tensor<f64>
        %d = stablehlo.exponential %c : tensor<f64>
        stablehlo.return %d : tensor<f64>
      }) : (tensor<10xf64>, tensor<f64>) -> tensor<f64>
      return %r : tensor<f64>
    }"""
    counter = Counter()
    run(parse_module(text), [np.zeros(10), np.float64(0)], counter=counter)
    assert (counter.flops, counter.transcendentals) == (18, 9)
    assert counter.ops == {"stablehlo.reduce": 1}


def test_total() -> None:
    assert total([Cost(1, 2, 3, 4), Cost(10, 20, 30, 40)]) == Cost(11, 22, 33, 44)
    assert Cost(1, 2, 3, 4).bytes == 7


def test_tapes_count_what_they_hold() -> None:
    text = """func.func public @main(%x: tensor<100xf64>) -> tensor<100xf64> {
      %t = "core.tape_create"() : () -> !core.tape<tensor<100xf64>>
      %y = stablehlo.sine %x : tensor<100xf64>
      %u = "core.tape_push"(%t, %y) : (!core.tape<tensor<100xf64>>, tensor<100xf64>) -> !core.tape<tensor<100xf64>>
      %z = stablehlo.cosine %x : tensor<100xf64>
      %v = "core.tape_push"(%u, %z) : (!core.tape<tensor<100xf64>>, tensor<100xf64>) -> !core.tape<tensor<100xf64>>
      %i = stablehlo.constant dense<0> : tensor<i64>
      %r = "core.tape_read"(%v, %i) : (!core.tape<tensor<100xf64>>, tensor<i64>) -> tensor<100xf64>
      return %r : tensor<100xf64>
    }"""
    counter = Counter()
    run(parse_module(text), [np.zeros(100)], counter=counter)
    assert counter.live_bytes == 0
    assert counter.peak_bytes == 800 + 2 * 800 + 800  # input, tape, and the value read (as if it were a copy)
