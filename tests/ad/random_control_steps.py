"""Steps of random programs that add loops and branches."""

from __future__ import annotations

from collections.abc import Callable

from ad.random_growth import Grower, Step
from xdsl.ir import Block, Region

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import f64, i32, shape, tensor


def branch(g: Grower) -> list[Value]:
    """A case on an integer, or on a comparison."""
    b = g.b
    types = [shape(g.any_value()) for _ in range(g.integer(1, 2))]
    count = g.integer(2, 3)
    if g.integer(0, 1):
        predicate = b.compare("LT", g.other(()), b.scalar(0.123, f64))
        index = b.convert(predicate, i32)
    else:
        index = g.index()
    regions: list[Region] = []
    for _ in range(count):
        block = Block()
        inner = g.inside(block, list(g.pool), list(g.integers))
        inner.grow(g.integer(0, 3))
        block.add_op(hlo.ReturnOp.create(operands=[inner.other(extents) for extents in types]))
        regions.append(Region([block]))
    return list(b.create(hlo.CaseOp, [index], [tensor(extents, f64) for extents in types], {}, regions))


def counted_loop(g: Grower) -> list[Value]:
    """A loop whose bound is a constant or an argument."""
    b = g.b
    bound = g.one_of(g.integers) if g.integers and g.integer(0, 1) else b.scalar(g.integer(0, 4), i32)
    return _loop(g, b.scalar(0, i32), lambda inner, i: inner.compare("LT", i, bound), lambda inner, i: inner.b.add(i, inner.b.scalar(1, i32)), True)


def uncounted_loop(g: Grower) -> list[Value]:
    """A loop that goes on until a value that grows by what is computed exceeds a bound: at most six trips."""

    def follows(inner: Grower, s: Value) -> Value:
        step = inner.b.multiply(inner.b.scalar(0.2, f64), inner.squashed(inner.other(())))
        return inner.b.add(inner.b.add(s, inner.b.scalar(0.7, f64)), step)

    return _loop(g, g.squashed(g.other(())), lambda inner, s: inner.compare("LT", s, inner.scalar(1.937, f64)), follows, False)


def _loop(g: Grower, start: Value, goes_on: Callable[[OpBuilder, Value], Value], follows: Callable[[Grower, Value], Value], counted: bool) -> list[Value]:
    initial = [start, *(g.any_value() for _ in range(g.integer(1, 2)))]
    types = [v.type for v in initial]
    condition, body = Block(arg_types=types), Block(arg_types=types)
    condition.add_op(hlo.ReturnOp.create(operands=[goes_on(OpBuilder(condition), condition.args[0])]))
    carried = list(body.args[1:])
    pool = [*g.pool, *([] if counted else [body.args[0]]), *carried]
    integers = [*g.integers, *([body.args[0]] if counted else [])]
    inner = g.inside(body, pool, integers)
    inner.grow(g.integer(0, 4))
    following = [inner.squashed(inner.other(shape(v))) for v in carried]
    body.add_op(hlo.ReturnOp.create(operands=[follows(inner, body.args[0]), *following]))
    made = g.b.create(hlo.WhileOp, initial, types, {}, [Region([condition]), Region([body])])
    return list(made[1:] if counted else made)


CONTROL_STEPS: tuple[Step, ...] = (counted_loop, uncounted_loop, branch)
