"""The schedule of a matrix product, ``#kernel.product_schedule<...>``, which ``schedule`` writes and code generation obeys.

C = A B is m by n, a sum over k. A is the first operand and B the second. What is left out has its neutral value: one element of C after
the other, on one thread::

    #kernel.product_schedule<kernel = packed, copied = [lhs], exchanged, tile = {rows = 6, columns = 2, lanes = 8}, accumulators = 8, unrolled = 24,
                             parallel = {over = columns, chunk = 128, nanoseconds = 60000}>
    #kernel.product_schedule<kernel = blocked, tile = {rows = 14, columns = 2, lanes = 16}, blocks = {rows = 518, columns = 256, depth = 256}, together = 1024,
                             normalised, parallel = {over = blocks, chunk = 1, nanoseconds = 1700000}>

In this order it says:

- ``kernel``: how C is computed. ``rows`` (the default) has vectors along the rows of B and C. ``packed`` is the same after a copy of each group of
  columns of B. ``gathered`` is the same, with vectors that are put together from single elements of B. ``dot`` has vectors along k. ``blocked`` goes
  through blocks of C whose operands, ``depth`` terms of the sums at a time, are copied into panels that stay in the caches. ``blas`` calls the gemm of BLAS.
  ``scalar`` is the plain loops of complex numbers. ``zero`` is for sums of nothing.
- ``copied``: operands that are laid out anew so that k is one dimension, and converted, before anything else; their copies lie one after the other in the
  scratch memory. Narrow elements of other operands are converted where they are read.
- ``exchanged``: the transposed product is computed: A is the second operand and B the first, and the result's columns are the rows of C.
- ``turned``: B is copied so that its columns are contiguous.
- ``tile``: the part of C that is summed in registers: so many rows, by so many columns of registers with ``lanes`` elements. In a
  ``dot`` the columns are single ones, and a register holds ``lanes`` terms of a sum.
- ``blocks``: of a ``blocked`` product, the rows and columns of a block of C, and how many terms of its sums are added up in registers before they are added
  to it. The order of additions follows from ``depth`` alone.
- ``together``: of a ``blocked`` product that threads share by its blocks, neighbouring blocks that one thread computes one after the other are computed as
  one, whose operands are copied once, with up to so many columns. By default every block is computed on its own.
- ``paired``: of a ``blocked`` product, the panels hold the terms in pairs, which one instruction of the processor multiplies and adds to a sum: bf16 with
  sums in f32, integers of 8 and 16 bits with sums in 32. The two terms of a pair are added one after the other, in their order.
- ``normalised``: of a ``blocked`` product, panels that hold subnormal numbers are multiplied by a power of two, and the sums by its inverse.
- ``last``: the tile of the last part, where that is smaller than the others; by default as much of ``tile`` as fits.
- ``accumulators``: a smaller tile is there several times (at most four), for neighbouring terms, until so many registers add up.
- ``unrolled``: a tile with at most so many multiplications of registers has no loop along k.
- ``parallel``: parts of ``chunk`` ``rows`` of C, ``columns`` of C, iterations of the outermost ``loop`` or of all ``loops`` around the product, or its
  ``blocks``, are shared by the thread pool; ``nanoseconds`` is about what all of them take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from msgspec import Struct
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.kernel.schedule import MOST_LANES
from wengert.dialects.kernel.schedule_text import parse_entries, parse_fields, parse_word

Method = Literal["rows", "packed", "gathered", "dot", "blocked", "blas", "scalar", "zero"]
Side = Literal["lhs", "rhs"]
Over = Literal["loop", "loops", "rows", "columns", "blocks"]

MOST_REGISTERS = 64
"""A tile has at most so many: its multiplications are written out."""
MOST_UNROLLED = 4096


class Tile(Struct, frozen=True):
    """The part of C that is summed in registers: ``rows`` by ``columns`` registers of ``lanes`` elements."""

    rows: int = 1
    columns: int = 1
    lanes: int = 1

    def __str__(self) -> str:
        return f"{{rows = {self.rows}, columns = {self.columns}, lanes = {self.lanes}}}"


class Blocks(Struct, frozen=True):
    """The blocks of C, and of the sums, whose operands stay in the caches."""

    rows: int
    columns: int
    depth: int

    def __str__(self) -> str:
        return f"{{rows = {self.rows}, columns = {self.columns}, depth = {self.depth}}}"


class Share(Struct, frozen=True):
    """Parts of ``chunk`` rows, columns or blocks of C, or iterations of the outermost loop or all loops around it, for threads; about how long all take."""

    over: Over
    chunk: int
    nanoseconds: int


class ProductSchedule(Struct, frozen=True):
    """The schedule of a matrix product; see the module's docstring."""

    kernel: Method = "rows"
    copied: tuple[Side, ...] = ()
    exchanged: bool = False
    turned: bool = False
    tile: Tile = Tile()
    blocks: Blocks | None = None
    together: int = 0
    paired: bool = False
    normalised: bool = False
    last: Tile | None = None
    accumulators: int = 1
    unrolled: int = 0
    parallel: Share | None = None

    def __str__(self) -> str:
        entries = [f"kernel = {self.kernel}"] if self.kernel != "rows" else []
        entries += [f"copied = [{', '.join(self.copied)}]"] if self.copied else []
        entries += ["exchanged"] * self.exchanged + ["turned"] * self.turned
        entries += [f"tile = {self.tile}"] if self.tile != Tile() else []
        entries += [f"blocks = {self.blocks}"] if self.blocks is not None else []
        entries += [f"together = {self.together}"] if self.together else []
        entries += ["paired"] * self.paired
        entries += ["normalised"] * self.normalised
        entries += [f"last = {self.last}"] if self.last is not None else []
        entries += [f"accumulators = {self.accumulators}"] if self.accumulators != 1 else []
        entries += [f"unrolled = {self.unrolled}"] if self.unrolled else []
        if (share := self.parallel) is not None:
            entries.append(f"parallel = {{over = {share.over}, chunk = {share.chunk}, nanoseconds = {share.nanoseconds}}}")
        return ", ".join(entries)

    def verify(self) -> None:
        """Checks what needs no product; a VerifyException says what is wrong."""
        if len(set(self.copied)) < len(self.copied):
            raise VerifyException("an operand is copied once")
        for tile in (self.tile, self.last or self.tile):
            if min(tile.rows, tile.columns) < 1 or tile.rows * tile.columns > MOST_REGISTERS:
                raise VerifyException(f"a tile of {tile.rows} by {tile.columns} registers: it has 1 to {MOST_REGISTERS}")
            if not 1 <= tile.lanes <= MOST_LANES:
                raise VerifyException(f"lanes = {tile.lanes} must be 1 to {MOST_LANES}")
        if self.blocks is not None and min(self.blocks.rows, self.blocks.columns, self.blocks.depth) < 1:
            raise VerifyException(f"blocks = {self.blocks}: they have at least one row, column and term")
        if self.together and (self.blocks is None or self.together < self.blocks.columns or self.together % self.blocks.columns):
            raise VerifyException(f"together = {self.together} must be a multiple of the columns of the blocks")
        if not 1 <= self.accumulators <= MOST_REGISTERS:
            raise VerifyException(f"accumulators = {self.accumulators} must be 1 to {MOST_REGISTERS}")
        if not 0 <= self.unrolled <= MOST_UNROLLED:
            raise VerifyException(f"unrolled = {self.unrolled} must be 0 to {MOST_UNROLLED}")
        if self.parallel is not None and (self.parallel.chunk < 1 or self.parallel.nanoseconds < 0):
            raise VerifyException(f"parallel: {self.parallel.chunk} are no chunk")


