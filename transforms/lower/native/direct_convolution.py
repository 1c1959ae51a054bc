"""Convolutions without a matrix of windows: register tiles whose operands lie in the padded input and in the kernel themselves.

Every element of the result is a sum over window positions and features of products of an input and a weight. A tile of some rows
by some vectors of columns of such sums stays in registers (:mod:`.convolution_tiles`). In one of two forms:

* features in lanes: rows are images and positions, columns the output features. The kernel is copied so that the features of a group of
  columns are neighbours, unless they lie so.
* positions in lanes: rows are output features, columns the positions of a line of the image, where that is contiguous.

Long contractions (the gradient of a kernel sums over all images) are cut into blocks whose operands stay in the nearest cache, as in K. Goto
and R. van de Geijn, ACM TOMS 34 (2008); the direct form is that of J. Zhang, F. Franchetti and T. M. Low, High Performance Zero-Memory
Overhead Direct Convolutions, ICML 2018. A dilated input falls into phases (:mod:`.convolution_geometry`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import gcd, prod

from wengert.dialects import stablehlo
from wengert.ir.tensor_types import element, f32, f64, rank, shape
from wengert.transforms.lower.buffers import aligned
from wengert.transforms.lower.cpu_target import GENERIC, Target
from wengert.transforms.lower.native.base import NativeKernel, native
from wengert.transforms.lower.native.boxes import copy_box, strides_of, zero
from wengert.transforms.lower.native.code import Code, Index
from wengert.transforms.lower.native.convolution_attributes import windows_of
from wengert.transforms.lower.native.convolution_geometry import Phase, phases, room
from wengert.transforms.lower.native.convolution_tiles import Tile, best_shape, tile_function
from wengert.transforms.lower.native.held import held
from wengert.transforms.lower.parallel import wanted_chunks

MOST_PHASES = 16
"""Each phase has code of its own, though the tiles are shared."""
ROWS = 256
"""Images are taken together until there are about so many positions."""
STEPS = 512
"""A longer contraction is cut."""
FAR_BYTES = 1 << 14
"""Rows of a kernel that are further apart than this in total are copied into groups of columns."""
NEAR_BYTES = 1 << 17
"""A kernel of more bytes is not read again and again for every group of positions."""
FLOPS_PER_NS = 60.0
PREPARED_NS = 0.4
"""What padding or packing an element takes."""
REPEATED = 0.05
"""Which part of the work may be done again so that threads can share the rest."""


@dataclass(frozen=True)
class Axis:
    """A dimension of the loops: its extent and its strides in A, in B and in the result."""

    extent: int
    a: int = 0
    b: int = 0
    c: int = 0


@dataclass(frozen=True)
class Part:
    """One combination of phases: rows, columns and contracted dimensions, and the offsets of the first of them."""

    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    contracted: tuple[Axis, ...]
    a: int
    b: int
    c: int


def _count(axes: Iterable[Axis]) -> int:
    return prod([axis.extent for axis in axes])


def merged(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The dimensions without those of extent 1, neighbours joined where they continue one another."""
    found: list[Axis] = []
    for axis in axes:
        if axis.extent == 1:
            continue
        if found and all(getattr(found[-1], s) == getattr(axis, s) * axis.extent for s in "abc"):
            found[-1] = Axis(found[-1].extent * axis.extent, axis.a, axis.b, axis.c)
        else:
            found.append(axis)
    return tuple(found)


