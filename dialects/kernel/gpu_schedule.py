"""The schedule of a nest on a GPU, ``#kernel.gpu_schedule<...>``, which ``schedule{target=sm_90}`` writes and ``kernels-to-gpu`` obeys.

The loops are those of the nest, by number; each is named once. What is left out has its neutral value::

    #kernel.gpu_schedule<threads = [0, 1], elements = 4, serial = [2], reduce = {loops = [3], threads = 32}, group = 256, positions = i32>

In this order it says:

- ``threads``: the loops whose iterations are spread over threads (or, where threads reduce together, over teams of them), the slowest first.
  Threads that are neighbours run neighbouring iterations of the last one.
- ``elements``: a thread runs so many consecutive iterations of the loop that neighbouring threads share, so that it reads and writes them with one access.
- ``transpose``: what is read with a stride along the last of the loops of ``threads``, and contiguously along ``loop``, another of them, goes through workgroup
  memory: a group has ``side`` by ``side`` iterations of the two, reads in the order of memory, waits, and then computes.
- ``serial``: the loops that a thread runs by itself, one iteration after the other, from the outermost to the innermost.
- ``reduce``: the loops over which ``threads`` threads of a group, a team, reduce together: each combines its iterations in order, then a tree combines
  theirs in workgroup memory. The threads of a team are neighbours; with ``columns`` neighbours compute neighbouring results, so that columns of a matrix
  are read in rows. ``parts``: the iterations are cut into so many parts, each for a team of its own, and a second kernel combines what these leave in
  scratch memory. ``shuffle``: the threads of a warp read one another's registers instead of workgroup memory, which gives the same bits.
- ``tile``: a sum of products over the last of three loops is computed in tiles: a group computes ``size[0]`` by ``size[1]`` results, those of as many
  iterations of the first two loops, and reads both factors of ``size[2]`` iterations of the third into workgroup memory at a time; a thread adds up
  ``thread[0]`` by ``thread[1]`` results in registers, each in order. ``threads`` are the loops around, of which each iteration has tiles of its own.
  With ``warp`` in the place of ``thread``, 32 threads multiply matrices together (the tensor cores of NVIDIA's devices) and have ``warp[0]`` by ``warp[1]``
  results: of factors of 16 bits, added up in f32, in an order that is the device's own; with ``tf32`` of factors of f32, of which ten bits of the mantissa
  count. ``stages`` parts of the factors are in workgroup memory at once, so that the next ones are copied while one is multiplied.
- ``atomic``: writes that several threads combine into one element do so by atomic operations, whose order is not determined. Only for what is exact
  in any order.
- ``group``: the threads of a group.
- ``positions``: the integers that positions are computed in, ``i32`` or ``i64``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

MOST_THREADS = 1024
MOST_ELEMENTS = 16
MOST_STAGES = 4
WARP = 32
"""The threads that multiply matrices together."""
Positions = Literal["i32", "i64"]


class Reduce(Struct, frozen=True):
    """The loops that ``threads`` threads reduce together; see the module's docstring."""

    loops: tuple[int, ...]
    threads: int
    columns: bool = False
    parts: int = 1
    shuffle: bool = False

    def __str__(self) -> str:
        parts = f", parts = {self.parts}" if self.parts != 1 else ""
        return f"{{loops = [{_joined(self.loops)}], threads = {self.threads}{', columns' * self.columns}{parts}{', shuffle' * self.shuffle}}}"


