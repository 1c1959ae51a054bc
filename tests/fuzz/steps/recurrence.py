"""Recurrent layers as scans write them: rows of a stack, products of them and of a state by matrices, stacks and sums of what comes of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuzz.grower import Grower, Value
from fuzz.steps.control import fill
from fuzz.steps.table import step
from fuzz.tensors import Type, integers_text


def product(g: Grower, x: Value, y: Value, contracting: tuple[Sequence[int], Sequence[int]], shape: Sequence[int]) -> Value:
    numbers = f"lhs_contracting_dimensions = {list(contracting[0])}, rhs_contracting_dimensions = {list(contracting[1])}"
    return g.one("stablehlo.dot_general", [x, y], x.type.having(shape=list(shape)), f"dot_dimension_numbers = #stablehlo.dot<{numbers}>")


def row(g: Grower, stack: Value, index: Value) -> Value:
    zero = g.splat(0, index.type)
    sizes = [1, *stack.shape[1:]]
    positions = [index, *[zero] * (stack.type.rank - 1)]
    one = g.one("stablehlo.dynamic_slice", [stack, *positions], stack.type.having(shape=sizes), f"slice_sizes = {integers_text(sizes)}")
    return g.one("stablehlo.reshape", [one], stack.type.having(shape=stack.shape[1:]))


def with_row(g: Grower, stack: Value, index: Value, value: Value) -> Value:
    one = g.one("stablehlo.reshape", [value], value.type.having(shape=[1, *value.shape]))
    return g.one("stablehlo.dynamic_update_slice", [stack, one, index, *[g.splat(0, index.type)] * (stack.type.rank - 1)], stack.type)


@step("control")
def recurrence(g: Grower) -> list[Value]:
    counter = Type(g.pick(["i32", "i64"]), ())
    trips, rows, width, out = g.integer(2, 5), g.integer(1, 2), g.integer(1, 5), g.integer(2, 6)

    def type(*shape: int) -> Type:
        return Type(g.style.main, shape)

    inputs, weights, recurrent = g.of(type(trips, rows, width)), g.of(type(width, out)), g.of(type(out, out))
    initial = [g.constant(np.asarray(0, counter.dtype), counter), g.of(type(rows, out)), g.of(type(trips, rows, out)), g.of(type(width, out))]
    types = [v.type for v in initial]
    stacked, summed, unrelated = g.chance(0.6), g.chance(0.6), g.chance(0.3)

    condition = g.nested([])
    arguments = [Value(condition.name("%c"), t) for t in types]
    goes_on = condition.compare("LT", arguments[0], condition.constant(np.asarray(trips, counter.dtype), counter))
    condition_text = condition.block(arguments, [goes_on])

    arguments = [Value(g.name("%c"), t) for t in types]
    body = g.nested(arguments)
    iteration, state, stack, total = arguments
    last = body.constant(np.asarray(trips - 1, counter.dtype), counter)
    index = body.one("stablehlo.subtract", [last, iteration], counter) if g.chance(0.5) else iteration
    x = row(body, inputs, index)
    given = product(body, x, weights, ([1], [0]), (rows, out))
    passed = product(body, body.bounded(state), recurrent, ([1], [0]), (rows, out))
    new = body.sine(body.one("stablehlo.add", [given, passed], state.type))
    if unrelated:
        body.pool += [x, new]
        fill(body, g.integer(1, 2))
    if stacked:
        stack = with_row(body, stack, index, g.pick([new, given, passed]))
    if summed:
        total = body.one("stablehlo.add", [total, product(body, x, new, ([0], [0]), (width, out))], total.type)
    counted = body.one("stablehlo.add", [iteration, body.constant(np.asarray(1, counter.dtype), counter)], counter)
    body_text = body.block(arguments, [counted, new, stack, total])
    return g.emit("stablehlo.while", initial, types, "", [condition_text, body_text])[1:]
