"""Ops at computed positions: dynamic slices, gather and scatter with any dimension numbers, positions out of bounds and twice among them."""

from __future__ import annotations

import numpy as np

from fuzz.grower import Grower, Value
from fuzz.steps.elementwise import distinct
from fuzz.steps.table import step
from fuzz.tensors import INTEGERS, Type, integers_text, random_array


def positions(g: Grower, shape: list[int], limit: int) -> Value:
    """Indices around 0 .. limit: mostly inside, some outside."""
    type = Type(g.pick(["i32", "i32", "i64", "i64", g.pick(INTEGERS)]), tuple(shape))
    ready = [v for v in g.pool if v.type.shape == type.shape and v.type.is_integer]
    if ready and g.chance(0.3):
        return g.pick(ready)
    low = 0 if type.element.startswith("u") else -2
    data = g.rng.integers(low, limit + 3, type.shape) if g.chance(0.5) else g.rng.integers(0, max(limit, 1), type.shape)
    data = np.asarray(data, type.dtype)
    if g.chance(0.05):
        data = random_array(g.rng, type, "wide", 0.3)
    if g.chance(0.4) and not g.isolated and len(g.whole.arguments) < 7:
        return g.argument(type, data=data)
    return g.constant(data, type)


def scalar_positions(g: Grower, x: Value) -> list[Value]:
    first = positions(g, [], max(x.shape, default=1))
    return [first, *(g.pick([first, g.constant(np.asarray(g.integer(0, 3), first.type.dtype), first.type)]) for _ in x.shape[1:])][: x.type.rank]


@step("dynamic", 2)
def dynamic_read(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.rank > 0)
    sizes = [g.integer(min(1, n), n) for n in x.shape]
    return [g.one("stablehlo.dynamic_slice", [x, *scalar_positions(g, x)], x.type.having(shape=sizes), f"slice_sizes = {integers_text(sizes)}")]


@step("dynamic", 2)
def dynamic_write(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.rank > 0)
    update = g.of(x.type.having(shape=[g.integer(min(1, n), n) for n in x.shape]))
    return [g.one("stablehlo.dynamic_update_slice", [x, update, *scalar_positions(g, x)], x.type)]


@step("gather")
def index_select(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: t.rank > 0 and all(t.shape))
    batch = g.integer(0, min(1, x.type.rank - 1))
    d = g.integer(batch, x.type.rank - 1)
    index = [*x.shape[:batch], *(g.integer(1, 3) for _ in range(g.integer(0, 2)))]
    result = x.type.having(shape=[*x.shape[:d], *index[batch:], *x.shape[d + 1 :]])
    if not g.fits(result):
        return None
    # positions are inside: what is outside is left open
    data = g.rng.integers(0, x.shape[d], index).astype(np.int32)
    at = g.constant(data, Type("i32", tuple(index)))
    return [g.one("stablehlo.torch_index_select", [x, at], result, f"dim = {d} : i64, batch_dims = {batch} : i64")]


