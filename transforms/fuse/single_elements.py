"""The pass ``pick-elements``: reads and writes of one element of each row, as the loss of a classifier has them, without arrays as large as the rows.

``log_softmax(x)[label]`` reads one element of each row of a difference. A gather reads from memory, so the difference would be written there as a whole. But
an elementwise op of which single elements are read may be applied to these alone::

    %d = subtract %x, %b : 512x50000             %p = gather %x at %i : 512x1
    %y = gather %d at %i : 512x1           ->    %q = gather %b at %i : 512x1    (%b repeats one element of a row: a broadcast to 512x1)
                                                 %y = subtract %p, %q : 512x1

Its derivative puts one number into each row of zeros. What reads that can compute it: the number where the position is that of the element, and 0 elsewhere::

    %z = core.scatter add of %u into zeros       %z = select (iota == %i), %u + 0, 0

Both are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.core import Kind
from wengert.dialects.facts import facts_of
from wengert.ir.attributes import int_of, ints
from wengert.ir.elements import is_splat, splat_value
from wengert.ir.tensor_types import element, rank, shape, size, tensor
from wengert.ir.traversal import operands_of
from wengert.transforms.fuse.rewriting import has_matches, replace_ops

FEWER = 8
"""A gather of so many times fewer elements than its operand has is one of single elements."""
DEPTH = 8
"""The longest chain of elementwise ops that is applied to what is read."""

Picked = Callable[[OpBuilder], Value]


@dataclass(frozen=True)
class PickElementsPass(ModulePass):
    """Applies elementwise ops to what gathers read of their results, and computes rows of zeros with one other element where they are read."""

    name = "pick-elements"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        replace_ops(op, self.name, (stablehlo.GatherOp,), _elements_read, lambda b, _, pick: pick(b))
        replace_ops(op, self.name, (core.ScatterOp,), _row_dimension, _as_comparison)

    def changes(self, module: ModuleOp) -> bool:
        return has_matches(module, (stablehlo.GatherOp,), _elements_read) or has_matches(module, (core.ScatterOp,), _row_dimension)


def _elements_read(op: stablehlo.GatherOp) -> Picked | None:
    """How to build what a gather reads of an elementwise op's result; None if it reads something else, or much."""
    single = FEWER * size(op.result) <= size(op.operand) and prod(ints(op.slice_sizes)) == 1 and not op.dimension_numbers.dims("offset_dims")
    return _picked(op, op.operand, DEPTH) if single and isinstance(op.operand.owner, Operation) and _is_elementwise(op.operand.owner) else None


def _is_elementwise(op: Operation) -> bool:
    facts = facts_of(type(op))
    return facts.elementwise and facts.has_function


def _picked(op: stablehlo.GatherOp, value: Value, depth: int) -> Picked | None:
    """How to build what the gather would read of another value of its operand's shape."""
    maker, extents = value.owner, shape(op.result)
    if isinstance(maker, stablehlo.BroadcastInDimOp):
        return _repeated(op, maker)
    if isinstance(maker, stablehlo.ConstantOp):
        constant = maker.value
        return (lambda b: b.full(splat_value(constant), tensor(extents, element(value)))) if is_splat(constant) else None
    if not isinstance(maker, Operation) or not _is_elementwise(maker) or depth == 0:
        return lambda b: b.one(stablehlo.GatherOp, (value, op.start_indices), tensor(extents, element(value)), **op.properties)
    parts: list[Picked] = []
    for operand in operands_of(maker):
        part = _picked(op, operand, depth - 1) if shape(operand) == shape(value) else _itself(operand)
        if part is None:
            return None
        parts.append(part)
    return lambda b: b.one(type(maker), [part(b) for part in parts], tensor(extents, element(value)), **maker.properties)


def _itself(value: Value) -> Picked:
    """A scalar operand, which all elements share."""
    return lambda b: value


def _repeated(op: stablehlo.GatherOp, maker: stablehlo.BroadcastInDimOp) -> Picked | None:
    """What a gather reads of a value that is repeated along all dimensions in which it chooses; None if it is not."""
    numbers, given = op.dimension_numbers, ints(maker.broadcast_dimensions)
    vector = int_of(numbers.index_vector_dim)
    rows = [d - (d > vector) for d in numbers.dims("start_indices_batching_dims")]
    places = dict(zip(numbers.dims("operand_batching_dims"), rows, strict=True))
    source, wide = shape(maker.operand), shape(maker.result)
    kept = [k for k, d in enumerate(given) if source[k] == wide[d] and d in places]
    if any(n != 1 for k, n in enumerate(source) if k not in kept):
        return None

    def build(b: OpBuilder) -> Value:
        whole = b.reshape(maker.operand, [source[k] for k in kept])
        return b.broadcast_in_dim(whole, [places[given[k]] for k in kept], shape(op.result))

    order = [places[given[k]] for k in kept]
    return build if order == sorted(order) else None


def _row_dimension(op: core.ScatterOp) -> tuple[int, ...]:
    """The dimension in which a scatter puts one element into each row of zeros, if it is such a one."""
    numbers, zeros = op.scatter_dimension_numbers, op.operand.owner
    chosen, batch = numbers.dims("scatter_dims_to_operand_dims"), numbers.dims("input_batching_dims")
    rows = len(chosen) == 1 and chosen == numbers.dims("inserted_window_dims") and bool(batch) and len(batch) == rank(op.operand) - 1
    single = rows and not numbers.dims("update_window_dims") and size(op.updates) * shape(op.operand)[chosen[0]] == size(op.operand)
    if not single or op.kind.data not in (Kind.add, Kind.set) or not isinstance(zeros, stablehlo.ConstantOp) or not is_splat(zeros.value):
        return ()
    in_order = list(batch) == sorted(batch) and list(numbers.dims("scatter_indices_batching_dims")) == sorted(numbers.dims("scatter_indices_batching_dims"))
    return chosen if in_order and not _is_not_zero(splat_value(zeros.value)) else ()


def _is_not_zero(number: Any) -> bool:
    return bool(number != 0)


def _as_comparison(b: OpBuilder, op: core.ScatterOp, chosen: tuple[int, ...]) -> Value:
    """The scatter as a choice by position."""
    extents, (d,) = shape(op.operand), chosen
    rows = [k for k in range(len(extents)) if k != d]
    count = [extents[k] for k in rows]
    position = b.broadcast_in_dim(b.reshape(op.scatter_indices, count), rows, extents)
    update = b.broadcast_in_dim(b.reshape(op.updates, count), rows, extents)
    added = b.add(update, op.operand) if op.kind.data is Kind.add else update
    return b.select(b.compare("EQ", b.iota(d, tensor(extents, element(op.scatter_indices))), position), added, op.operand)
