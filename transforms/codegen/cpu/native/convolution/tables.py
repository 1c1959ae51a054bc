"""Merges and cuts the loops of a direct convolution, which are dimensions with their strides, and makes tables of their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from msgspec import Struct

from wengert.transforms.codegen.cpu.native.boxes import strides_of
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import Index


class Axis(Struct, frozen=True):
    """A dimension of the loops: its extent and its strides in A, in B and in the result."""

    extent: int
    a: int = 0
    b: int = 0
    c: int = 0


class Part(Struct, frozen=True):
    """One combination of phases: rows, columns and contracted dimensions, and the offsets of the first of them."""

    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    contracted: tuple[Axis, ...]
    a: int
    b: int
    c: int

    def moved(self, builder: KernelBuilder, pieces: tuple[Index, Index]) -> tuple[Index, Index]:
        """How far the first elements of A and of the result are moved where so many pieces of rows lie before them."""
        if not self.rows:
            return 0, 0
        outer = self.rows[0]
        return builder.multiply(pieces[0], outer.extent * outer.a), builder.multiply(pieces[1], outer.extent * outer.c)


def points(axes: Iterable[Axis]) -> int:
    """The number of points of a box."""
    return prod([axis.extent for axis in axes])


def merged(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The dimensions without those of extent 1, neighbours joined where they continue one another."""
    joined: list[Axis] = []
    for axis in axes:
        if axis.extent == 1:
            continue
        if joined and all(getattr(joined[-1], s) == getattr(axis, s) * axis.extent for s in "abc"):
            joined[-1] = Axis(joined[-1].extent * axis.extent, axis.a, axis.b, axis.c)
        else:
            joined.append(axis)
    return tuple(joined)


def cut(axes: Sequence[Axis], most: int) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The dimensions as outer ones and inner ones of at most so many points."""
    inner: list[Axis] = []
    rest = list(axes)
    while rest and points(inner) * rest[-1].extent <= most:
        inner.insert(0, rest.pop())
    if rest:
        axis, room_ = rest.pop(), most // points(inner)
        piece = next(n for n in range(min(room_, axis.extent), 0, -1) if axis.extent % n == 0)
        if 2 * piece >= room_ or not inner:
            inner.insert(0, Axis(piece, axis.a, axis.b, axis.c))
            axis = Axis(axis.extent // piece, axis.a * piece, axis.b * piece, axis.c * piece)
        rest.append(axis)
    return tuple([a for a in rest if a.extent > 1]), tuple(inner)


def fill(
    builder: KernelBuilder, table: str, axes: Sequence[Axis], kept: Sequence[str], wanted: int, inner: int = 0, *, first: int = 0, at: tuple[int, ...] = (0, 0)
) -> None:
    """The offsets of all points of a box, and the last one again up to ``wanted`` entries; ``inner`` points lie where the last dimension says how many."""
    extents = [axis.extent for axis in axes]
    places = strides_of([*extents[:-1], inner] if inner else extents)
    with builder.loops(extents) as point:
        place = builder.linear(list(zip(point, places, strict=True)), first)
        for n, name in enumerate(kept):
            value = builder.linear([(i, getattr(axis, name)) for i, axis in zip(point, axes, strict=True)], at[n])
            _store(builder, table, builder.linear([(place, len(kept))], n), value)
    repeat(builder, table, [sum((axis.extent - 1) * getattr(axis, name) for axis in axes) for name in kept], prod(extents), wanted)


def repeat(builder: KernelBuilder, table: str, entry: Sequence[int], start: int, end: int) -> None:
    """The same entry at these places."""
    for place in range(start, end):
        for n, value in enumerate(entry):
            _store(builder, table, place * len(entry) + n, value)


def _store(builder: KernelBuilder, table: str, place: Index, value: Index) -> None:
    narrow = value if isinstance(value, int) else builder.cast("trunc", value, "i64", "i32")
    builder.store("i32", narrow, builder.op(f"getelementptr i32, ptr {table}, i64 {place}"), 4)
