"""StableHLO ops on whole tensors as ``tensor`` and ``linalg`` ops: shapes, contractions, reductions, windows, reads and updates at computed positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IndexType
from xdsl.ir import Attribute, Operation, Region
from xdsl.ir.affine import AffineDimExpr, AffineExpr, AffineMap

from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes.dimension_numbers import numbers
from wengert.ir import elements
from wengert.ir.attributes import int_of, ints
from wengert.ir.construction import unverified
from wengert.ir.tensor_types import element, i64, is_complex, is_float, is_unsigned, shape, tensor
from wengert.transforms.core.kinds import combiner_kinds
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.out.elementwise import combine, inner
from wengert.transforms.upstream.out.writer import Out, Value, dims, signless

Handler = Callable[[Out, Operation, Sequence[Value]], Sequence[Value]]


def _result(op: Operation) -> Any:
    return signless(op.results[0].type)


def _constant(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    value, type = cast(Any, op.properties["value"]), _result(op)
    if is_complex(type.element_type):
        array = elements.to_numpy(value)
        splat = elements.splat_value(value)
        if splat is not None:
            return [out.filled(out.number(complex(splat), type.element_type), type)]
        listed = [out.number(complex(z), type.element_type) for z in array.reshape(-1)]
        return [out.one("tensor.from_elements", listed, type)]
    return [out.one("arith.constant", (), type, value=unverified(DenseIntOrFPElementsAttr, type=type, data=value.data))]


def _iota(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    d, type = int_of(op.properties["iota_dimension"]), _result(op)

    def at(place: Sequence[Value]) -> Value:
        if is_float(type.element_type):
            return out.one("arith.sitofp", (out.one("arith.index_cast", (place[d],), i64),), type.element_type)
        return out.one("arith.index_cast", (place[d],), type.element_type)

    return [out.generate(type, at)]


def _broadcast(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    (x,), type = operands, _result(op)
    places, count = ints(op.properties["broadcast_dimensions"]), len(type.get_shape())
    if not shape(x):
        return [out.filled(out.element(x), type)]
    kept = [i for i, d in enumerate(places) if shape(x)[i] == type.get_shape()[d]]
    if len(kept) != len(places):  # dimensions of one element are dropped first
        x = out.reshape(x, [shape(x)[i] for i in kept])
    if not kept:
        return [out.filled(out.element(x), type)]
    maps = [AffineMap(count, 0, dims(*(places[i] for i in kept))), AffineMap.identity(count)]
    return out.generic([x], [out.empty(type)], maps, [True] * count, lambda given: [given[0]])


def _reshape(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return [out.reshape(operands[0], _result(op).get_shape())]


def _transpose(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    order, type = ints(op.properties["permutation"]), _result(op)
    maps = [AffineMap(len(order), 0, dims(*(order.index(d) for d in range(len(order))))), AffineMap.identity(len(order))]
    return out.generic(operands, [out.empty(type)], maps, [True] * len(order), lambda given: [given[0]])


def _slice(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    starts, strides = ints(op.properties["start_indices"]), ints(op.properties["strides"])
    return [out.slice(operands[0], starts, _result(op).get_shape(), strides) if starts else operands[0]]


def padded(out: Out, x: Value, value: Value, low: Sequence[int], high: Sequence[int], interior: Sequence[int]) -> Value:
    """A tensor with a scalar around and between its elements; negative padding cuts off."""
    if not low:
        return x
    around = [max(n, 0) for n in low]
    spread = [max(0, (n - 1) * (mid + 1) + 1) for n, mid in zip(shape(x), interior, strict=True)]
    total = [lo + n + max(hi, 0) for lo, n, hi in zip(around, spread, high, strict=True)]
    filled = out.filled(value, tensor(tuple(total), element(x)))
    whole = out.insert(x, filled, around, [mid + 1 for mid in interior]) if 0 not in shape(x) else filled
    if all(n >= 0 for n in (*low, *high)):
        return whole
    extents = [lo + n + hi for lo, n, hi in zip(low, spread, high, strict=True)]
    return out.slice(whole, [max(-n, 0) for n in low], extents, [1] * len(low))


def _pad(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    low, high, interior = (ints(op.properties[key]) for key in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    return [padded(out, operands[0], out.element(operands[1]), low, high, interior)]


def _concatenate(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    d, type = int_of(op.properties["dimension"]), _result(op)
    whole, first = out.empty(type), 0
    for part in operands:
        if shape(part)[d]:
            whole = out.insert(part, whole, [first if e == d else 0 for e in range(len(shape(part)))])
        first += shape(part)[d]
    return [whole]


def _reverse(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    (x,), turned = operands, ints(op.properties["dimensions"])

    def at(place: Sequence[Value]) -> Value:
        return out.element(x, [out.arith("subi", out.index(shape(x)[d] - 1), i) if d in turned else i for d, i in enumerate(place)])

    return [out.generate(_result(op), at)]


# -- contractions and reductions


def _dot(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    x, y = operands
    attribute = cast(Any, op.properties["dot_dimension_numbers"])
    batch_x, batch_y, joint_x, joint_y = (
        numbers(getattr(attribute, name))
        for name in ("lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions")
    )
    free_x = [d for d in range(len(shape(x))) if d not in (*batch_x, *joint_x)]
    free_y = [d for d in range(len(shape(y))) if d not in (*batch_y, *joint_y)]
    kept = len(batch_x) + len(free_x) + len(free_y)
    of_x, of_y = dict[int, int](), dict[int, int]()
    for k, (i, j) in enumerate(zip(batch_x, batch_y, strict=True)):
        of_x[i] = of_y[j] = k
    of_x.update({i: len(batch_x) + k for k, i in enumerate(free_x)})
    of_y.update({j: len(batch_x) + len(free_x) + k for k, j in enumerate(free_y)})
    for k, (i, j) in enumerate(zip(joint_x, joint_y, strict=True)):
        of_x[i] = of_y[j] = kept + k
    count = kept + len(joint_x)
    maps = [AffineMap(count, 0, dims(*(of[d] for d in range(len(of))))) for of in (of_x, of_y)] + [AffineMap(count, 0, dims(*range(kept)))]
    return sum_of_products(out, op, x, y, maps, [True] * kept + [False] * len(joint_x), _result(op))


def sum_of_products(out: Out, op: Operation, x: Value, y: Value, maps: Sequence[AffineMap], parallel: Sequence[bool], type: Attribute) -> Sequence[Value]:
    """A ``linalg.generic`` of a type that adds up products of elements of two operands."""
    result = inner(op.results[0])
    if signless(inner(op.operands[0])) != signless(result) or signless(inner(op.operands[1])) != signless(result):
        raise refusal(op, "products of other elements than the result's are not written")

    def body(given: Sequence[Value]) -> Sequence[Value]:
        return [combine(out, Kind.add, result, given[2], combine(out, Kind.mul, result, given[0], given[1]))]

    return out.generic([x, y], [out.full(0, type)], maps, parallel, body)


def _kinds(op: Operation, region: Region, count: int) -> list[Kind]:
    kinds = combiner_kinds(region.block, count)
    if kinds is None:
        raise refusal(op, "a reduction by another region than a sum, product, extreme, conjunction or disjunction is not written")
    return kinds


def _reduce(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    count = len(operands) // 2
    kinds = _kinds(op, op.regions[0], count)
    reduced, rank = ints(op.properties["dimensions"]), len(shape(operands[0]))
    kept = AffineMap(rank, 0, dims(*(d for d in range(rank) if d not in reduced)))
    results: list[Value] = []
    for x, start, kind, old in zip(operands[:count], operands[count:], kinds, op.results, strict=True):
        type = signless(old.type)
        initial = out.filled(out.element(start), type) if shape(old) else start

        results += out.generic([x], [initial], [AffineMap.identity(rank), kept], [d not in reduced for d in range(rank)], _combining(out, kind, inner(old)))
    return results


def _combining(out: Out, kind: Kind, own: Attribute) -> Callable[[Sequence[Value]], Sequence[Value]]:
    """A body that combines its last argument, the accumulator, with its first."""

    def body(given: Sequence[Value]) -> Sequence[Value]:
        return [combine(out, kind, own, given[-1], given[0])]

    return body


def _strided(out_dim: int, window_dim: int, stride: int, dilation: int) -> AffineExpr:
    """``stride * i + dilation * k``."""

    def times(d: int, n: int) -> AffineExpr:
        return AffineDimExpr(d) * n if n != 1 else AffineDimExpr(d)

    return times(out_dim, stride) + times(window_dim, dilation)


def _window_parts(op: Operation, key: str, count: int) -> Sequence[int]:
    value = op.properties.get(key)
    return ints(value) if value is not None else [1] * count


def _padding(op: Operation, count: int) -> list[tuple[int, int]]:
    value = op.properties.get("padding")
    return [(int(lo), int(hi)) for lo, hi in elements.to_numpy(cast(Any, value)).reshape(-1, 2)] if value is not None else [(0, 0)] * count


def _reduce_window(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    count = len(operands) // 2
    kinds = _kinds(op, op.regions[0], count)
    window = ints(op.properties["window_dimensions"])
    rank = len(window)
    strides, base, dilations = (_window_parts(op, key, rank) for key in ("window_strides", "base_dilations", "window_dilations"))
    padding = _padding(op, rank)
    results: list[Value] = []
    for x, start, kind, old in zip(operands[:count], operands[count:], kinds, op.results, strict=True):
        type = cast(Any, signless(old.type))
        whole = padded(out, x, out.element(start), [lo for lo, _ in padding], [hi for _, hi in padding], [n - 1 for n in base])
        places = [_strided(d, rank + d, s, w) for d, (s, w) in enumerate(zip(strides, dilations, strict=True))]
        maps = [AffineMap(2 * rank, 0, tuple(places)), AffineMap(2 * rank, 0, dims(*range(rank, 2 * rank))), AffineMap(2 * rank, 0, dims(*range(rank)))]
        shaped = out.empty(tensor(tuple(window), type.element_type))
        initial = out.filled(out.element(start), type)

        results += out.generic([whole, shaped], [initial], maps, [True] * rank + [False] * rank, _combining(out, kind, inner(old)))
    return results


def _turned(out: Out, op: Operation, w: Value, spatial: Sequence[int]) -> Value:
    """The kernel with those of its windows reversed that the op says."""
    reversal = op.properties.get("window_reversal")
    turned = {d for d, is_turned in zip(spatial, cast(Any, reversal).get_values(), strict=True) if is_turned} if reversal is not None else set[int]()
    if not turned:
        return w

    def at(place: Sequence[Value]) -> Value:
        return out.element(w, [out.arith("subi", out.index(shape(w)[d] - 1), i) if d in turned else i for d, i in enumerate(place)])

    return out.generate(w.type, at)


def _split(out: Out, x: Value, d: int, groups: int) -> Value:
    """x with a dimension split into groups and what is in each: the groups come first."""
    extents = list(shape(x))
    return out.reshape(x, [*extents[:d], groups, extents[d] // groups, *extents[d + 1 :]])


def _convolution(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    """The space: groups, batch, output feature, windows' places, input feature, windows' offsets."""
    x, w = operands
    (xb, xf, xs), (wi, wo, ws), (ob, of, os) = cast(Any, op.properties["dimension_numbers"]).roles
    rank, type = len(xs), _result(op)
    features, batches = (int_of(op.properties[key]) for key in ("feature_group_count", "batch_group_count"))
    w = _turned(out, op, w, ws)
    strides, base, dilations = (_window_parts(op, key, rank) for key in ("window_strides", "lhs_dilation", "rhs_dilation"))
    low, high, interior = [0] * len(shape(x)), [0] * len(shape(x)), [0] * len(shape(x))
    for d, (lo, hi), n in zip(xs, _padding(op, rank), base, strict=True):
        low[d], high[d], interior[d] = lo, hi, n - 1
    x = padded(out, x, out.zero(element(x)), low, high, interior)
    feature = 3 + rank
    of_x: dict[int, AffineExpr] = {xb: AffineDimExpr(1), xf: AffineDimExpr(feature)}
    of_w: dict[int, AffineExpr] = {wi: AffineDimExpr(feature), wo: AffineDimExpr(2)}
    of_o: dict[int, AffineExpr] = {ob: AffineDimExpr(1), of: AffineDimExpr(2)}
    for k in range(rank):
        of_x[xs[k]] = _strided(3 + k, feature + 1 + k, strides[k], dilations[k])
        of_w[ws[k]] = AffineDimExpr(feature + 1 + k)
        of_o[os[k]] = AffineDimExpr(3 + k)
    groups, grouped = max(features, batches), xf if features > 1 else xb
    x, w = _split(out, x, grouped, groups), _split(out, w, wo, groups)
    extents = [*type.get_shape()[:of], groups, type.get_shape()[of] // groups, *type.get_shape()[of + 1 :]]
    places = [_with_groups(of_x, grouped, 2 + rank), _with_groups(of_w, wo, 2 + rank), _with_groups(of_o, of, 2 + rank)]
    maps = [AffineMap(4 + 2 * rank, 0, place) for place in places]
    parallel = [True] * (3 + rank) + [False] * (1 + rank)
    (result,) = sum_of_products(out, op, x, w, maps, parallel, tensor(tuple(extents), type.element_type))
    return [out.reshape(result, type.get_shape())]


def _with_groups(places: dict[int, AffineExpr], d: int, rank: int) -> tuple[AffineExpr, ...]:
    """Where an operand is indexed, the groups in front of a dimension."""
    listed = [places[e] for e in range(rank)]
    return (*listed[:d], AffineDimExpr(0), *listed[d:])


# -- computed positions


def _start(out: Out, op: Operation, scalar: Value, position: int, most: int) -> Value:
    unsigned = is_unsigned(inner(op.operands[position]))
    return out.clamped(out.as_index(out.element(scalar), unsigned=unsigned), most)


def _dynamic_slice(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    x, *starts = operands
    sizes = ints(op.properties["slice_sizes"])
    if not sizes:
        return [x]
    places = [_start(out, op, s, 1 + d, n - m) for d, (s, n, m) in enumerate(zip(starts, shape(x), sizes, strict=True))]
    return [out.slice(x, places, sizes, [1] * len(sizes))]


def _dynamic_update_slice(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    x, part, *starts = operands
    if not shape(x):
        return [part]
    places = [_start(out, op, s, 2 + d, n - m) for d, (s, n, m) in enumerate(zip(starts, shape(x), shape(part), strict=True))]
    return [out.insert(part, x, places)]


def _gather(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    x, indices = operands
    n = cast(Any, op.properties["dimension_numbers"])
    offset, collapsed, batching, start_batching, mapped = (
        numbers(getattr(n, name)) for name in ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map")
    )
    vector, sizes, type = int_of(n.index_vector_dim), ints(op.properties["slice_sizes"]), _result(op)
    unsigned = is_unsigned(inner(op.operands[1]))
    window = [d for d in range(len(shape(x))) if d not in collapsed and d not in batching]

    def at(place: Sequence[Value]) -> Value:
        lanes = [i for d, i in enumerate(place) if d not in offset]
        where = [out.index(0)] * len(shape(x))
        for k, d in enumerate(mapped):
            read = out.element(indices, [*lanes[:vector], out.index(k), *lanes[vector:]] if vector < len(shape(indices)) else lanes)
            where[d] = out.clamped(out.as_index(read, unsigned=unsigned), shape(x)[d] - sizes[d])
        for d, s in zip(batching, start_batching, strict=True):
            where[d] = lanes[s if s < vector else s - 1]
        for d, o in zip(window, offset, strict=True):
            where[d] = out.arith("addi", where[d], place[o])
        return out.element(x, where)

    return [out.generate(type, at)]


def _scatter(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    """A loop over all updates: each is combined into its place if that is inside."""
    if len(operands) != 3:
        raise refusal(op, "scatters of several tensors are not written")
    x, indices, updates = operands
    block = op.regions[0].block
    kind = Kind.set if cast(Any, block.last_op).operands[0] is block.args[1] else _kinds(op, op.regions[0], 1)[0]
    n = cast(Any, op.properties["scatter_dimension_numbers"])
    window, inserted, batching, index_batching, mapped = (
        numbers(getattr(n, name))
        for name in ("update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims", "scatter_dims_to_operand_dims")
    )
    vector, own = int_of(n.index_vector_dim), inner(op.operands[0])
    unsigned = is_unsigned(inner(op.operands[1]))
    free = [d for d in range(len(shape(x))) if d not in inserted and d not in batching]

    def update(place: Sequence[Value], carried: Value) -> Value:
        lanes = [i for d, i in enumerate(place) if d not in window]
        where = [out.index(0)] * len(shape(x))
        for k, d in enumerate(mapped):
            read = out.element(indices, [*lanes[:vector], out.index(k), *lanes[vector:]] if vector < len(shape(indices)) else lanes)
            where[d] = out.as_index(read, unsigned=unsigned)
        for d, s in zip(batching, index_batching, strict=True):
            where[d] = lanes[s if s < vector else s - 1]
        inside = _inside(out, op, x, updates, where, free, window)
        for d, w in zip(free, window, strict=True):
            where[d] = out.arith("addi", where[d], place[w])

        def combined(_: Sequence[Value]) -> Sequence[Value]:
            value = out.element(updates, place)
            if kind is not Kind.set:
                value = combine(out, kind, own, out.element(carried, where), value)
            return [out.one("tensor.insert", [value, carried, *where], carried.type)]

        regions = [out.region([], "scf.yield", combined), out.region([], "scf.yield", lambda _: [carried])]
        return out.ops("scf.if", [inside], [carried.type], *regions)[0]

    return [loops(out, shape(updates), x, update)]


def _inside(out: Out, op: Operation, x: Value, updates: Value, where: Sequence[Value], free: Sequence[int], window: Sequence[int]) -> Value:
    """Whether the whole window that an update belongs to is inside."""
    sizes = {d: shape(updates)[w] for d, w in zip(free, window, strict=True)}
    inside: Value | None = None
    for d, position in enumerate(where):
        for test in (out.compare("sge", position, out.index(0)), out.compare("sle", position, out.index(shape(x)[d] - sizes.get(d, 1)))):
            inside = test if inside is None else out.arith("andi", inside, test)
    if inside is None:
        raise refusal(op, "scatters into tensors of rank 0 are not written")
    return inside


def loops(out: Out, extents: Sequence[int], initial: Value, body: Callable[[Sequence[Value], Value], Value]) -> Value:
    """``scf.for`` in each other that carry one tensor."""

    def level(place: list[Value], carried: Value) -> Value:
        if len(place) == len(extents):
            return body(place, carried)
        bounds = [out.index(0), out.index(extents[len(place)]), out.index(1)]
        region = out.region([IndexType(), carried.type], "scf.yield", lambda given: [level([*place, given[0]], given[1])])
        return out.ops("scf.for", [*bounds, carried], [carried.type], region)[0]

    return level([], initial)


def _same(out: Out, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return operands


HANDLERS: dict[str, Handler] = {
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.constant": _constant,
    "stablehlo.convolution": _convolution,
    "stablehlo.dot_general": _dot,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather,
    "stablehlo.iota": _iota,
    "stablehlo.optimization_barrier": _same,
    "stablehlo.pad": _pad,
    "stablehlo.reduce": _reduce,
    "stablehlo.reduce_window": _reduce_window,
    "stablehlo.reshape": _reshape,
    "stablehlo.reverse": _reverse,
    "stablehlo.scatter": _scatter,
    "stablehlo.slice": _slice,
    "stablehlo.transpose": _transpose,
}
"""How each op is written."""
