"""Copying and filling boxes of memory with any strides."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from wengert.transforms.lower.cpu_types import Element
from wengert.transforms.lower.native.code import Code

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
    """Copies a box; strides count elements. The innermost dimension moves in whole vectors where both sides are contiguous."""
    if 0 in extents:
        return
    order = sorted(range(len(extents)), key=lambda d: (-abs(target_strides[d]), d))
    dims = _merged([(extents[d], source_strides[d], target_strides[d]) for d in order if extents[d] != 1])
    held = raw(element)
    if not dims:
        code.memory().store(held, code.memory().load(held, source), target)
        return
    n, read, written = dims[-1]
    lanes = max(code.target.vector_bytes // held.size, 1)
    while lanes > 1 and lanes > n:
        lanes //= 2
    if (read, written) != (1, 1):
        lanes = 1
    with code.loops([extent for extent, _, _ in dims[:-1]]) as at:
        first = code.address(source, held, code.at([(i, step) for i, (_, step, _) in zip(at, dims, strict=False)]))
        second = code.address(target, held, code.at([(i, step) for i, (_, _, step) in zip(at, dims, strict=False)]))
        whole = n // lanes * lanes
        with code.loop(0, whole, step=lanes) as inner:
            _move(
                code, held, lanes, lanes, code.address(first, held, code.times(inner.index, read)), code.address(second, held, code.times(inner.index, written))
            )
        if whole < n:
            _move(code, held, lanes, n - whole, code.address(first, held, whole), code.address(second, held, whole))


def _move(code: Code, element: Element, lanes: int, active: int, source: str, target: str) -> None:
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


def _merged(dims: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for n, read, written in dims:
        if found and found[-1][1] == read * n and found[-1][2] == written * n:
            found[-1] = (found[-1][0] * n, read, written)
        else:
            found.append((n, read, written))
    return found
