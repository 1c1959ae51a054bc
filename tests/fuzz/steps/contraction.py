"""Products: dot_general with any dimension numbers, convolution with all attributes."""

from __future__ import annotations

from fuzz.grower import Grower, Value
from fuzz.steps.table import step
from fuzz.tensors import Type, integers_text


@step("contraction", 2)
def dot_general(g: Grower) -> list[Value] | None:
    x = g.value(lambda t: t.rank <= 4)
    roles = [g.pick(["batch", "sum", "free", "free"]) for _ in x.shape]
    shared = [d for d, role in enumerate(roles) if role != "free"]
    free = [g.pick(g.style.extents) for _ in range(g.integer(0, 2))]
    order = g.permutation(len(shared) + len(free))
    extents = [x.shape[d] for d in shared] + free
    other = x.type.having(shape=[extents[i] for i in order])
    if other.size > 8 * g.style.largest:
        return None
    y = g.of(other)
    at = {i: position for position, i in enumerate(order)}

    def pairs(wanted: str) -> tuple[list[int], list[int]]:
        chosen = [(d, at[i]) for i, d in enumerate(shared) if roles[d] == wanted]
        chosen = [chosen[i] for i in g.permutation(len(chosen))]
        return [d for d, _ in chosen], [e for _, e in chosen]

    (bx, by), (cx, cy) = pairs("batch"), pairs("sum")
    shape = [x.shape[d] for d in bx] + [n for d, n in enumerate(x.shape) if roles[d] == "free"]
    shape += [n for e, n in enumerate(y.shape) if e not in by and e not in cy]
    result = x.type.having(shape=shape)
    if not g.fits(result):
        return None
    if x.type.is_float or x.type.is_complex:
        x = g.bounded(x)
    result = result.having(g.accumulator(x.element))
    numbers = ", ".join(
        f"{name} = [{', '.join(map(str, dims))}]"
        for name, dims in (
            ("lhs_batching_dimensions", bx),
            ("rhs_batching_dimensions", by),
            ("lhs_contracting_dimensions", cx),
            ("rhs_contracting_dimensions", cy),
        )
        if dims
    )
    return [g.one("stablehlo.dot_general", [x, y], result, f"dot_dimension_numbers = #stablehlo.dot<{numbers}>")]


def _layout(names: list[str], order: list[int]) -> str:
    return "[" + ", ".join(names[i] for i in order) + "]"


@step("contraction", 2)
def convolution(g: Grower) -> list[Value] | None:
    n = g.pick([0, 1, 1, 1, 2, 2, 3])
    element = g.style.main if g.chance(0.85) else g.pick(g.style.elements)
    if element == "i1":
        return None
    groups, batch_groups = g.pick([(1, 1), (1, 1), (2, 1), (1, 2)])
    batch, per_group = g.integer(1, 2) * batch_groups, g.integer(1, 2)
    kernels = (g.integer(1, 2) if g.chance(0.8) else g.integer(3, 17)) * groups * batch_groups
    extents, window = [g.integer(1, 5) for _ in range(n)], [g.integer(1, 3) for _ in range(n)]
    strides, left, right = ([g.pick(choices) for _ in range(n)] for choices in ([1, 1, 2], [1, 1, 2], [1, 1, 2]))
    padding = [(g.integer(-1, 2), g.integer(-1, 2)) for _ in range(n)]
    reversal = [g.chance(0.25) for _ in range(n)]
    result: list[int] = []
    for e, w, s, ld, rd, (lo, hi) in zip(extents, window, strides, left, right, padding, strict=True):
        padded, reach = lo + (e - 1) * ld + 1 + hi, (w - 1) * rd + 1
        if padded < 0:
            return None
        result.append(0 if padded < reach else (padded - reach) // s + 1)
    orders = [g.permutation(n + 2) if g.chance(0.5) else list(range(n + 2)) for _ in range(3)]
    spatial = [str(i) for i in range(n)]
    shapes = ([batch, per_group * groups, *extents], [kernels, per_group, *window], [batch // batch_groups, kernels, *result])
    x, w = (g.of(Type(element, tuple(shape[i] for i in order))) for shape, order in zip(shapes[:2], orders[:2], strict=True))
    type = Type(g.accumulator(element), tuple(shapes[2][i] for i in orders[2]))
    if not g.fits(type):
        return None
    numbers = f"{_layout(['b', 'f', *spatial], orders[0])}x{_layout(['o', 'i', *spatial], orders[1])}->{_layout(['b', 'f', *spatial], orders[2])}"
    rows = ", ".join(f"[{lo}, {hi}]" for lo, hi in padding)
    attributes = [
        f"window_strides = {integers_text(strides)}",
        f"padding = dense<{'[' + rows + ']' if n else ''}> : tensor<{n}x2xi64>",
        f"lhs_dilation = {integers_text(left)}",
        f"rhs_dilation = {integers_text(right)}",
        f"window_reversal = array<i1{': ' if n else ''}{', '.join(str(r).lower() for r in reversal)}>",
        f"dimension_numbers = #stablehlo.conv<{numbers}>",
        f"feature_group_count = {groups} : i64",
        f"batch_group_count = {batch_groups} : i64",
    ]
    return [g.one("stablehlo.convolution", [x, w], type, ", ".join(attributes))]
