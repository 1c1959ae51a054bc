"""Recognises nests that are sums of products, and chooses the tiles in which they are computed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from msgspec import Struct
from xdsl.ir import Attribute, SSAValue

from wengert.dialects.kernel import ApplyOp, NestOp
from wengert.dialects.kernel.gpu_schedule import Tile
from wengert.dialects.kernel.positions import dimensions
from wengert.ir.tensor_types import bf16, bytes_of_type, f16, f32, tensor
from wengert.transforms.schedule.gpu.conflicts import loops_of
from wengert.transforms.schedule.gpu.target import GpuTarget

MOST_WORKGROUP_BYTES = 32 << 10
"""The workgroup memory that every device has."""
PADDING = 4
"""So many elements lie between the rows of a tile, so that what is written by columns does not go to one bank of memory."""
LEAST_SIDE = 16
LEAST_DEPTH = 8


class Product(Struct, frozen=True):
    """A sum over the loop ``depth`` of products of two factors: the left one alone depends on the loops ``rows``, the right one on ``columns``."""

    left: SSAValue
    right: SSAValue
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: int
    factor_bytes: int


def product_of(op: NestOp) -> Product | None:
    """The sum of products that a nest is; None if it is none, or leaves nothing to share in tiles."""
    if len(op.writes) != 1 or op.ties is not None:
        return None
    (write,) = op.writes
    owner = write.value.owner
    if write.kind != "add" or write.base is not None or write.condition is not None or not isinstance(owner, ApplyOp) or owner.function.data != "multiply":
        return None
    left, right = owner.operands
    loops, others = loops_of(left), loops_of(right)
    kept = dimensions(write.at)
    summed = [d for d in range(len(op.extents)) if d not in kept]
    if len(summed) != 1 or summed[0] not in loops & others:
        return None
    rows, columns = tuple(sorted((loops - others) & kept)), tuple(sorted((others - loops) & kept))
    if not rows or not columns:
        return None
    return Product(left, right, rows, columns, summed[0], bytes_of_type(tensor((), write.value.type)))


class Factors(Struct, frozen=True):
    """The factors of a product as tensor cores take them: two values of one type."""

    left: SSAValue
    right: SSAValue

    @property
    def element(self) -> Attribute:
        """Their type."""
        return self.left.type


def matrix_factors(op: NestOp, *, tf32: bool = False) -> Factors | None:
    """The factors of a product of f32 that were 16 bits wide before, which tensor cores multiply exactly; with ``tf32`` those of f32. None: there are none."""
    product = product_of(op)
    if product is None or op.writes[0].value.type != f32:
        return None
    if tf32:
        return Factors(product.left, product.right)
    owners = [factor.owner for factor in (product.left, product.right)]
    before = [owner.operands[0] for owner in owners if isinstance(owner, ApplyOp) and owner.function.data == "convert"]
    if len(before) != 2 or before[0].type != before[1].type or before[0].type not in (f16, bf16):
        return None
    return Factors(*before)


def warp_tile_bytes(tile: Tile) -> int:
    """The workgroup memory of tiles that warps multiply, however 16 bits lie in memory. Rows of f32 run along the summed loop."""
    width = 4 if tile.tf32 else 2
    along = [side * warp_pitch(tile.size[2], width) for side in tile.size[:2]]
    across = [tile.size[2] * warp_pitch(side, width) for side in tile.size[:2]]
    return tile.stages * width * sum(along if tile.tf32 else map(max, along, across))


def warp_pitch(extent: int, width: int) -> int:
    """How far apart the rows of a tile of so many elements of ``width`` bytes lie: they begin at multiples of 16 bytes, and 16 bytes of eight rows are in
    banks of their own."""
    return extent + 16 // width


def pitch(extent: int) -> int:
    """How far apart the rows of a tile of so many columns lie."""
    return extent + PADDING


def choose_tile(op: NestOp, target: GpuTarget) -> Tile | None:
    """The tiles of a product; None where it is too small to have some."""
    product = product_of(op)
    if product is None:
        return None
    extents = op.extents
    row, column = (max(loops, key=lambda d: (extents[d], d)) for loops in (product.rows, product.columns))
    if min(extents[row], extents[column]) < LEAST_SIDE or extents[product.depth] < LEAST_DEPTH:
        return None
    around = prod(n for d, n in enumerate(extents) if d not in (row, column, product.depth))
    if target.multiplies:
        narrow = matrix_factors(op) is not None
        if narrow or (target.tf32 and matrix_factors(op, tf32=True) is not None):
            return _choose_warp_tile((row, column, product.depth), around, extents, target, tf32=not narrow)
    for side, depth, each in ((128, 8, 8), (64, 16, 4), (32, 16, 2)):
        tiles = around * -(-extents[row] // side) * -(-extents[column] // side)
        needed = depth * 2 * pitch(side) * product.factor_bytes
        if needed <= MOST_WORKGROUP_BYTES and each * each * product.factor_bytes <= 256 and (tiles >= 2 * target.processors or side == 32):
            return Tile((row, column, product.depth), (side, side, depth), (each, each))
    return None


def _choose_warp_tile(loops: tuple[int, int, int], around: int, extents: Sequence[int], target: GpuTarget, *, tf32: bool) -> Tile:
    """The tiles of a product that warps multiply: the largest of which there are enough."""
    row, column, _ = loops
    depth = 16 if tf32 else 32
    *larger, smallest = (((128, 128), (64, 32)), ((64, 128), (32, 32)), ((64, 64), (32, 32)), ((32, 64), (16, 32)))

    def enough(size: tuple[int, int]) -> bool:
        return around * -(-extents[row] // size[0]) * -(-extents[column] // size[1]) >= target.processors

    size, warp = next(((size, warp) for size, warp in larger if enough(size)), smallest)
    return Tile(loops, (*size, depth), warp=warp, stages=2, tf32=tf32)
