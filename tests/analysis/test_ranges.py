"""Bounds of integer values."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.ir import Block

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import f64, i8, i32, tensor
from wengert.transforms.analysis.ranges import interval


def iota(b: OpBuilder, x: Value, f: Value) -> Value:
    return b.iota(0, tensor((7,), i32))


def full(b: OpBuilder, value: int) -> Value:
    return b.full(value, tensor((7,), i32))


PROGRAMS = {
    "iota": (iota, (0, 6)),
    "constant": (lambda b, x, f: b.constant(np.array([3, -2, 5], np.int32)), (-2, 5)),
    "argument": (lambda b, x, f: x, None),
    "sum": (lambda b, x, f: b.add(iota(b, x, f), full(b, 3)), (3, 9)),
    "difference": (lambda b, x, f: b.subtract(full(b, 6), iota(b, x, f)), (0, 6)),
    "product": (lambda b, x, f: b.multiply(iota(b, x, f), full(b, -2)), (-12, 0)),
    "sum with an unknown": (lambda b, x, f: b.add(iota(b, x, f), x), None),
    "clamped": (lambda b, x, f: b.clamp(full(b, 0), x, full(b, 4)), (0, 4)),
    "bounded by min of max": (lambda b, x, f: b.minimum(b.maximum(x, full(b, 0)), full(b, 4)), (0, 4)),
    "bounded by max of min": (lambda b, x, f: b.maximum(b.minimum(x, full(b, 4)), full(b, 0)), (0, 4)),
    "bounded on one side": (lambda b, x, f: b.maximum(x, full(b, 0)), None),
    "remainder of an unknown": (lambda b, x, f: b.remainder(x, full(b, 5)), (-4, 4)),
    "remainder of a natural number": (lambda b, x, f: b.remainder(iota(b, x, f), full(b, 5)), (0, 4)),
    "selected": (lambda b, x, f: b.select(b.compare("LT", x, full(b, 0)), iota(b, x, f), full(b, 9)), (0, 9)),
    "concatenated": (lambda b, x, f: b.concatenate([iota(b, x, f), full(b, -1)], 0), (-1, 6)),
    "wraps around": (lambda b, x, f: b.multiply(b.convert(iota(b, x, f), i8), b.full(100, tensor((7,), i8))), None),
    "position of a maximum": (lambda b, x, f: b.argreduce(core.Extreme.max, f, 0, i32)[1], (0, 4)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_interval(name: str) -> None:
    build, expected = PROGRAMS[name]
    block = Block(arg_types=[tensor((7,), i32), tensor((5,), f64)])
    assert interval(build(OpBuilder(block), *block.args)) == expected


def test_floats_have_none() -> None:
    b = OpBuilder(Block())
    assert interval(b.full(1, tensor((2,), f64))) is None


def test_it_ends_on_long_chains() -> None:
    b = OpBuilder(Block())
    x = b.iota(0, tensor((3,), i32))
    for _ in range(200):
        x = b.one(hlo.NotOp, (b.reverse(x, [0]),), x.type)
    assert interval(x) is None