def _sides(parser: AttrParser) -> tuple[str, ...]:
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_word(parser, get_args(Side))))


def _tile(parser: AttrParser) -> Tile:
    read, _ = parse_fields(parser, ("rows", "columns", "lanes"))
    return Tile(**read)


def _blocks(parser: AttrParser) -> Blocks:
    read, _ = parse_fields(parser, ("rows", "columns", "depth"))
    return Blocks(**read)


def _parallel(parser: AttrParser) -> Share:
    read, words = parse_fields(parser, ("chunk", "nanoseconds"), words={"over": get_args(Over)})
    return Share(words["over"], **read)  # pyright: ignore[reportArgumentType]


_ENTRIES: dict[str, Callable[[AttrParser], object]] = {
    "kernel": lambda parser: parse_word(parser, get_args(Method)),
    "copied": _sides,
    "tile": _tile,
    "blocks": _blocks,
    "together": AttrParser.parse_integer,
    "last": _tile,
    "accumulators": AttrParser.parse_integer,
    "unrolled": AttrParser.parse_integer,
    "parallel": _parallel,
}


@irdl_attr_definition
class ProductScheduleAttr(Data[ProductSchedule]):
    """The schedule of a matrix product."""

    name = "kernel.product_schedule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ProductSchedule:
        parser.parse_characters("<")
        return ProductSchedule(**parse_entries(parser, _ENTRIES, ("exchanged", "turned", "paired", "normalised")))  # pyright: ignore[reportArgumentType]

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    def verify(self) -> None:
        self.data.verify()
