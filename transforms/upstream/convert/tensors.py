"""``tensor``: elements, slices, padding, shapes. Shapes are static here; those that a text leaves open are known from its values."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo import attributes as sa
from wengert.dialects.upstream import UpstreamOp
from wengert.ir.attributes import int_attr, ints
from wengert.ir.tensor_types import DYNAMIC, element, i64, rank, shape, tensor
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.upstream.convert.converter import (
    Converter,
    Value,
    declared_shape,
    fitting,
    handles,
    static_type,
)
from wengert.transforms.upstream.convert.errors import needs_constant, refusal
from wengert.transforms.upstream.convert.integers import number_of

# -- making tensors


def sizes(c: Converter, op: UpstreamOp, type: Attribute, dynamic: Sequence[SSAValue]) -> list[int]:
    """The extents of a type, of which those that it leaves open are operands."""
    return c.mixed(op, declared_shape(type), dynamic, "the size of a dimension")


@handles("tensor.empty")
def _empty(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    type = op.results[0].type
    return [c.b.zeros(static_type(op, type, sizes(c, op, type, op.operands)))]


@handles("bufferization.alloc_tensor")
def _alloc_tensor(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    dynamic, copied, *_ = op.groups()
    if copied:
        return [c[copied[0]]]
    type = op.results[0].type
    return [c.b.zeros(static_type(op, type, sizes(c, op, type, dynamic)))]


@handles("tensor.splat")
def _splat(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    value, *dynamic = op.operands
    return [c.b.broadcast_in_dim(c[value], (), sizes(c, op, op.results[0].type, dynamic))]


@handles("tensor.from_elements")
def _from_elements(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    type = static_type(op, op.results[0].type)
    if not op.operands:
        return [c.b.zeros(type)]
    parts = [c.b.reshape(value, (1,)) for value in c.operands(op)]
    joined = c.b.concatenate(parts, 0) if len(parts) > 1 else parts[0]
    return [c.b.reshape(joined, type.get_shape())]


# -- shapes


@handles("tensor.dim", elementwise=True)
def _dim(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    extents = shape(c[op.operands[0]])
    d = c.known(op.operands[1])
    if d is None:
        table = c.b.constant(np.array(extents or (0,), np.int64))
        return [element_at(c, table, [c[op.operands[1]]])]
    if not 0 <= d < len(extents):
        raise refusal(op, f"dimension {d} is out of range for rank {len(extents)}")
    return [c.index(extents[d])]


@handles("tensor.rank", elementwise=True)
def _rank(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [c.index(rank(c[op.operands[0]]))]


@handles("tensor.cast", "bufferization.clone")
def _cast(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [fitting(op, op.results[0].type, c[op.operands[0]])]


def groups_of(attribute: Attribute) -> list[list[int]]:
    """The dimensions of ``[[0, 1], [2]]``."""
    return [[i.value.data for i in group.data] for group in cast("ArrayAttr[ArrayAttr[IntegerAttr[Any]]]", attribute).data]


@handles("tensor.collapse_shape")
def _collapse(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x = c[op.operands[0]]
    extents = [prod(shape(x)[d] for d in group) for group in groups_of(op.attributes["reassociation"])]
    return [fitting(op, op.results[0].type, c.b.reshape(x, extents))]


@handles("tensor.expand_shape")
def _expand(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    source, *dynamic = op.operands
    x = c[source]
    declared = declared_shape(op.results[0].type)
    static = ints(op.attributes["static_output_shape"]) if "static_output_shape" in op.attributes else declared
    if dynamic:
        extents = c.mixed(op, static, dynamic, "the output shape")
    else:
        extents = [n if n != DYNAMIC else m for n, m in zip(static, declared, strict=True)]
        for group, n in zip(groups_of(op.attributes["reassociation"]), shape(x), strict=True):
            fill_open(op, extents, group, n)
    if prod(extents) != prod(shape(x)):
        raise refusal(op, f"{'x'.join(map(str, shape(x)))} elements do not have the shape {'x'.join(map(str, extents))}")
    return [fitting(op, op.results[0].type, c.b.reshape(x, extents))]


def fill_open(op: Operation, extents: list[int], group: Sequence[int], total: int) -> None:
    """Fills in the one extent of a group that is open, which its product says."""
    opened = [d for d in group if extents[d] == DYNAMIC]
    if len(opened) > 1:
        raise needs_constant(op, "an extent of the output shape")
    for d in opened:
        extents[d] = total // max(1, prod(extents[e] for e in group if e != d))


@handles("tensor.reshape")
def _reshape(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x, extents = c[op.operands[0]], list(declared_shape(op.results[0].type))
    if DYNAMIC in extents:
        listed = _constant_list(c[op.operands[1]])
        if listed is not None:
            extents = listed
        else:
            fill_open(op, extents, range(len(extents)), prod(shape(x)))
    if prod(extents) != prod(shape(x)):
        raise refusal(op, f"{shape(x)} has other elements than {extents}")
    return [c.b.reshape(x, extents)]


def _constant_list(value: Value) -> list[int] | None:
    """The integers of a constant, or of a concatenation of constants."""
    from wengert.ir.elements import to_numpy

    owner = value.owner
    if isinstance(owner, hlo.ConstantOp):
        return [int(n) for n in to_numpy(cast(Any, owner.value)).reshape(-1)]
    if isinstance(owner, hlo.ConcatenateOp | hlo.ReshapeOp | hlo.ConvertOp):
        parts = [_constant_list(part) for part in owner.operands]
        return [n for part in parts if part is not None for n in part] if None not in parts else None
    return None


@handles("tensor.concat")
def _concat(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [c.b.concatenate(c.operands(op), number_of(op, "dim"))]


# -- elements


def element_at(c: Converter, x: Value, at: Sequence[Value]) -> Value:
    """The element at computed positions, all of them scalars."""
    if not at:
        return x
    b, known = c.b, [constant_integer(i) for i in at]
    ones = [1] * rank(x)
    if all(k is not None and 0 <= k < n for k, n in zip(known, shape(x), strict=True)):
        return b.reshape(b.slice(x, cast("list[int]", known), [cast(int, k) + 1 for k in known]), ())
    return b.reshape(b.dynamic_slice(x, at, ones), ())


def gather_elements(c: Converter, x: Value, at: Sequence[Value], lanes: Sequence[int]) -> Value:
    """The elements at positions that are tensors of the shape ``lanes``, or scalars."""
    columns = [c.b.reshape(c.spread(i, lanes), (*lanes, 1)) for i in at]
    indices = c.b.concatenate(columns, len(lanes)) if len(columns) > 1 else columns[0]
    return gather_at(c.b, x, indices, lanes)


def gather_at(b: OpBuilder, x: Value, indices: Value, lanes: Sequence[int]) -> Value:
    """The elements of x at positions: ``indices: i64[*lanes, rank of x]``."""
    every = list(range(rank(x)))
    return b.gather(x, indices, gather_numbers((), every, every, len(lanes)), [1] * rank(x), lanes)


def gather_numbers(offset: Sequence[int], collapsed: Sequence[int], mapped: Sequence[int], vector: int) -> sa.GatherDimensionNumbersAttr:
    """The dimension numbers of a gather without batching dimensions."""
    none = sa.dimensions(())
    return sa.GatherDimensionNumbersAttr(sa.dimensions(offset), sa.dimensions(collapsed), none, none, sa.dimensions(mapped), int_attr(vector))


@handles("tensor.extract", elementwise=True)
def _extract(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    source, *at = op.operands
    x, positions = c[source], [c[i] for i in at]
    if len(positions) != rank(x):
        raise refusal(op, f"{len(positions)} indices for a tensor of rank {rank(x)}")
    if any(rank(i) for i in positions):
        assert c.lanes is not None
        return [gather_elements(c, x, positions, c.lanes)]
    return [element_at(c, x, positions)]


@handles("tensor.insert")
def _insert(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    value, target, *at = op.operands
    x = c[target]
    update = c.b.reshape(c[value], [1] * rank(x))
    return [c.b.dynamic_update_slice(x, update, [c[i] for i in at]) if rank(x) else c[value]]


# -- slices


def slice_parts(c: Converter, op: UpstreamOp, first: int) -> tuple[list[Value], list[int], list[int]]:
    """Offsets as values, sizes and strides as numbers; the groups of their operands begin at ``first``."""
    groups = op.groups()
    rest = iter(groups[first])
    offsets = [c[next(rest)] if n == DYNAMIC else c.index(n) for n in ints(op.attributes["static_offsets"])]
    extents = c.mixed(op, ints(op.attributes["static_sizes"]), groups[first + 1], "the size of a slice")
    strides = c.mixed(op, ints(op.attributes["static_strides"]), groups[first + 2], "the stride of a slice")
    if any(s <= 0 for s in strides):
        raise refusal(op, "strides of slices have to be positive")
    return offsets, extents, strides


def read_slice(c: Converter, x: Value, offsets: Sequence[Value], extents: Sequence[int], strides: Sequence[int]) -> Value:
    """The elements at ``offset + stride * i``."""
    known = [constant_integer(o) for o in offsets]
    spans = [(n - 1) * s + 1 if n else 0 for n, s in zip(extents, strides, strict=True)]
    if None not in known:
        starts = cast("list[int]", known)
        return c.b.slice(x, starts, [o + n for o, n in zip(starts, spans, strict=True)], strides)
    part = c.b.dynamic_slice(x, offsets, spans)
    return part if all(s == 1 for s in strides) else c.b.slice(part, [0] * len(spans), spans, strides)


def write_slice(c: Converter, x: Value, part: Value, offsets: Sequence[Value], strides: Sequence[int]) -> Value:
    """x with other elements at ``offset + stride * i``."""
    if prod(shape(part)) == 0:
        return x
    if tuple(shape(part)) == tuple(shape(x)):
        return part
    if any(s != 1 for s in strides):
        part = _between(c, x, part, offsets, strides)
    return c.b.dynamic_update_slice(x, part, offsets)


def _between(c: Converter, x: Value, part: Value, offsets: Sequence[Value], strides: Sequence[int]) -> Value:
    """The part with the elements of x between its own."""
    b = c.b
    spans = [(n - 1) * s + 1 for n, s in zip(shape(part), strides, strict=True)]
    none, interior = [0] * len(spans), [s - 1 for s in strides]
    old = read_slice(c, x, offsets, spans, [1] * len(spans))
    spread = b.pad(part, b.scalar(0, element(part)), none, none, interior)
    ours = np.zeros(spans, np.bool_)
    ours[tuple(slice(None, None, s) for s in strides)] = True
    return b.select(b.constant(ours), spread, old)


def reduced_shape(op: UpstreamOp, type: Attribute, extents: Sequence[int]) -> list[int]:
    """The extents of a slice without those dimensions of one element that its type has not."""
    declared, static = declared_shape(type), ints(op.attributes["static_sizes"])
    surplus = len(extents) - len(declared)
    kept: list[int] = []
    for n, written in zip(extents, static, strict=True):
        if surplus > 0 and n == 1 and written == 1 and declared[len(kept) : len(kept) + 1] != (1,):
            surplus -= 1
        else:
            kept.append(n)
    while len(kept) > len(declared) and 1 in kept:
        kept.remove(1)
    if len(kept) != len(declared) or any(m not in (n, DYNAMIC) for m, n in zip(declared, kept, strict=True)):
        raise refusal(op, f"a slice of shape {'x'.join(map(str, extents))} does not fit {type}")
    return kept


@handles("tensor.extract_slice")
def _extract_slice(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    offsets, extents, strides = slice_parts(c, op, 1)
    part = read_slice(c, c[op.operands[0]], offsets, extents, strides)
    return [c.b.reshape(part, reduced_shape(op, op.results[0].type, extents))]


@handles("tensor.insert_slice")
def _insert_slice(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    return [inserted(c, op, c[op.operands[1]])]


def inserted(c: Converter, op: UpstreamOp, target: Value) -> Value:
    """A target with what ``tensor.insert_slice`` or ``tensor.parallel_insert_slice`` puts into it."""
    offsets, extents, strides = slice_parts(c, op, 2)
    return write_slice(c, target, c.b.reshape(c[op.operands[0]], extents), offsets, strides)


# -- regions of elements


@handles("tensor.generate")
def _generate(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    type = op.results[0].type
    return [elements_of(c, op, static_type(op, type, sizes(c, op, type, op.operands)))]


def elements_of(c: Converter, op: UpstreamOp, type: TensorType[Any]) -> Value:
    """A tensor of which a region says each element, from its position."""
    from wengert.transforms.upstream.convert.bodies import generated

    return generated(c, op, op.regions[0].block, type)


@handles("tensor.pad")
def _pad(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    _, low, high = op.groups()
    x = c[op.operands[0]]
    lows = c.mixed(op, ints(op.attributes["static_low"]), low, "padding")
    highs = c.mixed(op, ints(op.attributes["static_high"]), high, "padding")
    block = op.regions[0].block
    last = block.last_op
    assert last is not None
    if not any(argument.first_use for argument in block.args) and all(o is last for o in block.ops):
        return [c.b.pad(x, c[last.operands[0]], lows, highs)]
    extents = [lo + n + hi for lo, n, hi in zip(lows, shape(x), highs, strict=True)]
    around = elements_of(c, op, tensor(extents, element(x)))
    if any(n < 0 for n in (*lows, *highs)):
        raise refusal(op, "negative padding with computed elements is not supported")
    return [c.b.dynamic_update_slice(around, x, [c.index(lo) for lo in lows])]


# -- gathers and scatters


def _positions(c: Converter, indices: Value) -> Value:
    """Indices with 64 bits."""
    return c.b.convert(indices, i64)


def _window(c: Converter, x: Value, part_rank: int, lanes: int, dims: Sequence[int]) -> tuple[list[int], list[int]]:
    """The shape of the part of x that an index picks, and its dimensions without those that the part has not."""
    picked = [1 if d in dims else n for d, n in enumerate(shape(x))]
    keeps = part_rank == lanes + len(picked)
    return picked, list(range(len(picked))) if keeps else [d for d in range(len(picked)) if d not in dims]


@handles("tensor.gather")
def _gather(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    x, indices = c.operands(op)
    dims, lanes = ints(op.attributes["gather_dims"]), shape(indices)[:-1]
    picked, kept = _window(c, x, len(declared_shape(op.results[0].type)), len(lanes), dims)
    offset = range(len(lanes), len(lanes) + len(kept))
    numbers = gather_numbers(offset, [d for d in range(rank(x)) if d not in kept], dims, len(lanes))
    return [c.b.gather(x, _positions(c, indices), numbers, picked, [*lanes, *(picked[d] for d in kept)])]


@handles("tensor.scatter")
def _scatter(c: Converter, op: UpstreamOp) -> Sequence[Value]:
    updates, x, indices = c.operands(op)
    dims, lanes = ints(op.attributes["scatter_dims"]), shape(indices)[:-1]
    _, kept = _window(c, x, rank(updates), len(lanes), dims)
    window = range(len(lanes), len(lanes) + len(kept))
    dropped, none = sa.dimensions([d for d in range(rank(x)) if d not in kept]), sa.dimensions(())
    numbers = sa.ScatterDimensionNumbersAttr(sa.dimensions(window), dropped, none, none, sa.dimensions(dims), int_attr(len(lanes)))
    return [c.b.scatter(Kind.set, x, _positions(c, indices), updates, numbers, unique=True)]
