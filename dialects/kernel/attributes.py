"""The attributes of the kernel dialect: a position in a buffer, and conditions on loop indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from wengert.dialects.kernel.affine import AffineError, AffineText, Guard
from wengert.dialects.kernel.positions import Position, dimensions

T = TypeVar("T")

STORE = "store"
KINDS = (STORE, "add", "mul", "max", "min", "and", "or")
"""What a write does: it stores, or combines with what is there."""


@irdl_attr_definition
class AtAttr(Data[Position]):
    """A position in a buffer, an affine map with one result: ``#kernel.at<(d0, d1) -> (d0 * 128 + d1)>``."""

    name = "kernel.at"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Position:
        with parser.in_angle_brackets():
            return read_affine(parser, AffineText.map)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<({_loops([self.data])}) -> ({self.data})>")


@irdl_attr_definition
class WhereAttr(Data[tuple[Guard, ...]]):
    """Conditions on loop indices, all of which must hold: ``#kernel.where<(d0, d1) : (2 <= d0 < 7, 0 <= d1 + 3 < 4)>``."""

    name = "kernel.where"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Guard, ...]:
        with parser.in_angle_brackets():
            return read_affine(parser, AffineText.set)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<({_loops([at for at, _, _ in self.data])}) : ({guards_text(self.data)})>")


def guards_text(guards: Sequence[Guard]) -> str:
    """``2 <= d0 < 7, 0 <= d1 + 3 < 4``."""
    return ", ".join([f"{low} <= {at} < {high}" for at, low, high in guards])


def _loops(positions: Sequence[Position]) -> str:
    """The names of the loops up to the last one that occurs."""
    last = max([d for at in positions for d in dimensions(at)], default=-1)
    return ", ".join([f"d{d}" for d in range(last + 1)])


def read_affine(parser: AttrParser, read: Callable[[AffineText], T]) -> T:
    """Reads the text where a parser of xDSL stands."""
    text = AffineText(parser.lexer.input.content, parser._current_token.span.start)  # pyright: ignore[reportPrivateUsage]
    try:
        value = read(text)
    except AffineError as error:
        parser.raise_error(str(error), error.position, error.position + 1)
    parser._resume_from(text.here)  # pyright: ignore[reportPrivateUsage]
    return value


@lru_cache(maxsize=8192)
def at_attr(position: Position) -> AtAttr:
    """The position as an attribute, shared."""
    return AtAttr(position)


@lru_cache(maxsize=512)
def string(text: str) -> StringAttr:
    """A string attribute, shared."""
    return StringAttr(text)
