"""Nests in terms of other loops compute what they did."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from xdsl.ir import Block, SSAValue

from wengert.dialects.kernel import NestOp, WithinOp, Write, nest, yielded
from wengert.dialects.kernel.positions import Position, combine, constant, index, span, substitute
from wengert.ir.construction import append
from wengert.ir.parsing.parser import parse_module
from wengert.ir.traversal import ops_of, result_of
from wengert.runtime.interpreter import evaluate
from wengert.transforms.kernel.remap import remapped_body, undecided, unrolled

PADDED = """
func.func @main(%x: tensor<4x6xf64>, %i: tensor<8xi32>) -> tensor<6x8xf64> {
  %0 = kernel.nest (d0, d1) = (0, 0) to (6, 8) iterators [parallel, parallel] ins(%a = %x: tensor<4x6xf64>, %n = %i: tensor<8xi32>)
      outs(out0: tensor<6x8xf64>) {
    %1 = kernel.load %a[d0 - 1, d1 - 1] where (1 <= d0 < 5, 0 <= d1 - 1 < 6) : tensor<4x6xf64>
    %2 = kernel.within (1 <= d0 < 5, 0 <= d1 - 1 < 6) : i1
    %3 = kernel.index d0 * 8 + d1 : f64
    %4 = kernel.select %2, %1, %3 : f64
    %5 = kernel.load %n[d1] : tensor<8xi32>
    %6 = kernel.load %a[%5 + d0] : tensor<4x6xf64>, i32
    %7 = kernel.add %4, %6 : f64
    kernel.yield store %7 to out0[d0, d1] : f64
  }
  return %0 : tensor<6x8xf64>
}
"""
INPUTS = (np.random.default_rng(0).standard_normal((4, 6)), np.random.default_rng(1).integers(0, 18, 8).astype(np.int32))


def padded() -> tuple[NestOp, np.ndarray]:
    (op,) = ops_of(parse_module(PADDED), NestOp)
    return op, evaluate(op, INPUTS)[0]


@pytest.mark.parametrize(
    ("extents", "values"),
    [
        ((8, 6), {0: index(1), 1: index(0)}),
        ((3, 2, 8), {0: combine(0, [(0, 2), (1, 1)]), 1: index(2)}),
        ((6, 8), {0: combine(5, [(0, -1)]), 1: combine(7, [(1, -1)])}),
        ((6, 2, 4), {0: index(0), 1: combine(0, [(1, 4), (2, 1)])}),
    ],
)
def test_a_body_in_other_loops(extents: tuple[int, ...], values: dict[int, Position]) -> None:
    op, expected = padded()
    body = remapped_body(op, lambda at: substitute(at, values, extents))
    moved = nest(list(op.inputs), [], [value.type for value in op.outputs], extents, [-1], body)
    moved.verify()
    np.testing.assert_array_equal(evaluate(moved, INPUTS)[0], expected)


def test_loops_unrolled() -> None:
    """The outer loop is written out; guards that every row decides are gone, those of columns stay."""
    op, expected = padded()
    body = Block(arg_types=[value.type for value in op.inputs])

    def put(inner: object) -> SSAValue:
        append(body, inner)  # pyright: ignore
        return result_of(inner)  # pyright: ignore

    writes: list[Write] = []
    for row in range(6):
        values: dict[SSAValue, SSAValue] = dict(zip(op.body.block.args, body.args, strict=True))

        def at_row(at: Position, row: int = row) -> Position:
            return substitute(at, {0: constant(row), 1: index(0)}, (8,))

        unrolled(op, at_row, (8,), values, put)
        writes += [Write(values[write.value], at_row(write.at), write.kind, 0) for write in op.writes]
    append(body, yielded(writes))
    columns = nest(list(op.inputs), [], [value.type for value in op.outputs], (8,), [-1], body)
    columns.verify()
    np.testing.assert_array_equal(evaluate(columns, INPUTS)[0], expected)
    guards = [len(inner.where.data) for inner in body.ops if isinstance(inner, WithinOp)]
    assert guards == [1] * 4, "rows 0 and 5 are outside whatever the column"


@pytest.mark.parametrize("seed", range(20))
def test_what_guards_decide(seed: int) -> None:
    draw = np.random.default_rng(seed)
    extents = tuple(int(n) for n in draw.integers(1, 5, 2))
    guards = [(combine(int(draw.integers(-3, 4)), [(0, int(draw.integers(-2, 3))), (1, int(draw.integers(-2, 3)))]), low, low + 3) for low in (-2, 0)]

    def holds(guard: tuple[Position, int, int], point: tuple[int, ...]) -> bool:
        at, low, high = guard
        value, _ = span(substitute(at, {d: constant(n) for d, n in enumerate(point)}, ()), ())
        return low <= value < high

    left = undecided(guards, lambda at: at, extents)
    for point in product(*map(range, extents)):
        assert all(holds(g, point) for g in guards) == (left is not None and all(holds(g, point) for g in left))