def cut(axes: Sequence[Axis], most: int) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
    """The dimensions as outer ones and inner ones of at most so many points."""
    inner: list[Axis] = []
    rest = list(axes)
    while rest and _count(inner) * rest[-1].extent <= most:
        inner.insert(0, rest.pop())
    if rest:
        axis, room_ = rest.pop(), most // _count(inner)
        piece = next(n for n in range(min(room_, axis.extent), 0, -1) if axis.extent % n == 0)
        if 2 * piece >= room_ or not inner:
            inner.insert(0, Axis(piece, axis.a, axis.b, axis.c))
            axis = Axis(axis.extent // piece, axis.a * piece, axis.b * piece, axis.c * piece)
        rest.append(axis)
    return tuple([a for a in rest if a.extent > 1]), tuple(inner)


@native(stablehlo.ConvolutionOp)
class DirectConvolution(NativeKernel):
    """Tables and copies, then tiles."""

    def __init__(self, op: stablehlo.ConvolutionOp, target: Target):
        super().__init__(op, target)
        self.w = w = windows_of(op)
        self.element = held(op.lhs)
        self.name = "f32" if self.element.size == 4 else "f64"
        lhs, rhs, out = shape(op.lhs), shape(op.rhs), shape(op.result)
        self.groups = w.groups * w.batch_groups
        self.images, self.features = lhs[w.lhs[0]] // w.batch_groups, rhs[w.rhs[0]]
        self.outputs = rhs[w.rhs[1]] // self.groups
        self.spaces = [
            phases(out[o], rhs[k], s, b, d, low)
            for o, k, s, b, d, low in zip(w.out[2:], w.rhs[2:], w.strides, w.base, w.dilations, w.low, strict=True)
        ]

    @classmethod
    def supports(cls, op: stablehlo.ConvolutionOp) -> bool:
        types = {element(value) for value in (op.lhs, op.rhs, op.result)}
        if types not in ({f32}, {f64}) or rank(op.lhs) == 2 or 0 in (prod(shape(op.result)), prod(shape(op.rhs)), prod(shape(op.lhs))):
            return False
        found = cls(op, GENERIC)
        if found.groups > 1 and found.outputs == 1 and not found.by_channel:
            return False
        return prod(map(len, found.spaces)) <= MOST_PHASES and max(map(prod, (found.extents, shape(op.rhs), shape(op.result)))) < 2**31

    # -- the input, padded

    @cached_property
    def block(self) -> int:
        """How many images are taken together: a divisor of their number."""
        if self.w.batch_groups > 1 or self.w.out[0] != 0:
            return self.images
        out = shape(self.op.result)
        wanted = -(-ROWS // prod([out[d] for d in self.w.out[2:]]))
        return next(b for b in range(1, self.images + 1) if self.images % b == 0 and (b >= wanted or b == self.images))

    @cached_property
    def room(self) -> list[tuple[int, int]]:
        """Zeros before and after, by dimension in space."""
        return [room(found, shape(self.op.lhs)[d]) for found, d in zip(self.spaces, self.w.lhs[2:], strict=True)]

    @cached_property
    def is_padded(self) -> bool:
        """Whether the input is copied: for the zeros around it, or since lanes read beyond the end."""
        return any(low or high for low, high in self.room) or ((self.by_position or self.by_channel) and self.lanes > self.active)

    @cached_property
    def extents(self) -> list[int]:
        """The padded input of a block of images, in the input's order of dimensions (the input itself, where it is not copied)."""
        found = list(shape(self.op.lhs))
        if any(low or high for low, high in self.room):
            found[self.w.lhs[0]] = self.block * self.w.batch_groups
            for d, (low, high) in zip(self.w.lhs[2:], self.room, strict=True):
                found[d] += low + high
        return found

    @cached_property
    def x_strides(self) -> tuple[int, ...]:
        return strides_of(self.extents)

    # -- the form

    @cached_property
    def line(self) -> int:
        """The dimension in space along whose outputs both the input and the result are contiguous, or -1."""
        x, out = self.x_strides, strides_of(shape(self.op.result))
        for i, (d, o) in enumerate(zip(self.w.lhs[2:], self.w.out[2:], strict=True)):
            if all(p.x_step * x[d] == 1 and p.count > 1 for p in self.spaces[i]) and out[o] == 1:
                return i
        return -1

    @cached_property
    def by_position(self) -> bool:
        """Whether lanes are positions."""
        if self.line < 0 or strides_of(shape(self.op.result))[self.w.out[1]] == 1:
            return False
        return prod(shape(self.op.rhs)) * self.element.size <= NEAR_BYTES

    @cached_property
    def by_channel(self) -> bool:
        """Whether lanes are groups, of one output each, that are neighbours everywhere."""
        return self.groups > 1 and self.outputs == 1 and self.group_steps == (1, 1, 1)

    @cached_property
    def lanes(self) -> int:
        """How many columns a vector holds."""
        lanes = self.target.vector_bytes // self.element.size
        wanted = min(p.count for p in self.spaces[self.line]) if self.by_position else self.columns
        while lanes > 1 and lanes // 2 >= wanted:
            lanes //= 2
        return lanes

    @cached_property
    def active(self) -> int:
        """How many lanes count in a vector that is not full."""
        if not self.by_position:
            return (self.columns - 1) % self.lanes + 1
        return min(self.lanes, *(p.count for p in self.spaces[self.line]))

    @property
    def columns(self) -> int:
        """How many features, or groups, are in lanes."""
        return self.groups if self.by_channel else self.outputs

    @property
    def looped_groups(self) -> int:
        """The groups that are computed one after another."""
        return 1 if self.by_channel else self.groups

    @cached_property
    def whole_parts(self) -> list[Part]:
        """The work of one group on one block of images, by combination of phases; without those whose window is empty."""
        return [self._part(found) for found in product(*self.spaces) if all(p.window for p in found)]

    @property
    def leaves_zeros(self) -> bool:
        """Whether some results are sums of nothing."""
        return len(self.whole_parts) < prod(map(len, self.spaces))

    @cached_property
    def work(self) -> float:
        """Nanoseconds of one block of images, about."""
        return 2.0 * self.looped_groups * sum(_count((*p.rows, *p.columns, *p.contracted)) for p in self.whole_parts) / FLOPS_PER_NS

    @cached_property
    def pieces(self) -> int:
        """Into how many ranges of rows the only block is cut for threads, each of which pads and packs for itself."""
        if self.images > self.block or self.leaves_zeros or not all(part.rows for part in self.whole_parts):
            return 1
        repeated = PREPARED_NS * (prod(self.extents) + prod(shape(self.op.rhs)))
        most = min(wanted_chunks(self.work), int(1 + REPEATED * self.work / repeated))
        rows = gcd(*[part.rows[0].extent for part in self.whole_parts])
        return next(n for n in range(min(most, rows), 0, -1) if rows % n == 0)

    @cached_property
    def parts(self) -> list[Part]:
        """The work of one group on one piece."""
        n = self.pieces
        return self.whole_parts if n == 1 else [replace(p, rows=(replace(p.rows[0], extent=p.rows[0].extent // n), *p.rows[1:])) for p in self.whole_parts]

    def _part(self, found: Sequence[Phase]) -> Part:
        w, x, k, out = self.w, self.x_strides, strides_of(shape(self.op.rhs)), strides_of(shape(self.op.result))
        kernel = shape(self.op.rhs)
        moving = [Axis(self.block, x[w.lhs[0]], 0, out[w.out[0]])]
        window: list[Axis] = []
        first_x = first_w = first_out = 0
        for i, p in enumerate(found):
            moving.append(Axis(p.count, p.x_step * x[w.lhs[i + 2]], 0, p.step * out[w.out[i + 2]]))
            sign = -1 if w.flips[i] else 1
            window.append(Axis(p.window, p.x_window * x[w.lhs[i + 2]], sign * p.w_step * k[w.rhs[i + 2]]))
            first_x += (self.room[i][0] + p.origin) * x[w.lhs[i + 2]]
            first_w += (kernel[w.rhs[i + 2]] - 1 - p.w_first if w.flips[i] else p.w_first) * k[w.rhs[i + 2]]
            first_out += p.first * out[w.out[i + 2]]
        contracted = sorted([*window, Axis(self.features, x[w.lhs[1]], k[w.rhs[0]])], key=lambda axis: -axis.a)
        features = [Axis(self.columns, 0, k[w.rhs[1]], out[w.out[1]])]
        moving.sort(key=lambda axis: -axis.a)
        if not self.by_position:
            return Part(merged(moving), tuple(features), merged(contracted), first_x, first_w, first_out)
        swapped = [[Axis(axis.extent, axis.b, axis.a, axis.c) for axis in axes] for axes in (features, moving, contracted)]
        return Part(tuple(swapped[0]), tuple(swapped[1]), merged(swapped[2]), first_w, first_x, first_out)

    # -- memory

    @cached_property
    def jobs(self) -> list[Job]:
        """The parts, and where their tables and copies lie in the scratch memory."""
        jobs: list[Job] = []
        offset = aligned((prod(self.extents) + self.lanes) * self.element.size) if self.is_padded else 0
        for part in self.parts:
            job = Job.of(part, self, offset)
            jobs.append(job)
            offset = job.end
        return jobs

    @cached_property
    def moved_bytes(self) -> int:
        """Room for a result that is not computed in place."""
        return max([aligned(job.rows * job.pitch * self.element.size) for job in self.jobs if job.is_moved], default=0)

    def scratch_bytes(self) -> int:
        return (self.jobs[-1].end if self.jobs else 0) + self.moved_bytes

    # -- code

    def dealt_work(self) -> tuple[int, float]:
        blocks = self.images // self.block
        return blocks * self.pieces, blocks * self.work

    def emit(self, code: Code) -> None:
        size = self.element.size
        padded = "%scratch"
        moved = code.byte("%scratch", self.jobs[-1].end if self.jobs else 0)
        for job in self.jobs:
            job.prepare(code)
        if self.is_padded:
            zero(code, padded, (prod(self.extents) + self.lanes) * size)
        w, out = self.w, strides_of(shape(self.op.result))
        image_in, image_out = self.block * strides_of(shape(self.op.lhs))[w.lhs[0]], self.block * out[w.out[0]]
        if self.is_padded and self.pieces > 1:
            self._pad(code, "%p0", padded)
        with code.dealt([self.images // self.block * self.pieces]) as (number,):
            image, piece = (number, 0) if self.pieces == 1 else (0, number)
            source = code.address("%p0", self.element, code.times(image, image_in))
            target = code.address("%q0", self.element, code.times(image, image_out))
            if self.is_padded and self.pieces == 1:
                self._pad(code, source, padded)
            if self.leaves_zeros:
                zero(code, target, prod(shape(self.op.result)) // (self.images // self.block) * size)
            for job in self.jobs:
                job.run(code, padded if self.is_padded else source, target, moved, piece)

    def _pad(self, code: Code, source: str, padded: str) -> None:
        """The images between the zeros, which no image overwrites."""
        extents = list(shape(self.op.lhs))
        extents[self.w.lhs[0]] = self.block * self.w.batch_groups
        offset = sum(low * self.x_strides[d] for d, (low, _) in zip(self.w.lhs[2:], self.room, strict=True))
        copy_box(code, self.element, extents, source, strides_of(shape(self.op.lhs)), code.address(padded, self.element, offset), self.x_strides)

    @cached_property
    def group_steps(self) -> tuple[int, int, int]:
        """How far the input, the kernel and the result move from group to group."""
        w, x, k, out = self.w, self.x_strides, strides_of(shape(self.op.rhs)), strides_of(shape(self.op.result))
        per_group = self.images * x[w.lhs[0]] if w.batch_groups > 1 else self.features * x[w.lhs[1]]
        return per_group, self.outputs * k[w.rhs[1]], self.outputs * out[w.out[1]]


@dataclass(frozen=True)
class Job:
    """A part with what is decided about it, and where its tables and its copy of the kernel lie (byte offsets in the scratch memory).

    ``tall`` rows and ``wide`` vectors are a tile. ``outer`` and ``inner`` are the contraction, cut; ``width`` columns are a group, and the
    last group has ``rest`` of them (0 if all are full).
    """

    part: Part
    kernel: DirectConvolution
    tall: int
    wide: int
    active: int
    outer: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    rows_at: int
    steps_at: int
    columns_at: int
    packed_at: int
    end: int

    @staticmethod
    def of(part: Part, kernel: DirectConvolution, offset: int) -> Job:
        """Decides how the part is computed."""
        scattered, lanes = kernel.by_position, kernel.lanes
        active = min(lanes, part.columns[-1].extent) if scattered else kernel.active
        rows = _count(part.rows)
        vectors = _count(part.columns[:-1]) * -(-part.columns[-1].extent // lanes)
        tall, wide = best_shape(rows, vectors, kernel.target.vector_registers)
        outer, inner = ((), part.contracted) if scattered else cut(part.contracted, STEPS if _count(part.contracted) > STEPS * 3 // 2 else STEPS * 3 // 2)
        found = Job(part, kernel, tall, wide, active, outer, inner, 0, 0, 0, 0, 0)
        places = [offset]
        for count in (8 * found.tiles * tall, (8 if scattered else 4) * _count(inner), 8 * found.groups * wide if scattered else 0, found.packed_bytes):
            places.append(places[-1] + aligned(count))
        return Job(part, kernel, tall, wide, active, outer, inner, *places)

    # -- sizes

    @property
    def rows(self) -> int:
        return _count(self.part.rows)

    @property
    def tiles(self) -> int:
        return -(-self.rows // self.tall)

    @property
    def depth(self) -> int:
        return _count(self.part.contracted)

    @property
    def vectors(self) -> int:
        """All vectors of columns."""
        columns = self.part.columns
        return _count(columns[:-1]) * -(-columns[-1].extent // self.kernel.lanes)

    @property
    def groups(self) -> int:
        """Groups of columns."""
        return -(-self.vectors // self.wide)

    @property
    def width(self) -> int:
        return self.wide * self.kernel.lanes

    @property
    def pitch(self) -> int:
        """The columns of all vectors."""
        return self.vectors * self.kernel.lanes

    @cached_property
    def is_packed(self) -> bool:
        """Whether the kernel is copied: its features are not neighbours or do not fill vectors, or too many lines would meet in few sets of the cache."""
        if self.kernel.by_position:
            return False
        (columns,) = self.part.columns
        if columns.b != 1 or self.active != self.kernel.lanes or len(self.inner) > 1:
            return True
        return self.groups > 1 and self.inner != () and _count(self.inner) * self.inner[0].b * self.kernel.element.size > FAR_BYTES and self.tiles > 4

    @property
    def packed_bytes(self) -> int:
        return self.kernel.looped_groups * self.depth * self.pitch * self.kernel.element.size if self.is_packed else 0

    @cached_property
    def is_moved(self) -> bool:
        """Whether the result is computed elsewhere: sums that are added up are whole vectors of neighbours."""
        return self.outer != () and (self.part.columns[-1].c != 1 or self.active != self.kernel.lanes)

    # -- code

    def prepare(self, code: Code) -> None:
        """Fills the tables and copies the kernel."""
        part, kernel = self.part, self.kernel
        rows, steps, columns, packed = [code.byte("%scratch", at) for at in (self.rows_at, self.steps_at, self.columns_at, self.packed_at)]
        row_axes = [Axis(x.extent, x.a, 0, c) for x, c in zip(part.rows, self._row_steps, strict=True)]
        _fill(code, rows, row_axes, ("a", "c"), self.tiles * self.tall)
        _fill(code, steps, self.inner, ("a", "b") if kernel.by_position else ("a",), _count(self.inner))
        if kernel.by_position:
            self._fill_columns(code, columns)
        if self.is_packed:
            self._pack(code, packed)

    @property
    def _row_steps(self) -> list[int]:
        return [self.pitch * step for step in strides_of([x.extent for x in self.part.rows])] if self.is_moved else [x.c for x in self.part.rows]

    def _fill_columns(self, code: Code, table: str) -> None:
        """The vectors along lines; the last of a line ends with it."""
        *others, line = [Axis(x.extent, x.b, 0, x.c) for x in self.part.columns]
        lanes = self.kernel.lanes
        whole, each = line.extent // lanes, -(-line.extent // lanes)
        if whole:
            _fill(code, table, [*others, Axis(whole, lanes * line.a, 0, lanes * line.c)], ("a", "c"), 0, each)
        if whole < each:
            last = max(line.extent - lanes, 0)
            _fill(code, table, [*others, Axis(1)], ("a", "c"), 0, each, first=each - 1, at=(last * line.a, last * line.c))
        last = [sum((x.extent - 1) * getattr(x, s) for x in others) + max(line.extent - lanes, 0) * getattr(line, s) for s in "ac"]
        _repeat(code, table, last, self.vectors, self.groups * self.wide)

    def _pack(self, code: Code, packed: str) -> None:
        kernel, (columns,), lanes = self.kernel, self.part.columns, self.kernel.lanes
        element_, own = kernel.element, self.depth * self.pitch
        contracted = [*self.outer, *self.inner]
        if self.active < lanes:
            zero(code, packed, self.packed_bytes)
        with code.loops([kernel.looped_groups]) as (group,):
            source = code.address("%p1", element_, code.at([(group, kernel.group_steps[1])], self.part.b))
            target = code.address(packed, element_, code.times(group, own))
            full = columns.extent // self.width
            for panels, width, start in ((full, self.width, 0), (1, columns.extent - full * self.width, full)):
                if panels and width:
                    pitch = -(-width // lanes) * lanes
                    extents = [panels, *[x.extent for x in contracted], width]
                    reads = [self.width * columns.b, *[x.b for x in contracted], columns.b]
                    writes = [self.depth * pitch, *[pitch * step for step in strides_of(extents[1:-1])], 1]
                    first = code.address(source, element_, start * self.width * columns.b)
                    copy_box(code, element_, extents, first, reads, code.address(target, element_, start * self.width * self.depth), writes)

    def run(self, code: Code, x: str, result: str, moved: str, piece: Index) -> None:
        """The tiles of all groups, on a piece of a block of images."""
        kernel, part, element_ = self.kernel, self.part, self.kernel.element
        a_piece, c_piece = [code.times(piece, part.rows[0].extent * step) for step in (part.rows[0].a, part.rows[0].c)] if piece != 0 else (0, 0)
        with code.loops([kernel.looped_groups]) as (group,):
            steps = kernel.group_steps
            x_step, w_step = code.times(group, steps[0]), code.times(group, steps[1])
            target = code.address(result, element_, code.add(code.at([(group, steps[2])], part.c), c_piece))
            if kernel.by_position:
                a = code.address("%p1", element_, code.add(code.add(w_step, part.a), a_piece))
                b = code.address(x, element_, code.add(x_step, part.b))
                self._tiles_by_position(code, a, b, target)
                return
            a = code.address(x, element_, code.add(code.add(x_step, part.a), a_piece))
            if self.is_packed:
                b = code.address(code.byte("%scratch", self.packed_at), element_, code.times(group, self.depth * self.pitch))
            else:
                b = code.address("%p1", element_, code.add(w_step, part.b))
            self._tiles_by_feature(code, a, b, moved if self.is_moved else target)
            if self.is_moved:
                extents = [*[axis.extent for axis in part.rows], part.columns[0].extent]
                copy_box(code, element_, extents, moved, [*self._row_steps, 1], target, [*[axis.c for axis in part.rows], part.columns[0].c])

    def _tiles_by_position(self, code: Code, a: str, b: str, c: str) -> None:
        tile = self._tile(self.wide, self.active)
        with code.loops([self.groups]) as (number,):
            columns = code.byte("%scratch", code.at([(number, 8 * self.wide)], self.columns_at))
            self._call(code, tile, a, b, columns, 0, c, self.part.columns[-1].c)

    def _tiles_by_feature(self, code: Code, a: str, b: str, c: str) -> None:
        (columns,), element_, lanes = self.part.columns, self.kernel.element, self.kernel.lanes
        apart = 1 if self.is_moved else columns.c
        full, rest = divmod(self.vectors, self.wide)
        if not rest and self.active < lanes:
            full, rest = full - 1, self.wide
        blocks, block = strides_of([x.extent for x in self.outer]), _count(self.inner)
        with code.loops([x.extent for x in self.outer]) as at:
            a = code.address(a, element_, code.at([(i, x.a) for i, x in zip(at, self.outer, strict=True)]))
            number = code.at(list(zip(at, blocks, strict=True)))
            b_outer = [(i, x.b) for i, x in zip(at, self.outer, strict=True)]
            for count, vectors, active in ((full, self.wide, lanes), (1 if rest else 0, rest, self.active)):
                if not count:
                    continue
                width, start = vectors * lanes, full * self.width if vectors is rest and active == self.active and count == 1 and rest else 0
                with code.loops([count]) as (panel,):
                    if self.is_packed:
                        place, step = code.at([(panel, self.width * self.depth), (number, block * width)], start * self.depth), width
                    else:
                        place, step = code.at([(panel, self.width), *b_outer], start), self.inner[0].b if self.inner else 0
                    source = code.address(b, element_, place)
                    target = code.address(c, element_, code.at([(panel, self.width * apart)], start * apart))
                    rows = code.address(a, element_, code.at([(panel, self.width)], start)) if self.kernel.by_channel else a
                    for adds in (False, True) if self.outer else (False,):
                        with code.when(code.op(f"icmp {'ne' if adds else 'eq'} i64 {number}, 0")) if self.outer else nullcontext():
                            self._call(code, self._tile(vectors, active, adds), rows, source, "null", step, target, apart)

    def _tile(self, vectors: int, active: int, adds: bool = False) -> Tile:
        kernel, strided = self.kernel, not self.is_moved and self.part.columns[-1].c != 1
        active = kernel.lanes if self.is_moved else active
        return Tile(kernel.name, kernel.lanes, self.tall, vectors, kernel.by_position, adds, active, strided, kernel.by_channel)

    def _call(self, code: Code, tile: Tile, a: str, b: str, columns: str, step: Index, c: str, apart: int) -> None:
        if tile.symbol not in code.out.functions:
            code.out.functions[tile.symbol] = tile_function(tile, code.target.attributes)
        rows, steps = code.byte("%scratch", self.rows_at), code.byte("%scratch", self.steps_at)
        arguments = f"ptr {a}, ptr {rows}, i64 {self.tiles}, ptr {b}, ptr {columns}, ptr {steps}, i64 {_count(self.inner)}, i64 {step}, ptr {c}, i64 {apart}"
        code.line(f"call void @{tile.symbol}({arguments})")


def _fill(
    code: Code, table: str, axes: Sequence[Axis], kept: Sequence[str], wanted: int, inner: int = 0, *, first: int = 0, at: tuple[int, ...] = (0, 0)
) -> None:
    """The offsets of all points of a box, and the last one again up to ``wanted`` entries; ``inner`` points lie where the last dimension says how many."""
    extents = [axis.extent for axis in axes]
    places = strides_of([*extents[:-1], inner] if inner else extents)
    with code.loops(extents) as point:
        place = code.at(list(zip(point, places, strict=True)), first)
        for n, name in enumerate(kept):
            value = code.at([(i, getattr(axis, name)) for i, axis in zip(point, axes, strict=True)], at[n])
            _store(code, table, code.at([(place, len(kept))], n), value)
    _repeat(code, table, [sum((axis.extent - 1) * getattr(axis, name) for axis in axes) for name in kept], prod(extents), wanted)


def _repeat(code: Code, table: str, entry: Sequence[int], start: int, end: int) -> None:
    for place in range(start, end):
        for n, value in enumerate(entry):
            _store(code, table, place * len(entry) + n, value)


def _store(code: Code, table: str, place: Index, value: Index) -> None:
    narrow = value if isinstance(value, int) else code.op(f"trunc i64 {value} to i32")
    code.line(f"store i32 {narrow}, ptr {code.op(f'getelementptr i32, ptr {table}, i64 {place}')}, align 4")
