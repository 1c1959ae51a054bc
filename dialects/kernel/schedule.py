"""The schedule of a nest, ``#kernel.schedule<...>``, which ``schedule`` writes and code generation obeys.

The loops are those of the nest, by number. What is left out has its neutral value: the loops as they stand, one after the other, one lane::

    #kernel.schedule<order = [1, 0, 2], cut = {loop = 0, size = 64, overlapping}, parallel = {chunk = 1, nanoseconds = 60000},
                     lanes = 8, interleave = 2, accumulators = 2, remainder = repeated>

In this order it says:

- ``order``: the loops from the outermost to the innermost.
- ``cut``: a new outermost loop goes through ranges of ``size`` iterations of a loop. ``overlapping``: the last range begins early enough to end with
  the loop, so that some iterations run twice; without it the size divides the loop's.
- ``owned``: the array that is updated at computed positions falls into ranges of so many elements, and it is these that are shared: a thread goes through all
  iterations, and updates the elements in its own ranges.
- ``parallel``: the outermost loop is shared by the thread pool, ``chunk`` iterations at a time; ``nanoseconds`` is about what all of them take.
- ``lanes``: a vector register holds so many iterations of the innermost loop.
- ``interleave``: one iteration of the innermost loop computes so many registers, so that one can wait while another is computed.
- ``accumulators``: so many registers add up a sum in turn.
- ``tiled``: the two innermost loops run in squares of ``lanes`` iterations; what is read with a stride is read in rows and transposed in registers.
- ``version``: the innermost loop is there a second time, for the iterations of the others in which these guards hold, or fail, throughout.
- ``pieces``: the innermost loop is cut at guards. A piece looks at no guard of the innermost loop alone, unless it is ``masked``.
- ``remainder``: what does not fill a register is ``masked``, or the last register starts early and iterations are ``repeated``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Literal

from msgspec import Struct
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from wengert.dialects.kernel.affine import AffineText, Guard
from wengert.dialects.kernel.attributes import guards_text, read_affine
from wengert.dialects.kernel.schedule_text import parse_entries, parse_fields, parse_word

MOST_LANES = 64
INTERLEAVINGS = (1, 2, 4)
Remainder = Literal["masked", "repeated"]


class Cut(Struct, frozen=True):
    """A new outermost loop that goes through ranges of ``size`` iterations of a loop."""

    loop: int
    size: int
    overlapping: bool = False


class Parallel(Struct, frozen=True):
    """The outermost loop is shared by threads, ``chunk`` iterations at a time; all of them take about so many nanoseconds."""

    chunk: int
    nanoseconds: int


class Version(Struct, frozen=True):
    """A second version of the innermost loop, for when these guards hold throughout and those fail throughout."""

    holds: tuple[Guard, ...] = ()
    fails: tuple[Guard, ...] = ()


class Piece(Struct, frozen=True):
    """The iterations ``start`` to ``stop`` of the innermost loop; unless it is masked, its guards have one answer in all of them."""

    start: int
    stop: int
    masked: bool = False

    @property
    def length(self) -> int:
        """How many iterations it has."""
        return self.stop - self.start


class Schedule(Struct, frozen=True):
    """The schedule of a nest; see the module's docstring."""

    order: tuple[int, ...] = ()
    cut: Cut | None = None
    owned: int = 0
    parallel: Parallel | None = None
    lanes: int = 1
    interleave: int = 1
    accumulators: int = 1
    tiled: bool = False
    version: Version | None = None
    pieces: tuple[Piece, ...] = ()
    remainder: Remainder = "masked"

    @property
    def width(self) -> int:
        """The iterations of the innermost loop that are computed at once."""
        return self.lanes * self.interleave

    @property
    def repeats(self) -> bool:
        """Whether some iterations run twice, which they may not where a nest overwrites what it reads."""
        return self.remainder == "repeated" or self.tiled or bool(self.pieces) or (self.cut is not None and self.cut.overlapping)

    def __str__(self) -> str:
        return ", ".join(self._entries())

    def _entries(self) -> list[str]:
        entries: list[str] = []
        if self.order:
            entries.append(f"order = [{', '.join(map(str, self.order))}]")
        if self.cut is not None:
            entries.append(f"cut = {{loop = {self.cut.loop}, size = {self.cut.size}{', overlapping' if self.cut.overlapping else ''}}}")
        if self.owned:
            entries.append(f"owned = {self.owned}")
        if self.parallel is not None:
            entries.append(f"parallel = {{chunk = {self.parallel.chunk}, nanoseconds = {self.parallel.nanoseconds}}}")
        entries += [
            f"{name} = {value}" for name, value in (("lanes", self.lanes), ("interleave", self.interleave), ("accumulators", self.accumulators)) if value != 1
        ]
        entries += ["tiled"] * self.tiled
        if self.version is not None:
            parts = [f"{name} = ({guards_text(guards)})" for name, guards in (("holds", self.version.holds), ("fails", self.version.fails)) if guards]
            entries.append(f"version = {{{', '.join(parts)}}}")
        if self.pieces:
            entries.append(f"pieces = [{', '.join([f'{p.start} to {p.stop}' + ' masked' * p.masked for p in self.pieces])}]")
        return entries + ["remainder = repeated"] * (self.remainder == "repeated")

    def verify(self) -> None:
        """Checks what needs no nest; a VerifyException says what is wrong."""
        if sorted(self.order) != list(range(len(self.order))):
            raise VerifyException(f"order = {list(self.order)} does not name every loop once")
        if not 1 <= self.lanes <= MOST_LANES or self.lanes & (self.lanes - 1):
            raise VerifyException(f"lanes = {self.lanes} must be a power of two of at most {MOST_LANES}")
        if self.interleave not in INTERLEAVINGS:
            raise VerifyException(f"interleave = {self.interleave} must be one of {', '.join(map(str, INTERLEAVINGS))}")
        if self.accumulators not in INTERLEAVINGS:
            raise VerifyException(f"accumulators = {self.accumulators} must be one of {', '.join(map(str, INTERLEAVINGS))}")
        if self.owned < 0:
            raise VerifyException(f"owned: ranges of {self.owned} elements do not exist")
        if self.cut is not None and (self.cut.loop < 0 or self.cut.size < 1):
            raise VerifyException(f"cut: ranges of {self.cut.size} iterations of loop {self.cut.loop} do not exist")
        if self.parallel is not None and (self.parallel.chunk < 1 or self.parallel.nanoseconds < 0):
            raise VerifyException(f"parallel: {self.parallel.chunk} iterations are no chunk")
        self._verify_pieces()

    def _verify_pieces(self) -> None:
        starts = [piece.start for piece in self.pieces]
        stops = [piece.stop for piece in self.pieces]
        if self.pieces and (starts[0] != 0 or starts[1:] != stops[:-1] or any(a >= b for a, b in pairwise([*starts, stops[-1]]))):
            raise VerifyException("pieces must begin at 0, and each where the one before ends")


