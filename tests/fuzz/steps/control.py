"""Loops (counted and not), branches and calls, nested in one another."""

from __future__ import annotations

import numpy as np

from fuzz.grower import Grower, Value
from fuzz.steps.table import FAMILIES, step
from fuzz.tensors import Type

DEEPEST = 2


def fill(g: Grower, ops: int) -> None:
    """Grows a block by some steps of the families of the program."""
    steps = [made for name in g.style.families if name != "control" or g.depth < DEEPEST for made in FAMILIES[name]]
    for _ in range(ops):
        if g.whole.budget <= 0 or not steps:
            return
        g.whole.budget -= 1
        for _ in range(6):
            made = g.pick(steps)(g)
            if made is not None:
                g.pool += [v for v in made if g.fits(v.type)]
                break


def carried_values(g: Grower) -> list[Value]:
    return [g.value() for _ in range(g.integer(1, 3))]


def following(g: Grower, types: list[Type]) -> list[Value]:
    """What a body returns: values of these types that depend on what it computed."""
    return [g.bounded(g.of(type)) for type in types]


@step("control", 2)
def counted_loop(g: Grower) -> list[Value]:
    counter = Type(g.pick(["i32", "i32", "i64", "i8", "ui32"]), ())
    start, bound, stride = g.integer(0, 2), g.integer(0, 6), g.pick([1, 1, 1, 2])
    down = g.chance(0.15) and not counter.element.startswith("u")
    fixed_bound = g.constant(np.asarray(bound, counter.dtype), counter)
    if not g.isolated and g.chance(0.3) and len(g.whole.arguments) < 7:
        fixed_bound = g.argument(counter, data=np.asarray(bound, counter.dtype))
    first = g.constant(np.asarray(bound if down else start, counter.dtype), counter)
    initial = [first, *carried_values(g)]
    types = [v.type for v in initial]
    inside = g.chance(0.5)

    condition = g.nested([])
    arguments = [Value(condition.name("%c"), type) for type in types]
    if down:
        goes_on = condition.compare("GT", arguments[0], condition.constant(np.asarray(start, counter.dtype), counter))
    else:
        limit = condition.constant(np.asarray(bound, counter.dtype), counter) if inside else fixed_bound
        goes_on = condition.compare(g.pick(["LT", "LT", "LE"]), arguments[0], limit)
    condition_text = condition.block(arguments, [goes_on])

    body_arguments = [Value(g.name("%c"), type) for type in types]
    body = g.nested(body_arguments)
    fill(body, g.integer(1, 5))
    step_by = body.constant(np.asarray(stride, counter.dtype), counter)
    counted = body.one("stablehlo.subtract" if down else "stablehlo.add", [body_arguments[0], step_by], counter)
    body_text = body.block(body_arguments, [counted, *following(body, types[1:])])
    return g.emit("stablehlo.while", initial, types, "", [condition_text, body_text])


@step("control")
def uncounted_loop(g: Grower) -> list[Value]:
    """A loop that goes on until a value that grows by what is computed exceeds a bound: some trips, and never more than a few."""
    grows = Type(g.style.main, ())
    initial = [g.sine(g.of(grows)), *carried_values(g)]
    types = [v.type for v in initial]
    condition = g.nested([])
    arguments = [Value(g.name("%c"), type) for type in types]
    condition_text = condition.block(arguments, [condition.compare("LT", arguments[0], condition.splat(1.937, grows))])
    body_arguments = [Value(g.name("%c"), type) for type in types]
    body = g.nested(body_arguments)
    fill(body, g.integer(1, 4))
    # sine may be NaN, which ends the loop
    varying = body.one("stablehlo.multiply", [body.splat(0.2, grows), body.sine(body.of(grows))], grows)
    grown = body.one("stablehlo.add", [body_arguments[0], body.one("stablehlo.add", [body.splat(0.7, grows), varying], grows)], grows)
    body_text = body.block(body_arguments, [grown, *following(body, types[1:])])
    return g.emit("stablehlo.while", initial, types, "", [condition_text, body_text])


@step("control", 2)
def branch(g: Grower) -> list[Value]:
    types = [v.type for v in carried_values(g)]
    if g.chance(0.5):
        name, count, index = "stablehlo.if", 2, g.of(Type("i1", ()))
    else:
        type = Type("i32", ())
        name, count = "stablehlo.case", g.integer(1, 3)
        index = g.of(type) if g.chance(0.4) else g.constant(np.asarray(g.integer(-1, 3), np.int32), type)
        if g.chance(0.5) and not g.isolated and len(g.whole.arguments) < 7:
            index = g.argument(type, data=np.asarray(g.integer(-1, 3), np.int32))
    regions: list[str] = []
    for _ in range(count):
        inner = g.nested([])
        fill(inner, g.integer(0, 3))
        regions.append(inner.block([], [inner.of(type) for type in types]))
    return g.emit(name, [index], types, "", regions)


@step("control")
def call(g: Grower) -> list[Value]:
    """A private function of some steps, called once or twice."""
    operands = carried_values(g)
    types = [v.type for v in operands]
    inner = Grower(g.whole, [], g.depth + 1, isolated=True)
    arguments = [Value(g.name("%p"), type) for type in types]
    inner.pool += arguments
    fill(inner, g.integer(1, 4))
    results = [g.pick(inner.pool[-3:]) for _ in range(g.integer(1, 2))]
    name = g.name("f")
    signature = f"({', '.join(map(str, types))}) -> ({', '.join(str(v.type) for v in results)})"
    body = inner.block(arguments, results, ends="func.return")
    g.whole.functions.append(f'"func.func"() <{{sym_name = "{name}", sym_visibility = "private", function_type = {signature}}}> ({body}) : () -> ()')
    made = g.emit("func.call", operands, [v.type for v in results], f"callee = @{name}")
    if g.chance(0.3):
        made += g.emit("func.call", [g.of(t) for t in types], [v.type for v in results], f"callee = @{name}")
    return made
