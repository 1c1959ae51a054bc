"""Steps of random programs that add ops on tensors."""

from __future__ import annotations

from collections.abc import Callable

from ad.random_growth import Grower, Step
from xdsl.ir import Block, Region

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import bool_attr, int_attr
from wengert.ir.tensor_types import f64, i32, rank, shape, size, tensor

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


TENSOR_STEPS: tuple[Step, ...] = (
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
)