def parse_schedule(parser: AttrParser) -> Schedule:
    """Reads what ``str`` writes, entries in any order."""
    return Schedule(**parse_entries(parser, _ENTRIES, ("tiled",)))  # pyright: ignore[reportArgumentType]


def _order(parser: AttrParser) -> tuple[int, ...]:
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def _cut(parser: AttrParser) -> Cut:
    read, _ = parse_fields(parser, ("loop", "size"), ("overlapping",))
    return Cut(read["loop"], read["size"], bool(read.get("overlapping")))


def _parallel(parser: AttrParser) -> Parallel:
    read, _ = parse_fields(parser, ("chunk", "nanoseconds"))
    return Parallel(read["chunk"], read["nanoseconds"])


def _version(parser: AttrParser) -> Version:
    guards: dict[str, tuple[Guard, ...]] = {}

    def one() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        if name not in ("holds", "fails"):
            parser.raise_error(f"expected holds or fails, found '{name}'", start)
        parser.parse_characters("=")
        guards[name] = read_affine(parser, AffineText.guards)

    parser.parse_comma_separated_list(parser.Delimiter.BRACES, one)
    return Version(guards.get("holds", ()), guards.get("fails", ()))


def _pieces(parser: AttrParser) -> tuple[Piece, ...]:
    def one() -> Piece:
        start = parser.parse_integer()
        parser.parse_keyword("to")
        stop = parser.parse_integer()
        return Piece(start, stop, parser.parse_optional_keyword("masked") is not None)

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one))


_ENTRIES: dict[str, Callable[[AttrParser], object]] = {
    "order": _order,
    "cut": _cut,
    "owned": AttrParser.parse_integer,
    "parallel": _parallel,
    "lanes": AttrParser.parse_integer,
    "interleave": AttrParser.parse_integer,
    "accumulators": AttrParser.parse_integer,
    "version": _version,
    "pieces": _pieces,
    "remainder": lambda parser: parse_word(parser, ("masked", "repeated")),
}


@irdl_attr_definition
class ScheduleAttr(Data[Schedule]):
    """The schedule of a nest."""

    name = "kernel.schedule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Schedule:
        parser.parse_characters("<")
        return parse_schedule(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    def verify(self) -> None:
        self.data.verify()
