"""Reductions of every kind, of windows, to the position of an extreme, with general regions; select_and_scatter."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from fuzz.grower import Grower, Value
from fuzz.steps.elementwise import distinct
from fuzz.steps.table import step
from fuzz.tensors import Type, integers_text

Region = Callable[[Grower, Value, Value], Value]
IDEMPOTENT = ("maximum", "minimum", "and", "or")
"""Elsewhere a fold that begins with anything but its identity is what each implementation makes of it, which may combine it more than once."""
IDENTITIES = {"add": 0, "multiply": 1, "or": 0, "xor": 0}


def kinds(type: Type) -> list[str]:
    if type.is_bool:
        return ["and", "or", "add", "maximum", "minimum", "xor"]
    if type.is_complex:
        return ["add", "multiply"]
    return ["add", "add", "multiply", "maximum", "minimum", *(["and", "or", "xor"] if type.is_integer else [])]


def identity(g: Grower, kind: str, type: Type, anything: bool = True) -> Value:
    """The initial value of a fold: its identity, mostly, or anything."""
    scalar = Type(type.element, ())
    if anything and g.chance(0.25):
        return g.of(scalar)
    if kind in IDENTITIES:
        return g.splat(IDENTITIES[kind], scalar)
    if type.is_float:
        return g.splat(-np.inf if kind == "maximum" else np.inf, scalar)
    if type.is_bool:
        return g.splat(kind in ("and", "minimum"), scalar)
    limits = np.iinfo(type.dtype)
    return g.splat(-1 if kind == "and" and limits.min < 0 else limits.min if kind == "maximum" else limits.max, scalar)


def ready(g: Grower, kind: str, x: Value) -> Value:
    """The operand of a fold of this kind, bounded so that it does not run away."""
    if not (x.type.is_float or x.type.is_complex):
        return x
    if kind in ("maximum", "minimum") and g.style.smooth:
        return distinct(g, x)
    return g.bounded(x) if kind == "multiply" else x


@step("reduce", 3)
def reduced(g: Grower) -> list[Value]:
    x = g.value()
    kind = g.pick(kinds(x.type))
    x = ready(g, kind, x)
    dims = g.subset(x.type.rank, 0.6)
    # of a single element an implementation may give that element, whatever the fold begins with
    several = prod(x.shape[d] for d in dims) > 1
    init = identity(g, kind, x.type, several and kind in IDEMPOTENT)
    return [g.bounded(g.reduce_with(f"stablehlo.{kind}", x, dims, init, g.accumulator(x.element)))]


def general_region(type: Type) -> tuple[Region, float, bool] | None:
    """A region that is no single op, associative and commutative; its identity, and whether that is one of the numbers from 0 on only.

    An implementation may combine initial values as often as it likes, or not at all where there is one element.
    """
    scalar = Type(type.element, ())

    def circle(g: Grower, a: Value, b: Value) -> Value:
        # a + b + a b
        return g.one("stablehlo.add", [g.one("stablehlo.add", [a, b], scalar), g.one("stablehlo.multiply", [a, b], scalar)], scalar)

    def norm(g: Grower, a: Value, b: Value) -> Value:
        squares = [g.one("stablehlo.multiply", [v, v], scalar) for v in (a, b)]
        return g.one("stablehlo.sqrt", [g.one("stablehlo.add", squares, scalar)], scalar)

    def larger(g: Grower, a: Value, b: Value) -> Value:
        # NaN wins from both sides, or the region would depend on the order of its elements
        better = g.compare("GT", a, b)
        return g.select(g.one("stablehlo.or", [better, g.compare("NE", a, a)], better.type), a, b)

    choices: list[tuple[Region, float, bool]] = [(circle, 0, False), (norm, 0, True), (larger, -np.inf, False)]
    if type.is_float:
        return choices[sum(type.shape) % 3]
    return choices[0] if type.is_integer else None


def ready_for(g: Grower, general: tuple[Region, float, bool], x: Value) -> Value:
    """The operand of a fold by such a region, in its domain and bounded."""
    x = g.bounded(x)
    return g.one("stablehlo.abs", [x], x.type) if general[2] else x


@step("reduce")
def reduced_generally(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: t.is_float or t.is_integer)
    general = general_region(x.type)
    if general is None:
        return None
    scalar = Type(x.element, ())
    dims = g.subset(x.type.rank, 0.6)
    body = g.combiner([scalar, scalar], lambda inner, a, b: [general[0](inner, a, b)])
    result = x.type.having(shape=[n for d, n in enumerate(x.shape) if d not in dims])
    x = ready_for(g, general, x)
    return [g.bounded(g.one("stablehlo.reduce", [x, g.splat(general[1], scalar)], result, f"dimensions = {integers_text(dims)}", [body]))]


@step("reduce")
def reduced_together(g: Grower) -> list[Value]:
    """A sum and a product at once, or the product of complex numbers in two parts."""
    x = g.value(lambda t: t.is_float)
    y, scalar, dims = g.of(x.type), Type(x.element, ()), g.subset(x.type.rank, 0.6)
    coupled = g.chance(0.5)

    def body(inner: Grower, a: Value, b: Value, c: Value, d: Value) -> list[Value]:
        def product(p: Value, q: Value) -> Value:
            return inner.one("stablehlo.multiply", [p, q], scalar)

        if not coupled:
            return [inner.one("stablehlo.add", [a, c], scalar), product(b, d)]
        real = inner.one("stablehlo.subtract", [product(a, c), product(b, d)], scalar)
        return [real, inner.one("stablehlo.add", [product(a, d), product(b, c)], scalar)]

    region = g.combiner([scalar] * 4, body)
    inits = [g.splat(1 if coupled else 0, scalar), g.splat(0 if coupled else 1, scalar)]
    result = x.type.having(shape=[n for d, n in enumerate(x.shape) if d not in dims])
    return g.emit("stablehlo.reduce", [g.bounded(x), g.bounded(y), *inits], [result, result], f"dimensions = {integers_text(dims)}", [region])


@step("reduce", 2)
def argreduced(g: Grower) -> list[Value] | None:
    """The extreme and its position, ties going to the lowest or to whichever comes last."""
    x = g.value(lambda t: t.rank > 0 and (t.is_float or t.is_integer))
    if g.style.smooth:
        x = distinct(g, x)
    index = g.pick(["i32", "i64", "i32"])
    scalars, d = [Type(x.element, ()), Type(index, ())], g.integer(0, x.type.rank - 1)
    greatest, lowest, nan_wins = g.chance(0.5), g.chance(0.8), x.type.is_float

    def body(inner: Grower, a: Value, i: Value, b: Value, j: Value) -> list[Value]:
        better = inner.compare("GT" if greatest else "LT", a, b)
        if nan_wins:
            better = inner.one("stablehlo.or", [better, inner.compare("NE", a, a)], better.type)
        first = inner.one("stablehlo.and", [inner.compare("EQ", a, b), inner.compare("LT" if lowest else "GT", i, j)], better.type)
        return [inner.select(better, a, b), inner.select(inner.one("stablehlo.or", [better, first], better.type), i, j)]

    region = g.combiner([*scalars, *scalars], body)
    positions = g.one("stablehlo.iota", [], x.type.having(index), f"iota_dimension = {d} : i64")
    if x.type.is_float:
        worst = -np.inf if greatest else np.inf
    else:
        worst = np.iinfo(x.type.dtype).min if greatest else np.iinfo(x.type.dtype).max
    shape = [n for e, n in enumerate(x.shape) if e != d]
    types = [x.type.having(shape=shape), Type(index, tuple(shape))]
    operands = [x, positions, g.splat(worst, scalars[0]), g.splat(0, scalars[1])]
    return g.emit("stablehlo.reduce", operands, types, f"dimensions = {integers_text([d])}", [region])


# -- windows


def windows(g: Grower, x: Value, dilated: bool) -> tuple[str, list[int]] | None:
    """Attributes of windows over x, and the extents of the result."""
    n = x.type.rank
    cumulative = g.chance(0.2)
    window = [g.pick([1, 2, 2, 3]) for _ in range(n)]
    strides = [g.pick([1, 1, 2, 3]) for _ in range(n)]
    base, dilation = ([g.pick([1, 1, 1, 2]) if dilated else 1 for _ in range(n)] for _ in range(2))
    padding = [(g.integer(0, 2), g.integer(0, 2)) for _ in range(n)]
    if cumulative and n and all(x.shape):
        d, (lo, hi) = g.integer(0, n - 1), g.pick([(1, 0), (0, 1)])
        window, strides, base, dilation = [x.shape[d] if e == d else 1 for e in range(n)], [1] * n, [1] * n, [1] * n
        padding = [((x.shape[d] - 1) * lo, (x.shape[d] - 1) * hi) if e == d else (0, 0) for e in range(n)]
    shape: list[int] = []
    for e, w, s, b, k, (lo, hi) in zip(x.shape, window, strides, base, dilation, padding, strict=True):
        padded, reach = lo + (0 if e == 0 else (e - 1) * b + 1) + hi, (w - 1) * k + 1
        shape.append(0 if padded == 0 or reach > padded else (padded - reach) // s + 1)
    rows = ", ".join(f"[{lo}, {hi}]" for lo, hi in padding)
    attributes = [f"window_dimensions = {integers_text(window)}", f"window_strides = {integers_text(strides)}"]
    if dilated:
        attributes += [f"base_dilations = {integers_text(base)}", f"window_dilations = {integers_text(dilation)}"]
    attributes.append(f"padding = dense<[{rows}]> : tensor<{n}x2xi64>")
    return ", ".join(attributes), shape


@step("window", 2)
def windowed(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: 0 < t.rank < 5)
    kind = g.pick(kinds(x.type))
    x = ready(g, kind, x)
    made = windows(g, x, True)
    if made is None or not g.fits(x.type.having(shape=made[1])):
        return None
    scalar = Type(g.accumulator(x.element), ())
    general = general_region(x.type) if scalar.element == x.element and g.chance(0.15) else None
    init = identity(g, kind, x.type, kind in IDEMPOTENT) if general is None else g.splat(general[1], scalar)
    x = x if general is None else ready_for(g, general, x)

    def body(inner: Grower, a: Value, b: Value) -> list[Value]:
        return [inner.one(f"stablehlo.{kind}", [a, b], scalar) if general is None else general[0](inner, a, b)]

    y = g.one("stablehlo.reduce_window", [x, init], x.type.having(scalar.element, shape=made[1]), made[0], [g.combiner([scalar, scalar], body)])
    return [g.bounded(y)]


@step("window", 2)
def select_and_scatter(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: 0 < t.rank < 5 and (t.is_float or t.is_integer) and all(t.shape))
    if g.style.smooth:
        x = distinct(g, x)
    window = [g.pick([1, 2, 2, 3]) for _ in x.shape]
    strides = [g.pick([1, 1, 2, 3]) for _ in x.shape]
    # a window of padding alone selects nothing: where its value goes is left open
    padding = [(g.integer(0, w - 1), g.integer(0, w - 1)) for w in window]
    shape = [(lo + n + hi - w) // s + 1 if lo + n + hi >= w else 0 for n, w, s, (lo, hi) in zip(x.shape, window, strides, padding, strict=True)]
    if any(n < w for n, w in zip(x.shape, window, strict=True)):
        return None
    source, scalar = g.of(x.type.having(shape=shape)), Type(x.element, ())
    direction = g.pick(["GE", "GE", "GT", "LE", "LT"])
    chosen = g.combiner([scalar, scalar], lambda inner, a, b: [inner.compare(direction, a, b)])
    kind = g.pick(["add", "add", "add", "maximum", "minimum", "multiply"])
    wide = Type(g.accumulator(x.element), ())
    scattered = g.combiner([wide, wide], lambda inner, a, b: [inner.one(f"stablehlo.{kind}", [a, b], wide)])
    init = g.splat({"add": 0, "multiply": 1}.get(kind, 0), scalar) if g.chance(0.8) else g.of(scalar)
    rows = ", ".join(f"[{lo}, {hi}]" for lo, hi in padding)
    attributes = (
        f"window_dimensions = {integers_text(window)}, window_strides = {integers_text(strides)}, padding = dense<[{rows}]> : tensor<{len(padding)}x2xi64>"
    )
    return [g.one("stablehlo.select_and_scatter", [x, source, init], x.type.having(wide.element), attributes, [chosen, scattered])]
