"""``core.pivots_to_permutation``, which StableHLO writes as a loop that exchanges the elements of an iota.

The body of such a loop knows few things: the iteration i, the row to exchange with (the pivot at i), the two elements there, and
the order before, between and after the two writes. So it is read op by op in terms of these; whatever does something else is
no term, and a loop that does not end with the last term stays a loop. Pivots come from ``core.lu``, so positions are in bounds
and not negative: how a program wraps, clamps or drops others does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum, auto
from math import prod
from typing import Any

from xdsl.ir import Block, Operation, Region, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.core import Kind
from wengert.dialects.stablehlo.attributes import GatherDimensionNumbersAttr, ScatterDimensionNumbersAttr, dimensions
from wengert.ir.attributes import bool_attr, int_attr, int_of, ints
from wengert.ir.tensor_types import element, i32, i64, is_integer, rank, shape, size, tensor
from wengert.transforms.core.counting import constant_integer
from wengert.transforms.core.kinds import constant_scalar, region_of
from wengert.transforms.core.recognisers.numbering import numbers_along


class _Term(Enum):
    """The role of a value of the loop's body; of a batch, one for each batch element."""

    ITERATION = auto()
    PIVOTS = auto()
    TARGET = auto()
    """pivots[i]"""
    ORDER = auto()
    HERE = auto()
    """order[i]"""
    THERE = auto()
    """order[target]"""
    FIRST = auto()
    """The order with ``THERE`` written at i."""
    SECOND = auto()
    """The order with ``HERE`` written at target."""
    EXCHANGED = auto()


Term = _Term | int | None
"""A term, an integer or truth value that is known, or None for anything else."""

_POSITIONS = (_Term.ITERATION, _Term.TARGET)
_PER_INSTANCE = (_Term.TARGET, _Term.HERE, _Term.THERE)
_READS: dict[tuple[Term, Term], _Term] = {
    (_Term.PIVOTS, _Term.ITERATION): _Term.TARGET,
    (_Term.ORDER, _Term.ITERATION): _Term.HERE,
    (_Term.ORDER, _Term.TARGET): _Term.THERE,
}
_WRITES: dict[tuple[Term, Term, Term], _Term] = {
    (_Term.ORDER, _Term.ITERATION, _Term.THERE): _Term.FIRST,
    (_Term.FIRST, _Term.TARGET, _Term.HERE): _Term.EXCHANGED,
    (_Term.ORDER, _Term.TARGET, _Term.HERE): _Term.SECOND,
    (_Term.SECOND, _Term.ITERATION, _Term.THERE): _Term.EXCHANGED,
}


def permutation_loops(pivots: SSAValue) -> list[core.ForOp]:
    """The loops that compute the permutation of pivots that count from 1."""
    loops: dict[core.ForOp, None] = {}
    for use in pivots.uses:
        op = use.operation
        if not isinstance(op, hlo.SubtractOp | hlo.AddOp) or use.index != 0:
            continue
        if constant_scalar(op.rhs) != (1 if isinstance(op, hlo.SubtractOp) else -1):
            continue
        for inner in op.results[0].uses:
            loop = inner.operation
            if isinstance(loop, core.ForOp) and 0 < inner.index <= int_of(loop.constants) and _exchanges(loop, inner.index):
                loops[loop] = None
    return list(loops)


def _exchanges(loop: core.ForOp, position: int) -> bool:
    """Whether a loop carries an iota alone, and its body exchanges the elements that the constant at this position says."""
    if len(loop.initial) != 1:
        return False
    order, pivots = loop.initial[0], loop.operands[position]
    if element(order) != i32 or not numbers_along(order, rank(order) - 1):
        return False
    if constant_integer(loop.trip_count) != shape(pivots)[-1] or shape(pivots)[:-1] != shape(order)[:-1] or shape(pivots)[-1] > shape(order)[-1]:
        return False
    arguments = loop.block.args
    terms: dict[SSAValue, Term] = {arguments[0]: _Term.ITERATION, arguments[position]: _Term.PIVOTS, arguments[-1]: _Term.ORDER}
    *ops, last = loop.block.ops
    for op in ops:
        if len(op.results) == 1 and (rule := _RULES.get(type(op))) is not None:
            terms[op.results[0]] = rule(op, [terms.get(operand) for operand in op.operands])
    return terms.get(last.operands[0]) is _Term.EXCHANGED


# -- the terms of ops


def _constant(op: Operation, x: Sequence[Term]) -> Term:
    element_type = element(op.results[0])
    number = constant_scalar(op.results[0]) if is_integer(element_type) else None
    return None if number is None else int(number)


def _convert(op: Operation, x: Sequence[Term]) -> Term:
    wide = element(op.results[0]) in (i32, i64)
    return x[0] if wide and (x[0] in _POSITIONS or isinstance(x[0], int)) else None


def _arranged(op: Operation, x: Sequence[Term]) -> Term:
    """A reshape, or a broadcast that puts in dimensions of extent 1; a number or the iteration may also be repeated."""
    if x[0] is _Term.ITERATION or isinstance(x[0], int):
        return x[0]
    if isinstance(op, hlo.BroadcastInDimOp):
        dims = ints(op.broadcast_dimensions)
        if size(op.operand) != size(op.result) or list(dims) != sorted(dims):
            return None
    return x[0] if x[0] in _PER_INSTANCE else None