class Numbers:
    """Dimension numbers of a gather from x, or of a scatter into it, with indices and the shape of what is moved."""

    def __init__(self, g: Grower, x: Value):
        rank = x.type.rank
        roles = [g.pick(["window", "window", "collapsed", "batching"]) if g.chance(0.9) else "window" for _ in range(rank)]
        if sum(role == "batching" for role in roles) > 2:
            roles = ["window" if role == "batching" else role for role in roles]
        self.collapsed = [d for d in range(rank) if roles[d] == "collapsed"]
        batching = [d for d in range(rank) if roles[d] == "batching"]
        self.sizes = [
            min(1, n) if role == "collapsed" else 1 if role == "batching" else g.pick([n, n, g.integer(min(1, n), n)])
            for n, role in zip(x.shape, roles, strict=True)
        ]
        free = [d for d in range(rank) if roles[d] != "batching"]
        self.mapped = [free[i] for i in g.permutation(len(free))][: g.integer(1 if free else 0, len(free))] if free else []
        batch = [x.shape[d] for d in batching] + [g.pick([1, 2, 3, 4]) for _ in range(g.pick([0, 1, 1, 2]))]
        order = g.permutation(len(batch))
        self.batch = [batch[i] for i in order]
        # batching dimensions of the indices, in the order of those of the operand; their numbers count the vector's dimension
        at = [order.index(i) for i in range(len(batching))]
        implicit = len(self.mapped) == 1 and g.chance(0.4)
        self.vector_dim = len(self.batch) if implicit else g.integer(0, len(self.batch))
        self.index_shape = list(self.batch)
        if not implicit:
            self.index_shape.insert(self.vector_dim, len(self.mapped))
        self.batching = batching
        self.index_batching = [p if implicit or p < self.vector_dim else p + 1 for p in at]
        window = [n for d, n in enumerate(self.sizes) if d not in self.collapsed and d not in batching]
        total = len(window) + len(self.batch)
        self.offset_dims = sorted(g.permutation(total)[: len(window)])
        windows, batches = iter(window), iter(self.batch)
        self.moved = [next(windows) if d in self.offset_dims else next(batches) for d in range(total)]
        self.indices = positions(g, self.index_shape, max((x.shape[d] for d in self.mapped), default=1)) if self.mapped else None

    @property
    def valid(self) -> bool:
        return self.indices is not None and self.indices.type.size <= 400 and len(self.moved) <= 6


def listed(name: str, dims: list[int]) -> str:
    return f"{name} = [{', '.join(map(str, dims))}], " if dims else ""


@step("gather", 3)
def gathered(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: 0 < t.rank < 6)
    n = Numbers(g, x)
    if not n.valid or n.indices is None or not g.fits(x.type.having(shape=n.moved)) or any(s > e for s, e in zip(n.sizes, x.shape, strict=True)):
        return None
    numbers = (
        listed("offset_dims", n.offset_dims)
        + listed("collapsed_slice_dims", n.collapsed)
        + listed("operand_batching_dims", n.batching)
        + listed("start_indices_batching_dims", n.index_batching)
        + listed("start_index_map", n.mapped)
        + f"index_vector_dim = {n.vector_dim}"
    )
    attributes = f"dimension_numbers = #stablehlo.gather<{numbers}>, slice_sizes = {integers_text(n.sizes)}, indices_are_sorted = false"
    return [g.one("stablehlo.gather", [x, n.indices], x.type.having(shape=n.moved), attributes)]


@step("scatter", 3)
def scattered(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: 0 < t.rank < 6)
    n = Numbers(g, x)
    if not n.valid or n.indices is None or not g.fits(x.type.having(shape=n.moved)) or any(s > e for s, e in zip(n.sizes, x.shape, strict=True)):
        return None
    numbers = (
        listed("update_window_dims", n.offset_dims)
        + listed("inserted_window_dims", n.collapsed)
        + listed("input_batching_dims", n.batching)
        + listed("scatter_indices_batching_dims", n.index_batching)
        + listed("scatter_dims_to_operand_dims", n.mapped)
        + f"index_vector_dim = {n.vector_dim}"
    )
    kinds = (
        ["add", "replace"]
        if x.type.is_complex
        else ["and", "or", "replace"]
        if x.type.is_bool
        else ["add", "add", "replace", "replace", "maximum", "minimum", "multiply"]
    )
    kind = g.pick(kinds)
    updates = g.of(x.type.having(shape=n.moved))
    if x.type.is_float:
        if kind == "multiply":
            x, updates = g.bounded(x), g.bounded(updates)
        if kind in ("maximum", "minimum") and g.style.smooth:
            x, updates = distinct(g, x), g.one("stablehlo.add", [distinct(g, updates), g.splat(0.0113, updates.type)], updates.type)
    scalar = Type(g.accumulator(x.element), ())
    keeps = kind == "replace" and g.chance(0.1)
    scaled = kind == "add" and x.type.is_float and g.chance(0.15)

    def body(inner: Grower, a: Value, b: Value) -> list[Value]:
        if kind == "replace":
            return [a if keeps else b]
        if scaled:
            b = inner.one("stablehlo.multiply", [b, inner.splat(0.5, scalar)], scalar)
        return [inner.one(f"stablehlo.{kind}", [a, b] if g.chance(0.8) else [b, a], scalar)]

    attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, indices_are_sorted = false, unique_indices = false"
    return [g.one("stablehlo.scatter", [x, n.indices, updates], x.type.having(scalar.element), attributes, [g.combiner([scalar, scalar], body)])]