class Tile(Struct, frozen=True):
    """Three loops of a sum of products, the iterations of each that a group takes at a time, and the results of a thread or of a warp; see the module's
    docstring."""

    loops: tuple[int, ...]
    size: tuple[int, ...]
    thread: tuple[int, ...] = ()
    warp: tuple[int, ...] = ()
    stages: int = 1
    tf32: bool = False

    def __str__(self) -> str:
        entries = zip(("loops", "size", "thread", "warp"), (self.loops, self.size, self.thread, self.warp), strict=True)
        text = ", ".join([f"{name} = [{_joined(numbers)}]" for name, numbers in entries if numbers])
        return f"{{{text}{f', stages = {self.stages}' if self.stages != 1 else ''}{', tf32' * self.tf32}}}"

    @property
    def group(self) -> int:
        """The threads of a group."""
        rows, columns = self.warp or self.thread
        return self.size[0] // rows * (self.size[1] // columns) * (WARP if self.warp else 1)

    def verify(self) -> None:
        """Checks what needs no nest; a VerifyException says what is wrong."""
        each = self.warp or self.thread
        if bool(self.thread) == bool(self.warp):
            raise VerifyException("tile: the results are those of a thread or of a warp")
        if len(self.loops) != 3 or len(self.size) != 3 or len(each) != 2 or min(*self.size, *each) < 1:
            raise VerifyException("tile: there are three loops, as many sizes, and a thread's results in two of them, none less than 1")
        if self.size[0] % each[0] or self.size[1] % each[1]:
            raise VerifyException(f"tile: {self.size[0]} by {self.size[1]} results are not divided by {each[0]} by {each[1]}")
        if self.warp and (self.warp[0] % 16 or self.warp[1] % 8 or self.size[2] % 16):
            raise VerifyException("tile: a warp multiplies matrices of 16 by 16 and 16 by 8")
        if self.tf32 and not self.warp:
            raise VerifyException("tile: tf32 is for warps that multiply matrices")
        if not 1 <= self.stages <= MOST_STAGES or (self.stages > 1 and not self.warp):
            raise VerifyException(f"tile: stages = {self.stages} must be from 1 to {MOST_STAGES}, and 1 for tiles without warps")


class Transpose(Struct, frozen=True):
    """The loop along which transposed operands are contiguous, and the side of the tiles in which they are read; see the module's docstring."""

    loop: int
    side: int

    def __str__(self) -> str:
        return f"{{loop = {self.loop}, side = {self.side}}}"


def _joined(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))


class GpuSchedule(Struct, frozen=True):
    """The schedule of a nest on a GPU; see the module's docstring."""

    threads: tuple[int, ...] = ()
    elements: int = 1
    transpose: Transpose | None = None
    serial: tuple[int, ...] = ()
    reduce: Reduce | None = None
    tile: Tile | None = None
    atomic: bool = False
    group: int = 256
    positions: Positions = "i64"

    @property
    def order(self) -> tuple[int, ...]:
        """All loops, from the outermost to the innermost of a thread."""
        tiled = self.tile.loops if self.tile is not None else ()
        return (*self.threads, *tiled, *(self.reduce.loops if self.reduce is not None else ()), *self.serial)

    def __str__(self) -> str:
        entries: list[str] = []
        if self.threads:
            entries.append(f"threads = [{', '.join(map(str, self.threads))}]")
        if self.elements != 1:
            entries.append(f"elements = {self.elements}")
        if self.transpose is not None:
            entries.append(f"transpose = {self.transpose}")
        if self.serial:
            entries.append(f"serial = [{', '.join(map(str, self.serial))}]")
        if self.reduce is not None:
            entries.append(f"reduce = {self.reduce}")
        if self.tile is not None:
            entries.append(f"tile = {self.tile}")
        entries += ["atomic"] * self.atomic
        return ", ".join([*entries, f"group = {self.group}", f"positions = {self.positions}"])

    def verify(self) -> None:
        """Checks what needs no nest; a VerifyException says what is wrong."""
        if len(set(self.order)) != len(self.order):
            raise VerifyException(f"a loop is named twice: {list(self.order)}")
        if not 1 <= self.group <= MOST_THREADS:
            raise VerifyException(f"group = {self.group} must be from 1 to {MOST_THREADS}")
        if not 1 <= self.elements <= MOST_ELEMENTS or self.elements & (self.elements - 1):
            raise VerifyException(f"elements = {self.elements} must be a power of two of at most {MOST_ELEMENTS}")
        if (turned := self.transpose) is not None and (turned.side < 1 or self.group % turned.side or turned.side**2 % self.group):
            raise VerifyException(f"transpose: group = {self.group} must be whole rows of a square of side {turned.side}")
        if (tile := self.tile) is not None:
            tile.verify()
            if self.serial or self.reduce is not None or self.elements != 1:
                raise VerifyException("tile: all other loops are threads, and elements are those of the tile")
            if tile.group != self.group:
                raise VerifyException(f"tile: {tile.group} threads have the results of a tile, group = {self.group}")
        if (team := self.reduce) is not None:
            if not team.loops:
                raise VerifyException("reduce: there is no loop to reduce over")
            if team.threads < 1 or team.threads & (team.threads - 1) or self.group % team.threads:
                raise VerifyException(f"reduce: {team.threads} threads must be a power of two that divides group = {self.group}")
            if team.shuffle and (team.columns or self.group % WARP):
                raise VerifyException(f"reduce: threads that shuffle are neighbours in whole warps of {WARP}, without columns")
            if team.parts < 1:
                raise VerifyException(f"reduce: parts = {team.parts} must be at least 1")


