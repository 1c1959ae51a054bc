"""Copies the body of a nest with its positions written in terms of other loops.

Every pass that gives a nest other loops (a loop cut in two, a strip of rows, a loop unrolled) has a function from old positions to new ones, and
the loads, indices, guards and writes of the body follow. Where loops are unrolled, a guard may hold, or fail, at every point that is left:
then its value is known, and so is what a ``select`` by it chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from xdsl.dialects.builtin import ArrayAttr, BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects.kernel import ApplyOp, AtAttr, ConstantOp, Guard, IndexOp, LoadOp, NestOp, WhereAttr, WithinOp, YieldOp, at_attr
from wengert.dialects.kernel.positions import Position, span
from wengert.ir.construction import append, copy_op
from wengert.ir.tensor_types import dtype_of, i1, tensor
from wengert.ir.traversal import ops_in, result_of

Op = TypeVar("Op", bound=Operation)
Remap = Callable[[Position], Position]
Values = dict[SSAValue, SSAValue]


def remapped(op: Op, remap: Remap, values: Values) -> Op:
    """A copy of an op of a nest's body with remapped positions; ``values`` maps its operands, and receives its results."""
    copy = copy_op(op, values)
    move(copy, remap)
    return copy


def move(op: Operation, remap: Remap) -> None:
    """Writes the positions of an op of a nest's body in terms of other loops, in place."""
    if isinstance(op, LoadOp | IndexOp):
        op.properties["at"] = at_attr(remap(op.at.data))
    if isinstance(op, LoadOp | WithinOp) and op.where is not None:
        op.properties["where"] = WhereAttr(tuple([(remap(at), low, high) for at, low, high in op.where.data]))
    if isinstance(op, YieldOp) and op.at is not None:
        op.properties["at"] = ArrayAttr([at_attr(remap(at.data)) for at in cast("ArrayAttr[AtAttr]", op.at)])


def remapped_body(op: NestOp, remap: Remap, *, inputs: Sequence[Attribute] | None = None, places: Sequence[Position] | None = None) -> Block:
    """A copy of the body of a nest.

    Args:
        op: the nest, which is not changed.
        remap: the new position for an old one.
        inputs: the types of the arguments, if they are others.
        places: the positions of the writes, if they are not those that ``remap`` gives.
    """
    body = Block(arg_types=[value.type for value in op.inputs] if inputs is None else inputs)
    values: Values = dict(zip(op.body.block.args, body.args, strict=True))
    for inner in ops_in(op.body.block):
        append(body, remapped(inner, remap, values))
    if places is not None:
        last = body.last_op
        assert last is not None
        last.properties["at"] = ArrayAttr([at_attr(at) for at in places])
    return body


def unrolled(
    op: NestOp,
    remap: Remap,
    extents: Sequence[int],
    values: Values,
    put: Callable[[Operation], SSAValue],
    known: Callable[[LoadOp, Position], SSAValue | None] = lambda load, at: None,
) -> None:
    """Computes the body of a nest at one point of loops that are unrolled.

    Args:
        op: the nest, which is not changed.
        remap: positions at this point, in terms of the loops that are left.
        extents: the bounds of these loops.
        values: new values by those of the body; receives what is computed.
        put: puts an op into the new body; gives its value, or that of an equal op.
        known: the value of a load that need not be read again.
    """
    decided: dict[SSAValue, bool] = {}
    for inner in ops_in(op.body.block)[:-1]:
        value = result_of(inner)
        if isinstance(inner, ApplyOp) and inner.function.data == "select" and inner.operands[0] in decided:
            values[value] = values[inner.operands[1 if decided[inner.operands[0]] else 2]]
            continue
        left: tuple[Guard, ...] | None = ()
        if isinstance(inner, LoadOp | WithinOp):
            left = undecided(inner.where.data if inner.where is not None else (), remap, extents)
            if left is None or (isinstance(inner, WithinOp) and not left):
                if isinstance(inner, WithinOp):
                    decided[value] = left is not None
                values[value] = put(zero_or_true(value.type, left is not None))
                continue
        if isinstance(inner, LoadOp) and (before := known(inner, remap(inner.at.data))) is not None:
            values[value] = before
            continue
        copy = remapped(inner, remap, values)
        if left:
            copy.properties["where"] = WhereAttr(left)
        else:
            copy.properties.pop("where", None)
        values[value] = put(copy)


def undecided(guards: Iterable[Guard], remap: Remap, extents: Sequence[int]) -> tuple[Guard, ...] | None:
    """The guards that do not hold at all points of the loops; None if one of them holds at none."""
    left: list[Guard] = []
    for at, low, high in guards:
        moved = remap(at)
        least, greatest = span(moved, extents)
        if greatest < low or least >= high:
            return None
        if least < low or greatest >= high:
            left.append((moved, low, high))
    return tuple(left)


def zero_or_true(element: Attribute, holds: bool = False) -> ConstantOp:
    """The constant zero, or (of i1) whether something holds."""
    kind: Any = tensor((), element)
    data = bytes([1]) if element == i1 and holds else bytes(dtype_of(element).itemsize)
    return ConstantOp.create(result_types=[element], properties={"value": DenseIntOrFPElementsAttr(kind, BytesAttr(data))})
