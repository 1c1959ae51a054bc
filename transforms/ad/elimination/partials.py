"""The partial derivatives of linear ops: the blocks that stand on the edges of the linearised graph before anything is eliminated.

``@partial(Op)`` says what the block of an op is for one of its operands, by structure and value. An op without one, or for which it gives None, is a map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir import elements
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import element, is_float, rank, shape
from wengert.transforms.ad.elimination.blocks import Block
from wengert.transforms.ad.elimination.structure import Kind, identity, labelled

Partial = Callable[[OpBuilder, Any, int], Block | None]
"""(builder, op, position of the operand) -> the derivative of the op's result by that operand."""

PARTIALS: dict[type[Operation], Partial] = {}


def partial(*ops: type[Operation]) -> Callable[[Partial], Partial]:
    """Registers the partial derivatives of ops."""

    def register(function: Partial) -> Partial:
        PARTIALS.update(dict.fromkeys(ops, function))
        return function

    return register


def partial_of(b: OpBuilder, op: Operation, position: int) -> Block | None:
    """The block of an op for an operand; None where the op is a map."""
    rule = PARTIALS.get(type(op))
    return None if rule is None else rule(b, op, position)


def same(op: Operation, position: int, scale: float = 1.0) -> Block:
    """The identity times a number."""
    return Block(identity(shape(op.results[0]), scale), element(op.results[0]), element(op.operands[position]))


@partial(hlo.AddOp, hlo.ConvertOp)
def _same(b: OpBuilder, op: Operation, position: int) -> Block:
    return same(op, position)


@partial(hlo.SubtractOp)
def _subtract(b: OpBuilder, op: Operation, position: int) -> Block:
    return same(op, position, -1.0 if position else 1.0)


@partial(hlo.NegateOp)
def _negate(b: OpBuilder, op: Operation, position: int) -> Block:
    return same(op, position, -1.0)


@partial(hlo.MultiplyOp)
def _multiply(b: OpBuilder, op: hlo.MultiplyOp, position: int) -> Block:
    coefficient = op.operands[1 - position]
    number = _splat(coefficient)
    return same(op, position, number) if number is not None else _diagonal(b, op, position, coefficient, "value")


@partial(hlo.DivideOp)
def _divide(b: OpBuilder, op: hlo.DivideOp, position: int) -> Block:
    number = _splat(op.rhs)
    if number is not None and number != 0:
        return same(op, position, 1.0 / number)
    narrow, dims = _narrow(op.rhs)
    return _diagonal_of(b, op, position, b.divide(b.full_like(narrow, 1), narrow), dims, "value")


@partial(hlo.SelectOp)
def _select(b: OpBuilder, op: hlo.SelectOp, position: int) -> Block:
    narrow, dims = _narrow(op.pred) if rank(op.pred) else (op.pred, ())
    return _diagonal_of(b, op, position, narrow if position == 1 else b.not_(narrow), dims, "mask")


def _diagonal(b: OpBuilder, op: Operation, position: int, coefficient: SSAValue, kind: Kind) -> Block:
    return _diagonal_of(b, op, position, *_narrow(coefficient), kind)


def _diagonal_of(b: OpBuilder, op: Operation, position: int, value: Value, dims: Sequence[int], kind: Kind) -> Block:
    """All dimensions tied; the value depends on some of them."""
    labels = range(rank(op.results[0]))
    return block_of(b, labels, labels, dict(enumerate(shape(op.results[0]))), value, dims, kind, (element(op.results[0]), element(op.operands[position])))


def _narrow(value: SSAValue) -> tuple[Value, Sequence[int]]:
    """The value that is broadcast to one, and the dimensions that it has there."""
    op = value.owner
    if not isinstance(op, hlo.BroadcastInDimOp):
        return value, range(rank(value))
    dims, operand = ints(op.broadcast_dimensions), op.operand
    return (operand, dims) if all(shape(operand)[n] == shape(value)[d] for n, d in enumerate(dims)) else (value, range(rank(value)))


def _splat(value: SSAValue) -> float | None:
    """The number that all elements of a constant are."""
    op = value.owner
    if isinstance(op, hlo.BroadcastInDimOp):
        return _splat(op.operand)
    if not isinstance(op, hlo.ConstantOp) or not is_float(element(value)) or not elements.is_splat(op.value):
        return None
    return float(elements.splat_value(op.value).real)


