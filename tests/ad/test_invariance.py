"""Values whose shift cancels get no tangent, and only those."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.ir.tensor_types import f64, shape, tensor
from wengert.transforms.ad.forward.shift_invariance import invariant_values


def shifted_exponential(b: OpBuilder, x: Value) -> tuple[Value, Value, Value]:
    """The row maximum m, exp(x - m), and its row sums."""
    m = b.reduce(Kind.max, x, [1])
    e = b.exponential(b.subtract(x, b.broadcast_in_dim(m, [0], shape(x))))
    return m, e, b.reduce_sum(e, [1])


def softmax(b: OpBuilder, x: Value) -> Value:
    _, e, s = shifted_exponential(b, x)
    return b.divide(e, b.broadcast_in_dim(s, [0], shape(x)))


def logsumexp(b: OpBuilder, x: Value) -> Value:
    m, _, s = shifted_exponential(b, x)
    return b.add(b.log(b.abs(s)), m)


def log_softmax(b: OpBuilder, x: Value) -> Value:
    m, _, s = shifted_exponential(b, x)
    z = b.subtract(x, b.broadcast_in_dim(m, [0], shape(x)))
    return b.subtract(z, b.broadcast_in_dim(b.log(s), [0], shape(x)))


def signed_logsumexp(b: OpBuilder, x: Value) -> Value:
    m, _, s = shifted_exponential(b, x)
    return b.multiply(b.add(b.log(b.abs(s)), m), b.sign(s))


def log_of_sum_without_the_shift(b: OpBuilder, x: Value) -> Value:
    _, _, s = shifted_exponential(b, x)
    return b.log(s)


def the_maximum_too(b: OpBuilder, x: Value) -> Value:
    return b.add(logsumexp(b, x), b.reduce(Kind.max, x, [1]))


def numerator_alone(b: OpBuilder, x: Value) -> Value:
    return shifted_exponential(b, x)[1]


def squared(b: OpBuilder, x: Value) -> Value:
    m, _, s = shifted_exponential(b, x)
    return b.add(b.log(b.multiply(s, s)), m)


def normalised_over_the_other_axis(b: OpBuilder, x: Value) -> Value:
    _, e, _ = shifted_exponential(b, x)
    return b.divide(e, b.broadcast_in_dim(b.reduce_sum(e, [0]), [1], shape(x)))


def through_a_sine(b: OpBuilder, x: Value) -> Value:
    m, _, s = shifted_exponential(b, x)
    return b.add(b.sine(b.log(s)), m)


def invariant(build: object) -> int:
    block = Block(arg_types=[tensor((3, 3), f64)])
    made = build(OpBuilder(block), block.args[0])  # type: ignore[operator]
    block.add_op(ReturnOp(made))
    FuncOp("f", ([block.args[0].type], [made.type]), Region([block]))
    return len(invariant_values(list(block.ops)))


@pytest.mark.parametrize("build", [softmax, logsumexp, log_softmax, signed_logsumexp])
def test_shifts_that_cancel(build: object) -> None:
    assert invariant(build) == 1


@pytest.mark.parametrize("build", [log_of_sum_without_the_shift, the_maximum_too, numerator_alone, squared, normalised_over_the_other_axis, through_a_sine])
def test_shifts_that_do_not(build: object) -> None:
    assert invariant(build) == 0
