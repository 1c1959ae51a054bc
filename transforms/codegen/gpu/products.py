"""The kernel of a sum of products that is computed in tiles.

A group has a tile of results. For some iterations of the summed loop at a time, its threads read both factors into workgroup memory, each element
once, and wait; then each thread adds up the products of its results in registers, and they wait again before the memory is overwritten. Beyond the ends of the
loops the factors are zeros, and nothing is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct
from xdsl.dialects import arith
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.gpu import BarrierOp
from wengert.dialects.kernel import ApplyOp
from wengert.dialects.kernel.gpu_schedule import GpuSchedule
from wengert.ir.tensor_types import f32, f64
from wengert.transforms.codegen.gpu.body import Body
from wengert.transforms.codegen.gpu.code import Code, Index, Values
from wengert.transforms.codegen.gpu.functions import Functions, register_type
from wengert.transforms.codegen.gpu.kernel import Ids, Kernel, Memory
from wengert.transforms.codegen.gpu.product_tiles import ProductTiles
from wengert.transforms.codegen.gpu.totals import Combining
from wengert.transforms.schedule.gpu.products import pitch
from wengert.transforms.schedule.placement import Placement

_CONTRACT = {"fastmath": arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])}
"""A product and the sum that it goes into may be rounded once."""


class _Side(Struct, frozen=True):
    """One factor: its value in the nest, the loop (of the order) that it has besides the summed one, the extent of the tile along it, its tile in memory, and
    where that begins along the loop."""

    value: SSAValue
    loop: int
    extent: int
    buffer: SSAValue
    start: Index


class TiledProduct(ProductTiles):
    """Writes the kernel of a product.

    Args:
        placed: the nest with its loops in the order of its schedule: those around, rows, columns, and the summed one.
        schedule: its schedule.
        memory: its buffers.
    """

    def __init__(self, placed: Placement, schedule: GpuSchedule, memory: Memory):
        super().__init__(placed, schedule)
        self.memory = memory
        self.element = self.write.value.type
        owner = self.write.value.owner
        assert isinstance(owner, ApplyOp)
        self.factors = tuple(owner.operands)

    def kernel(self) -> Kernel:
        """The launch."""
        tile = self.tile
        type = register_type(self.element)
        memory = [(tile.size[2] * pitch(side), type) for side in tile.size[:2]]
        return Kernel(self.groups, tile.group, self._write, memory)

    def _write(self, functions: Functions, ids: Ids) -> None:
        code, tile, extents = functions.code, self.tile, self.placed.extents
        around, row, column = self.begin(code, ids.group)
        sides = [
            _Side(self.factors[0], self.row, tile.size[0], ids.workgroup[0], row),
            _Side(self.factors[1], self.column, tile.size[1], ids.workgroup[1], column),
        ]
        combining = Combining(functions)
        zero = combining.neutral("add", self.element)
        with code.loop(0, extents[self.depth], tile.size[2], [zero] * prod(tile.thread)) as loop:
            for side in sides:
                self._read(functions, side, around, loop.index, ids.thread)
            code.act(BarrierOp)
            loop.next = self._add_up(functions, sides, ids.thread, list(loop.carried))
            code.act(BarrierOp)
        self._store(functions, combining, around, (row, column), ids.thread, loop.results)

    def _read(self, functions: Functions, side: _Side, around: dict[int, Index], start: Index, thread: SSAValue) -> None:
        """Reads the part of a factor that the group needs now; neighbouring threads read neighbours in memory."""
        code, depth, group = functions.code, self.tile.size[2], self.tile.group
        along_depth = self._is_contiguous(side)
        for first in range(0, side.extent * depth, group):
            at = code.plus(thread, first)
            inner, outer = (depth, side.extent) if along_depth else (side.extent, depth)
            fast, slow = code.remainder(at, inner), code.quotient(at, inner)
            place, k = (slow, fast) if along_depth else (fast, slow)
            whole = (side.extent * depth) % group == 0 or first + group <= side.extent * depth
            with code.when(None if whole else code.below(slow, outer)):
                value = self._factor(functions, side, around, code.plus(side.start, place), code.plus(start, k))
                code.store(value, side.buffer, code.plus(code.times(k, pitch(side.extent)), place))

    def _is_contiguous(self, side: _Side) -> bool:
        """Whether neighbours along the summed loop are neighbours in memory, rather than those along the factor's own loop."""
        steps = [
            (abs(at.coefficient(self.depth)), abs(at.coefficient(side.loop)))
            for at in self.placed.loops.positions
            if at.coefficient(side.loop) and at.coefficient(self.depth)
        ]
        return all(along < across for along, across in steps)

    def _factor(self, functions: Functions, side: _Side, around: dict[int, Index], place: Index, k: Index) -> SSAValue:
        """An element of a factor, or zero beyond the loops' ends."""
        code, extents = functions.code, self.placed.extents
        inside = [code.below(at, extents[d]) for at, d, size in ((place, side.loop, side.extent), (k, self.depth, self.tile.size[2])) if extents[d] % size]

        def there() -> Values:
            body = Body(code, functions, self.placed, self.memory.inputs)
            body.index.update({**around, side.loop: place, self.depth: k})
            return [body.evaluate(side.value)]

        (value,) = code.choose(code.both(inside) if inside else None, there, lambda: [functions.constant(0, self.element)])
        return value

    def _add_up(self, functions: Functions, sides: Sequence[_Side], thread: SSAValue, totals: Values) -> Values:
        """Adds the products of what is in workgroup memory to the results of a thread."""
        code, tile = functions.code, self.tile
        with code.loop(0, tile.size[2], 1, totals) as loop:
            factors = [
                [code.load(side.buffer, code.plus(code.times(loop.index, pitch(side.extent)), at)) for at in places]
                for side, places in zip(sides, self._places(code, thread), strict=True)
            ]
            pairs = [(x, y) for x in factors[0] for y in factors[1]]
            loop.next = [self._fused(functions, total, x, y) for total, (x, y) in zip(loop.carried, pairs, strict=True)]
        return list(loop.results)

    def _places(self, code: Code, thread: SSAValue) -> tuple[list[Index], list[Index]]:
        """The rows and the columns of a tile that a thread has: neighbouring threads have neighbouring columns."""
        across, down = self.tile.size[1] // self.tile.thread[1], self.tile.size[0] // self.tile.thread[0]
        x, y = code.remainder(thread, across), code.quotient(thread, across)
        return [code.plus(y, n * down) for n in range(self.tile.thread[0])], [code.plus(x, n * across) for n in range(self.tile.thread[1])]

    def _fused(self, functions: Functions, total: SSAValue, x: SSAValue, y: SSAValue) -> SSAValue:
        code = functions.code
        if self.element in (f32, f64):
            product = code.op(arith.MulfOp, [x, y], self.element, _CONTRACT)
            return code.op(arith.AddfOp, [total, product], self.element, _CONTRACT)
        types: Sequence[Attribute] = [self.element, self.element]
        combining = Combining(functions)
        product = combining.widened("add", functions.apply("multiply", [x, y], types, self.element), self.element)
        return combining.combined("add", total, product, self.element)

    def _store(
        self, functions: Functions, combining: Combining, around: dict[int, Index], start: tuple[Index, Index], thread: SSAValue, totals: Sequence[SSAValue]
    ) -> None:
        """Writes the results of a thread that there are."""
        code, extents = functions.code, self.placed.extents
        body = Body(code, functions, self.placed, self.memory.inputs)
        rows, columns = self._places(code, thread)
        places = [(code.plus(start[0], row), code.plus(start[1], column)) for row in rows for column in columns]
        for total, (row, column) in zip(totals, places, strict=True):
            body.index.update({**around, self.row: row, self.column: column})
            loops = ((row, self.row, self.tile.size[0]), (column, self.column, self.tile.size[1]))
            inside = [code.below(at, extents[d]) for at, d, size in loops if extents[d] % size]
            with code.when(code.both(inside) if inside else None):
                value = combining.rounded("add", total, self.element)
                code.store(value, self.memory.outputs[0].memref, body.place(self.write.at, None, 0))
