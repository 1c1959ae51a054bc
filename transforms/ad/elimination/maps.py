"""Linear maps that are applied, not written down: ops, groups of ops, and places in a vector.

A map is applied to many directions at once, by the rules of batching, and in transposed form by the rules of transposition. Ops with several operands
or results that are moved (loops, branches, custom functions), and ops in complex numbers between real values, are one map from a vector that their
operands are packed into to one that their results are unpacked from: a loop is a block of its own, entered from either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import append, copy_op
from wengert.ir.tensor_types import dtype_of, element, f32, shape, type_of
from wengert.ir.traversal import ops_in
from wengert.transforms.ad.batching.rule import Batching, Functions, Mapped
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import discard
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.linear.transpose_ops import transpose_ops
from wengert.transforms.core.closing import free_values
from wengert.transforms.optimize.folding import MOVEMENT

Numbers = NDArray[np.int64]


class LinearMap(Protocol):
    """A linear map; ``x`` and ``y`` have a dimension in front for the directions, or none if there is one direction."""

    into_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    into_element: Attribute
    out_element: Attribute

    def forward(self, b: OpBuilder, x: Value, count: int | None) -> Value:
        """The map applied."""
        ...

    def backward(self, b: OpBuilder, y: Value, count: int | None) -> Value:
        """Its transpose applied."""
        ...

    def positions(self) -> Numbers | None:
        """Of a map that only moves elements: for each element that it gives the number of the one that it takes, from 1, or 0 for zero."""
        ...

    def close(self) -> None:
        """Drops what the map was made of."""
        ...


class OpsMap:
    """Linear ops, from one value to another, or from and to several of each in a vector."""

    def __init__(self, module: ModuleOp, block: Block, results: Sequence[SSAValue]):
        """``block`` holds the ops, without a terminator; its arguments are what the map takes, ``results`` what it gives."""
        inputs, outputs = list(block.args), list(results)
        self._module, self._block, self._results = module, block, outputs
        self._packed_in, self._packed_out = len(inputs) > 1, len(outputs) > 1
        self._inputs, self._outputs = inputs, outputs
        self.into_element = widest([element(x) for x in inputs])
        self.out_element = widest([element(y) for y in outputs])
        self.into_shape = (sum(prod(shape(x)) for x in inputs),) if self._packed_in else shape(inputs[0])
        self.out_shape = (sum(prod(shape(y)) for y in outputs),) if self._packed_out else shape(outputs[0])
        self._transposed: tuple[Block, list[SSAValue], list[SSAValue]] | None = None

    def forward(self, b: OpBuilder, x: Value, count: int | None) -> Value:
        made = self._run(b, self._block, self._inputs, self._results, self._unpacked(b, x, self._inputs, count, self._packed_in), count)
        return self._pack(b, made, count, self._packed_out, self.out_element)

    def backward(self, b: OpBuilder, y: Value, count: int | None) -> Value:
        if self._transposed is None:
            self._transposed = self._transpose()
        block, given, results = self._transposed
        made = self._run(b, block, given, results, self._unpacked(b, y, self._outputs, count, self._packed_out), count)
        return self._pack(b, made, count, self._packed_in, self.into_element)

    def _transpose(self) -> tuple[Block, list[SSAValue], list[SSAValue]]:
        block = Block(arg_types=[y.type for y in self._outputs])
        b = OpBuilder(block)
        cotangents = Cotangents(b)
        for y, y_bar in zip(self._outputs, block.args, strict=True):
            cotangents.add(y, y_bar)
        linear: set[SSAValue] = set(self._inputs)
        ops = ops_in(self._block)
        for op in ops:
            if not linear.isdisjoint(op.operands):
                linear.update(op.results)
        transpose_ops(b, [op for op in reversed(ops) if not linear.isdisjoint(op.operands)], linear, cotangents)
        results = [materialized(b, cotangents.take(x), x.type) for x in self._inputs]
        return block, list(block.args), results

    def _run(
        self, b: OpBuilder, block: Block, given: Sequence[SSAValue], results: Sequence[SSAValue], values: Sequence[Value], count: int | None
    ) -> list[Value]:
        """Emits the ops of a block for values of its arguments, in a batch."""
        walk = Batching(b, count or 1, Functions(self._module, count or 1))
        own = {value for op in block.ops for value in op.results} | set(given)
        free = [x for op in block.ops for x in (*op.operands, *(free_values(op.regions) if op.regions else ()))]
        walk.values.update({x: Mapped(x, False) for x in (*free, *results) if x not in own})
        append(block, ReturnOp.create(operands=results))
        made = walk.run(block, [Mapped(x, count is not None) for x in values])
        last = block.last_op
        assert last is not None
        last.detach()
        last.drop_all_references()
        return [x.value if count is None else walk.broadcast(x) for x in made]

    def _unpacked(self, b: OpBuilder, x: Value, wanted: Sequence[SSAValue], count: int | None, packed: bool) -> list[Value]:
        if not packed:
            return [b.convert(x, element(wanted[0]))]
        front = () if count is None else (count,)
        parts: list[Value] = []
        start = 0
        for value in wanted:
            stop = start + prod(shape(value))
            part = b.slice(x, [*(0 for _ in front), start], [*front, stop])
            parts.append(b.convert(b.reshape(part, [*front, *shape(value)]), element(value)))
            start = stop
        return parts

    def _pack(self, b: OpBuilder, values: Sequence[Value], count: int | None, packed: bool, wanted: Attribute) -> Value:
        if not packed:
            return b.convert(values[0], wanted)
        front = () if count is None else (count,)
        flat = [b.convert(b.reshape(x, [*front, prod(shape(x)[len(front) :])]), wanted) for x in values]
        return b.concatenate(flat, len(front))

    def positions(self) -> Numbers | None:
        ops = ops_in(self._block)
        if self._packed_in or self._packed_out or not all(type(op) in MOVEMENT or op.name == "stablehlo.constant" for op in ops):
            return None
        known: dict[SSAValue, Numbers] = {self._inputs[0]: np.arange(1, prod(self.into_shape) + 1).reshape(self.into_shape)}
        for op in ops:
            arrays = [known.get(x, np.zeros(shape(x), np.int64)) for x in op.operands]
            moved = np.zeros(shape(op.results[0]), np.int64) if not arrays else MOVEMENT[type(op)](op, arrays)
            if moved is None:
                return None
            known[op.results[0]] = moved
        return known[self._results[0]]

    def close(self) -> None:
        discard(self._block)
        if self._transposed is not None:
            discard(self._transposed[0])


def map_of_operand(module: ModuleOp, op: Operation, position: int, linear: AbstractSet[SSAValue]) -> OpsMap:
    """An op with one result, as a map of one operand; all others that are ``linear`` are zero."""
    block = Block(arg_types=[op.operands[position].type])
    b = OpBuilder(block)
    values = [block.args[0] if n == position else b.zeros(type_of(x)) if x in linear else x for n, x in enumerate(op.operands)]
    copy = op.clone()
    copy.operands = values
    append(block, copy)
    return OpsMap(module, block, copy.results)


def map_of_ops(module: ModuleOp, ops: Sequence[Operation], inputs: Sequence[SSAValue], outputs: Sequence[SSAValue]) -> OpsMap:
    """A group of ops, as a map from some values to others."""
    block = Block(arg_types=[x.type for x in inputs])
    env: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for op in ops:
        append(block, copy_op(op, env))
    return OpsMap(module, block, [env[y] for y in outputs])


class PlaceMap:
    """A value as a part of a vector; ``take`` is the part of a vector as a value."""

    def __init__(self, own: tuple[int, ...], own_element: Attribute, start: int, total: int, total_element: Attribute, *, take: bool = False):
        self._shape, self._element, self._start, self._total, self._total_element, self._take = own, own_element, start, total, total_element, take
        whole, part = ((total,), total_element), (own, own_element)
        (self.into_shape, self.into_element), (self.out_shape, self.out_element) = (whole, part) if take else (part, whole)

    def forward(self, b: OpBuilder, x: Value, count: int | None) -> Value:
        return self._taken(b, x, count) if self._take else self._placed(b, x, count)

    def backward(self, b: OpBuilder, y: Value, count: int | None) -> Value:
        return self._placed(b, y, count) if self._take else self._taken(b, y, count)

    def positions(self) -> Numbers | None:
        size = prod(self._shape)
        if self._take:
            return np.arange(self._start + 1, self._start + size + 1).reshape(self._shape)
        numbers = np.zeros(self._total, np.int64)
        numbers[self._start : self._start + size] = np.arange(1, size + 1)
        return numbers

    def close(self) -> None:
        """Nothing is left to drop."""

    def _placed(self, b: OpBuilder, x: Value, count: int | None) -> Value:
        front = () if count is None else (count,)
        size, zeros = prod(self._shape), [0 for _ in front]
        flat = b.convert(b.reshape(x, [*front, size]), self._total_element)
        return b.pad(flat, b.scalar(0, self._total_element), [*zeros, self._start], [*zeros, self._total - self._start - size])

    def _taken(self, b: OpBuilder, y: Value, count: int | None) -> Value:
        front = () if count is None else (count,)
        size, zeros = prod(self._shape), [0 for _ in front]
        part = b.slice(y, [*zeros, self._start], [*front, self._start + size])
        return b.convert(b.reshape(part, [*front, *self._shape]), self._element)


def widest(elements: Sequence[Attribute]) -> Attribute:
    """The element type that holds the numbers of all of these: the one with most bits, f32 for two that are as wide."""
    most = max(dtype_of(e).itemsize for e in elements)
    widest = list(dict.fromkeys(e for e in elements if dtype_of(e).itemsize == most))
    return widest[0] if len(widest) == 1 else f32
