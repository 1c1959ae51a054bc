"""The structural pattern of a Jacobian: which elements of results can depend on which elements of arguments, whatever the numbers are.

Every active value gets a table of bits, its elements by those of the arguments. Ops that move elements move rows of the table, elementwise ops unite those of
their operands, sums those that they add up; of any other op each element may depend on all that an operand does. So an element outside of the pattern is zero,
and one inside may be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from wengert.dialects import core
from wengert.dialects import stablehlo as hlo
from wengert.dialects.facts import facts_of
from wengert.ir.attributes import ints
from wengert.ir.tensor_types import shape, size
from wengert.transforms.ad.direct.activity import inputs_of
from wengert.transforms.ad.direct.adjoint import is_inactive
from wengert.transforms.ad.forward.tangents import has_tangent
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.optimize.folding import MOVEMENT

Bits = np.ndarray[Any, np.dtype[np.bool_]]
"""``[*shape, n]``: for each element of a value, on which elements of the arguments it may depend."""

MOST_BITS = 1 << 25
"""A value with a larger table has one row for all of its elements."""


def jacobian_pattern(request: Request) -> Bits:
    """Which elements of the results in ``of`` (rows, one result after the other) may depend on which of the arguments in ``wrt`` (columns)."""
    walk = _Walk(request)
    return np.concatenate([walk.table(request.results[j]).reshape(size(request.results[j]), walk.columns) for j in request.of])


class _Walk:
    def __init__(self, request: Request):
        arguments = [request.block.args[i] for i in request.wrt]
        self.columns = sum(size(x) for x in arguments)
        self.tables: dict[SSAValue, Bits] = {}
        start = 0
        for x in arguments:
            table = np.zeros((size(x), self.columns), np.bool_)
            table[:, start : start + size(x)] = np.eye(size(x), dtype=np.bool_)
            self.tables[x] = table.reshape(*shape(x), self.columns)
            start += size(x)
        for op in request.ops:
            if not is_inactive(op) and any(operand in self.tables for operand in inputs_of(op)):
                self._op(op)

    def table(self, value: SSAValue) -> Bits:
        """The table of a value; nothing for one that is not active."""
        known = self.tables.get(value)
        return known if known is not None else np.zeros((*shape(value), self.columns), np.bool_)

    def _op(self, op: Operation) -> None:
        rule = None if any(size(value) * self.columns > MOST_BITS for value in (*op.operands, *op.results) if has_tangent(value.type)) else _rule(op)
        made = rule(op, [self.table(operand) for operand in op.operands]) if rule is not None else None
        for result in op.results:
            if has_tangent(result.type):
                self.tables[result] = made if made is not None else self._all(op, result)

    def _all(self, op: Operation, result: SSAValue) -> Bits:
        """Every element may depend on all that an operand depends on."""
        tables = [self.tables[operand] for operand in inputs_of(op) if operand in self.tables]
        whole = np.logical_or.reduce([table.reshape(-1, self.columns).any(axis=0) for table in tables])
        return np.broadcast_to(whole, (*shape(result), self.columns))


Rule = Callable[[Any, list[Bits]], Bits | None]
"""The table of an op's result, from those of its operands; None where the op does not move as the rule says."""


def _rule(op: Operation) -> Rule | None:
    cls = type(op)
    if cls in MOVEMENT:
        return _moved
    if len(op.results) == 1 and cls in _RULES:
        return _RULES[cls]
    known = facts_of(cls)
    return _united if known.elementwise and len(op.results) == 1 else None


def _moved(op: Any, tables: list[Bits]) -> Bits | None:
    """Moves numbers of rows instead of elements. Row 0 depends on nothing."""
    columns = tables[0].shape[-1]
    rows = [np.zeros((1, columns), np.bool_)]
    numbers: list[Any] = []
    first = 1
    for table in tables:
        count = prod(table.shape[:-1])
        numbers.append(np.arange(first, first + count).reshape(table.shape[:-1]))
        rows.append(table.reshape(count, columns))
        first += count
    moved = _broadcast(op, numbers) if isinstance(op, hlo.BroadcastInDimOp) else MOVEMENT[type(op)](op, numbers)
    return None if moved is None else np.concatenate(rows)[moved]


def _broadcast(op: hlo.BroadcastInDimOp, numbers: Sequence[Any]) -> Any:
    dims, extents = ints(op.broadcast_dimensions), shape(op.result)
    order = sorted(range(len(dims)), key=lambda d: dims[d])
    aligned = [1] * len(extents)
    for d in dims:
        aligned[d] = numbers[0].shape[dims.index(d)]
    return np.broadcast_to(np.transpose(numbers[0], order).reshape(aligned), extents)


def _united(op: Operation, tables: list[Bits]) -> Bits:
    """Elementwise: scalars among the operands are those of every element."""
    extents = shape(op.results[0])
    united = np.zeros((*extents, tables[0].shape[-1]), np.bool_)
    for table in tables:
        united |= table
    return united


def _reduced(op: core.ReduceOp, tables: list[Bits]) -> Bits:
    return np.logical_or.reduce(tables[0], axis=tuple(ints(op.dimensions)))


def _contracted(op: hlo.DotGeneralOp, tables: list[Bits]) -> Bits:
    """Batch dimensions, free ones of the left operand, free ones of the right operand."""
    numbers, (left, right) = op.dot_dimension_numbers, tables
    sides = (("lhs", left), ("rhs", right))
    batch, contracted = ({side: numbers.dims(f"{side}_{kind}_dimensions") for side, _ in sides} for kind in ("batching", "contracting"))
    parts: list[Bits] = []
    for side, table in sides:
        free = [d for d in range(table.ndim - 1) if d not in (*batch[side], *contracted[side])]
        summed: Bits = np.logical_or.reduce(table, axis=tuple(contracted[side]), keepdims=True)
        ordered = np.transpose(summed, [*batch[side], *free, *contracted[side], table.ndim - 1])
        parts.append(ordered.reshape(*[table.shape[d] for d in (*batch[side], *free)], table.shape[-1]))
    batches, columns = len(batch["lhs"]), left.shape[-1]
    ours, theirs = parts
    ours = ours.reshape(*ours.shape[:-1], *[1] * (theirs.ndim - 1 - batches), columns)
    theirs = theirs.reshape(*theirs.shape[:batches], *[1] * (parts[0].ndim - 1 - batches), *theirs.shape[batches:])
    return ours | theirs


_RULES: dict[type[Operation], Rule] = {core.ReduceOp: _reduced, hlo.DotGeneralOp: _contracted}
