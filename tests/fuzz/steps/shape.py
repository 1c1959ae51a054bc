"""Ops that move elements: shapes, slices, padding, concatenation, reversal, iota."""

from __future__ import annotations

from fuzz.grower import Grower, Value
from fuzz.steps.table import step
from fuzz.tensors import Type, integers_text


@step("shape", 2)
def broadcast(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: t.rank < 5)
    n = x.type.rank + g.integer(0, 2)
    dims = sorted(g.permutation(n)[: x.type.rank]) if g.chance(0.7) else g.permutation(n)[: x.type.rank]
    shape = [g.pick(g.style.extents) for _ in range(n)]
    for d, extent in zip(dims, x.shape, strict=True):
        if extent != 1 or g.chance(0.3):
            shape[d] = extent
    return [g.broadcast(x, dims, shape)] if g.fits(x.type.having(shape=shape)) else None


@step("shape", 2)
def transposed(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.rank > 1)
    order = g.permutation(x.type.rank)
    return [g.one("stablehlo.transpose", [x], x.type.having(shape=[x.shape[d] for d in order]), f"permutation = {integers_text(order)}")]


@step("shape", 2)
def reshaped(g: Grower) -> list[Value]:
    x = g.value()
    factors: list[int] = []
    for n in x.shape:
        half = next((k for k in (2, 3, 5) if n % k == 0 and n > k), None)
        factors += [half, n // half] if half and g.chance(0.5) else [n]
    if g.chance(0.4):
        factors = [n for n in factors if n != 1]
    while len(factors) > 1 and g.chance(0.5):
        i = g.integer(0, len(factors) - 2)
        factors[i : i + 2] = [factors[i] * factors[i + 1]]
    while len(factors) < 6 and g.chance(0.3):
        factors.insert(g.integer(0, len(factors)), 1)
    return [g.one("stablehlo.reshape", [x], x.type.having(shape=factors[:6]))] if len(factors) <= 6 else [x]


@step("shape")
def iota(g: Grower) -> list[Value]:
    type = g.random_type()
    if type.rank == 0 or type.is_bool or type.element.startswith("f8"):
        type = Type(g.style.main, (4, 3))
    return [g.one("stablehlo.iota", [], type, f"iota_dimension = {g.integer(0, type.rank - 1)} : i64")]


@step("slice", 2)
def sliced(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.rank > 0)
    starts = [g.integer(0, n) if g.chance(0.15) else g.integer(0, max(n - 1, 0)) for n in x.shape]
    limits = [g.integer(lo, n) if g.chance(0.15) else g.integer(min(lo + 1, n), n) for lo, n in zip(starts, x.shape, strict=True)]
    strides = [g.pick([1, 1, 2, 3]) for _ in starts]
    shape = [-(-(hi - lo) // s) for lo, hi, s in zip(starts, limits, strides, strict=True)]
    attributes = f"start_indices = {integers_text(starts)}, limit_indices = {integers_text(limits)}, strides = {integers_text(strides)}"
    return [g.one("stablehlo.slice", [x], x.type.having(shape=shape), attributes)]


@step("slice", 2)
def padded(g: Grower) -> list[Value] | None:
    x = g.value()
    low, high = ([g.pick([-2, -1, 0, 0, 1, 2]) for _ in x.shape] for _ in range(2))
    interior = [g.pick([0, 0, 0, 1, 2]) for _ in x.shape]
    shape = [lo + n + max(n - 1, 0) * mid + hi for lo, hi, mid, n in zip(low, high, interior, x.shape, strict=True)]
    if min(shape, default=0) < 0 or not g.fits(x.type.having(shape=shape)):
        return None
    attributes = f"edge_padding_low = {integers_text(low)}, edge_padding_high = {integers_text(high)}, interior_padding = {integers_text(interior)}"
    return [g.one("stablehlo.pad", [x, g.of(Type(x.element, ()))], x.type.having(shape=shape), attributes)]


@step("slice", 2)
def concatenated(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: t.rank > 0)
    d = g.integer(0, x.type.rank - 1)
    parts = [x]
    for _ in range(g.integer(0, 2)):
        shape = list(x.shape)
        shape[d] = g.pick(g.style.extents)
        part = x.type.having(shape=shape)
        if not g.fits(part):
            return None
        parts.append(g.of(part))
    parts = [parts[i] for i in g.permutation(len(parts))]
    shape = [*x.shape]
    shape[d] = sum(part.shape[d] for part in parts)
    result = x.type.having(shape=shape)
    return [g.one("stablehlo.concatenate", parts, result, f"dimension = {d} : i64")] if g.fits(result) else None


@step("slice")
def reversed_(g: Grower) -> list[Value]:
    x = g.value(lambda t: t.rank > 0)
    return [g.one("stablehlo.reverse", [x], x.type, f"dimensions = {integers_text(g.subset(x.type.rank, 0.6))}")]