@step("scatter")
def scattered_together(g: Grower) -> list[Value] | None:
    """Two operands at the same positions."""
    x = g.value(lambda t: 0 < t.rank < 5 and t.is_float)
    n = Numbers(g, x)
    if not n.valid or n.indices is None or not g.fits(x.type.having(shape=n.moved)) or any(s > e for s, e in zip(n.sizes, x.shape, strict=True)):
        return None
    y, updates = g.of(x.type), [g.of(x.type.having(shape=n.moved)) for _ in range(2)]
    numbers = (
        listed("update_window_dims", n.offset_dims)
        + listed("inserted_window_dims", n.collapsed)
        + listed("input_batching_dims", n.batching)
        + listed("scatter_indices_batching_dims", n.index_batching)
        + listed("scatter_dims_to_operand_dims", n.mapped)
        + f"index_vector_dim = {n.vector_dim}"
    )
    scalar = Type(x.element, ())
    first, second = g.pick(["add", "replace"]), g.pick(["add", "replace"])

    def body(inner: Grower, a: Value, b: Value, u: Value, v: Value) -> list[Value]:
        return [
            u if first == "replace" else inner.one("stablehlo.add", [a, u], scalar),
            v if second == "replace" else inner.one("stablehlo.add", [b, v], scalar),
        ]

    attributes = f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}>, indices_are_sorted = false, unique_indices = false"
    return g.emit("stablehlo.scatter", [x, y, n.indices, *updates], [x.type, y.type], attributes, [g.combiner([scalar] * 4, body)])


# -- sorting


@step("sort", 2)
def ordered(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: t.rank > 0 and not t.is_complex)
    if g.style.smooth and x.type.is_float:
        x = distinct(g, x)
    others = [g.of_shape(x.shape) for _ in range(g.integer(0, 2))]
    operands = [x, *others]
    scalars = [Type(v.element, ()) for v in operands for _ in range(2)]
    greater, two_keys = g.chance(0.4), len(operands) > 1 and not operands[1].type.is_complex and g.chance(0.4)
    total = x.type.is_float and (g.style.wild or g.chance(0.5))

    def body(inner: Grower, *elements: Value) -> list[Value]:
        a, b = elements[0], elements[1]
        direction = "GT" if greater else "LT"
        before = inner.compare(direction, a, b, "TOTALORDER" if total else None)
        if two_keys:
            c, d = elements[2], elements[3]
            tie = inner.compare("EQ", a, b, "TOTALORDER" if total else None)
            second = inner.compare("LT", c, d, "TOTALORDER" if c.type.is_float else None)
            before = inner.one("stablehlo.or", [before, inner.one("stablehlo.and", [tie, second], tie.type)], tie.type)
        return [before]

    attributes = f"dimension = {g.integer(0, x.type.rank - 1)} : i64, is_stable = true"
    return g.emit("stablehlo.sort", operands, [v.type for v in operands], attributes, [g.combiner(scalars, body)])


@step("sort")
def top_k(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.rank > 0 and (t.is_float or t.is_integer))
    if g.style.smooth and x.type.is_float:
        x = distinct(g, x)
    k = g.integer(min(1, x.shape[-1]), x.shape[-1])
    shape = (*x.shape[:-1], k)
    return g.emit("chlo.top_k", [x], [x.type.having(shape=shape), Type("i32", shape)], f"k = {k} : i64")