def _compare(op: Operation, x: Sequence[Term]) -> Term:
    assert isinstance(op, hlo.CompareOp)
    direction = str(op.comparison_direction.data)
    return {"LT": 0, "GE": 1}.get(direction) if x[0] in _POSITIONS and x[1] == 0 and isinstance(x[1], int) else None


def _select(op: Operation, x: Sequence[Term]) -> Term:
    return None if not isinstance(x[0], int) else x[1] if x[0] else x[2]


def _dynamic_slice(op: Operation, x: Sequence[Term]) -> Term:
    assert isinstance(op, hlo.DynamicSliceOp)
    if list(ints(op.slice_sizes)) != [*shape(op.operand)[:-1], 1]:
        return None
    return _READS.get((x[0], x[-1]))


def _gather(op: Operation, x: Sequence[Term]) -> Term:
    assert isinstance(op, hlo.GatherOp)
    numbers, last = op.dimension_numbers, rank(op.operand) - 1
    sizes = list(ints(op.slice_sizes))
    if numbers.dims("start_index_map") != (last,) or size(op.result) != prod(shape(op.operand)[:-1]) or sizes[-1] != 1:
        return None
    batching = numbers.dims("operand_batching_dims"), numbers.dims("start_indices_batching_dims")
    if not _one_place(op.start_indices, int_of(numbers.index_vector_dim), batching, last, x[1]):
        return None
    return _READS.get((x[0], x[1]))


def _one_place(indices: SSAValue, vector: int, batching: tuple[Sequence[int], Sequence[int]], last: int, where: Term) -> bool:
    """Whether indices are one position in the last of ``last + 1`` dimensions: one for all batch elements, or one for each."""
    if not batching[0]:
        return size(indices) == 1 and (where is _Term.ITERATION or last == 0)
    every = tuple(range(last))
    return (tuple(batching[0]), tuple(batching[1])) == (every, every) and vector == last and rank(indices) == last + 1


def _scatter(op: Operation, x: Sequence[Term]) -> Term:
    assert isinstance(op, core.ScatterOp)
    numbers, last = op.scatter_dimension_numbers, rank(op.operand) - 1
    if op.kind.data is not Kind.set or numbers.dims("scatter_dims_to_operand_dims") != (last,):
        return None
    if numbers.dims("inserted_window_dims") != (last,) or size(op.updates) != prod(shape(op.operand)[:-1]):
        return None
    batching = numbers.dims("input_batching_dims"), numbers.dims("scatter_indices_batching_dims")
    if not _one_place(op.scatter_indices, int_of(numbers.index_vector_dim), batching, last, x[1]):
        return None
    return _WRITES.get((x[0], x[1], x[2]))


def _dynamic_update_slice(op: Operation, x: Sequence[Term]) -> Term:
    assert isinstance(op, hlo.DynamicUpdateSliceOp)
    if shape(op.update) != (*shape(op.operand)[:-1], 1):
        return None
    return _WRITES.get((x[0], x[-1], x[1]))


_RULES: dict[type[Operation], Callable[[Any, Sequence[Term]], Term]] = {
    hlo.BroadcastInDimOp: _arranged,
    hlo.CompareOp: _compare,
    hlo.ConstantOp: _constant,
    hlo.ConvertOp: _convert,
    hlo.DynamicSliceOp: _dynamic_slice,
    hlo.DynamicUpdateSliceOp: _dynamic_update_slice,
    hlo.GatherOp: _gather,
    hlo.ReshapeOp: _arranged,
    hlo.SelectOp: _select,
    core.ScatterOp: _scatter,
}


# -- back to StableHLO


def expand_pivots_to_permutation(b: OpBuilder, op: core.PivotsToPermutationOp) -> list[SSAValue]:
    """A loop over the pivots that exchanges two elements of an iota."""
    pivots, order_type = op.pivots, op.permutation.type
    batch, k, last = list(shape(pivots)[:-1]), shape(pivots)[-1], rank(pivots) - 1
    block = Block(arg_types=[tensor((), i64), pivots.type, order_type])
    i, targets, order = block.args
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    starts = [*[inner.scalar(0, i64)] * last, i]
    target = inner.dynamic_slice(targets, starts, [*batch, 1])
    lead, line = dimensions(range(last)), dimensions((last,))
    numbers = GatherDimensionNumbersAttr(line, dimensions(()), lead, lead, line, int_attr(last))
    here, there = inner.dynamic_slice(order, starts, [*batch, 1]), inner.gather(order, target, numbers, [1] * (last + 1), [*batch, 1])
    order = inner.dynamic_update_slice(order, there, starts)
    places = ScatterDimensionNumbersAttr(dimensions(()), line, lead, lead, line, int_attr(last))
    properties = {"scatter_dimension_numbers": places, "indices_are_sorted": bool_attr(True), "unique_indices": bool_attr(True)}
    update = inner.reshape(here, batch)
    (exchanged,) = inner.create(hlo.ScatterOp, (order, target, update), (order_type,), properties, (region_of(Kind.set, i32),))
    block.add_op(hlo.ReturnOp.create(operands=[exchanged]))
    from_zero = b.subtract(pivots, b.full_like(pivots, 1))
    inputs = [b.scalar(k, i64), from_zero, b.iota(last, tensor(shape(op.permutation), i32))]
    return list(b.create(core.ForOp, inputs, [order_type], {"constants": int_attr(1)}, [Region([block])]))
