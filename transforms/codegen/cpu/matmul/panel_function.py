"""Writes the functions that copy panels of an operand: for each term of the sums, that element of so many rows of A, or columns of B, side by side.

Elements of another type are converted on the way; those of two neighbouring terms make a word where panels hold pairs (:mod:`pairs`). What a panel at an edge
has too much is filled with zeros, or the last row once more, whose products nobody looks at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from wengert.transforms.codegen.cpu.matmul.conversion import convert_vector
from wengert.transforms.codegen.cpu.matmul.elements import Arithmetic
from wengert.transforms.codegen.cpu.matmul.pairs import WORD, packed, read_neighbours
from wengert.transforms.codegen.cpu.matmul.row_kernel import write_turned
from wengert.transforms.codegen.llvm.builder import FunctionBuilder, Index
from wengert.transforms.codegen.llvm.module import SHARED

Form = Literal["across", "along", "apart"]
"""Which neighbours in memory are read together: elements of one term, terms of one row or column, or none."""

MASKED_BYTES = 64
"""Registers of so many bytes have masked loads of elements of all sizes (AVX-512)."""
PARAMETERS = ("ptr noalias readonly %source", "ptr noalias %target", "i64 %count", "i64 %depth", "i64 %step", "i64 %turn")
"""The first element, the panel, how many rows (columns) of it there are, the terms, and the distances of rows (columns) and of terms in elements. Where rows
(columns) are neighbours, there may be more of them than a panel has: several panels beside one another are copied."""


def panel_form(step: int, turn: int) -> Form:
    """How an operand is read whose rows (columns) and terms are so far apart."""
    return "across" if step == 1 else "along" if turn == 1 else "apart"


def panel_name(elements: tuple[str, str], width: int, lanes: int, form: Form, *, paired: bool = False, ahead: bool = False) -> str:
    """The symbol of the function for panels of this width, of elements of the first type that become those of the second, or pairs of them."""
    stored, element = elements
    read = f"{form}.ahead" if ahead else form
    return f"wg.panel.{element}{'.pairs' if paired else ''}{f'.of.{stored}' if stored != element else ''}.{width}x{lanes}.{read}"


def panel_function(elements: tuple[str, str], width: int, lanes: int, form: Form, *, paired: bool = False, ahead: bool = False) -> str:
    """``define internal void @wg.panel...``, see :data:`PARAMETERS`; it reads ``lanes`` elements at once.

    If terms of a row (column) are neighbours, ``ahead`` has those of the panel that comes next fetched meanwhile: too few neighbours are read of each for the
    processor to do it by itself.
    """
    builder, (stored, element) = FunctionBuilder(), elements
    depth: Index = builder.binary("lshr", "i64", builder.add("%depth", 1), 1) if paired else "%depth"
    panel = _Copied(stored, Arithmetic(WORD if paired else element, lanes), depth, paired)
    everything = ("%source", "%target", "%count")
    if form == "across" and lanes > 1:
        _copy_across(builder, panel, width)
    elif form == "apart" or lanes == 1:
        _copy_singly(builder, panel, width, everything, 0)
    else:
        _copy_turned(builder, panel, width, ahead=ahead)
    return builder.definition(panel_name(elements, width, lanes, form, paired=paired, ahead=ahead), PARAMETERS, attributes=f"{SHARED} nounwind")


class _Copied(Struct, frozen=True):
    """What a panel is copied from, the arithmetic of its own elements, or pairs, and how many of them it has in a row or column."""

    stored: str
    arithmetic: Arithmetic
    depth: Index
    paired: bool

    @property
    def kinds(self) -> tuple[str, str]:
        """The LLVM types of an element of the source and of the panel."""
        return Arithmetic(self.stored, 1).scalar, self.arithmetic.scalar

    def each(self, builder: FunctionBuilder, start: Index, body: Callable[[Index, Index, bool], None]) -> None:
        """A loop over the elements, or pairs, of a row or column, from one on: its first term, its own number, and whether it is a pair of one term."""
        if not self.paired:
            with builder.loop(start, "%depth") as term:
                body(term.index, term.index, False)
            return
        pairs = builder.binary("lshr", "i64", "%depth", 1)
        with builder.loop(start, pairs) as pair:
            body(builder.multiply(pair.index, 2), pair.index, False)
        with builder.when(builder.icmp("ne", "i64", pairs, self.depth)):
            body(builder.multiply(pairs, 2), pairs, True)

    def read(self, builder: FunctionBuilder, place: str, lanes: int, *, alone: bool = False, mask: str = "") -> str:
        """So many neighbours, or zeros where a mask leaves them out, converted; with those of the next term, unless they are ``alone``, if there are pairs."""
        first = self._given(builder, place, lanes, mask)
        if not self.paired:
            return convert_vector(builder, first, self.stored, self.arithmetic.element, lanes)
        second = None if alone else self._given(builder, builder.offset(place, self.kinds[0], "%turn"), lanes, mask)
        return packed(builder, self.stored, lanes, first, second)

    def read_along(self, builder: FunctionBuilder, place: str, lanes: int) -> str:
        """So many neighbours, or pairs of them, of one row."""
        return read_neighbours(builder, self.stored, place, lanes) if self.paired else self.read(builder, place, lanes)

    def _given(self, builder: FunctionBuilder, place: str, lanes: int, mask: str) -> str:
        source = Arithmetic(self.stored, lanes)
        if not mask:
            return builder.load(source.vector, place, source.bytes)
        operands = f"ptr {place}, i32 {source.bytes}, <{lanes} x i1> {mask}, {source.vector} zeroinitializer"
        return builder.op(f"call {source.vector} @llvm.masked.load.{source.suffix}.p0({operands})")

    def write(self, builder: FunctionBuilder, value: str, place: str, lanes: int) -> None:
        """So many elements of the panel."""
        target = Arithmetic(self.arithmetic.element, lanes)
        builder.store(target.vector, value, place, target.bytes)


def _copy_across(builder: FunctionBuilder, panel: _Copied, width: int) -> None:
    """The elements of a term are neighbours: all panels that are whole, one term after the other, then a last one that is not.

    So a run of memory is read of each term. Panels one after the other would read each a few lines of every term, in part, all of them on other pages.
    """
    given, kind = panel.kinds
    whole = builder.binary("udiv", "i64", "%count", width)

    def copy(term: Index, place: Index, alone: bool) -> None:
        source = builder.offset("%source", given, builder.multiply(term, "%turn"))
        target = builder.offset("%target", kind, builder.multiply(place, width))
        with builder.rotated_loop(whole) as number:
            beside = builder.multiply(number.index, width)
            there = builder.offset(target, kind, builder.multiply(beside, panel.depth))
            _copy_term(builder, panel, width, builder.offset(source, given, beside), there, alone=alone)

    with builder.when(builder.icmp("ne", "i64", whole, 0)):
        panel.each(builder, 0, copy)
    copied = builder.multiply(whole, width)
    left = builder.binary("sub", "i64", "%count", copied)
    with builder.when(builder.icmp("ne", "i64", left, 0)):
        place = (builder.offset("%source", given, copied), builder.offset("%target", kind, builder.multiply(copied, panel.depth)), left)
        if width % panel.arithmetic.lanes == 0 and panel.arithmetic.lanes * panel.arithmetic.bytes >= MASKED_BYTES:
            _copy_masked(builder, panel, width, place)
        else:
            _copy_singly(builder, panel, width, place, 0)


def _copy_masked(builder: FunctionBuilder, panel: _Copied, width: int, place: tuple[str, str, str]) -> None:
    """A panel with fewer columns than it has room for, in registers whose last lanes are zeros; from where, to where, and how many columns."""
    (first, panel_start, count), (given, kind), lanes = place, panel.kinds, panel.arithmetic.lanes
    counts = builder.splat("i64", count, lanes)
    starts = range(0, width, lanes)
    masks = [builder.icmp("slt", f"<{lanes} x i64>", f"<{', '.join(f'i64 {start + lane}' for lane in range(lanes))}>", counts) for start in starts]

    def copy(term: Index, number: Index, alone: bool) -> None:
        source = builder.offset(first, given, builder.multiply(term, "%turn"))
        target = builder.offset(panel_start, kind, builder.multiply(number, width))
        for start, mask in zip(starts, masks, strict=True):
            value = panel.read(builder, builder.offset(source, given, start), lanes, alone=alone, mask=mask)
            panel.write(builder, value, builder.offset(target, kind, start), lanes)

    panel.each(builder, 0, copy)


def _copy_term(builder: FunctionBuilder, panel: _Copied, width: int, source: str, target: str, *, alone: bool) -> None:
    """The elements of one term, which are neighbours; or of two, if panels hold pairs and it is not ``alone``."""
    (given, kind), start = panel.kinds, 0
    while start < width:
        lanes = min(panel.arithmetic.lanes, 1 << ((width - start).bit_length() - 1))
        panel.write(builder, panel.read(builder, builder.offset(source, given, start), lanes, alone=alone), builder.offset(target, kind, start), lanes)
        start += lanes


def _copy_turned(builder: FunctionBuilder, panel: _Copied, width: int, *, ahead: bool) -> None:
    """The terms of a row are neighbours: a register of each row, which are turned together. Where there are fewer rows the last one is copied again."""
    (given, kind), lanes = panel.kinds, panel.arithmetic.lanes
    terms = builder.binary("lshr", "i64", "%depth", 1) if panel.paired else "%depth"
    whole = builder.multiply(builder.binary("udiv", "i64", terms, lanes), lanes)
    last = builder.add("%count", -1)
    with builder.loop(0, whole, step=lanes) as loop:
        source = builder.offset("%source", given, builder.multiply(loop.index, 2) if panel.paired else loop.index)
        target = builder.offset("%target", kind, builder.multiply(loop.index, width))
        most = min(lanes & -lanes, width)
        for count, start, each in ((width // most, 0, most), (1, width - width % most, width % most)):
            if not each:
                continue
            with builder.repeat(count) as group:
                first = builder.add(builder.multiply(int(group) if group == "0" else group, most), start)
                numbers = [builder.intrinsic("umin", "i64", builder.add(first, w), last) for w in range(each)]
                places = [builder.offset(source, given, builder.multiply(number, "%step")) for number in numbers]
                for place in places if ahead else ():
                    following = builder.offset(place, given, builder.multiply(width, "%step"))
                    builder.line(f"call void @llvm.prefetch.p0(ptr {following}, i32 0, i32 2, i32 1)")
                rows = [panel.read_along(builder, place, lanes) for place in places]
                write_turned(builder, panel.arithmetic, rows, builder.offset(target, kind, first), width)
    _copy_singly(builder, panel, width, ("%source", "%target", "%count"), whole)


def _copy_singly(builder: FunctionBuilder, panel: _Copied, width: int, place: tuple[str, str, str], start: Index) -> None:
    """One element after the other, from a term on, and zeros where there are no more rows; from where, to where, and how many rows."""
    (first, panel_start, count), (given, kind) = place, panel.kinds
    zero = Arithmetic(panel.arithmetic.element, 1).zero

    def copy(term: Index, place: Index, alone: bool) -> None:
        source = builder.offset(first, given, builder.multiply(term, "%turn"))
        target = builder.offset(panel_start, kind, builder.multiply(place, width))
        with builder.loop(0, count) as row:
            value = panel.read(builder, builder.offset(source, given, builder.multiply(row.index, "%step")), 1, alone=alone)
            panel.write(builder, value, builder.offset(target, kind, row.index), 1)
        with builder.loop(count, width) as row:
            panel.write(builder, zero, builder.offset(target, kind, row.index), 1)

    panel.each(builder, start, copy)
