"""Copies: a column group of B turned so that its rows are contiguous, and whole operands whose contracted dimensions do not merge."""

from __future__ import annotations

from contextlib import ExitStack

from wengert.transforms.codegen.cpu.matmul.conversion import convert
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.function_text import FunctionText
from wengert.transforms.codegen.cpu.matmul.planner import Copy, contiguous
from wengert.transforms.codegen.cpu.matmul.tiling import Group

BLOCK = 4  # transposition by blocks of 4 x 4


def pack_group(text: FunctionText, arithmetic: Arithmetic, source: str, k: int, group: Group, b_k: int, b_n: int, target: str) -> None:
    """target[p, j] = source[p b_k + j b_n] for p < k and the columns j of the group."""
    kind, width, same = arithmetic.scalar, group.width, (arithmetic.element, arithmetic.element)
    if b_n == 1:
        with text.loop(k) as loop:
            row, place = text.at(source, kind, loop.index, b_k), text.at(target, kind, loop.index, width)
            for offset in group.offsets:
                vector = text.load(arithmetic.vector, text.at(row, kind, "0", 0, offset), arithmetic.bytes)
                text.store(arithmetic.vector, vector, text.at(place, kind, "0", 0, offset), arithmetic.bytes)
        return
    blocked_k, blocked_n = (k - k % BLOCK, width - width % BLOCK) if b_k == 1 else (0, 0)
    if blocked_k and blocked_n:
        with text.repeat(blocked_n // BLOCK) as j, text.repeat(blocked_k // BLOCK) as p:
            column = text.at(source, kind, j, BLOCK * b_n)
            place = text.at(target, kind, j, BLOCK)
            transpose_block(text, arithmetic, text.at(column, kind, p, BLOCK), b_n, text.at(place, kind, p, BLOCK * width), width)
    if blocked_k and blocked_n and blocked_k < k:
        copy_scalars(text, same, (k - blocked_k, blocked_n), source, blocked_k, (b_k, b_n), target, blocked_k * width, (width, 1))
    if blocked_k == 0 or blocked_n == 0:
        blocked_n = 0
    if blocked_n < width:
        copy_scalars(text, same, (k, width - blocked_n), source, blocked_n * b_n, (b_k, b_n), target, blocked_n, (width, 1))


def transpose_block(text: FunctionText, arithmetic: Arithmetic, source: str, source_step: int, target: str, target_step: int) -> None:
    """A 4 x 4 block: row i of the source becomes column i of the target."""
    block = f"<4 x {arithmetic.scalar}>"
    size = arithmetic.bytes

    def shuffle(x: str, y: str, mask: tuple[int, ...]) -> str:
        indices = ", ".join(f"i32 {i}" for i in mask)
        return text.op(f"shufflevector {block} {x}, {block} {y}, <4 x i32> <{indices}>")

    rows = [text.load(block, text.at(source, arithmetic.scalar, "0", 0, i * source_step), size) for i in range(BLOCK)]
    low = [shuffle(rows[i], rows[i + 1], (0, 4, 2, 6)) for i in (0, 2)]
    high = [shuffle(rows[i], rows[i + 1], (1, 5, 3, 7)) for i in (0, 2)]
    columns = [shuffle(half[0], half[1], mask) for mask in ((0, 1, 4, 5), (2, 3, 6, 7)) for half in (low, high)]
    for i, column in enumerate(columns):
        text.store(block, column, text.at(target, arithmetic.scalar, "0", 0, i * target_step), size)


def copy_scalars(
    text: FunctionText,
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
        source = text.at(source, read.scalar, "0", 0, source_offset)
        target = text.at(target, write.scalar, "0", 0, target_offset)
        for size, source_stride, target_stride in zip(sizes, source_strides, target_strides, strict=True):
            index = nest.enter_context(text.repeat(size))
            source = text.at(source, read.scalar, index, source_stride)
            target = text.at(target, write.scalar, index, target_stride)
        value = text.load(read.scalar, source, min(8, read.bytes))
        text.store(write.scalar, convert(text, value, *elements), target, min(8, write.bytes))


def copy_operand(text: FunctionText, element: str, copy: Copy, source: str, target: str) -> None:
    """The contiguous copy of `element` that a plan asks for."""
    copy_scalars(text, (copy.element, element), copy.sizes, source, 0, copy.strides, target, 0, contiguous(copy.sizes))
