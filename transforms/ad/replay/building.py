"""Builds the parts of a replay's loops: counted loops, rows of stacks, entries of tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from xdsl.ir import Block, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i64, shape, shape_of_type, tensor, type_of
from wengert.transforms.ad.function import drop_dead_ops, terminator_operands
from wengert.transforms.core.closing import copy_ops

INDEX = tensor((), i64)
Values = Sequence[Value]


class Step(Struct, frozen=True):
    """An iteration of the loop that is replayed.

    Attributes:
        run: emits it: from the iteration, the constants and the carried values to the next carried values.
        stored: the positions of those carried values that are stored in slots.
    """

    run: Callable[[OpBuilder, Value, Values, Values], list[Value]]
    stored: Sequence[int]


def inlined(b: OpBuilder, block: Block, arguments: Values) -> list[Value]:
    """Emits the ops of a closed block for these arguments; returns what the block returns."""
    mapped: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    copy_ops(b, list(block.ops)[:-1], mapped)
    return [mapped[value] for value in terminator_operands(block)]


def counted_loop(b: OpBuilder, count: Value, constants: Values, carried: Values, body: Callable[[OpBuilder, Value, Values, Values], Values]) -> list[Value]:
    """Emits a loop of ``count`` iterations; ``body`` emits one, from the iteration, the constants and the carried values to the next carried values."""
    types = [value.type for value in carried]
    block = Block(arg_types=[INDEX, *(value.type for value in constants), *types])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    iteration, *arguments = block.args
    block.add_op(hlo.ReturnOp.create(operands=body(inner, iteration, arguments[: len(constants)], arguments[len(constants) :])))
    drop_dead_ops(block)
    properties = {"constants": int_attr(len(constants))}
    return list(b.create(core.ForOp, [count, *constants, *carried], types, properties, [Region([block])]))


def run_from(b: OpBuilder, step: Step, start: Value, count: Value, constants: Values, carried: Values) -> list[Value]:
    """Emits ``count`` iterations from ``start`` on."""

    def iteration(inner: OpBuilder, k: Value, given: Values, values: Values) -> Values:
        return step.run(inner, inner.add(given[-1], k), given[:-1], values)

    return counted_loop(b, count, [*constants, start], carried, iteration)


def row(b: OpBuilder, stack: Value, index: Value) -> Value:
    """The row of a stack at an index."""
    inside = shape(stack)[1:]
    return b.reshape(b.dynamic_slice(stack, _corner(b, stack, index), [1, *inside]), inside)


def with_row(b: OpBuilder, stack: Value, index: Value, value: Value) -> Value:
    """The stack with another row at an index."""
    return b.dynamic_update_slice(stack, b.reshape(value, [1, *shape(value)]), _corner(b, stack, index))


def _corner(b: OpBuilder, stack: Value, index: Value) -> list[Value]:
    return [index, *[b.scalar(0, i64)] * (len(shape(stack)) - 1)]


def empty_stacks(b: OpBuilder, slots: int, states: Values) -> list[Value]:
    """Stacks of so many rows for the parts of a state."""
    types = [type_of(value) for value in states]
    return [b.zeros(tensor([slots, *shape_of_type(type)], type.element_type)) for type in types]


def entry(b: OpBuilder, table: Sequence[int], index: Value) -> Value:
    """The entry of a table of integers at an index."""
    if len(set(table)) == 1:
        return b.scalar(table[0], i64)
    return row(b, b.constant(np.array(table, np.int64)), index)
