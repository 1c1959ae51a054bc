"""A position in the tokens of a PTX text, with the errors that name it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import NoReturn, TypeVar

from wengert.runtime.ptx.errors import ParseError, UnsupportedError
from wengert.runtime.ptx.lexer import Token, tokenize
from wengert.runtime.ptx.program import Place, Source
from wengert.runtime.ptx.types import TYPES, Scalar

Item = TypeVar("Item")


class Cursor:
    """Reads the tokens of a source from left to right."""

    def __init__(self, source: Source):
        self.source = source
        self.tokens = tokenize(source)
        self.at = 0
        self._starts = [0]
        for line in source.text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.at]

    @property
    def following(self) -> str:
        """The text of the token behind the next one."""
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)].text

    @property
    def text(self) -> str:
        """The text of the next token."""
        return self.tokens[self.at].text

    def place(self, token: Token | None = None) -> Place:
        """Where a token stands: the next one if none is given."""
        token = token or self.token
        line = bisect_right(self._starts, token.start)
        return Place(line, token.start - self._starts[line - 1] + 1, max(len(token.text), 1))

    def line_of(self, token: Token) -> int:
        """The line of a token."""
        return bisect_right(self._starts, token.start)

    def take(self) -> Token:
        """The next token, which is passed."""
        token = self.tokens[self.at]
        if token.kind != "end":
            self.at += 1
        return token

    def accept(self, text: str) -> bool:
        """Whether the next token is this text; it is passed then."""
        if self.tokens[self.at].text == text and self.tokens[self.at].kind != "end":
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Passes this text.

        Raises:
            ParseError: something else stands here.
        """
        if self.text != text:
            self.fail(f"expected '{text}', found {self.described()}")
        return self.take()

    def kind(self, kind: str, what: str) -> Token:
        """Passes a token of a kind."""
        if self.token.kind != kind:
            self.fail(f"expected {what}, found {self.described()}")
        return self.take()

    def described(self) -> str:
        """The next token as it is shown in messages."""
        return "the end of the text" if self.token.kind == "end" else f"'{self.text}'"

    def fail(self, message: str, token: Token | None = None, hint: str = "") -> NoReturn:
        """Raises a ParseError at a token."""
        raise ParseError(self.source.diagnostic(self.place(token), message, hint))

    def refuse(self, message: str, token: Token | None = None) -> NoReturn:
        """Raises an UnsupportedError at a token."""
        raise UnsupportedError(self.source.diagnostic(self.place(token), message))

    def separated(self, closing: str, parse: Callable[[], Item]) -> list[Item]:
        """What is parsed between commas, up to and with ``closing``."""
        if self.accept(closing):
            return []
        items = [parse()]
        while not self.accept(closing):
            if self.text != ",":
                self.fail(f"expected ',' or '{closing}', found {self.described()}")
            self.take()
            items.append(parse())
        return items

    # -- words that many statements have

    def integer(self) -> int:
        """An integer constant, with its sign."""
        if self.accept("-"):
            return -self.integer()
        return integer_of(self.kind("integer", "an integer").text)

    def extents(self) -> tuple[int, int, int]:
        """One to three numbers between commas; those that are missing are 1."""
        numbers = [self.integer()]
        while self.accept(","):
            numbers.append(self.integer())
        if len(numbers) > 3:
            self.fail("a block has three extents")
        x, y, z = [*numbers, 1, 1][:3]
        return x, y, z

    def type(self) -> Scalar:
        """``.f32`` or another type."""
        token = self.kind("dotted", "a type")
        type = TYPES.get(token.text[1:])
        if type is None:
            self.fail(f"expected a type, found '{token.text}'", token)
        return type

    def skip_line(self) -> None:
        """Passes what is left of this line."""
        line = self.line_of(self.token)
        while self.token.kind != "end" and self.line_of(self.token) == line:
            self.take()

    def skip_past(self, text: str) -> None:
        """Passes everything up to and with this text."""
        while self.text != text:
            if self.token.kind == "end":
                self.fail(f"expected '{text}', found the end of the text")
            self.take()
        self.take()


def integer_of(text: str) -> int:
    """The number that an integer token stands for."""
    text = text.removesuffix("U")
    if text[:2] in ("0x", "0X", "0b", "0B"):
        return int(text, 0)
    return int(text, 8 if len(text) > 1 and text[0] == "0" else 10)
