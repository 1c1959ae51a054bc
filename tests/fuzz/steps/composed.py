"""Ops that stand for several others: broadcasting arithmetic, normalization, older contractions, scans, composites, barriers."""

from __future__ import annotations

import numpy as np

from fuzz.grower import Grower, Value
from fuzz.steps.control import fill, following
from fuzz.steps.table import step
from fuzz.tensors import Type, integers_text

FLOAT_FUNCTIONS = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "atan2", "remainder", "next_after")
INTEGER_FUNCTIONS = ("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical")


def other_of(g: Grower, x: Value) -> tuple[Value, tuple[int, ...], str]:
    """A value that broadcasts against x, the common shape, and the attribute that says how if it is needed."""
    kept = list(x.shape)
    if g.chance(0.2) and kept:
        # the first dimensions of x, as the attribute says
        n = g.integer(1, len(kept))
        return g.of(x.type.having(shape=kept[:n])), x.shape, f"broadcast_dimensions = {integers_text(range(n))}"
    dropped = g.integer(0, len(kept)) if g.chance(0.6) else 0
    shape = [1 if g.chance(0.3) else n for n in kept[dropped:]]
    return g.of(x.type.having(shape=shape)), x.shape, ""


@step("broadcasting", 3)
def broadcast_binary(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_integer) if g.chance(0.35) else g.value(lambda t: t.is_float)
    y, shape, attributes = other_of(g, x)
    name = g.pick(FLOAT_FUNCTIONS if x.type.is_float else INTEGER_FUNCTIONS)
    if x.type.is_float and g.style.smooth and name in ("maximum", "minimum", "remainder", "next_after"):
        name = "multiply"
    if name in ("divide", "atan2", "remainder"):
        y = g.positive(y)
    elif name == "power":
        x, y = g.positive(x), g.bounded(y)
    operands = [x, y] if attributes or x.type.rank != y.type.rank or g.chance(0.5) else [y, x]
    if name in ("divide", "atan2", "remainder", "power"):
        operands = [x, y]
    return [g.one(f"chlo.broadcast_{name}", operands, x.type.having(shape=shape), attributes)]


@step("broadcasting")
def broadcast_special(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float)
    if g.chance(0.5):
        return [g.one("chlo.broadcast_zeta", [g.splat(g.integer(2, 4), x.type), g.positive(x)], x.type)]
    return [g.one("chlo.broadcast_polygamma", [g.splat(g.integer(0, 3), Type(x.element, ())), g.positive(x)], x.type)]


@step("broadcasting")
def broadcast_compare(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float or t.is_integer)
    y, shape, attributes = other_of(g, x)
    direction = f"comparison_direction = #chlo<comparison_direction {g.pick(['EQ', 'NE', 'LT', 'LE', 'GT', 'GE'])}>"
    p = g.one("chlo.broadcast_compare", [x, y], x.type.having("i1", shape), f"{attributes}, {direction}" if attributes else direction)
    if attributes:
        return [p]
    return [p, g.one("chlo.broadcast_select", [p, x, y], x.type.having(shape=shape))]


@step("broadcasting")
def broadcast_complex(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.element in ("f32", "f64"))
    y, shape, attributes = other_of(g, x)
    z = g.one("chlo.broadcast_complex", [x, y], Type(f"complex<{x.element}>", shape), attributes)
    return [z, g.one("chlo._asin_acos_kernel", [g.bounded(z)], z.type)] if g.chance(0.3) else [z]


@step("broadcasting")
def constant_like(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float)
    return [g.one("chlo.constant_like", [x], x.type, f"value = {g.pick(['0.5', '-1.25', '2.0'])} : {x.element}")]


@step("integer")
def high_bits(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_integer)
    return [g.one("chlo.mulhi", [x, g.of(x.type)], x.type)]


# -- normalization


@step("normalization")
def batch_norm(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.is_float and t.rank > 0 and all(t.shape))
    d = g.integer(0, x.type.rank - 1)
    features = Type(x.element, (x.shape[d],))
    attributes = f"epsilon = 0.5 : f32, feature_index = {d} : i64"
    scale, offset = g.of(features), g.of(features)
    kind = g.integer(0, 2)
    if kind == 0:
        return g.emit("stablehlo.batch_norm_training", [g.bounded(x), scale, offset], [x.type, features, features], attributes)
    mean, variance = g.of(features), g.positive(g.of(features))
    if kind == 1:
        return [g.one("stablehlo.batch_norm_inference", [x, scale, offset, mean, variance], x.type, attributes)]
    return g.emit("stablehlo.batch_norm_grad", [g.bounded(x), scale, mean, variance, g.of(x.type)], [x.type, features, features], attributes)


# -- contractions


@step("contraction")
def older_dot(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.rank in (1, 2))
    inner = x.shape[-1]
    y = g.of(x.type.having(shape=[inner, *([g.pick(g.style.extents)] if g.chance(0.6) else [])]))
    return [g.one("stablehlo.dot", [g.bounded(x), y], x.type.having(shape=[*x.shape[:-1], *y.shape[1:]]))]


