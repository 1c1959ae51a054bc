"""Emits copies: a column group of B transposed so that its rows are contiguous, and whole operands whose contracted dimensions do not merge."""

from __future__ import annotations

from contextlib import ExitStack

from wengert.transforms.codegen.cpu.matmul.conversion import convert, convert_vector
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.llvm.builder import FunctionBuilder
from wengert.transforms.schedule.products.operands import contiguous
from wengert.transforms.schedule.products.plan import Copy
from wengert.transforms.schedule.products.tiling import Group

BLOCK = 4  # transposition by blocks of 4 x 4


def pack_group(builder: FunctionBuilder, elements: tuple[str, Arithmetic], source: str, k: int, group: Group, b_k: int, b_n: int, target: str) -> None:
    """target[p, j] = source[p b_k + j b_n] for p < k and the columns j of the group, converted from elements of the first type."""
    stored, arithmetic = elements
    given = Arithmetic(stored, arithmetic.lanes)
    kind, width, types = arithmetic.scalar, group.width, (stored, arithmetic.element)
    if b_n == 1:
        with builder.rotated_loop(k) as loop:
            row, place = builder.shared_offset(source, given.scalar, loop.index, b_k), builder.shared_offset(target, kind, loop.index, width)
            for offset in group.offsets:
                narrow = builder.load(given.vector, builder.shared_offset(row, given.scalar, offset=offset), given.bytes)
                vector = convert_vector(builder, narrow, *types, arithmetic.lanes)
                builder.store(arithmetic.vector, vector, builder.shared_offset(place, kind, offset=offset), arithmetic.bytes)
        return
    blocked_k, blocked_n = (k - k % BLOCK, width - width % BLOCK) if b_k == 1 else (0, 0)
    if blocked_k and blocked_n:
        with builder.repeat(blocked_n // BLOCK) as j, builder.repeat(blocked_k // BLOCK) as p:
            column = builder.shared_offset(source, given.scalar, j, BLOCK * b_n)
            place = builder.shared_offset(target, kind, j, BLOCK)
            block, place = builder.shared_offset(column, given.scalar, p, BLOCK), builder.shared_offset(place, kind, p, BLOCK * width)
            transpose_block(builder, elements, block, b_n, place, width)
    if blocked_k and blocked_n and blocked_k < k:
        copy_scalars(builder, types, (k - blocked_k, blocked_n), source, blocked_k, (b_k, b_n), target, blocked_k * width, (width, 1))
    if blocked_k == 0 or blocked_n == 0:
        blocked_n = 0
    if blocked_n < width:
        copy_scalars(builder, types, (k, width - blocked_n), source, blocked_n * b_n, (b_k, b_n), target, blocked_n, (width, 1))


def transpose_block(builder: FunctionBuilder, elements: tuple[str, Arithmetic], source: str, source_step: int, target: str, target_step: int) -> None:
    """A 4 x 4 block: row i of the source becomes column i of the target, converted from elements of the first type."""
    stored, arithmetic = elements
    given, block = Arithmetic(stored, BLOCK), f"<4 x {arithmetic.scalar}>"
    size = arithmetic.bytes

    def shuffle(x: str, y: str, mask: tuple[int, ...]) -> str:
        return builder.shuffle(arithmetic.scalar, BLOCK, x, y, mask)

    read = [builder.load(given.vector, builder.shared_offset(source, given.scalar, offset=i * source_step), given.bytes) for i in range(BLOCK)]
    rows = [convert_vector(builder, row, stored, arithmetic.element, BLOCK) for row in read]
    low = [shuffle(rows[i], rows[i + 1], (0, 4, 2, 6)) for i in (0, 2)]
    high = [shuffle(rows[i], rows[i + 1], (1, 5, 3, 7)) for i in (0, 2)]
    columns = [shuffle(half[0], half[1], mask) for mask in ((0, 1, 4, 5), (2, 3, 6, 7)) for half in (low, high)]
    for i, column in enumerate(columns):
        builder.store(block, column, builder.shared_offset(target, arithmetic.scalar, offset=i * target_step), size)


def copy_scalars(
    builder: FunctionBuilder,
    elements: tuple[str, str],
    sizes: tuple[int, ...],
    source: str,
    source_offset: int,
    source_strides: tuple[int, ...],
    target: str,
    target_offset: int,
    target_strides: tuple[int, ...],
) -> None:
    """A loop nest that moves one element at a time and converts it from the first element type to the second."""
    read, write = (Arithmetic(element, 1) for element in elements)
    with ExitStack() as nest:
        source = builder.shared_offset(source, read.scalar, offset=source_offset)
        target = builder.shared_offset(target, write.scalar, offset=target_offset)
        for size, source_stride, target_stride in zip(sizes, source_strides, target_strides, strict=True):
            index = nest.enter_context(builder.repeat(size))
            source = builder.shared_offset(source, read.scalar, index, source_stride)
            target = builder.shared_offset(target, write.scalar, index, target_stride)
        value = builder.load(read.scalar, source, min(8, read.bytes))
        builder.store(write.scalar, convert(builder, value, *elements), target, min(8, write.bytes))


def copy_operand(builder: FunctionBuilder, element: str, copy: Copy, source: str, target: str) -> None:
    """The contiguous copy of `element` that a plan asks for."""
    copy_scalars(builder, (copy.element, element), copy.sizes, source, 0, copy.strides, target, 0, contiguous(copy.sizes))
