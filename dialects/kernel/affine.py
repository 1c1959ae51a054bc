"""Positions as MLIR's affine expressions: read from text by its grammar, and converted to and from xDSL's classes.

:class:`wengert.dialects.kernel.positions.Position` is the form that passes compute with; it is a sum, so it compares and simplifies quickly. An affine
expression (``AffineExpr``) is the expression tree as it is written::

    sum     ::= product (("+" | "-") product)*
    product ::= unary (("*" | "floordiv" | "ceildiv" | "mod") unary)*
    unary   ::= "-" unary | "(" sum ")" | integer | name of a loop

One side of ``*`` and the right side of a division are constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from xdsl.ir.affine import AffineBinaryOpExpr, AffineBinaryOpKind, AffineConstantExpr, AffineDimExpr, AffineExpr, AffineMap

from wengert.dialects.kernel.positions import Position, Quotient, Remainder, constant, index
from wengert.ir.parsing.cursor import SPACE

Guard = tuple[Position, int, int]
"""``(expression, low, high)``: low <= expression < high."""

_NAME = re.compile(SPACE + r"([A-Za-z_]\w*)")
_NUMBER = re.compile(SPACE + r"([0-9]{1,18})(?!\w)")
_MARK = re.compile(SPACE + r"(<=|->|[-+*()<,:])")
_SPACE = re.compile(SPACE)
_LOOP = re.compile(r"d([0-9]{1,4})")
_DIVISIONS = ("floordiv", "ceildiv", "mod")


class AffineError(ValueError):
    """A text that is no affine expression, with the place in it."""

    def __init__(self, message: str, position: int):
        super().__init__(message)
        self.position = position


class AffineText:
    """Reads affine expressions, and conditions on them, from a text at a place that it moves.

    Args:
        text: the text.
        here: where to begin.
        names: the number of each loop by its name; None if ``d0``, ``d1``, ... are the loops, however many.
    """

    def __init__(self, text: str, here: int = 0, names: Mapping[str, int] | None = None):
        self.text, self.here, self.names = text, here, names

    def position(self) -> Position:
        """Reads a sum."""
        return self.rest_of_sum(self._product())

    def rest_of_sum(self, first: Position) -> Position:
        """Reads what is added to a first term that has been read."""
        total = first
        while (sign := self._peek()) in ("+", "-"):
            self._need(sign)
            total = total.plus(self._product().times(1 if sign == "+" else -1))
        return total

    def guards(self) -> tuple[Guard, ...]:
        """Reads ``(0 <= d0 < 4, 2 <= d1 + d0 < 9)``."""
        self._need("(")
        guards = [self._guard()]
        while self._peek() == ",":
            self._need(",")
            guards.append(self._guard())
        self._need(")")
        return tuple(guards)

    def map(self) -> Position:
        """Reads ``(d0, d1) -> (d0 * 4 + d1)``."""
        self._loops()
        self._need("->")
        self._need("(")
        position = self.position()
        self._need(")")
        return position

    def set(self) -> tuple[Guard, ...]:
        """Reads ``(d0, d1) : (0 <= d0 < 4)``."""
        self._loops()
        self._need(":")
        return self.guards()

    def end(self) -> None:
        """Fails unless the text ends here."""
        at = self._skip()
        if at < len(self.text):
            raise AffineError(f"unexpected {self.text[at]!r}", at)

    # -- the grammar

    def _guard(self) -> Guard:
        low = self._bound()
        self._need("<=")
        at = self.position()
        self._need("<")
        return at, low, self._bound()

    def _bound(self) -> int:
        start = self._skip()
        bound = self.position()
        if bound.terms:
            raise AffineError("a bound is an integer", start)
        return bound.offset

    def _loops(self) -> None:
        """Reads ``(d0, d1)``, which become the names."""
        self._need("(")
        names: dict[str, int] = {}
        while self._peek() != ")":
            if names:
                self._need(",")
            match = _NAME.match(self.text, self.here)
            if match is None:
                raise AffineError("expected the name of a loop", self._skip())
            names[match.group(1)] = len(names)
            self.here = match.end()
        self._need(")")
        self.names = names

    def _product(self) -> Position:
        product = self._unary()
        while True:
            word = "*" if self._peek() == "*" else self._word()
            if word == "*":
                self._need("*")
                start = self._skip()
                product = self._times(product, self._unary(), start)
            elif word in _DIVISIONS:
                self._skip()
                self.here += len(word)
                product = self._divided(product, word)
            else:
                return product

    @staticmethod
    def _times(one: Position, other: Position, start: int) -> Position:
        if one.terms and other.terms:
            raise AffineError("a product of two indices is not affine", start)
        return one.times(other.offset) if not other.terms else other.times(one.offset)

    def _divided(self, dividend: Position, word: str) -> Position:
        start = self._skip()
        by = self._unary()
        if by.terms or by.offset <= 0:
            raise AffineError(f"'{word}' needs a positive constant", start)
        return quotient_or_remainder(dividend, by.offset, word)

    def _unary(self) -> Position:
        mark = self._peek()
        if mark == "-":
            self._need("-")
            return self._unary().times(-1)
        if mark == "(":
            self._need("(")
            inner = self.position()
            self._need(")")
            return inner
        number = _NUMBER.match(self.text, self.here)
        if number is not None:
            self.here = number.end()
            return constant(int(number.group(1)))
        return self._loop()

    def _loop(self) -> Position:
        start, word = self._skip(), self._word()
        if not word:
            shown = self.text[start : start + 1]
            raise AffineError(f"expected an affine expression, found {shown!r}" if shown else "an affine expression ends too early", start)
        if self.names is None:
            match = _LOOP.fullmatch(word)
            number = int(match.group(1)) if match is not None else None
        else:
            number = self.names.get(word)
        if number is None:
            known = ", ".join(self.names or ()) if self.names is not None else "d0, d1, ..."
            raise AffineError(f"'{word}' is not a loop; the loops are ({known})", start)
        self.here = start + len(word)
        return index(number)

    # -- tokens

    def _skip(self) -> int:
        match = _SPACE.match(self.text, self.here)
        assert match is not None
        self.here = match.end()
        return self.here

    def _peek(self) -> str:
        match = _MARK.match(self.text, self.here)
        return match.group(1) if match is not None else ""

    def _word(self) -> str:
        match = _NAME.match(self.text, self.here)
        return match.group(1) if match is not None else ""

    def _need(self, mark: str) -> None:
        match = _MARK.match(self.text, self.here)
        if match is None or match.group(1) != mark:
            at = self._skip()
            shown = match.group(1) if match is not None else self.text[at : at + 1]
            raise AffineError(f"expected '{mark}', found '{shown}'" if shown else f"expected '{mark}', but the text ends here", at)
        self.here = match.end()


def parse(text: str) -> Position:
    """The position that a text means, with the loops ``d0``, ``d1``, ...; an AffineError (a ValueError) where it is none."""
    reader = AffineText(text)
    position = reader.position()
    reader.end()
    return position


def quotient_or_remainder(at: Position, by: int, word: str) -> Position:
    """``at floordiv by``, ``at ceildiv by`` or ``at mod by``, without the simplifications that take the loops' bounds."""
    if word == "ceildiv":
        return quotient_or_remainder(at.shifted(by - 1), by, "floordiv")
    if by == 1:
        return at if word == "floordiv" else constant(0)
    if not at.terms:
        return constant(at.offset // by if word == "floordiv" else at.offset % by)
    return Position(0, (((Quotient if word == "floordiv" else Remainder)(at, by), 1),))


# -- xDSL's classes


def to_expression(position: Position) -> AffineExpr:
    """The position as an affine expression."""
    total: AffineExpr | None = None
    for atom, c in position.terms:
        if isinstance(atom, int):
            factor: AffineExpr = AffineDimExpr(atom)
        else:
            kind = AffineBinaryOpKind.FloorDiv if isinstance(atom, Quotient) else AffineBinaryOpKind.Mod
            factor = AffineBinaryOpExpr(kind, to_expression(atom.expression), AffineConstantExpr(atom.divisor))
        term = factor if c == 1 else AffineBinaryOpExpr(AffineBinaryOpKind.Mul, factor, AffineConstantExpr(c))
        total = term if total is None else AffineBinaryOpExpr(AffineBinaryOpKind.Add, total, term)
    if total is None:
        return AffineConstantExpr(position.offset)
    return AffineBinaryOpExpr(AffineBinaryOpKind.Add, total, AffineConstantExpr(position.offset)) if position.offset else total


_BINARY: Mapping[AffineBinaryOpKind, Callable[[Position, Position], Position]] = {
    AffineBinaryOpKind.Add: lambda one, other: one.plus(other),
    AffineBinaryOpKind.Mul: lambda one, other: one.times(other.offset) if not other.terms else other.times(one.offset),
    AffineBinaryOpKind.FloorDiv: lambda one, other: quotient_or_remainder(one, other.offset, "floordiv"),
    AffineBinaryOpKind.CeilDiv: lambda one, other: quotient_or_remainder(one, other.offset, "ceildiv"),
    AffineBinaryOpKind.Mod: lambda one, other: quotient_or_remainder(one, other.offset, "mod"),
}


def from_expression(expression: AffineExpr) -> Position:
    """The position that an affine expression of dimensions means; a ValueError if it has symbols."""
    if isinstance(expression, AffineDimExpr):
        return index(expression.position)
    if isinstance(expression, AffineConstantExpr):
        return constant(expression.value)
    if isinstance(expression, AffineBinaryOpExpr):
        return _BINARY[expression.kind](from_expression(expression.lhs), from_expression(expression.rhs))
    raise ValueError(f"{expression} is not an expression of loop indices")


def to_map(results: Sequence[Position], loops: int) -> AffineMap:
    """Positions in so many loops as an affine map."""
    return AffineMap(loops, 0, tuple([to_expression(position) for position in results]))


def from_map(map: AffineMap) -> tuple[Position, ...]:
    """The positions of an affine map's results."""
    return tuple([from_expression(expression) for expression in map.results])