@partial(hlo.BroadcastInDimOp)
def _broadcast(b: OpBuilder, op: hlo.BroadcastInDimOp, position: int) -> Block:
    dims, out, operand = ints(op.broadcast_dimensions), shape(op.result), shape(op.operand)
    extents = dict(enumerate(out))
    into: list[int] = []
    for n, d in enumerate(dims):
        label = d if operand[n] == out[d] else len(extents)
        extents[label] = operand[n]
        into.append(label)
    return moved(op, range(len(out)), into, extents)


@partial(hlo.TransposeOp)
def _transpose(b: OpBuilder, op: hlo.TransposeOp, position: int) -> Block:
    permutation = ints(op.permutation)
    return moved(op, permutation, range(len(permutation)), dict(enumerate(shape(op.operand))))


@partial(hlo.ReshapeOp)
def _reshape(b: OpBuilder, op: hlo.ReshapeOp, position: int) -> Block | None:
    """A reshape that adds and removes dimensions of one element ties the others; every other one is a map."""
    out, into = shape(op.result), shape(op.operand)
    if [n for n in out if n != 1] != [n for n in into if n != 1]:
        return None
    extents = dict(enumerate(out))
    long = iter(d for d, n in enumerate(out) if n != 1)
    labels: list[int] = []
    for n in into:
        label = len(extents) if n == 1 else next(long)
        extents[label] = n
        labels.append(label)
    return moved(op, range(len(out)), labels, extents)


@partial(core.ReduceOp)
def _reduce(b: OpBuilder, op: core.ReduceOp, position: int) -> Block | None:
    if op.kind.data is not core.Kind.add:
        return None
    dims, operand = ints(op.dimensions), shape(op.operand)
    return moved(op, [d for d in range(len(operand)) if d not in dims], range(len(operand)), dict(enumerate(operand)))


@partial(hlo.DotGeneralOp)
def _dot(b: OpBuilder, op: hlo.DotGeneralOp, position: int) -> Block:
    """Dimensions of a batch are tied; those of the operand that are free too; the coefficient's free ones are of the result alone."""
    numbers = op.dot_dimension_numbers
    batches = numbers.dims("lhs_batching_dimensions"), numbers.dims("rhs_batching_dimensions")
    contracted = numbers.dims("lhs_contracting_dimensions"), numbers.dims("rhs_contracting_dimensions")
    labels: tuple[dict[int, int], dict[int, int]] = ({}, {})
    extents: dict[int, int] = {}
    for pairs in (batches, contracted):
        for left, right in zip(*pairs, strict=True):
            labels[0][left] = labels[1][right] = len(extents)
            extents[len(extents)] = shape(op.operands[0])[left]
    free: list[int] = []
    for side, operand in enumerate(op.operands):
        for d in range(rank(operand)):
            if d not in labels[side]:
                labels[side][d] = len(extents)
                free.append(len(extents))
                extents[len(extents)] = shape(operand)[d]
    out = [*(labels[0][d] for d in batches[0]), *free]
    moved, still = op.operands[position], op.operands[1 - position]
    into = [labels[position][d] for d in range(rank(moved))]
    dims = [labels[1 - position][d] for d in range(rank(still))]
    return block_of(b, out, into, extents, b.convert(still, element(op.result)), dims, "value", (element(op.result), element(moved)))


def moved(op: Operation, out: Sequence[int], into: Sequence[int], extents: dict[int, int]) -> Block:
    """A block of ones."""
    return Block(labelled(out, into, extents, (), "constant"), element(op.results[0]), element(op.operands[0]))


def block_of(
    b: OpBuilder,
    out: Sequence[int],
    into: Sequence[int],
    extents: dict[int, int],
    value: Value,
    dims: Sequence[int],
    kind: Kind,
    types: tuple[Attribute, Attribute],
) -> Block:
    """A block with a value, whose dimensions have these labels."""
    structure = labelled(out, into, extents, dims, kind)
    names = {label: n for n, label in enumerate(dict.fromkeys((*out, *into)))}
    order = sorted(range(len(dims)), key=lambda d: names[dims[d]])
    return Block(structure, *types, b.transpose(value, order))
