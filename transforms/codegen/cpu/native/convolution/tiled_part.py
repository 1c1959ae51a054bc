"""Emits one part of a direct convolution: its tables, its copy of the kernel, and the calls of the tiles that cover it."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from wengert.dialects.kernel.memory import aligned
from wengert.transforms.codegen.cpu.native.boxes import copy_box, strides_of, zero
from wengert.transforms.codegen.cpu.native.convolution.tables import Axis, Part, cut, fill, points, repeat
from wengert.transforms.codegen.cpu.native.convolution.tiles import MOST_VECTORS, Tile, best_shape, tile_function
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import Index, Operand
from wengert.transforms.codegen.llvm.types import Element
from wengert.transforms.schedule.target import Target

STEPS = 512
"""A longer contraction is cut."""
MOVED_BYTES = 1 << 16
"""Results whose columns are not neighbours are computed in blocks of so many bytes, which stay in the nearest caches until they are turned into place."""
FAR_BYTES = 1 << 14
"""Rows of a kernel that are further apart than this in total are copied into groups of columns."""


class Form(Struct, frozen=True):
    """The properties that all parts of a convolution share: the meaning of lanes, the element type, groups that are computed one after another, and whether
    kernels may be copied."""

    target: Target
    element: Element
    lanes: int
    by_position: bool
    by_channel: bool
    groups: int
    group_steps: tuple[int, int, int]
    packs: bool = True

    @property
    def name(self) -> str:
        """The element type, as matrix products call it."""
        return self.element.math


class Job(Struct, frozen=True, dict=True):
    """A part with the decisions about it, and the byte offsets of its tables and its copy of the kernel in the scratch memory.

    ``tall`` rows and ``wide`` vectors are a tile. ``outer`` and ``inner`` are the contraction, cut, and ``far`` and ``near`` the rows: the tables are those of
    the near ones. ``width`` columns are a group, and the last group has ``rest`` of them (0 if all are full).
    """

    part: Part
    form: Form
    tall: int
    wide: int
    active: int
    outer: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    far: tuple[Axis, ...]
    near: tuple[Axis, ...]
    rows_at: int
    steps_at: int
    columns_at: int
    packed_at: int
    end: int

    @staticmethod
    def of(part: Part, form: Form, offset: int) -> Job:
        """Decides how the part is computed."""
        scattered, lanes, extent = form.by_position, form.lanes, part.columns[-1].extent
        active = min(lanes, extent) if scattered else (extent - 1) % lanes + 1
        vectors = points(part.columns[:-1]) * -(-part.columns[-1].extent // lanes)
        outer, inner = ((), part.contracted) if scattered or 2 * points(part.contracted) <= 3 * STEPS else cut(part.contracted, STEPS)
        far, near = (), part.rows
        if not (scattered or outer or part.columns[-1].c == 1 or extent == 1):
            far, near = cut(part.rows, max(MOVED_BYTES // (MOST_VECTORS * lanes * form.element.size), 1))
        tall, wide = best_shape(points(near), vectors, form.target.vector_registers)
        draft = Job(part, form, tall, wide, active, outer, inner, far, near, 0, 0, 0, 0, 0)
        places = [offset]
        for size in (8 * draft.tiles * tall, (8 if scattered else 4) * points(inner), 8 * draft.groups * wide if scattered else 0, draft.packed_bytes):
            places.append(places[-1] + aligned(size))
        return Job(part, form, tall, wide, active, outer, inner, far, near, *places)

    # -- sizes

    @property
    def rows(self) -> int:
        """The rows that the tables have."""
        return points(self.near)

    @property
    def tiles(self) -> int:
        return -(-self.rows // self.tall)

    @property
    def depth(self) -> int:
        return points(self.part.contracted)

    @property
    def vectors(self) -> int:
        """All vectors of columns."""
        columns = self.part.columns
        return points(columns[:-1]) * -(-columns[-1].extent // self.form.lanes)

    @property
    def groups(self) -> int:
        """Groups of columns."""
        return -(-self.vectors // self.wide)

    @property
    def width(self) -> int:
        return self.wide * self.form.lanes

    @property
    def pitch(self) -> int:
        """The columns of all vectors."""
        return self.vectors * self.form.lanes

    @cached_property
    def is_packed(self) -> bool:
        """Whether the kernel is copied: its features are not neighbours or do not fill vectors, or too many lines would meet in few sets of the cache."""
        if self.form.by_position or not self.form.packs:
            return False
        (columns,) = self.part.columns
        if columns.b != 1 or self.active != self.form.lanes or len(self.inner) > 1:
            return True
        apart = points(self.inner) * self.inner[0].b * self.form.element.size if self.inner else 0
        return self.groups > 1 and apart > FAR_BYTES and points(self.far) * self.tiles > 4

    @property
    def packed_bytes(self) -> int:
        return self.form.groups * self.depth * self.pitch * self.form.element.size if self.is_packed else 0

    @cached_property
    def is_moved(self) -> bool:
        """Whether the result is computed elsewhere, since its columns are not neighbours or, where sums are added up, not whole vectors."""
        columns = self.part.columns[-1]
        if self.form.by_position or columns.extent == 1:
            return False
        return columns.c != 1 or (self.outer != () and self.active != self.form.lanes)

    @property
    def moved_pitch(self) -> int:
        """The columns of the result that is computed elsewhere: all, or those of a group, which is moved before the next is computed."""
        return self.pitch if self.outer else self.width

    @property
    def moved_bytes(self) -> int:
        return aligned(self.rows * self.moved_pitch * self.form.element.size) if self.is_moved else 0

    # -- code

    def prepare(self, builder: KernelBuilder, kernel: str = "%p1") -> None:
        """Fills the tables and copies the kernel."""
        form = self.form
        rows, steps, columns, packed = [builder.byte("%scratch", at) for at in (self.rows_at, self.steps_at, self.columns_at, self.packed_at)]
        row_axes = [Axis(x.extent, x.a, 0, c) for x, c in zip(self.near, self._row_steps, strict=True)]
        fill(builder, rows, row_axes, ("a", "c"), self.tiles * self.tall)
        fill(builder, steps, self.inner, ("a", "b") if form.by_position else ("a",), points(self.inner))
        if form.by_position:
            self._fill_columns(builder, columns)
        if self.is_packed:
            self._pack(builder, packed, kernel)

    @property
    def _row_steps(self) -> list[int]:
        return [self.moved_pitch * step for step in strides_of([x.extent for x in self.near])] if self.is_moved else [x.c for x in self.near]

    def _fill_columns(self, builder: KernelBuilder, table: str) -> None:
        """The vectors along lines; the last of a line ends with it."""
        *others, line = [Axis(x.extent, x.b, 0, x.c) for x in self.part.columns]
        lanes = self.form.lanes
        whole, each = line.extent // lanes, -(-line.extent // lanes)
        if whole:
            fill(builder, table, [*others, Axis(whole, lanes * line.a, 0, lanes * line.c)], ("a", "c"), 0, each)
        if whole < each:
            last = max(line.extent - lanes, 0)
            fill(builder, table, [*others, Axis(1)], ("a", "c"), 0, each, first=each - 1, at=(last * line.a, last * line.c))
        last = [sum((x.extent - 1) * getattr(x, s) for x in others) + max(line.extent - lanes, 0) * getattr(line, s) for s in "ac"]
        repeat(builder, table, last, self.vectors, self.groups * self.wide)

    def _pack(self, builder: KernelBuilder, packed: str, kernel: str) -> None:
        form, (columns,), lanes = self.form, self.part.columns, self.form.lanes
        element, own = form.element, self.depth * self.pitch
        contracted = [*self.outer, *self.inner]
        if self.active < lanes:
            zero(builder, packed, self.packed_bytes)
        with builder.loops([form.groups]) as (group,):
            source = builder.address(kernel, element, builder.linear([(group, form.group_steps[1])], self.part.b))
            target = builder.address(packed, element, builder.multiply(group, own))
            full = columns.extent // self.width
            for panels, width, start in ((full, self.width, 0), (1, columns.extent - full * self.width, full)):
                if panels and width:
                    pitch = -(-width // lanes) * lanes
                    extents = [panels, *[x.extent for x in contracted], width]
                    reads = [self.width * columns.b, *[x.b for x in contracted], columns.b]
                    writes = [self.depth * pitch, *[pitch * step for step in strides_of(extents[1:-1])], 1]
                    first = builder.address(source, element, start * self.width * columns.b)
                    copy_box(builder, element, extents, first, reads, builder.address(target, element, start * self.width * self.depth), writes)

    def run(self, builder: KernelBuilder, x: str, result: str, moved: str, piece: tuple[Index, Index], kernel: str = "%p1") -> None:
        """The tiles of all groups, on a piece of a block of images; how many pieces lie before it in what it reads, and in the result."""
        form, part, element = self.form, self.part, self.form.element
        a_piece, c_piece = part.moved(builder, piece)
        with builder.loops([form.groups]) as (group,):
            steps = form.group_steps
            x_step, w_step = builder.multiply(group, steps[0]), builder.multiply(group, steps[1])
            target = builder.address(result, element, builder.add(builder.linear([(group, steps[2])], part.c), c_piece))
            if form.by_position:
                a = builder.address(kernel, element, builder.add(builder.add(w_step, part.a), a_piece))
                b = builder.address(x, element, builder.add(x_step, part.b))
                self._tiles_by_position(builder, a, b, target)
                return
            a = builder.address(x, element, builder.add(builder.add(x_step, part.a), a_piece))
            if self.is_packed:
                b = builder.address(builder.byte("%scratch", self.packed_at), element, builder.multiply(group, self.depth * self.pitch))
            else:
                b = builder.address(kernel, element, builder.add(w_step, part.b))
            if self.outer and self.is_moved:
                self._summed_tiles(builder, a, b, moved)
                self._move(builder, part.columns[0].extent, moved, target)
            elif self.outer:
                self._summed_tiles(builder, a, b, target)
            else:
                self._tiles_by_feature(builder, a, b, target, moved)

    def _move(self, builder: KernelBuilder, columns: int, moved: str, target: str) -> None:
        """So many columns of the near rows to their places."""
        extents = [*[axis.extent for axis in self.near], columns]
        copy_box(builder, self.form.element, extents, moved, [*self._row_steps, 1], target, [*[axis.c for axis in self.near], self.part.columns[0].c])

    def _tiles_by_position(self, builder: KernelBuilder, a: str, b: str, c: str) -> None:
        tile = self._tile(self.wide, self.active)
        with builder.loops([self.groups]) as (number,):
            columns = builder.byte("%scratch", builder.linear([(number, 8 * self.wide)], self.columns_at))
            self._call(builder, tile, a, b, columns, 0, c)

    def _column_groups(self) -> list[tuple[int, int, int, int]]:
        """The full groups of columns and the last: how many, of how many vectors, with how many lanes of the last vector that count, from which column on."""
        lanes = self.form.lanes
        full, rest = divmod(self.vectors, self.wide)
        if not rest and self.active < lanes:
            full, rest = full - 1, self.wide
        groups = [(full, self.wide, lanes, 0), (min(rest, 1), rest, self.active, full * self.width)]
        return [group for group in groups if group[0]]

    def _tiles_by_feature(self, builder: KernelBuilder, a: str, b: str, c: str, moved: str) -> None:
        """Groups of columns one after another, of each the blocks of near rows; what is computed elsewhere is moved block by block."""
        (columns,), element, lanes = self.part.columns, self.form.element, self.form.lanes
        for count, vectors, active, start in self._column_groups():
            width = vectors * lanes
            with builder.loops([count]) as (panel,):
                place, step = (self.width * self.depth, width) if self.is_packed else (self.width, self.inner[0].b if self.inner else 0)
                source = builder.address(b, element, builder.linear([(panel, place)], start * (self.depth if self.is_packed else 1)))
                with builder.loops([x.extent for x in self.far]) as at:
                    c_far, a_far = [[(i, getattr(x, s)) for i, x in zip(at, self.far, strict=True)] for s in "ca"]
                    if self.form.by_channel:
                        a_far.append((panel, self.width))
                    rows = builder.address(a, element, builder.linear(a_far, start if self.form.by_channel else 0))
                    target = builder.address(c, element, builder.linear([(panel, self.width * columns.c), *c_far], start * columns.c))
                    self._call(builder, self._tile(vectors, active), rows, source, "null", step, moved if self.is_moved else target)
                    if self.is_moved:
                        self._move(builder, width - lanes + active, moved, target)

    def _summed_tiles(self, builder: KernelBuilder, a: str, b: str, c: str) -> None:
        """Blocks of the contraction one after another, of each all columns; c is what all but the first add to, of neighbouring columns."""
        element, lanes = self.form.element, self.form.lanes
        blocks, block = strides_of([x.extent for x in self.outer]), points(self.inner)
        with builder.loops([x.extent for x in self.outer]) as at:
            a = builder.address(a, element, builder.linear([(i, x.a) for i, x in zip(at, self.outer, strict=True)]))
            number = builder.linear(list(zip(at, blocks, strict=True)))
            b_outer = [(i, x.b) for i, x in zip(at, self.outer, strict=True)]
            for count, vectors, active, start in self._column_groups():
                width = vectors * lanes
                with builder.loops([count]) as (panel,):
                    if self.is_packed:
                        place, step = builder.linear([(panel, self.width * self.depth), (number, block * width)], start * self.depth), width
                    else:
                        place, step = builder.linear([(panel, self.width), *b_outer], start), self.inner[0].b if self.inner else 0
                    source = builder.address(b, element, place)
                    target = builder.address(c, element, builder.linear([(panel, self.width)], start))
                    rows = builder.address(a, element, builder.linear([(panel, self.width)], start)) if self.form.by_channel else a
                    for adds in (False, True):
                        with builder.when(builder.icmp("ne" if adds else "eq", "i64", number, 0)):
                            self._call(builder, self._tile(vectors, active, adds), rows, source, "null", step, target)

    def _tile(self, vectors: int, active: int, adds: bool = False) -> Tile:
        form, strided = self.form, self.form.by_position and self.part.columns[-1].c != 1
        active = form.lanes if self.is_moved else active
        return Tile(form.name, form.lanes, self.tall, vectors, form.by_position, adds, active, strided, form.by_channel)

    def _call(self, builder: KernelBuilder, tile: Tile, a: str, b: str, columns: str, step: Index, c: str) -> None:
        builder.module.once(tile.symbol, lambda: tile_function(tile, builder.target.attributes))
        rows, steps = builder.byte("%scratch", self.rows_at), builder.byte("%scratch", self.steps_at)
        arguments = (a, rows, self.tiles, b, columns, steps, points(self.inner))
        operands: list[Operand] = [("ptr" if isinstance(x, str) else "i64", x) for x in arguments]
        builder.call_void(tile.symbol, [*operands, ("i64", step), ("ptr", c), ("i64", self.part.columns[-1].c)])
