"""Random programs that are smooth where they are evaluated: a hypothesis strategy, or made by any other choices.

A program grows from its arguments, op by op: each op takes operands from a pool of values that there are so far. Values stay
bounded since what grows is squashed by a sine; kinks are avoided since what is compared is made distinct by a ramp; trip counts are
bounded since counters are. Loops and branches refer to the values outside of them, and hold ops of the same kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import bool_attr, int_attr
from wengert.ir.tensor_types import f64, i32, rank, shape, size, tensor

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Choices(Protocol):
    """Where the choices of a program come from."""

    def integer(self, low: int, high: int) -> int:
        """A number of this range, both ends included."""
        ...

    def permutation(self, n: int) -> list[int]:
        """The numbers below n in some order."""
        ...


class DrawnChoices:
    """Choices that hypothesis draws, and shrinks."""

    def __init__(self, draw: Draw):
        self.draw = draw

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def permutation(self, n: int) -> list[int]:
        return self.draw(st.permutations(range(n)))


LARGEST = 40
"""No value has more elements than this."""


@dataclass(frozen=True, repr=False)
class RandomProgram:
    """A module and inputs for its @main."""

    module: ModuleOp
    inputs: list[np.ndarray[Any, np.dtype[Any]]]
    seed: int

    def __repr__(self) -> str:
        """Short: xDSL would show every op with all that it refers to."""
        return f"RandomProgram(seed={self.seed})"


class Grower:
    """Adds ops to a block, with the values that they may use."""

    def __init__(self, choices: Choices, b: OpBuilder, pool: list[Value], integers: list[Value], depth: int):
        self.choices, self.b, self.pool, self.integers, self.depth = choices, b, pool, integers, depth

    # -- choosing

    def integer(self, low: int, high: int) -> int:
        return self.choices.integer(low, high)

    def one_of(self, choices: list[Any]) -> Any:
        return choices[self.integer(0, len(choices) - 1)]

    def value(self, accepts: Callable[[Value], bool] = lambda v: True) -> Value | None:
        candidates = [v for v in reversed(self.pool) if accepts(v)]
        return self.one_of(candidates) if candidates else None

    def any_value(self) -> Value:
        return self.pool[-1 - self.integer(0, len(self.pool) - 1)]

    def grow(self, count: int) -> None:
        kinds = [*STEPS, *(CONTROL * 2 if self.depth > 0 else [])]
        for _ in range(count):
            made: Value | list[Value] | None = self.one_of(kinds)(self)
            if made is None:  # there is no operand for it yet
                made = unary(self)
            self.pool += [value for value in (made if isinstance(made, list) else [made]) if size(value) <= LARGEST]

    # -- shaping values

    def squashed(self, x: Value) -> Value:
        return self.b.sine(x)

    def positive(self, x: Value) -> Value:
        """Between 0.6 and 2.6."""
        return self.b.add(self.b.sine(x), self.b.full_like(x, 1.6))

    def distinct(self, x: Value) -> Value:
        """x with a ramp added, so that equal elements are not equal any more."""
        ramp = np.linspace(0.0, 0.71, max(size(x), 1)).reshape(shape(x))
        return self.b.add(self.b.sine(x), self.b.constant(ramp))

    def as_shape(self, x: Value, extents: tuple[int, ...]) -> Value:
        """Some bounded value of this shape that depends on x."""
        if shape(x) == extents:
            return x
        if size(x) == prod(extents):
            return self.b.reshape(x, extents)
        return self.b.broadcast_in_dim(self.squashed(self.b.reduce_sum(x, range(rank(x)))), [], extents)

    def other(self, extents: tuple[int, ...]) -> Value:
        """A value of the shape that may be anything in the pool."""
        return self.as_shape(self.any_value(), extents)

    def index(self) -> Value:
        """A position: an argument, the counter of a loop, or a constant, which may be out of bounds."""
        return self.one_of(self.integers) if self.integers and self.integer(0, 1) else self.b.scalar(self.integer(-1, 4), i32)

    def indices(self, count: int, limit: int) -> Value:
        """A column of positions, duplicates and positions that are out of bounds among them."""
        rows = np.array([self.integer(-1, limit) for _ in range(count)], np.int32).reshape(count, 1)
        constant = self.b.constant(rows)
        if self.integers and self.integer(0, 1):
            return self.b.add(constant, self.b.broadcast_in_dim(self.one_of(self.integers), [], [count, 1]))
        return constant


Step = Callable[[Grower], "Value | list[Value] | None"]

# -- elementwise


def unary(g: Grower) -> Value:
    b, x = g.b, g.any_value()
    functions: list[Callable[[], Value]] = [
        lambda: b.sine(x),
        lambda: b.cosine(x),
        lambda: b.tanh(x),
        lambda: b.logistic(x),
        lambda: b.negate(x),
        lambda: b.square(g.squashed(x)),
        lambda: b.exponential(g.squashed(x)),
        lambda: b.exponential_minus_one(g.squashed(x)),
        lambda: b.log(g.positive(x)),
        lambda: b.sqrt(g.positive(x)),
        lambda: b.rsqrt(g.positive(x)),
        lambda: b.cbrt(g.positive(x)),
        lambda: b.log_plus_one(g.positive(x)),
        lambda: b.abs(g.positive(x)),
        lambda: b.multiply(b.floor(b.multiply(x, b.full_like(x, 7.3))), b.full_like(x, 0.1)),
    ]
    return g.one_of(functions)()


def binary(g: Grower) -> Value:
    b, x = g.b, g.any_value()
    y = g.other(shape(x))
    functions: list[Callable[[], Value]] = [
        lambda: b.add(x, y),
        lambda: b.subtract(x, y),
        lambda: b.multiply(g.squashed(x), y),
        lambda: b.divide(x, g.positive(y)),
        lambda: b.atan2(x, g.positive(y)),
        lambda: b.power(g.positive(x), g.squashed(y)),
        lambda: b.maximum(g.squashed(x), g.distinct(y)),
        lambda: b.minimum(g.distinct(x), g.squashed(y)),
        lambda: b.select(b.compare("LT", x, y), g.squashed(x), b.cosine(y)),
    ]
    return g.one_of(functions)()


def masked(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    positions = g.b.iota(g.integer(0, rank(x) - 1), tensor(shape(x), i32))
    return g.b.select(g.b.compare("LE", positions, g.b.broadcast_in_dim(g.index(), [], shape(x))), x, g.other(shape(x)))


def clamped(g: Grower) -> Value:
    x = g.any_value()
    low, high = (g.b.full(v, tensor([], f64)) for v in (-0.513, 0.517))
    return g.b.clamp(low, x, g.b.add(high, g.positive(g.other(())))) if g.integer(0, 1) else g.b.clamp(low, x, high)


# -- moving elements


def broadcast(g: Grower) -> Value:
    x = g.any_value()
    at, extent = g.integer(0, rank(x)), g.integer(1, 3)
    result = [*shape(x)[:at], extent, *shape(x)[at:]]
    return g.b.broadcast_in_dim(x, [d if d < at else d + 1 for d in range(rank(x))], result)


def stretch(g: Grower) -> Value | None:
    x = g.value(lambda v: 1 in shape(v))
    return None if x is None else g.b.broadcast_in_dim(x, range(rank(x)), [3 if n == 1 else n for n in shape(x)])


def transposed(g: Grower) -> Value:
    x = g.any_value()
    return g.b.transpose(x, g.choices.permutation(rank(x)))


def reshaped(g: Grower) -> Value:
    x = g.any_value()
    return g.b.reshape(x, g.one_of([[size(x)], [1, size(x)], [size(x), 1]]))


def reversed_(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    return None if x is None else g.b.reverse(x, [g.integer(0, rank(x) - 1)])


def sliced(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    starts = [g.integer(0, n - 1) for n in shape(x)]
    limits = [g.integer(lo + 1, n) for lo, n in zip(starts, shape(x), strict=True)]
    return g.b.slice(x, starts, limits, [g.integer(1, 2) for _ in starts])


def padded(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    low, high, interior = ([g.integer(lo, 1) for _ in shape(x)] for lo in (-1, -1, 0))
    extents = [lo + n + (n - 1) * mid + hi for lo, hi, mid, n in zip(low, high, interior, shape(x), strict=True)]
    return None if min(extents) < 1 else g.b.pad(x, g.other(()), low, high, interior)


def concatenated(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    dim = g.integer(0, rank(x) - 1)
    y = g.value(lambda v: rank(v) == rank(x) and all(d == dim or m == n for d, (m, n) in enumerate(zip(shape(v), shape(x), strict=True))))
    return None if y is None else g.b.concatenate([x, y], dim)


# -- combining elements


def dims_of(g: Grower, x: Value) -> list[int]:
    return [d for d in range(rank(x)) if g.integer(0, 1)]


def reduced(g: Grower) -> Value:
    x = g.any_value()
    dims, kind = dims_of(g, x), g.one_of([Kind.add, Kind.max, Kind.min, Kind.mul])
    if kind is Kind.add:
        return g.squashed(g.b.reduce_sum(x, dims))
    return g.squashed(g.b.reduce(kind, g.positive(x) if kind is Kind.mul else g.distinct(x), dims))


def running(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    kind = g.one_of([Kind.add, Kind.mul, Kind.max, Kind.min])
    return g.squashed(g.b.cumulative(kind, g.distinct(x), g.integer(0, rank(x) - 1), bool(g.integer(0, 1))))


def windowed(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    n = rank(x)
    kind = g.one_of([Kind.add, Kind.max, Kind.mul])
    edges = [(g.integer(0, 1), g.integer(0, 1)) for _ in range(n)]
    window = [min(g.integer(1, 2), m + sum(edge)) for m, edge in zip(shape(x), edges, strict=True)]
    strides = [g.integer(1, 2) for _ in range(n)]
    made = g.b.window_reduce(kind, g.distinct(x), window, strides, [1] * n, [1] * n, edges)
    # a window of padding alone is infinite for a maximum
    finite = g.b.compare("GT", made, g.b.full_like(made, -1e9))
    return g.squashed(g.b.select(finite, made, g.b.full_like(made, 0)))


def dotted(g: Grower) -> Value | None:
    x = g.any_value()
    y = g.value(lambda v: bool(set(shape(v)) & set(shape(x))) or rank(x) == 0)
    if y is None:
        return None
    pairs = [(i, j) for i in range(rank(x)) for j in range(rank(y)) if shape(x)[i] == shape(y)[j]]
    if not pairs:
        return g.squashed(g.b.dot_general(x, y, ([], [])))
    i, j = g.one_of(pairs)
    batch = [(p, q) for p, q in pairs if p != i and q != j][:1] if g.integer(0, 1) else []
    return g.squashed(g.b.dot_general(x, y, ([i], [j]), ([p for p, _ in batch], [q for _, q in batch])))


def ordered(g: Grower) -> list[Value] | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    keys, values = g.distinct(x), g.other(shape(x))
    block = Block(arg_types=[tensor((), f64)] * 4)
    inner = OpBuilder(block)
    block.add_op(hlo.ReturnOp.create(operands=[inner.compare(g.one_of(["LT", "GT"]), block.args[0], block.args[1])]))
    properties = {"dimension": int_attr(g.integer(0, rank(x) - 1)), "is_stable": bool_attr(True)}
    return list(g.b.create(hlo.SortOp, [keys, values], [keys.type, values.type], properties, [Region([block])]))


# -- positions


def dynamic_read(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    return None if x is None else g.b.dynamic_slice(x, [g.index() for _ in shape(x)], [g.integer(1, n) for n in shape(x)])


def dynamic_write(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    update = g.other(tuple(g.integer(1, n) for n in shape(x)))
    return g.b.dynamic_update_slice(x, update, [g.index() for _ in shape(x)])


def gathered(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    count, rest = g.integer(1, 4), shape(x)[1:]
    numbers = GatherDimensionNumbersAttr(dimensions(range(1, rank(x))), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
    return g.b.gather(x, g.indices(count, shape(x)[0]), numbers, [1, *rest], [count, *rest])


def scattered(g: Grower) -> Value | None:
    x = g.value(lambda v: rank(v) > 0)
    if x is None:
        return None
    count, rest = g.integer(1, 4), shape(x)[1:]
    numbers = ScatterDimensionNumbersAttr(dimensions(range(1, rank(x))), dimensions((0,)), dimensions(()), dimensions(()), dimensions((0,)), int_attr(1))
    kind = g.one_of([Kind.add, Kind.set, Kind.max, Kind.min, Kind.mul])
    updates = g.other((count, *rest))
    if kind in (Kind.max, Kind.min):
        updates = g.b.add(g.distinct(updates), g.b.full_like(updates, 0.0113))
        x = g.distinct(x)
    return g.squashed(g.b.scatter(kind, x, g.indices(count, shape(x)[0]), updates, numbers))


# -- control flow


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
        inner = Grower(g.choices, OpBuilder(block), list(g.pool), list(g.integers), g.depth - 1)
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
    """A loop that goes on until a value that grows by what is computed exceeds a bound: at most six iterations."""

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
    inner = Grower(g.choices, OpBuilder(body), pool, integers, g.depth - 1)
    inner.grow(g.integer(0, 4))
    following = [inner.squashed(inner.other(shape(v))) for v in carried]
    body.add_op(hlo.ReturnOp.create(operands=[follows(inner, body.args[0]), *following]))
    made = g.b.create(hlo.WhileOp, initial, types, {}, [Region([condition]), Region([body])])
    return list(made[1:] if counted else made)


STEPS: list[Step] = [
    unary,
    binary,
    reduced,
    dotted,
    broadcast,
    transposed,
    sliced,
    padded,
    concatenated,
    gathered,
    scattered,
    dynamic_read,
    dynamic_write,
    masked,
    clamped,
    stretch,
    reshaped,
    reversed_,
    running,
    windowed,
    ordered,
]
CONTROL: list[Step] = [counted_loop, uncounted_loop, branch]


@st.composite
def programs(draw: Draw, largest: int = 12) -> RandomProgram:
    """Programs of up to so many ops at the top, with loops and branches two deep."""
    return random_program(DrawnChoices(draw), largest)


def random_program(choices: Choices, largest: int = 12) -> RandomProgram:
    """A program of up to so many ops at the top, with loops and branches two deep."""
    extents = [tuple(choices.integer(1, 3) for _ in range(choices.integer(0, 2))) for _ in range(choices.integer(1, 3))]
    types = [tensor(e, f64) for e in extents] + [tensor((), i32)]
    block = Block(arg_types=types)
    g = Grower(choices, OpBuilder(block), list(block.args[:-1]), [block.args[-1]], 2)
    g.grow(choices.integer(2, largest))
    results = [g.pool[-1], *(g.any_value() for _ in range(choices.integer(0, 2)))]
    block.add_op(ReturnOp(*results))
    main = FuncOp("main", (types, [r.type for r in results]), Region([block]), "public")
    seed = choices.integer(0, 2**16)
    rng = np.random.default_rng(seed)
    inputs = [np.asarray(rng.uniform(-1.2, 1.2, e)) for e in extents]
    return RandomProgram(ModuleOp([main]), [*inputs, np.array(choices.integer(0, 3), np.int32)], seed)