def parse_gpu_schedule(parser: AttrParser) -> GpuSchedule:
    """Reads what ``str`` writes, entries in any order, up to the closing ``>``."""
    read: dict[str, object] = {}
    while not parser.parse_optional_characters(">"):
        if read:
            parser.parse_characters(",")
        start = parser.pos
        name = parser.parse_identifier()
        if name not in _ENTRIES or name in read:
            problem = "there already is" if name in read else "a schedule for GPUs has no entry"
            parser.raise_error(f"{problem} '{name}'; its entries are {', '.join(_ENTRIES)}", start)
        if name != "atomic":
            parser.parse_characters("=")
        read[name] = _ENTRIES[name](parser)
    return GpuSchedule(**read)  # pyright: ignore[reportArgumentType]


def _loops(parser: AttrParser) -> tuple[int, ...]:
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer))


def _reduce(parser: AttrParser) -> Reduce:
    read: dict[str, object] = {}
    fields: dict[str, Callable[[AttrParser], object]] = {"loops": _loops, "threads": AttrParser.parse_integer, "parts": AttrParser.parse_integer}

    def one() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        if name in ("columns", "shuffle"):
            read[name] = True
            return
        if name not in fields:
            parser.raise_error(f"expected one of {', '.join((*fields, 'columns', 'shuffle'))}, found '{name}'", start)
        parser.parse_characters("=")
        read[name] = fields[name](parser)

    start = parser.pos
    parser.parse_comma_separated_list(parser.Delimiter.BRACES, one)
    missing = [name for name in ("loops", "threads") if name not in read]
    if missing:
        parser.raise_error(f"{missing[0]} is missing", start)
    return Reduce(**read)  # pyright: ignore[reportArgumentType]


def _transpose(parser: AttrParser) -> Transpose:
    read: dict[str, int] = {}

    def one() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        if name not in ("loop", "side"):
            parser.raise_error(f"expected one of loop, side, found '{name}'", start)
        parser.parse_characters("=")
        read[name] = parser.parse_integer()

    start = parser.pos
    parser.parse_comma_separated_list(parser.Delimiter.BRACES, one)
    missing = [name for name in ("loop", "side") if name not in read]
    if missing:
        parser.raise_error(f"{missing[0]} is missing", start)
    return Transpose(**read)


def _tile(parser: AttrParser) -> Tile:
    read: dict[str, Any] = {}
    fields: dict[str, Callable[[AttrParser], object]] = {"loops": _loops, "size": _loops, "thread": _loops, "warp": _loops, "stages": AttrParser.parse_integer}

    def one() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        if name == "tf32":
            read[name] = True
            return
        if name not in fields:
            parser.raise_error(f"expected one of {', '.join((*fields, 'tf32'))}, found '{name}'", start)
        parser.parse_characters("=")
        read[name] = fields[name](parser)

    start = parser.pos
    parser.parse_comma_separated_list(parser.Delimiter.BRACES, one)
    missing = [name for name in ("loops", "size") if name not in read]
    if not missing and "thread" not in read and "warp" not in read:
        missing = ["thread"]
    if missing:
        parser.raise_error(f"{missing[0]} is missing", start)
    return Tile(**read)


def _positions(parser: AttrParser) -> str:
    start = parser.pos
    word = parser.parse_identifier()
    if word not in ("i32", "i64"):
        parser.raise_error(f"expected i32 or i64, found '{word}'", start)
    return word


_ENTRIES: dict[str, Callable[[AttrParser], object]] = {
    "threads": _loops,
    "elements": AttrParser.parse_integer,
    "transpose": _transpose,
    "serial": _loops,
    "reduce": _reduce,
    "tile": _tile,
    "atomic": lambda parser: True,
    "group": AttrParser.parse_integer,
    "positions": _positions,
}


@irdl_attr_definition
class GpuScheduleAttr(Data[GpuSchedule]):
    """The schedule of a nest on a GPU."""

    name = "kernel.gpu_schedule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> GpuSchedule:
        parser.parse_characters("<")
        return parse_gpu_schedule(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    def verify(self) -> None:
        self.data.verify()
