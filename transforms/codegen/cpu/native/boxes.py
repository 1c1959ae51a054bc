"""Copies and fills boxes of memory with any strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.cpu.native.turning import Turn
from wengert.transforms.codegen.llvm.types import Element

BLOCK = 4
"""Elements are transposed in square blocks of this side."""
LARGE = 256
"""Matrices of so many elements are transposed in blocks of whole registers, by a function."""
_WORDS = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


def strides_of(extents: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    return tuple([prod(extents[d + 1 :]) for d in range(len(extents))])


def raw(element: Element) -> Element:
    """An element type of the same size whose values are copied without conversion."""
    if element.kind == "c":
        return element
    word = _WORDS[element.size]
    return Element("u", word, word, element.size)


def zero(builder: KernelBuilder, pointer: str, count: int) -> None:
    """Zeroes so many bytes."""
    if count:
        builder.set_bytes(pointer, count, align=1)


def copy_box(
    builder: KernelBuilder, element: Element, extents: Sequence[int], source: str, source_strides: Sequence[int], target: str, target_strides: Sequence[int]
) -> None:
    """Copies a box; strides count elements.

    The innermost dimension of the target is written in whole vectors where it is contiguous, and read so too if the source is. Where
    the source is contiguous in another dimension, blocks of 4 by 4 are turned in registers.
    """
    if 0 in extents:
        return
    order = sorted(range(len(extents)), key=lambda d: (-abs(target_strides[d]), d))
    dims = _merged([(extents[d], source_strides[d], target_strides[d]) for d in order if extents[d] != 1])
    word = raw(element)
    for number, (extent, step, other) in enumerate(dims[:-1]):
        if step == -1:  # from the other end
            source, target = builder.address(source, word, 1 - extent), builder.address(target, word, (extent - 1) * other)
            dims[number] = (extent, 1, -other)
    if not dims:
        builder.memory().store(word, builder.memory().load(word, source), target)
        return
    n, read, written = dims[-1]
    if written == 1 != read and word.size in (4, 8) and word.kind != "c" and n >= BLOCK:
        turned = next((d for d, (extent, step, _) in enumerate(dims) if step == 1 and extent >= BLOCK), None)
        if turned is not None:
            _turn(builder, word, [*dims[:turned], *dims[turned + 1 : -1]], dims[turned], dims[-1], source, target)
            return
    lanes = max(builder.target.vector_bytes // word.size, 1)
    while lanes > 1 and lanes > n:
        lanes //= 2
    if written != 1 or (read != 1 and (word.size not in (4, 8) or word.kind == "c")):
        lanes = 1
    with builder.loops([extent for extent, _, _ in dims[:-1]]) as at:
        first = builder.address(source, word, builder.linear([(i, step) for i, (_, step, _) in zip(at, dims, strict=False)]))
        second = builder.address(target, word, builder.linear([(i, step) for i, (_, _, step) in zip(at, dims, strict=False)]))
        whole = n // lanes * lanes
        with builder.loop(0, whole, step=lanes) as inner:
            place = builder.address(second, word, builder.multiply(inner.index, written))
            _move(builder, word, lanes, lanes, builder.address(first, word, builder.multiply(inner.index, read)), place, read)
        if whole < n:
            _move(builder, word, lanes, n - whole, builder.address(first, word, whole * read), builder.address(second, word, whole), read)


def _move(builder: KernelBuilder, element: Element, lanes: int, active: int, source: str, target: str, read: int = 1) -> None:
    if lanes > 1 != read:
        memory = builder.memory(lanes, active)
        memory.store_contiguous(element, memory.load_lanes(element, lambda lane: builder.address(source, element, lane * read)), target, 1)
        return
    if lanes == 1:
        memory = builder.memory()
        memory.store(element, memory.load(element, source), target)
        return
    memory = builder.memory(lanes, active)
    if element.size < 4 and active < lanes:  # masked loads of narrow elements are not on every processor
        for lane in range(active):
            one = builder.memory()
            one.store(element, one.load(element, builder.address(source, element, lane)), builder.address(target, element, lane))
        return
    memory.store_contiguous(element, memory.load_contiguous(element, source, 1), target, 1)


Dimension = tuple[int, int, int]
"""An extent and the strides of source and target."""


def _turn(builder: KernelBuilder, element: Element, others: Sequence[Dimension], rows: Dimension, columns: Dimension, source: str, target: str) -> None:
    """target[.., i, j] = source[.., i, j], where the source is contiguous along i and the target along j."""
    (m, _, row_step), (n, column_step, _) = rows, columns
    if m * n >= LARGE:
        with builder.loops([extent for extent, _, _ in others]) as at:
            first = builder.address(source, element, builder.linear([(i, step) for i, (_, step, _) in zip(at, others, strict=True)]))
            second = builder.address(target, element, builder.linear([(i, step) for i, (_, _, step) in zip(at, others, strict=True)]))
            Turn.of(element.size, builder.target.vector_bytes, n, m).call(builder, first, column_step, second, row_step, n, m)
        return
    whole_m, whole_n = m - m % BLOCK, n - n % BLOCK
    with builder.loops([extent for extent, _, _ in others]) as at:
        first = builder.address(source, element, builder.linear([(i, step) for i, (_, step, _) in zip(at, others, strict=True)]))
        second = builder.address(target, element, builder.linear([(i, step) for i, (_, _, step) in zip(at, others, strict=True)]))
        with builder.loop(0, whole_n, step=BLOCK) as column, builder.loop(0, whole_m, step=BLOCK) as row:
            read = builder.address(first, element, builder.linear([(column.index, column_step)], row.index))
            _turn_block(builder, element, read, column_step, builder.address(second, element, builder.linear([(row.index, row_step)], column.index)), row_step)
        for start, extents in (((whole_m, 0), (m - whole_m, n)), ((0, whole_n), (whole_m, n - whole_n))):
            if 0 in extents:
                continue
            with builder.loops(extents) as (i, j):
                i, j = builder.add(i, start[0]), builder.add(j, start[1])
                value = builder.memory().load(element, builder.address(first, element, builder.linear([(j, column_step)], i)))
                builder.memory().store(element, value, builder.address(second, element, builder.linear([(i, row_step)], j)))


def _turn_block(builder: KernelBuilder, element: Element, source: str, source_step: int, target: str, target_step: int) -> None:
    kind = f"<{BLOCK} x {element.memory}>"

    def shuffle(x: str, y: str, mask: tuple[int, ...]) -> str:
        return builder.shuffle(element.memory, BLOCK, x, y, mask)

    rows = [builder.load(kind, builder.address(source, element, r * source_step), element.size) for r in range(BLOCK)]
    low = [shuffle(rows[r], rows[r + 1], (0, 4, 2, 6)) for r in (0, 2)]
    high = [shuffle(rows[r], rows[r + 1], (1, 5, 3, 7)) for r in (0, 2)]
    for r, column in enumerate([shuffle(half[0], half[1], mask) for mask in ((0, 1, 4, 5), (2, 3, 6, 7)) for half in (low, high)]):
        builder.store(kind, column, builder.address(target, element, r * target_step), element.size)


def _merged(dims: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    joined: list[tuple[int, int, int]] = []
    for n, read, written in dims:
        if joined and joined[-1][1] == read * n and joined[-1][2] == written * n:
            joined[-1] = (joined[-1][0] * n, read, written)
        else:
            joined.append((n, read, written))
    return joined
