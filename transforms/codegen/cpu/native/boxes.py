"""Copying and filling boxes of memory with any strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.transforms.codegen.cpu.native.code import Code
from wengert.transforms.codegen.llvm.types import Element

BLOCK = 4
"""Elements are turned in blocks of so many by so many."""
_WORDS = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


def strides_of(extents: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    return tuple([prod(extents[d + 1 :]) for d in range(len(extents))])


def raw(element: Element) -> Element:
    """An element type of the same size whose values are copied without a look at them."""
    if element.kind == "c":
        return element
    word = _WORDS[element.size]
    return Element("u", word, word, element.size)


def zero(code: Code, pointer: str, count: int) -> None:
    """Zeroes so many bytes."""
    if count:
        code.line(f"call void @llvm.memset.p0.i64(ptr align 1 {pointer}, i8 0, i64 {count}, i1 false)")


def copy_box(
    code: Code, element: Element, extents: Sequence[int], source: str, source_strides: Sequence[int], target: str, target_strides: Sequence[int]
) -> None:
    """Copies a box; strides count elements.

    The innermost dimension of the target is written in whole vectors where it is contiguous, and read so too if the source is. Where
    the source is contiguous in another dimension, blocks of 4 by 4 are turned in registers.
    """
    if 0 in extents:
        return
    order = sorted(range(len(extents)), key=lambda d: (-abs(target_strides[d]), d))
    dims = _merged([(extents[d], source_strides[d], target_strides[d]) for d in order if extents[d] != 1])
    held = raw(element)
    if not dims:
        code.memory().store(held, code.memory().load(held, source), target)
        return
    n, read, written = dims[-1]
    if written == 1 != read and held.size in (4, 8) and held.kind != "c" and n >= BLOCK:
        turned = next((d for d, (extent, step, _) in enumerate(dims) if step == 1 and extent >= BLOCK), None)
        if turned is not None:
            _turn(code, held, [*dims[:turned], *dims[turned + 1 : -1]], dims[turned], dims[-1], source, target)
            return
    lanes = max(code.target.vector_bytes // held.size, 1)
    while lanes > 1 and lanes > n:
        lanes //= 2
    if written != 1 or (read != 1 and (held.size not in (4, 8) or held.kind == "c")):
        lanes = 1
    with code.loops([extent for extent, _, _ in dims[:-1]]) as at:
        first = code.address(source, held, code.at([(i, step) for i, (_, step, _) in zip(at, dims, strict=False)]))
        second = code.address(target, held, code.at([(i, step) for i, (_, _, step) in zip(at, dims, strict=False)]))
        whole = n // lanes * lanes
        with code.loop(0, whole, step=lanes) as inner:
            place = code.address(second, held, code.times(inner.index, written))
            _move(code, held, lanes, lanes, code.address(first, held, code.times(inner.index, read)), place, read)
        if whole < n:
            _move(code, held, lanes, n - whole, code.address(first, held, whole * read), code.address(second, held, whole), read)


def _move(code: Code, element: Element, lanes: int, active: int, source: str, target: str, read: int = 1) -> None:
    if lanes > 1 != read:
        memory = code.memory(lanes, active)
        memory.store_contiguous(element, memory.load_lanes(element, lambda lane: code.address(source, element, lane * read)), target, 1)
        return
    if lanes == 1:
        memory = code.memory()
        memory.store(element, memory.load(element, source), target)
        return
    memory = code.memory(lanes, active)
    if element.size < 4 and active < lanes:  # masked loads of narrow elements are not on every processor
        for lane in range(active):
            one = code.memory()
            one.store(element, one.load(element, code.address(source, element, lane)), code.address(target, element, lane))
        return
    memory.store_contiguous(element, memory.load_contiguous(element, source, 1), target, 1)


Dimension = tuple[int, int, int]
"""An extent and the strides of source and target."""


def _turn(code: Code, element: Element, others: Sequence[Dimension], rows: Dimension, columns: Dimension, source: str, target: str) -> None:
    """target[.., i, j] = source[.., i, j], where the source is contiguous along i and the target along j."""
    (m, _, row_step), (n, column_step, _) = rows, columns
    whole_m, whole_n = m - m % BLOCK, n - n % BLOCK
    with code.loops([extent for extent, _, _ in others]) as at:
        first = code.address(source, element, code.at([(i, step) for i, (_, step, _) in zip(at, others, strict=True)]))
        second = code.address(target, element, code.at([(i, step) for i, (_, _, step) in zip(at, others, strict=True)]))
        with code.loop(0, whole_n, step=BLOCK) as column, code.loop(0, whole_m, step=BLOCK) as row:
            read = code.address(first, element, code.at([(column.index, column_step)], row.index))
            _turn_block(code, element, read, column_step, code.address(second, element, code.at([(row.index, row_step)], column.index)), row_step)
        for start, extents in (((whole_m, 0), (m - whole_m, n)), ((0, whole_n), (whole_m, n - whole_n))):
            if 0 in extents:
                continue
            with code.loops(extents) as (i, j):
                i, j = code.add(i, start[0]), code.add(j, start[1])
                value = code.memory().load(element, code.address(first, element, code.at([(j, column_step)], i)))
                code.memory().store(element, value, code.address(second, element, code.at([(i, row_step)], j)))


def _turn_block(code: Code, element: Element, source: str, source_step: int, target: str, target_step: int) -> None:
    kind = f"<{BLOCK} x {element.memory}>"

    def shuffle(x: str, y: str, mask: tuple[int, ...]) -> str:
        return code.op(f"shufflevector {kind} {x}, {kind} {y}, <{BLOCK} x i32> <{', '.join(f'i32 {lane}' for lane in mask)}>")

    rows = [code.op(f"load {kind}, ptr {code.address(source, element, r * source_step)}, align {element.size}") for r in range(BLOCK)]
    low = [shuffle(rows[r], rows[r + 1], (0, 4, 2, 6)) for r in (0, 2)]
    high = [shuffle(rows[r], rows[r + 1], (1, 5, 3, 7)) for r in (0, 2)]
    for r, column in enumerate([shuffle(half[0], half[1], mask) for mask in ((0, 1, 4, 5), (2, 3, 6, 7)) for half in (low, high)]):
        code.line(f"store {kind} {column}, ptr {code.address(target, element, r * target_step)}, align {element.size}")


def _merged(dims: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for n, read, written in dims:
        if found and found[-1][1] == read * n and found[-1][2] == written * n:
            found[-1] = (found[-1][0] * n, read, written)
        else:
            found.append((n, read, written))
    return found
