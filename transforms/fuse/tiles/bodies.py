"""Writes one pass of a cluster as a loop over tiles.

The pass is a ``kernel.strip_mine`` over the elements of the batch (and over a few ranges of rows where there are few of these), whose iterations are
independent. Each goes over its rows, a block at a time, in a ``core.for``. What is read and written by it lies with the batch in front, then the rows:
operands that lie otherwise are transposed outside, where they are small. Row by row results are written where they belong, and sums across rows are added
up from block to block.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from msgspec import Struct
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Block, Operation, Region

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.dialects.facts import facts_of
from wengert.dialects.kernel import StripMineOp, YieldOp
from wengert.ir import elements
from wengert.ir.attributes import int_array, int_attr, int_of
from wengert.ir.location.locations import rewritten
from wengert.ir.tensor_types import dtype_of, element, i64, rank, shape, shape_of_type, size, tensor
from wengert.ir.traversal import operands_of, result_of
from wengert.transforms.fuse.tiles.clusters import Cluster
from wengert.transforms.fuse.tiles.relations import ROW, WHOLE, Labels, labels_of, labels_of_axes, relate

TILE_BYTES = 1 << 20
"""A tile of a wide value, of which a few are in use at once, is at most about so large: a part of the second cache."""
MOST_ROWS = 128
LEAST_ROWS = 16
FEWEST_STRIPS = 8
"""Where the batch has fewer elements, each of them is cut into ranges of rows for threads."""
GENERATED_DEPTH = 12
"""A mask that is computed from positions by so many ops is computed in the tile."""


class Shape(Struct, frozen=True):
    """The cut of a cluster: ``splits`` ranges of ``rows`` rows for each element of the batch, in blocks of ``block`` rows."""

    splits: int
    rows: int
    block: int

    @classmethod
    def of(cls, cluster: Cluster, block: int = 0) -> Shape:
        """The shape for a cluster; ``block``: the rows of a tile, if they are asked for."""
        columns = size(cluster.root.result) // (cluster.groups * cluster.rows)
        most = max(min(TILE_BYTES // (columns * dtype_of(element(cluster.root.result)).itemsize), MOST_ROWS), LEAST_ROWS)
        splits = 1
        while cluster.groups * splits < FEWEST_STRIPS and cluster.rows % (2 * splits) == 0 and cluster.rows // (2 * splits) >= LEAST_ROWS:
            splits *= 2
        rows = cluster.rows // splits
        return cls(splits, rows, min(block, rows) or _best_block(rows, min(most, rows)))


def _best_block(rows: int, most: int) -> int:
    """The largest divisor of the number of rows that is at least half of the most; else the most, and a smaller block is left at the end."""
    return next((n for n in range(most, most // 2, -1) if rows % n == 0), most)


class _Input(Struct):
    """A value that a pass reads: the operand outside, which may have been moved, and how each strip finds its part.

    Attributes:
        operand: the value, with dimensions of the batch in front, then the rows.
        step: the elements between the parts of strips; 0: all of it is the part.
        part: the extents of the part.
        order: the labels of the part's dimensions in front, which are cut out of it.
        dims: the dimensions of the original value in the order in which the operand has them.
    """

    operand: Value
    step: int
    part: tuple[int, ...]
    order: tuple[int, ...]
    dims: tuple[int, ...]


class Pass:
    """One pass over the tiles of a cluster."""

    def __init__(self, cluster: Cluster, number: int, shape: Shape, b: OpBuilder, outputs: Sequence[Value], known: dict[Value, Value]):
        self.cluster, self.number, self.shape, self.b = cluster, number, shape, b
        self.outputs = outputs
        self.known = known
        self.strips = cluster.groups * shape.splits
        self.inputs: dict[tuple[Value, Labels], _Input] = {}
        self.tables: dict[int, Value] = {}

    def run(self) -> list[Value]:
        """The values of the outputs, built outside."""
        self._collect()
        operands, steps, types = self._operands()
        block = Block(arg_types=types)
        inner = OpBuilder(block, location=self.b.location, pass_name=self.b.pass_name)
        parts = self._strip(inner, list(block.args))
        block.add_op(YieldOp.create(operands=parts, location=self.b.location))
        results = [tensor((self.strips, *shape(part)), element(part)) for part in parts]
        made = self.b.create(
            StripMineOp,
            operands,
            results,
            {"iterations": int_attr(self.strips), "input_steps": int_array(steps), "output_steps": int_array([size(part) for part in parts])},
            [Region([block])],
        )
        return [self._whole(value, result) for value, result in zip(self.outputs, made, strict=True)]

    # -- what is read

    def _collect(self) -> None:
        """Notes what the tiles of the outputs are computed from."""
        for value, labels, op in tiles_of(self.cluster, self.number, self.outputs):
            if op is None:
                self.inputs[value, labels] = self._input(value, labels)
            elif isinstance(op, stablehlo.IotaOp):
                label = labels[int_of(op.iota_dimension)]
                if label >= 0 or (label == ROW and self.shape.splits > 1):
                    self._table(label)

    def _input(self, value: Value, labels: Labels) -> _Input:
        """Moves a value so that each strip has its part in one piece, where it has every dimension of the batch; else strips cut theirs out of it."""
        extents, shape_ = shape(value), self.shape
        axes = [label for label in range(len(self.cluster.extents)) if label in labels]
        front = [labels.index(label) for label in axes]
        row = [labels.index(ROW)] if ROW in labels else []
        rest = [d for d, label in enumerate(labels) if label == WHOLE]
        dims = (*front, *row, *rest)
        kept = tuple(extents[d] for d in rest)
        source = self.known.get(value, value)
        moved = source if dims == tuple(range(len(dims))) else self.b.transpose(source, dims)
        rows = (shape_.rows,) if row else ()
        if len(axes) == len(self.cluster.extents) and (row or shape_.splits == 1):
            return _Input(moved, prod((*rows, *kept)) if self.strips > 1 else 0, (*rows, *kept), tuple([ROW][: len(row)]), dims)
        if axes and len(axes) == len(self.cluster.extents):
            repeated = self.b.broadcast_in_dim(moved, [*range(len(axes)), *range(len(axes) + 1, len(dims) + 1)], [*self.cluster.extents, shape_.splits, *kept])
            return _Input(repeated, prod(kept), kept, (), dims)
        for label in axes:
            self._table(label)
        if row and shape_.splits > 1:
            self._table(ROW)
        return _Input(moved, 0, tuple(extents[d] for d in dims), (*axes, *([ROW] if row else [])), dims)

    def _table(self, label: int) -> None:
        """A table of which element of a batch axis, or which first row, each strip has."""
        if label in self.tables:
            return
        strip = np.arange(self.strips)
        if label == ROW:
            index = strip % self.shape.splits * self.shape.rows
        else:
            index = strip // (prod(self.cluster.extents[label + 1 :]) * self.shape.splits) % self.cluster.extents[label]
        self.tables[label] = self.b.constant(index.astype(np.int64))

    def _operands(self) -> tuple[list[Value], list[int], Sequence[Attribute]]:
        inputs = list(self.inputs.values())
        operands = [*[given.operand for given in inputs], *self.tables.values()]
        steps = [*[given.step for given in inputs], *[1 if self.strips > 1 else 0 for _ in self.tables]]
        types = [*[tensor(given.part, element(given.operand)) for given in inputs], *[tensor((1,), i64) for _ in self.tables]]
        return operands, steps, types

    # -- one strip

    def _strip(self, b: OpBuilder, arguments: list[Value]) -> list[Value]:
        """What a strip yields: its rows of each output, or its sum over them."""
        blocks, rest = divmod(self.shape.rows, self.shape.block)
        if blocks == 1 and not rest:
            return _Tile(self, b, arguments, None, self.shape.block).results()
        carried = [b.zeros(tensor(self._part_shape(value), element(value))) for value in self.outputs]
        body = Block(arg_types=[tensor((), i64), *[v.type for v in arguments], *[v.type for v in carried]])
        inner = OpBuilder(body, location=b.location, pass_name=b.pass_name)
        iteration, *given = body.args
        start = inner.multiply(iteration, inner.scalar(self.shape.block, i64))
        tile = _Tile(self, inner, given[: len(arguments)], start, self.shape.block)
        body.add_op(stablehlo.ReturnOp.create(operands=tile.written(given[len(arguments) :]), location=b.location))
        operands = [b.scalar(blocks, i64), *arguments, *carried]
        done = list(b.create(core.ForOp, operands, [v.type for v in carried], {"constants": int_attr(len(arguments))}, [Region([body])]))
        return _Tile(self, b, arguments, b.scalar(blocks * self.shape.block, i64), rest).written(done) if rest else done

    def _part_shape(self, value: Value) -> tuple[int, ...]:
        labels, extents = self.cluster.labels[value], shape(value)
        kept = tuple(n for n, label in zip(extents, labels, strict=True) if label == WHOLE)
        return (self.shape.rows, *kept) if ROW in labels else kept

    def _whole(self, value: Value, result: Value) -> Value:
        """An output as the program has it, from what the strips yield."""
        labels, extents = self.cluster.labels[value], shape(value)
        rest = [d for d, label in enumerate(labels) if label == WHOLE]
        kept = [extents[d] for d in rest]
        front = [labels.index(label) for label in range(len(self.cluster.extents))]
        if ROW in labels:
            dims = [*front, labels.index(ROW), *rest]
            laid = self.b.reshape(result, [extents[d] for d in dims])
        else:
            dims = [*front, *rest]
            splits = [self.shape.splits] if self.shape.splits > 1 else []
            laid = self.b.reduce_sum(self.b.reshape(result, [*self.cluster.extents, *splits, *kept]), [len(front)][: len(splits)])
        back = [dims.index(d) for d in range(len(dims))]
        return laid if back == list(range(len(back))) else self.b.transpose(laid, back)


class _Tile:
    """The ops of a pass on one block of rows; ``start`` is its first row within the strip (None: the strip is one block)."""

    def __init__(self, owner: Pass, b: OpBuilder, arguments: Sequence[Value], start: Value | None, rows: int):
        self.owner, self.b, self.start, self.rows = owner, b, start, rows
        count = len(owner.inputs)
        self.parts = dict(zip(owner.inputs, arguments[:count], strict=True))
        self.tables = dict(zip(owner.tables, arguments[count:], strict=True))
        self.values: dict[tuple[Value, Labels], Value] = {}

    def results(self) -> list[Value]:
        """The outputs of this block of rows, without the dimensions of the batch, rows in front."""
        return [self._laid(value) for value in self.owner.outputs]

    def written(self, carried: Sequence[Value]) -> list[Value]:
        """What has been computed so far, with this block of rows."""
        assert self.start is not None
        zero = self.b.scalar(0, i64)
        made: list[Value] = []
        for value, so_far, part in zip(self.owner.outputs, carried, self.results(), strict=True):
            if ROW in self.owner.cluster.labels[value]:
                made.append(self.b.dynamic_update_slice(so_far, part, [self.start, *[zero] * (rank(part) - 1)]))
            else:
                made.append(self.b.add(so_far, part))
        return made

    def _laid(self, value: Value) -> Value:
        labels = self.owner.cluster.labels[value]
        tile = self.tile(value, labels)
        row = [labels.index(ROW)] if ROW in labels else []
        dims = [*row, *[d for d, label in enumerate(labels) if label == WHOLE]]
        batch = [d for d in range(len(labels)) if d not in dims]
        order = [*batch, *dims]
        moved = tile if order == list(range(len(order))) else self.b.transpose(tile, order)
        return self.b.reshape(moved, [shape(tile)[d] for d in dims])

    def tile(self, value: Value, labels: Labels) -> Value:
        """The part of a value that belongs to this block of rows, with extents of 1 in the batch."""
        key = (value, labels)
        if key not in self.values:
            op = None if key in self.owner.inputs else computing(self.owner.cluster, self.owner.number, value, labels)
            self.values[key] = self._read(key) if op is None else self._compute(op, labels)
        return self.values[key]

    def _compute(self, op: Operation, labels: Labels) -> Value:
        operands = [self.tile(*given) for given in operand_labels(self.owner.cluster, op, labels)]
        result_type = self._type(result_of(op), labels)
        with self.b.at(rewritten(op.location, op.name, self.owner.b.pass_name)):
            if isinstance(op, stablehlo.ConstantOp):
                return self.b.full(elements.splat_value(op.value), result_type)
            if isinstance(op, stablehlo.IotaOp):
                return self._positions(op, labels, result_type)
            return self.b.one(type(op), operands, result_type, **op.properties)

    def _type(self, value: Value, labels: Labels) -> TensorType[Any]:
        return tensor([n if label == WHOLE else self.rows if label == ROW else 1 for n, label in zip(shape(value), labels, strict=True)], element(value))

    def _positions(self, op: stablehlo.IotaOp, labels: Labels, type: TensorType[Any]) -> Value:
        """An iota whose dimension may be cut: it begins at the tile's first position."""
        label = labels[int_of(op.iota_dimension)]
        own = self.b.iota(int_of(op.iota_dimension), type)
        first = None if label == WHOLE else self._first(label)
        if first is None:
            return own
        return self.b.add(own, self.b.broadcast_in_dim(self.b.convert(first, element(result_of(op))), [], shape(own)))

    def _first(self, label: int) -> Value | None:
        """The position in the whole at which the tile begins along an axis; None: 0."""
        table = self.b.reshape(self.tables[label], []) if label in self.tables else None
        if label != ROW or self.start is None:
            return table
        return self.start if table is None else self.b.add(table, self.start)

    def _read(self, key: tuple[Value, Labels]) -> Value:
        """The tile of an input: cut out of the part that the strip has of it, with its dimensions in their old order."""
        (value, labels), given, part = key, self.owner.inputs[key], self.parts[key]
        if given.order:
            zero = self.b.scalar(0, i64)
            whole = given.step == 0 and len(given.order) > (ROW in given.order)
            starts = [self._start_in(label, given) or zero for label in given.order]
            sizes = [self.rows if label == ROW else 1 for label in given.order]
            extents = [*sizes, *given.part[len(sizes) :]]
            if whole or extents != list(given.part):
                part = self.b.dynamic_slice(part, [*starts, *[zero] * (len(extents) - len(starts))], extents)
        target = shape_of_type(self._type(value, labels))
        in_order = self.b.reshape(part, [target[d] for d in given.dims])
        back = [given.dims.index(d) for d in range(len(given.dims))]
        if back == list(range(len(back))):
            return in_order
        large = [d for d in given.dims if target[d] > 1]
        return self.b.reshape(in_order, target) if large == sorted(large) else self.b.transpose(in_order, back)

    def _start_in(self, label: int, given: _Input) -> Value | None:
        """Where the tile begins in the part that the strip has of an input."""
        return self.start if label == ROW and given.step else self._first(label)


