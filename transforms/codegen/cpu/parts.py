"""Divides the LLVM text of a large program into parts: modules that LLVM compiles side by side, and that are linked when they are loaded.

Every function that is not inlined goes to one part; others declare it, and its symbol is no longer internal if they do. What is inlined and constants
are copied into each part that needs them. A function's machine code does not depend on the module that it is in, since nothing between functions is
optimised but inlining: results have the same bits. The division depends on the text alone, never on the number of threads.

Parts have about the same number of lines, with those of what is inlined: the longest function first, each to the part that has the fewest so far (R. L. Graham,
"Bounds on multiprocessing timing anomalies", SIAM Journal on Applied Mathematics 17, 1969). Their number is a power of two, as that of cores is mostly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from math import log2
from typing import Literal

from msgspec import Struct

from wengert.transforms.codegen.cpu.cells import PROMOTE
from wengert.transforms.codegen.cpu.inline import ATTRIBUTE

LINES = 2000
"""Lines of a part, about: 35 ms of LLVM's time, of which the part itself costs 1.2."""
LEAST_LINES = 2500
"""A program of fewer lines is one part."""
LEAST_BESIDE = 750
"""Lines beside the longest function for each further part."""
OF_FUNCTION = 20
"""Lines that take LLVM as long as a function without any."""
OF_PROMOTED = 2
"""How much longer a line takes in a function whose cells become registers: loops of few iterations are unrolled there."""
MOST_PARTS = 16

_DEFINITION = re.compile(r"define (internal )?[^@\n]*@([\w.]+)\(")
_LINE = re.compile(r"(declare [^@\n]*|)@([\w.]+)(?:\(| = internal constant )")
_SYMBOL = re.compile(r"@([\w.]+)")


def parts_of(text: str, *, inlining: bool = True) -> tuple[str, ...]:
    """The parts of a program, whose entry is in the first; the text itself if it is small, or holds what is not known to be divisible.

    Args:
        text: a program: one function that is not internal, internal ones, internal constants and declarations.
        inlining: whether what is marked for it will be inlined. If not, these functions are compiled once, as all others.
    """
    lines = text.count("\n")
    if lines < LEAST_LINES or (items := _items(text)) is None:
        return (text,)
    division = _Division(items, inlining)
    beside = sum(division.weights.values()) - max(division.weights.values())
    count = 1 << round(log2(min(max(2, lines / LINES), MOST_PARTS)))
    while count > 1 and beside < (count - 1) * LEAST_BESIDE:
        count //= 2
    return (text,) if count == 1 else division.parts(count)


Kind = Literal["entry", "function", "constant", "declared"]


class _Item(Struct, frozen=True, dict=True):
    """A definition or a declaration.

    Attributes:
        kind: what it is; ``entry`` is the function that is not internal.
        refers: the symbols in its text, as often as they are there.
    """

    symbol: str
    kind: Kind
    text: str

    @cached_property
    def refers(self) -> list[str]:
        own = self.symbol
        return [symbol for symbol in _SYMBOL.findall(self.text) if symbol != own]

    @property
    def head(self) -> str:
        return self.text[: self.text.index("{\n")]

    @property
    def declaration(self) -> str:
        return f"{self.head.replace('define internal ', 'declare ', 1).replace(PROMOTE, '').rstrip()}\n"

    @property
    def visible(self) -> str:
        return self.text.replace("define internal ", "define ", 1)


def _items(text: str) -> dict[str, _Item] | None:
    """The items of a text by their symbols, comments left out; None if there is more: metadata, variables, functions that LLVM may call by itself."""
    items: dict[str, _Item] = {}
    at, end = 0, len(text)
    while at < end:
        is_function = text.startswith("define ", at)
        after = text.find("\n}\n", at) + 3 if is_function else text.find("\n", at) + 1 or end
        match = (_DEFINITION if is_function else _LINE).match(text, at)
        if after < at:  # a definition without an end, which LLVM will say
            return None
        if match is not None:
            kind: Kind = "constant" if match[1] == "" else "declared" if not is_function else "function" if match[1] else "entry"
            items[match[2]] = _Item(match[2], kind, text[at:after])
        elif not text.startswith(("\n", ";"), at):
            return None
        at = after
    return items if sum(item.kind == "entry" for item in items.values()) == 1 else None


class _Division:
    """The functions that are not inlined, their lines with those of what is inlined into them, and the parts that they are put into."""

    def __init__(self, items: Mapping[str, _Item], inlining: bool):
        self.items = items
        self._placed = {symbol for symbol, item in items.items() if item.kind == "entry" or (item.kind == "function" and not (inlining and _is_inlined(item)))}
        self._lines: dict[str, int] = {}
        self.weights = {symbol: self._weight(item) for symbol, item in items.items() if symbol in self._placed}
        self._places: dict[str, int] = {}

    def parts(self, count: int) -> tuple[str, ...]:
        loads = [0] * count
        for symbol in sorted(self.weights, key=self._order):
            place = loads.index(min(loads))
            loads[place] += self.weights[symbol]
            self._places[symbol] = place
        needed = [self._needed(place) for place in range(count) if loads[place]]
        seen = {symbol for place, symbols in enumerate(needed) for symbol in symbols if self._places.get(symbol, place) != place}
        return tuple(self._text(place, symbols, seen) for place, symbols in enumerate(needed))

    def _order(self, symbol: str) -> tuple[bool, int]:
        """The entry first, then the longest; those of the same length stay as they are."""
        return self.items[symbol].kind != "entry", -self.weights[symbol]

    def _weight(self, item: _Item) -> int:
        """The lines of a function with those of what is inlined into it, or as many as take LLVM its time."""
        lines = self._copied(item) + OF_FUNCTION
        return OF_PROMOTED * lines if PROMOTE in item.head else lines

    def _copied(self, item: _Item) -> int:
        """The lines of a function with those of what is inlined into it."""
        lines = self._lines.get(item.symbol)
        if lines is None:
            inlined = [other for symbol in item.refers if symbol not in self._placed and (other := self.items.get(symbol)) is not None]
            lines = self._lines[item.symbol] = item.text.count("\n") + sum(self._copied(other) for other in inlined if other.kind == "function")
        return lines

    def _needed(self, place: int) -> set[str]:
        """The symbols of a part's functions and of what they refer to, up to functions of other parts."""
        needed, left = set[str](), [symbol for symbol, own in self._places.items() if own == place]
        while left:
            symbol = left.pop()
            if symbol not in needed and symbol in self.items:
                needed.add(symbol)
                if self._places.get(symbol, place) == place:
                    left += self.items[symbol].refers
        return needed

    def _text(self, place: int, needed: set[str], seen: set[str]) -> str:
        texts: list[str] = []
        for symbol, item in self.items.items():
            if symbol in needed:
                elsewhere = self._places.get(symbol, place) != place
                texts.append(item.declaration if elsewhere else item.visible if symbol in seen else item.text)
        return "".join(texts)


def _is_inlined(item: _Item) -> bool:
    return ATTRIBUTE in item.head
