"""Reads and updates at computed positions: slices by the ``tensor`` dialect, gathers as generated tensors, scatters as loops over the updates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.ir import Operation

from wengert.dialects.stablehlo.attributes.dimension_numbers import numbers
from wengert.ir.attributes import int_of, ints
from wengert.ir.tensor_types import is_unsigned, shape
from wengert.transforms.upstream.convert.errors import refusal
from wengert.transforms.upstream.out.elementwise import inner
from wengert.transforms.upstream.out.regions import combining, replacing
from wengert.transforms.upstream.out.structure import Handler, result_type
from wengert.transforms.upstream.out.writer import INDEX, Out, Value


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
    vector, sizes, type = int_of(n.index_vector_dim), ints(op.properties["slice_sizes"]), result_type(op)
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
    count = len(op.results)
    targets, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    body = combining(out, op)
    n = cast(Any, op.properties["scatter_dimension_numbers"])
    window, inserted, batching, index_batching, mapped = (
        numbers(getattr(n, name))
        for name in ("update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims", "scatter_dims_to_operand_dims")
    )
    vector, x = int_of(n.index_vector_dim), targets[0]
    unsigned = is_unsigned(inner(op.operands[count]))
    free = [d for d in range(len(shape(x))) if d not in inserted and d not in batching]

    def update(place: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        lanes = [i for d, i in enumerate(place) if d not in window]
        where = [out.index(0)] * len(shape(x))
        for k, d in enumerate(mapped):
            read = out.element(indices, [*lanes[:vector], out.index(k), *lanes[vector:]] if vector < len(shape(indices)) else lanes)
            where[d] = out.as_index(read, unsigned=unsigned)
        for d, s in zip(batching, index_batching, strict=True):
            where[d] = lanes[s if s < vector else s - 1]
        inside = _inside(out, op, x, updates[0], where, free, window)
        for d, w in zip(free, window, strict=True):
            where[d] = out.arith("addi", where[d], place[w])

        def combined(_: Sequence[Value]) -> Sequence[Value]:
            new = [out.element(part, place) for part in updates]
            if not replacing(op):
                new = body([*(out.element(old, where) for old in carried), *new])
            return [out.one("tensor.insert", [value, old, *where], old.type) for value, old in zip(new, carried, strict=True)]

        regions = [out.region([], "scf.yield", combined), out.region([], "scf.yield", lambda _: carried)]
        return out.ops("scf.if", [inside], [old.type for old in carried], *regions)

    return loops(out, shape(updates[0]), targets, update)


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


def loops(out: Out, extents: Sequence[int], initial: Sequence[Value], body: Callable[[Sequence[Value], Sequence[Value]], Sequence[Value]]) -> Sequence[Value]:
    """``scf.for`` in each other that carry tensors; the body is given the counters and the tensors."""
    types = [INDEX, *(value.type for value in initial)]

    def level(place: list[Value], carried: Sequence[Value]) -> Sequence[Value]:
        if len(place) == len(extents):
            return body(place, carried)
        bounds = [out.index(0), out.index(extents[len(place)]), out.index(1)]
        region = out.region(types, "scf.yield", lambda given: level([*place, given[0]], given[1:]))
        return out.ops("scf.for", [*bounds, *carried], types[1:], region)

    return level([], initial)


POSITIONS: dict[str, Handler] = {
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.gather": _gather,
    "stablehlo.scatter": _scatter,
}
"""How each op is written."""
