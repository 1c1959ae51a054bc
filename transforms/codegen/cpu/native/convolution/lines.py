"""Emits direct convolutions with lanes along the contraction: the gradient of a depthwise kernel where channels come first.

An element of the result is then the sum over lines of images of products of neighbours in both operands, and nothing is a neighbour
in the result. A tile is some rows (window positions) of one group; each has a register of partial sums, whose lanes are added at the end.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cached_property, partial

from msgspec import Struct

from wengert.dialects.kernel.memory import aligned
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.native.convolution.tables import Axis, Part, cut, fill, points
from wengert.transforms.codegen.cpu.native.convolution.tiled_part import STEPS, Form
from wengert.transforms.codegen.cpu.native.convolution.tiles import MOST_ROWS
from wengert.transforms.codegen.cpu.native.kernel_builder import KernelBuilder
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index

PARAMETERS = ("ptr noalias %a", "ptr %rows", "i64 %tiles", "ptr noalias %b", "ptr %steps", "i64 %k", "ptr %ends", "i64 %lines", "ptr noalias %c")


class LineTile(Struct, frozen=True):
    """``whole``: lines have whole registers; ``rest``: how many elements each has beyond them; ``adds``: to what C holds."""

    element: str
    lanes: int
    rows: int
    whole: bool
    rest: int
    adds: bool

    @property
    def symbol(self) -> str:
        return f"wg.convolution.lines.{self.element}.{self.rows}x{self.lanes}.{self.rest}{'w' * self.whole}{'a' * self.adds}"

    def function(self, attributes: str) -> str:
        """The function: all tiles of one group."""
        builder, arithmetic = FunctionBuilder(), Arithmetic(self.element, self.lanes)
        kind, size = arithmetic.scalar, arithmetic.bytes
        mask = ", ".join(f"i1 {'true' if lane < self.rest else 'false'}" for lane in range(self.lanes))

        def entry(table: str, index: str, scale: int, offset: int) -> str:
            return builder.cast("sext", builder.load("i32", builder.shared_offset(table, "i32", index, scale, offset), 4), "i32", "i64")

        def moved(pointer: str, by: str) -> str:
            return builder.offset(pointer, kind, by)

        def read(pointer: str, *, masked: bool) -> str:
            if not masked:
                return builder.load(arithmetic.vector, pointer, size)
            arguments = f"ptr {pointer}, i32 {size}, <{self.lanes} x i1> <{mask}>, {arithmetic.vector} zeroinitializer"
            return builder.op(f"call {arithmetic.vector} @llvm.masked.load.{arithmetic.suffix}.p0({arguments})")

        def summed(rows: list[str], sums: list[str], table: str, count: str, *, masked: bool) -> list[str]:
            with builder.rotated_loop(count, [(arithmetic.vector, initial) for initial in sums]) as loop:
                a_step, b_step = (entry(table, loop.index, 2, n) for n in (0, 1))
                right = read(moved("%b", b_step), masked=masked)
                left = zip(rows, loop.values, strict=True)
                loop.carry(*[arithmetic.multiply_add(builder, read(moved(row, a_step), masked=masked), right, total) for row, total in left])
            return loop.results

        with builder.rotated_loop("%tiles") as outer:
            rows = [moved("%a", entry("%rows", outer.index, 2 * self.rows, 2 * r)) for r in range(self.rows)]
            results = [moved("%c", entry("%rows", outer.index, 2 * self.rows, 2 * r + 1)) for r in range(self.rows)]
            sums = [arithmetic.zero] * self.rows
            if self.whole:
                sums = summed(rows, sums, "%steps", "%k", masked=False)
            if self.rest:
                sums = summed(rows, sums, "%ends", "%lines", masked=True)
            totals = [arithmetic.sum_lanes(builder, value) for value in sums]
            if self.adds:  # all loads before all stores: the last rows may be the same
                before = [builder.load(kind, result, size) for result in results]
                totals = [builder.binary("fadd", kind, x, y) for x, y in zip(before, totals, strict=True)]
            for result, value in zip(results, totals, strict=True):
                builder.store(kind, value, result, size)
        return builder.definition(self.symbol, PARAMETERS, attributes=f"noinline {attributes}")


class LineJob(Struct, frozen=True, dict=True):
    """A part whose last contracted dimension is a line that both operands have as neighbours; where its tables lie."""

    part: Part
    form: Form
    offset: int

    @cached_property
    def line(self) -> Axis:
        return self.part.contracted[-1]

    @cached_property
    def lines(self) -> tuple[tuple[Axis, ...], tuple[Axis, ...]]:
        """The dimensions of lines as outer and inner ones."""
        return cut(self.part.contracted[:-1], max(STEPS // self.line.extent, 1))

    @property
    def rows(self) -> int:
        return points(self.part.rows)

    @cached_property
    def tall(self) -> int:
        return -(-self.rows // -(-self.rows // MOST_ROWS))

    @property
    def tiles(self) -> int:
        return -(-self.rows // self.tall)

    @cached_property
    def places(self) -> list[int]:
        """The offsets at which the tables of rows, of steps and of the ends of lines begin, and at which the last of them ends."""
        offsets, inner = [self.offset], points(self.lines[1])
        for count in (self.tiles * self.tall, inner * (self.line.extent // self.form.lanes), inner):
            offsets.append(offsets[-1] + aligned(8 * count))
        return offsets

    @property
    def end(self) -> int:
        return self.places[-1]

    def prepare(self, builder: KernelBuilder, kernel: str = "%p1") -> None:
        """Fills the tables."""
        rows, steps, ends = [builder.byte("%scratch", at) for at in self.places[:3]]
        line, lanes = self.line, self.form.lanes
        whole = line.extent // lanes
        fill(builder, rows, self.part.rows, ("a", "c"), self.tiles * self.tall)
        if whole:
            fill(builder, steps, [*self.lines[1], Axis(whole, lanes * line.a, lanes * line.b)], ("a", "b"), 0)
        if line.extent % lanes:
            fill(builder, ends, self.lines[1], ("a", "b"), 0, at=(whole * lanes * line.a, whole * lanes * line.b))

    def run(self, builder: KernelBuilder, x: str, result: str, moved: str, piece: tuple[Index, Index], kernel: str = "%p1") -> None:
        """The tiles of all groups, on a piece of a block of images; how many pieces lie before it in what it reads, and in the result."""
        part, form, (outer, inner) = self.part, self.form, self.lines
        whole, rest = divmod(self.line.extent, form.lanes)
        rows, steps, ends = [builder.byte("%scratch", at) for at in self.places[:3]]
        a_piece, c_piece = part.moved(builder, piece)
        with builder.loops([form.groups]) as (group,), builder.loops([axis.extent for axis in outer]) as at:
            x_step, w_step, out_step = [builder.multiply(group, step) for step in form.group_steps]
            a = builder.address(
                x, form.element, builder.add(builder.linear([(i, axis.a) for i, axis in zip(at, outer, strict=True)], builder.add(x_step, part.a)), a_piece)
            )
            b = builder.address(kernel, form.element, builder.linear([(i, axis.b) for i, axis in zip(at, outer, strict=True)], builder.add(w_step, part.b)))
            c = builder.address(result, form.element, builder.add(builder.add(out_step, part.c), c_piece))
            number = builder.linear([(i, 1) for i in at])  # 0 in the first iteration alone
            for adds in (False, True) if outer else (False,):
                tile = LineTile(form.name, form.lanes, self.tall, whole > 0, rest, adds)
                builder.module.once(tile.symbol, partial(tile.function, builder.target.attributes))
                arguments = (a, rows, self.tiles, b, steps, points(inner) * whole, ends, points(inner), c)
                operands = [("ptr" if isinstance(x, str) else "i64", x) for x in arguments]
                with builder.when(builder.icmp("ne" if adds else "eq", "i64", number, 0)) if outer else nullcontext():
                    builder.call_void(tile.symbol, operands)
