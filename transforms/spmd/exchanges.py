"""Messages between devices in place of gathers of which each device needs a few rows: shifts, halos and padding along a dimension that is split.

A partitioner that keeps a dimension whole for the ops that go across it gathers blocks, moves rows about, and takes each device's block of the result. Which
rows these are is known for every device. Where they are at the same place of the block of another device, a different one for each, a ``collective_permute``
sends them; rows that a device has itself stay, and zeros that some devices pad with are what a device gets to which nobody sends.

Before and after, on 4 devices with 2 rows each::

    %g = all_gather %x, dim = 0                             %l = slice %x [1:2]
    %r = concatenate (slice %g [7:8]), (slice %g [0:7])     %m = collective_permute %l, pairs = [[3, 0], [0, 1], [1, 2], [2, 3]]
    %y = dynamic_slice %r, 2 * partition_id, sizes = [2]    %y = concatenate %m, (slice %x [0:1])

Nothing changes where that takes more messages than a gather by a ring has rounds, or where it would put a message under a condition that the gather is not
under.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from msgspec import Struct
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.dialects.stablehlo.process_groups import declared_grid, group_of, groups_of
from wengert.ir.attributes import int_of, ints
from wengert.ir.elements import from_numpy, to_numpy
from wengert.ir.tensor_types import element, shape, tensor
from wengert.ir.traversal import all_ops
from wengert.transforms.core.recognisers.communication import CHANNEL
from wengert.transforms.optimize.dce import dce
from wengert.transforms.rewriter import Rewriter
from wengert.transforms.spmd.uniformity import Uniformity


@dataclass(frozen=True)
class ExchangesPass(ModulePass):
    """Sends the rows that devices need of each other, instead of gathering all. A module that does not say how many devices it is for stays as it is."""

    name = "exchanges"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        exchange_rows(op)


def exchange_rows(module: ModuleOp) -> int:
    """Replaces gathers of which each device needs a few rows by messages, in place; returns how many blocks are made so."""
    grid = declared_grid(module)
    if grid is None or grid.replicas != 1 or not any(isinstance(op, hlo.AllGatherOp) for op in all_ops(module)):
        return 0
    uniformity, rewriter, made = Uniformity(grid), Rewriter("exchanges"), 0
    for function in module.ops:
        for op in [op for op in all_ops(function) if isinstance(op, hlo.DynamicSliceOp)] if isinstance(function, FuncOp) else ():
            block = _Rows(uniformity, op).block()
            if block is not None:
                rewriter.move_to(op)
                rewriter.replace(op, [block.built(rewriter)])
                made += 1
    if made:
        dce(module)
    return made


class _Piece(Struct, frozen=True):
    """Consecutive rows of a value on one device: of zeros where there is no value."""

    length: int
    value: SSAValue | None = None
    device: int = -1
    start: int = 0


class _Part(Struct, frozen=True):
    """Rows that each device gets from the same place of a value: from which device, for each; None where it gets zeros."""

    length: int
    value: SSAValue | None
    sources: tuple[int | None, ...]
    start: int

    @property
    def stays(self) -> bool:
        """Whether every device has these rows, or zeros, itself."""
        return self.value is None or all(source == device for device, source in enumerate(self.sources))


class _Shared(Struct, frozen=True):
    """A block whose parts are at the same rows on all devices."""

    parts: tuple[_Part, ...]
    dim: int
    result: SSAValue

    def built(self, b: OpBuilder) -> SSAValue:
        """The block, made of what the device has and of what others send to it."""
        return b.concatenate([self._part(b, part) for part in self.parts], self.dim)

    def _part(self, b: OpBuilder, part: _Part) -> SSAValue:
        extents = [part.length if d == self.dim else n for d, n in enumerate(shape(self.result))]
        if part.value is None:
            return b.zeros(tensor(extents, element(self.result)))
        first = [part.start if d == self.dim else 0 for d in range(len(extents))]
        rows = b.slice(part.value, first, [start + n for start, n in zip(first, extents, strict=True)])
        if part.stays:
            return rows
        pairs = [[source, device] for device, source in enumerate(part.sources) if source is not None]
        properties = {"source_target_pairs": from_numpy(np.array(pairs, np.int64)), "channel_handle": CHANNEL}
        return b.create(hlo.CollectivePermuteOp, (rows,), (rows.type,), properties)[0]


class _Rows:
    """The rows of which a ``dynamic_slice`` is made, on every device."""

    def __init__(self, uniformity: Uniformity, op: hlo.DynamicSliceOp):
        self.uniformity, self.op, self.grid = uniformity, op, uniformity.grid
        self.cut = [d for d, (m, n) in enumerate(zip(shape(op.operands[0]), shape(op.results[0]), strict=True)) if m != n]
        self.gathers: set[hlo.AllGatherOp] = set()

    def block(self) -> _Shared | None:
        """The same as rows of devices; None where these are not known, not at the same places, or too many."""
        starts = self._starts()
        if starts is None:
            return None
        length = shape(self.op.results[0])[self.dim]
        on_devices = [list(self._pieces(self.op.operands[0], start, length, device)) for device, start in enumerate(starts)]
        if not self.gathers or any(op.parent is not self.op.parent for op in self.gathers):
            return None
        parts = _shared(on_devices)
        if parts is None:
            return None
        rounds = min(len(group) for op in self.gathers for group in groups_of(op, self.grid)) - 1
        return _Shared(parts, self.dim, self.op.results[0]) if sum(not part.stays for part in parts) <= rounds else None

    def _starts(self) -> list[int] | None:
        """The first row on each device, if one dimension is cut and they are known."""
        if len(self.cut) != 1:
            return None
        (self.dim,) = self.cut
        values = self.uniformity.demanded(self.op.operands[1 + self.dim]).values
        if values is None:
            return None
        last = shape(self.op.operands[0])[self.dim] - shape(self.op.results[0])[self.dim]
        return [min(max(int(value), 0), last) for value in values]

    def _pieces(self, x: SSAValue, start: int, length: int, device: int) -> Iterator[_Piece]:
        """The rows ``start, ..., start + length - 1`` of x on a device."""
        op = x.owner
        if not length:
            return
        if isinstance(op, hlo.AllGatherOp) and len(op.operands) == 1 and int_of(op.all_gather_dim) == self.dim:
            yield from self._gathered(op, start, length, device)
        elif isinstance(op, hlo.SliceOp) and _cuts_only(op, self.dim):
            yield from self._pieces(op.operand, start + ints(op.start_indices)[self.dim], length, device)
        elif isinstance(op, hlo.ConcatenateOp) and int_of(op.dimension) == self.dim:
            yield from self._joined(op.operands, start, length, device)
        elif isinstance(op, hlo.PadOp) and _pads_only(op, self.dim):
            low, n = ints(op.edge_padding_low)[self.dim], shape(op.operand)[self.dim]
            first, last = max(start, low), min(start + length, low + n)
            if first >= last:
                yield _Piece(length)
                return
            yield _Piece(first - start)
            yield from self._pieces(op.operand, first - low, last - first, device)
            yield _Piece(start + length - last)
        else:
            yield _Piece(length, x, device, start)

    def _gathered(self, op: hlo.AllGatherOp, start: int, length: int, device: int) -> Iterator[_Piece]:
        self.gathers.add(op)
        (x,), group = op.operands, group_of(groups_of(op, self.grid), device)
        if group is None:
            yield _Piece(length, op.results[0], device, start)
            return
        rows = shape(x)[self.dim]
        for place in range(start // rows, (start + length - 1) // rows + 1):
            first, last = max(start, place * rows), min(start + length, (place + 1) * rows)
            yield _Piece(last - first, x, group[place], first - place * rows)

    def _joined(self, values: Sequence[SSAValue], start: int, length: int, device: int) -> Iterator[_Piece]:
        at = 0
        for x in values:
            n = shape(x)[self.dim]
            first, last = max(start, at), min(start + length, at + n)
            if first < last:
                yield from self._pieces(x, first - at, last - first, device)
            at += n


def _shared(on_devices: Sequence[Sequence[_Piece]]) -> tuple[_Part, ...] | None:
    """Pieces of all devices as parts; None where devices need other rows than each other, or one device's rows more than once."""
    bounds = sorted({0}.union(*(np.cumsum([piece.length for piece in pieces]).tolist() for pieces in on_devices)))
    parts: list[_Part] = []
    for first, last in pairwise(bounds):
        pieces = [_at(pieces, first) for pieces in on_devices]
        given = [piece for piece in pieces if piece.value is not None]
        sources = tuple(piece.device if piece.value is not None else None for piece in pieces)
        if len({(piece.value, piece.start) for piece in given}) > 1 or len({piece.device for piece in given}) < len(given):
            return None
        part = _Part(last - first, given[0].value if given else None, sources, given[0].start if given else 0)
        before = parts[-1] if parts else None
        if before is not None and (before.value, before.sources) == (part.value, part.sources) and (not given or before.start + before.length == part.start):
            parts[-1] = _Part(before.length + part.length, part.value, part.sources, before.start)
        else:
            parts.append(part)
    return tuple(parts)


def _at(pieces: Sequence[_Piece], row: int) -> _Piece:
    """The piece from a row on."""
    for piece in pieces:
        if row < piece.length:
            return _Piece(piece.length - row, piece.value, piece.device, piece.start + row)
        row -= piece.length
    raise AssertionError("a block has as many rows as its pieces")


def _cuts_only(op: hlo.SliceOp, dim: int) -> bool:
    bounds = zip(ints(op.start_indices), ints(op.limit_indices), ints(op.strides), shape(op.operand), strict=True)
    return all(stride == 1 and (d == dim or (start, limit) == (0, n)) for d, (start, limit, stride, n) in enumerate(bounds))


def _pads_only(op: hlo.PadOp, dim: int) -> bool:
    """Whether an op adds zeros before and behind along this dimension."""
    value = op.padding_value.owner
    if not isinstance(value, hlo.ConstantOp) or any(to_numpy(value.value).tobytes()):
        return False
    edges = zip(ints(op.edge_padding_low), ints(op.edge_padding_high), ints(op.interior_padding), strict=True)
    return all(inner == 0 and min(low, high) >= 0 and (d == dim or low == high == 0) for d, (low, high, inner) in enumerate(edges))
