"""The kernel of a sum of products that warps multiply as matrices, by NVIDIA's tensor cores: of factors of 16 bits, or of tf32.

A group has a tile of results, of which each warp has a rectangle, in fragments of 16 by 8 (:mod:`wengert.dialects.gpu.matrices`). Parts of both factors lie in
workgroup memory in ``stages`` places: while warps multiply what is in one, what comes next is copied to another, without passing through registers where the
factor is read 16 bytes at a time. Beyond the ends of the loops the factors are zeros, and nothing is stored.

A part of 16 bits lies as it does in global memory: its rows run along the summed loop, or along the factor's own, and ``ldmatrix`` turns the latter around.
It does not turn elements of 32 bits, so these are turned when they are copied, one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec import Struct
from xdsl.dialects import vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr, MemRefType
from xdsl.ir import BlockArgument, SSAValue

from wengert.dialects.gpu import BarrierOp
from wengert.dialects.gpu.matrices import (
    COPIED_BYTES,
    TOKEN,
    DeviceAsyncCopyOp,
    DeviceAsyncCreateGroupOp,
    DeviceAsyncWaitOp,
    LdMatrixOp,
    MmaSyncOp,
    depth_of,
    fragment,
)
from wengert.dialects.kernel import LoadOp
from wengert.dialects.kernel.gpu_schedule import WARP, GpuSchedule
from wengert.ir.construction import append
from wengert.ir.tensor_types import bytes_of_type, f32, i32, tensor
from wengert.ir.traversal import result_of as result
from wengert.transforms.codegen.gpu.body import Body
from wengert.transforms.codegen.gpu.code import Code, Index, Values
from wengert.transforms.codegen.gpu.functions import Functions
from wengert.transforms.codegen.gpu.kernel import Ids, Kernel, Memory
from wengert.transforms.codegen.gpu.product_tiles import ProductTiles
from wengert.transforms.codegen.gpu.totals import Combining
from wengert.transforms.schedule.gpu.products import matrix_factors, warp_pitch
from wengert.transforms.schedule.placement import Placement

_ROWS, _COLUMNS = 16, 8
"""The extents of the result of one instruction."""
_SUM = fragment(f32, 2, 2)


class _Part(Struct, frozen=True):
    """The part of a factor that a group has in workgroup memory.

    Attributes:
        value: the factor's value in the nest, of 16 bits.
        loop: the loop, of the order, that it has besides the summed one.
        extent: how many iterations of that loop it has.
        buffer, start: the workgroup memory, and where the tile begins along the loop.
        along_depth: whether its rows run along the summed loop.
        read_along_depth: whether they do in global memory.
        chunk: how many elements are copied at once; 0 if they pass through registers.
    """

    value: SSAValue
    loop: int
    extent: int
    buffer: SSAValue
    start: Index
    along_depth: bool
    read_along_depth: bool
    chunk: int


class WarpProduct(ProductTiles):
    """Writes the kernel of a product.

    Args:
        placed: the nest with its loops in the order of its schedule: those around, rows, columns, and the summed one.
        schedule: its schedule.
        memory: its buffers.
    """

    def __init__(self, placed: Placement, schedule: GpuSchedule, memory: Memory):
        super().__init__(placed, schedule)
        self.memory = memory
        factors = matrix_factors(placed.op, tf32=self.tile.tf32)
        assert factors is not None, "the schedule asks for what can be"
        self.element, self.factors = factors.element, (factors.left, factors.right)
        self.width = bytes_of_type(tensor((), self.element))
        self.step = depth_of(self.element)
        self.read_along_depth = [self._runs_along_depth(loop) for loop in (self.row, self.column)]
        self.along_depth = [along or self.tile.tf32 for along in self.read_along_depth]

    def kernel(self) -> Kernel:
        """The launch."""
        tile = self.tile
        memory = [(tile.stages * self._part_size(side, along), self.element) for side, along in zip(tile.size, self.along_depth, strict=False)]
        return Kernel(self.groups, tile.group, self._write, memory)

    def _part_size(self, side: int, along_depth: bool) -> int:
        """The elements of a part of a factor."""
        depth = self.tile.size[2]
        return side * warp_pitch(depth, self.width) if along_depth else depth * warp_pitch(side, self.width)

    def _runs_along_depth(self, loop: int) -> bool:
        """Whether neighbours along the summed loop are neighbours in memory, rather than those along the factor's own loop."""
        steps = [(abs(at.coefficient(self.depth)), abs(at.coefficient(loop))) for at in self.placed.loops.positions]
        return all(along < across for along, across in steps if along and across)

    def _write(self, functions: Functions, ids: Ids) -> None:
        code, tile, extents = functions.code, self.tile, self.placed.extents
        around, row, column = self.begin(code, ids.group)
        parts = [
            _Part(value, loop, side, buffer, start, along, read_along, self._chunk(value, loop, along, read_along))
            for value, loop, side, buffer, start, along, read_along in zip(
                self.factors, (self.row, self.column), tile.size[:2], ids.workgroup, (row, column), self.along_depth, self.read_along_depth, strict=True
            )
        ]
        zero = code.literal(DenseIntOrFPElementsAttr.from_list(_SUM, [0.0]), _SUM)  # pyright: ignore[reportArgumentType]
        count, step = extents[self.depth], tile.size[2]
        for stage in range(tile.stages - 1):
            self._fetch(functions, parts, around, stage * step, stage, ids.thread)
        with code.loop(0, count, step, [zero] * (tile.warp[0] // _ROWS * (tile.warp[1] // _COLUMNS))) as loop:
            turn = code.quotient(loop.index, step)
            coming = code.plus(loop.index, (tile.stages - 1) * step)
            group = self._fetch(functions, parts, around, coming, code.remainder(code.plus(turn, tile.stages - 1), tile.stages), ids.thread)
            code.act(DeviceAsyncWaitOp, [group], {"numGroups": IntegerAttr(tile.stages - 1, i32)})
            code.act(BarrierOp)
            loop.next = self._multiply(code, parts, code.remainder(turn, tile.stages), ids.thread, list(loop.carried))
            code.act(BarrierOp)
        self._store(functions, around, (row, column), ids.thread, loop.results)

    # -- from global to workgroup memory

    def _chunk(self, value: SSAValue, loop: int, along_depth: bool, read_along_depth: bool) -> int:
        """How many elements of a factor can be copied at once, which are 4, 8 or 16 bytes: it is an operand as it is, and its rows begin at multiples of so
        many and are as long. 0 if none can."""
        op = value.owner
        if not isinstance(op, LoadOp) or op.base is not None or op.where is not None or not isinstance(op.source, BlockArgument):
            return 0
        at, along = self.placed.loops[op.at.data], self.depth if read_along_depth else loop
        stored = cast("MemRefType[Any]", self.memory.inputs[op.source].memref.type).element_type
        if not at.is_affine() or stored != self.element:
            return 0
        turned = along_depth != read_along_depth or at.coefficient(along) != 1
        steps = [self.placed.extents[along], at.offset, *[c for d, c in at.terms if d != along]]
        chunks = [size // self.width for size in sorted(COPIED_BYTES, reverse=True) if size >= self.width]
        return next((chunk for chunk in chunks if chunk == 1 or (not turned and all(step % chunk == 0 for step in steps))), 0)

    def _fetch(self, functions: Functions, parts: Sequence[_Part], around: dict[int, Index], start: Index, stage: Index, thread: SSAValue) -> SSAValue:
        """Begins to bring what is summed over from ``start`` on to a place in workgroup memory; what to wait for."""
        code = functions.code
        there = None if isinstance(start, int) and start < self.placed.extents[self.depth] else code.below(start, self.placed.extents[self.depth])
        with code.when(there):
            for part in parts:
                place = code.times(stage, self._part_size(part.extent, part.along_depth))
                self._bring(functions, part, around, start, place, thread)
        return code.op(DeviceAsyncCreateGroupOp, [], TOKEN)

    def _bring(self, functions: Functions, part: _Part, around: dict[int, Index], start: Index, stage: Index, thread: SSAValue) -> None:
        """Each thread brings chunks, or elements where chunks do not begin at multiples of 16 bytes."""
        code, depth, group = functions.code, self.tile.size[2], self.tile.group
        outer, inner = (part.extent, depth) if part.read_along_depth else (depth, part.extent)
        each = max(part.chunk, 1)
        count = outer * inner // each
        for first in range(0, count, group):
            number = code.plus(thread, first)
            with code.when(None if first + group <= count else code.below(number, count)):
                slow, fast = code.quotient(number, inner // each), code.times(code.remainder(number, inner // each), each)
                place, k = (slow, fast) if part.read_along_depth else (fast, slow)
                index = {**around, part.loop: code.plus(part.start, place), self.depth: code.plus(start, k)}
                inside, target = self._inside(code, part, index), self._at(code, part, place, k, stage)
                if part.chunk:
                    self._copy(functions, part, index, inside, target)
                else:
                    self._take(functions, part, index, inside, target)

    def _at(self, code: Code, part: _Part, place: Index, k: Index, stage: Index) -> Index:
        """Where an element of a part is in workgroup memory."""
        row, column, length = (place, k, self.tile.size[2]) if part.along_depth else (k, place, part.extent)
        return code.plus(stage, code.plus(code.times(row, warp_pitch(length, self.width)), column))

    def _inside(self, code: Code, part: _Part, index: dict[int, Index]) -> SSAValue | None:
        """Whether the loops have such an iteration; None: they do."""
        extents = self.placed.extents
        ragged = [d for d, size in ((part.loop, part.extent), (self.depth, self.tile.size[2])) if extents[d] % size]
        return code.both([code.below(index[d], extents[d]) for d in ragged]) if ragged else None

    def _copy(self, functions: Functions, part: _Part, index: dict[int, Index], inside: SSAValue | None, target: Index) -> None:
        code, op = functions.code, part.value.owner
        assert isinstance(op, LoadOp)
        assert isinstance(op.source, BlockArgument)
        body = Body(code, functions, self.placed, self.memory.inputs)
        body.index.update(index)
        source = code.value(body.position(self.placed.loops[op.at.data], 0))
        some = None
        if inside is not None:
            source = code.selected(inside, source, code.value(0))
            some = code.selected(inside, code.value(part.chunk), code.value(0))
        append(code.block, DeviceAsyncCopyOp.of(self.memory.inputs[op.source].memref, source, part.buffer, code.value(target), part.chunk, some))

    def _take(self, functions: Functions, part: _Part, index: dict[int, Index], inside: SSAValue | None, target: Index) -> None:
        code = functions.code

        def there() -> Values:
            body = Body(code, functions, self.placed, self.memory.inputs)
            body.index.update(index)
            return [body.evaluate(part.value)]

        (value,) = code.choose(inside, there, lambda: [functions.constant(0, self.element)])
        code.store(value, part.buffer, target)

    # -- products

    def _multiply(self, code: Code, parts: Sequence[_Part], stage: Index, thread: SSAValue, totals: Values) -> Values:
        """Adds the products of the parts in one place to the fragments of a warp."""
        left, right = parts
        places = [code.times(stage, self._part_size(part.extent, part.along_depth)) for part in parts]
        rows, columns = self._warp(code, thread)
        for k in range(0, self.tile.size[2], self.step):
            factors = [self._left(code, left, code.plus(rows, m), k, places[0], thread) for m in range(0, self.tile.warp[0], _ROWS)]
            others = [self._right(code, right, code.plus(columns, n), k, places[1], thread) for n in range(0, self.tile.warp[1], _COLUMNS)]
            pairs = [(x, y) for x in factors for y in others]
            totals = [_result(code, MmaSyncOp.of(x, y, total)) for total, (x, y) in zip(totals, pairs, strict=True)]
        return totals

    def _warp(self, code: Code, thread: SSAValue) -> tuple[Index, Index]:
        """Where the results of a thread's warp begin in the tile."""
        across = self.tile.size[1] // self.tile.warp[1]
        warp = code.quotient(thread, WARP)
        return code.times(code.quotient(warp, across), self.tile.warp[0]), code.times(code.remainder(warp, across), self.tile.warp[1])

    def _left(self, code: Code, part: _Part, row: Index, k: int, stage: Index, thread: SSAValue) -> SSAValue:
        """The fragment of the left factor with 16 rows. Its four matrices follow one another down the rows, then along the summed loop."""
        half = code.quotient(code.remainder(thread, WARP), 16)
        if part.along_depth:
            m, depth = code.remainder(thread, 16), code.times(half, self.step // 2)
        else:
            m = code.times(code.remainder(code.quotient(thread, 8), 2), 8)
            depth = code.plus(code.remainder(thread, 8), code.times(half, 8))
        return self._fragment(code, part, code.plus(row, m), code.plus(depth, k), stage, 4)

    def _right(self, code: Code, part: _Part, column: Index, k: int, stage: Index, thread: SSAValue) -> SSAValue:
        """The fragment of the right factor with 8 columns, whose two matrices follow one another along the summed loop. ``ldmatrix`` gives a thread neighbours
        of a row, and here it has neighbours of a column, so rows along the summed loop are as wanted."""
        if part.along_depth:
            n, depth = code.remainder(thread, 8), code.times(code.remainder(code.quotient(thread, 8), 2), self.step // 2)
        else:
            n, depth = 0, code.remainder(thread, 16)
        return self._fragment(code, part, code.plus(column, n), code.plus(depth, k), stage, 2)

    def _fragment(self, code: Code, part: _Part, place: Index, depth: Index, stage: Index, tiles: int) -> SSAValue:
        at = self._at(code, part, place, depth, stage)
        return _result(code, LdMatrixOp.of(part.buffer, code.value(at), tiles, transpose=not part.along_depth))

    # -- results

    def _store(self, functions: Functions, around: dict[int, Index], start: tuple[Index, Index], thread: SSAValue, totals: Sequence[SSAValue]) -> None:
        """Writes the results of a thread that there are."""
        code, combining = functions.code, Combining(functions)
        first, across = self._warp(code, thread)
        lane = code.remainder(thread, WARP)
        down, along = code.quotient(lane, 4), code.times(code.remainder(lane, 4), 2)
        body = Body(code, functions, self.placed, self.memory.inputs)
        body.index.update(around)
        fragments = [(m, n) for m in range(0, self.tile.warp[0], _ROWS) for n in range(0, self.tile.warp[1], _COLUMNS)]
        for total, (m, n) in zip(totals, fragments, strict=True):
            for r in range(2):
                row = code.plus(start[0], code.plus(first, code.plus(down, m + 8 * r)))
                with code.when(self._below(code, row, self.row)):
                    columns = [code.plus(start[1], code.plus(across, code.plus(along, n + c))) for c in range(2)]
                    whole = self.placed.extents[self.column] % 2 == 0  # then both columns are there, or none
                    with code.when(self._below(code, columns[0], self.column) if whole else None):
                        for c, column in enumerate(columns):
                            value = _result(code, vector.ExtractOp(total, [r, c], f32))
                            with code.when(None if whole else self._below(code, column, self.column)):
                                body.index.update({self.row: row, self.column: column})
                                stored = combining.rounded("add", value, self.write.value.type)
                                code.store(stored, self.memory.outputs[0].memref, body.place(self.write.at, None, 0))

    def _below(self, code: Code, at: Index, loop: int) -> SSAValue | None:
        extent = self.placed.extents[loop]
        return code.below(at, extent) if extent % self.tile.size[loop - self.row] else None


def _result(code: Code, op: LdMatrixOp | MmaSyncOp | vector.ExtractOp) -> SSAValue:
    append(code.block, op)
    return result(op)
