"""Structured ops (``linalg.generic`` and what is one): a body over an iteration space.

Contractions, convolutions and windows are recognised first (:mod:`.contractions`, :mod:`.windows`). Otherwise operands are read over the whole
iteration space, the body is written once for all of its points, and what it adds, multiplies or takes the extreme of is reduced, with the output's
old element as one more operand. A body that uses that element otherwise runs in a loop over the dimensions that are reduced; one with loops or
branches of its own, in a loop over all elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.dialects.upstream import UpstreamOp
from wengert.ir.tensor_types import i64, rank, shape, tensor
from wengert.transforms.upstream.convert.contractions import contraction
from wengert.transforms.upstream.convert.control import nest
from wengert.transforms.upstream.convert.converter import Converter, Value, handles
from wengert.transforms.upstream.convert.errors import NotElementwiseError, not_elementwise, refusal
from wengert.transforms.upstream.convert.integers import number_of
from wengert.transforms.upstream.convert.maps import arranged, iteration_space, projected, read_over, value_of, wrong_extent
from wengert.transforms.upstream.convert.structured import Combination, Structured, combination, is_zero
from wengert.transforms.upstream.convert.tensors import element_at
from wengert.transforms.upstream.convert.windows import convolution, window_reduction


def write_structured(c: Converter, s: Structured) -> list[Value]:
    """The outputs of a structured op."""
    shapes = [shape(x) for x in (*s.ins, *s.outs)]
    ranks = [(len(extents), len(map.results)) for map, extents in zip(s.maps, shapes, strict=True)]
    for number, (has, indexed) in enumerate(ranks):
        if has != indexed:
            raise refusal(s.op, f"operand {number} is of rank {has}, and is indexed by {indexed} positions")
    extents = iteration_space(s.maps, shapes)
    if extents is None:
        raise refusal(s.op, "a dimension of the iteration space has no operand that is indexed by it alone")
    if problem := wrong_extent(s.maps, shapes, extents):
        raise refusal(s.op, problem)
    if 0 in extents:
        return s.outs
    for recognise in (contraction, convolution, window_reduction):
        known = recognise(c, s, extents)
        if known is not None:
            return known
    try:
        return _over_space(c, s, extents)
    except NotElementwiseError:
        return _by_element(c, s, extents)


# -- the whole space at once


def _over_space(c: Converter, s: Structured, extents: Sequence[int]) -> list[Value]:
    targets = [projected(map) for map in s.maps[len(s.ins) :]]
    if any(target is None or sorted(target) != s.kept for target in targets) or any(_has_regions(op) for op in s.block.ops):
        raise not_elementwise(s.op)
    dims = [target for target in targets if target is not None]
    if not s.reduced:
        return _elementwise(c, s, extents, dims)
    combined = [combination(s, k) for k in range(len(s.outs))]
    if all(combined) and not _others_use_accumulators(s, [end.op for end in combined if end]):
        return _reduced(c, s, extents, dims, [end for end in combined if end])
    return _in_order(c, s, extents, dims)


def _has_regions(op: Operation) -> bool:
    return bool(op.regions)


def _elementwise(c: Converter, s: Structured, extents: Sequence[int], dims: Sequence[Sequence[int]]) -> list[Value]:
    elements = [read_over(c, x, map, extents) if argument.first_use else x for x, map, argument in zip((*s.ins, *s.outs), s.maps, s.block.args, strict=True)]
    with c.over(tuple(extents), _positions(c.b, extents)):
        results = c.block(s.block, elements)
    return [arranged(c, c.spread(result, extents), range(len(extents)), order) for result, order in zip(results, dims, strict=True)]


def _positions(b: OpBuilder, extents: Sequence[int]) -> list[Value]:
    return [b.iota(d, tensor(tuple(extents), i64)) for d in range(len(extents))]


# -- reductions


def _others_use_accumulators(s: Structured, ends: Sequence[Operation]) -> bool:
    """Whether an accumulator, or what is made of one, is used by other ops than those that end the body."""
    last = s.block.last_op
    used = any(use.operation not in ends for accumulator in s.accumulators for use in accumulator.uses)
    return used or any(use.operation is not last for op in ends for use in op.results[0].uses) or len(set(map(id, ends))) != len(ends)


def _reduced(c: Converter, s: Structured, extents: Sequence[int], dims: Sequence[Sequence[int]], ends: Sequence[Combination]) -> list[Value]:
    skipped = {id(end.op) for end in ends} | {id(s.block.last_op)}
    for x, map, argument in zip(s.ins, s.maps, s.block.args, strict=False):
        c.values[argument] = read_over(c, x, map, extents) if argument.first_use else x
    with c.over(tuple(extents), _positions(c.b, extents)):
        for op in s.block.ops:
            if id(op) not in skipped:
                c.op(op)
    results: list[Value] = []
    for end, out, order in zip(ends, s.outs, dims, strict=True):
        value = c.spread(c[end.value], extents)
        value = c.b.negate(value) if end.is_negated else value
        with c.b.at(end.op.location):
            total = arranged(c, c.b.reduce(end.kind, value, s.reduced), s.kept, order)
            results.append(total if end.kind is Kind.add and is_zero(out) else end.combine(c.b, out, total))
    return results


def _in_order(c: Converter, s: Structured, extents: Sequence[int], dims: Sequence[Sequence[int]]) -> list[Value]:
    """A loop over the dimensions that are reduced; the others all at once."""
    elements = [read_over(c, x, map, extents) for x, map in zip(s.ins, s.maps, strict=False)]
    lanes = tuple(extents[d] for d in s.kept)
    bounds = [(c.index(0), c.index(extents[d]), c.index(1)) for d in s.reduced]
    iotas = dict(zip(s.kept, _positions(c.b, lanes), strict=True))

    def body(counters: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        places = dict(zip(s.reduced, counters, strict=True))
        starts = [places.get(d, c.index(0)) for d in range(len(extents))]
        cut = [1 if d in places else n for d, n in enumerate(extents)]
        inputs = [c.b.reshape(c.b.dynamic_slice(x, starts, cut), lanes) for x in elements]
        with c.over(lanes, [places.get(d, iotas.get(d, starts[d])) for d in range(len(extents))]):
            results = c.block(s.block, [*inputs, *carried])
        return [c.spread(result, lanes) for result in results]

    initial = [arranged(c, out, order, s.kept) for out, order in zip(s.outs, dims, strict=True)]
    ends = nest(c, s.op, bounds, initial, body)
    return [arranged(c, end, s.kept, order) for end, order in zip(ends, dims, strict=True)]


# -- element by element


def _by_element(c: Converter, s: Structured, extents: Sequence[int]) -> list[Value]:
    bounds = [(c.index(0), c.index(n), c.index(1)) for n in extents]

    def body(counters: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
        places = [[value_of(c, expr, counters) for expr in map.results] for map in s.maps]
        elements = [element_at(c, x, at) if argument.first_use else x for x, at, argument in zip((*s.ins, *carried), places, s.block.args, strict=True)]
        with c.over(None, counters):
            results = c.block(s.block, elements)
        return [store(c, out, result, at) for out, result, at in zip(carried, results, places[len(s.ins) :], strict=True)]

    return nest(c, s.op, bounds, s.outs, body)


def store(c: Converter, x: Value, value: Value, at: Sequence[Value]) -> Value:
    """x with another element at a place."""
    return c.b.dynamic_update_slice(x, c.b.reshape(value, [1] * rank(x)), at) if rank(x) else value


def generated(c: Converter, op: Operation, block: Block, type: TensorType[Any]) -> Value:
    """A tensor whose elements a block says, from their positions."""
    extents = list(type.get_shape())
    if 0 in extents:
        return c.b.zeros(type)
    try:
        if any(_has_regions(inner) for inner in block.ops):
            raise not_elementwise(op)
        with c.over(tuple(extents)):
            (value,) = c.block(block, _positions(c.b, extents))
        return c.spread(value, extents)
    except NotElementwiseError:
        bounds = [(c.index(0), c.index(n), c.index(1)) for n in extents]

        def body(counters: Sequence[Value], carried: Sequence[Value]) -> Sequence[Value]:
            with c.over(None):
                return [store(c, carried[0], c.block(block, counters)[0], counters)]

        return nest(c, op, bounds, [c.b.zeros(type)], body)[0]


@handles("linalg.index", elementwise=True)
def _index(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [c.positions[number_of(op, "dim")]]