@step("contraction")
def einsum(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: t.is_float and 0 < t.rank < 4)
    names = "ijkl"[: x.type.rank]
    if g.chance(0.4):
        kept = [names[i] for i in g.permutation(len(names))]
        kept = kept[: g.integer(0, len(kept))]
        extents = dict(zip(names, x.shape, strict=True))
        return [g.one("stablehlo.unary_einsum", [x], x.type.having(shape=[extents[n] for n in kept]), f'einsum_config = "{names}->{"".join(kept)}"')]
    other = [*(n for n in names if g.chance(0.6)), *(["m"] if g.chance(0.6) else [])]
    other = [other[i] for i in g.permutation(len(other))]
    extents = {**dict(zip(names, x.shape, strict=True)), "m": g.pick(g.style.extents)}
    everything = list(dict.fromkeys([*names, *other]))
    kept = [n for n in (everything[i] for i in g.permutation(len(everything))) if g.chance(0.7)]
    y = g.of(x.type.having(shape=[extents[n] for n in other]))
    result = x.type.having(shape=[extents[n] for n in kept])
    if not g.fits(result):
        return None
    return [g.one("stablehlo.einsum", [g.bounded(x), y], result, f'einsum_config = "{names},{"".join(other)}->{"".join(kept)}"')]


@step("contraction")
def ragged_dot(g: Grower) -> list[Value]:
    element = g.style.main
    m, k, n, groups = (g.integer(1, 4) for _ in range(4))
    sizes = g.rng.multinomial(m, np.full(groups, 1 / groups)).astype(np.int32)
    if g.chance(0.3):
        # the last rows belong to no group
        sizes[g.integer(0, groups - 1)] //= 2
    numbers = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]"
    shapes = ((m, k), (groups, k, n), (m, n))
    if g.chance(0.3):
        numbers = "lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]"
        shapes = ((k, m), (m, n), (groups, k, n))
    x, y = (g.of(Type(element, shape)) for shape in shapes[:2])
    at = g.constant(sizes, Type("i32", (groups,)))
    return [g.one("chlo.ragged_dot", [x, y, at], Type(element, shapes[2]), f"ragged_dot_dimension_numbers = #chlo.ragged_dot<{numbers}>")]


@step("shape")
def older_broadcast(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: t.rank < 5)
    sizes = [g.pick(g.style.extents) for _ in range(g.integer(0, 2))]
    result = x.type.having(shape=[*sizes, *x.shape])
    return [g.one("stablehlo.broadcast", [x], result, f"broadcast_sizes = {integers_text(sizes)}")] if g.fits(result) else None


# -- structure


@step("structure")
def barrier(g: Grower) -> list[Value]:
    values = [g.value() for _ in range(g.integer(1, 2))]
    return g.emit("stablehlo.optimization_barrier", values, [v.type for v in values])


@step("structure")
def composite(g: Grower) -> list[Value]:
    """An op that is defined by a private function."""
    operands = [g.value() for _ in range(g.integer(1, 2))]
    types = [v.type for v in operands]
    inner = Grower(g.whole, [], g.depth + 1, isolated=True)
    arguments = [Value(g.name("%p"), type) for type in types]
    inner.pool += arguments
    fill(inner, g.integer(1, 3))
    results = [g.pick(inner.pool[-3:]) for _ in range(g.integer(1, 2))]
    name = g.name("f")
    signature = f"({', '.join(map(str, types))}) -> ({', '.join(str(v.type) for v in results)})"
    body = inner.block(arguments, results, ends="func.return")
    g.whole.functions.append(f'"func.func"() <{{sym_name = "{name}", sym_visibility = "private", function_type = {signature}}}> ({body}) : () -> ()')
    return g.emit("stablehlo.composite", operands, [v.type for v in results], f'name = "tests.{name}", decomposition = @{name}, version = 1 : i32')


@step("structure", 2)
def scan(g: Grower) -> list[Value]:
    """A loop over the slices of an array, written as one op; its body sees nothing from outside."""
    x = g.value(lambda t: t.rank > 0 and t.shape[0] < 9)
    d = 0 if x.shape[0] or g.chance(0.5) else x.type.rank - 1
    carried = g.value(lambda t: t.size < 50)
    part = x.type.having(shape=[n for e, n in enumerate(x.shape) if e != d])
    inner = Grower(g.whole, [], g.depth + 1, isolated=True)
    arguments = [Value(g.name("%c"), part), Value(g.name("%c"), carried.type)]
    inner.pool += arguments
    fill(inner, g.integer(1, 3))
    out, state = following(inner, [part, carried.type])
    body = inner.block(arguments, [out, state])
    attributes = (
        f"dimension = {d} : i64, is_reverse = {str(g.chance(0.4)).lower()}, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>"
    )
    return g.emit("chlo.scan", [x, carried], [x.type, carried.type], attributes, [body])