def tiles_of(cluster: Cluster, number: int, outputs: Sequence[Value]) -> list[tuple[Value, Labels, Operation | None]]:
    """The tiles that a pass with these outputs is made of: values, their labels, and the ops that compute them within the pass (None: they are read)."""
    seen: dict[tuple[Value, Labels], Operation | None] = {}
    pending = [(value, cluster.labels[value]) for value in reversed(outputs)]
    while pending:
        key = pending.pop()
        if key not in seen:
            op = seen[key] = computing(cluster, number, *key)
            if op is not None:
                pending += operand_labels(cluster, op, key[1])
    return [(*key, op) for key, op in seen.items()]


def computing(cluster: Cluster, number: int, value: Value, labels: Labels) -> Operation | None:
    """The op that computes the tile of a value within a pass; None if it is read."""
    op = value.owner
    if not isinstance(op, Operation):
        return None
    if cluster.runs_in_tiles(value, number) and labels == cluster.labels[value]:
        return op
    return op if _is_generated(value, labels, GENERATED_DEPTH) else None


def operand_labels(cluster: Cluster, op: Operation, labels: Labels) -> list[tuple[Value, Labels]]:
    """The operands of an op that computes a tile, and their labels."""
    relation = relate(op)
    assert relation is not None
    known = [(relation.result, labels)]
    if op in cluster.members:
        known += [(axes, cluster.labels[v]) for v, axes in zip(operands_of(op), relation.operands, strict=False) if v in cluster.labels]
    given = labels_of_axes(relation, known)
    assert given is not None
    return [(operand, labels_of(axes, given)) for operand, axes in zip(operands_of(op), relation.operands, strict=False)]


def _is_generated(value: Value, labels: Labels, depth: int) -> bool:
    """Whether a value with rows is computed from positions and smaller values alone, as masks are."""
    op = value.owner
    if not isinstance(op, Operation) or depth == 0:
        return False
    relation = relate(op)
    if relation is None or isinstance(op, stablehlo.DotGeneralOp | core.ReduceOp):
        return False
    if isinstance(op, stablehlo.IotaOp | stablehlo.ConstantOp):
        return True
    if ROW not in labels or labels_of_axes(relation, [(relation.result, labels)]) is None or not facts_of(type(op)):
        return False
    given = labels_of_axes(relation, [(relation.result, labels)]) or {}
    return all(
        8 * size(operand) <= size(value) or _is_generated(operand, labels_of(axes, given), depth - 1)
        for operand, axes in zip(operands_of(op), relation.operands, strict=False)
    )
