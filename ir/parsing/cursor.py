"""The cursor under the parser: a position in the text that regular expressions move, and errors with a place.

xDSL's parser reads through a lexer that makes a token object for every word, which costs most of its time. Ours moves one
integer. Both views share one parser object: :meth:`Cursor.to_tokens` and :meth:`Cursor.from_tokens` hand the position over,
so that an attribute, a type or an op that only xDSL knows is read by xDSL's own code.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import NoReturn, TypeVar, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer

from wengert.ir.diagnostics import Diagnostic, DiagnosticError, did_you_mean

T = TypeVar("T")

SPACE = r"(?:[ \t\r\n]++|//[^\n]*+)*+"
NAME = r"(?:[0-9]+|[A-Za-z_$.-][\w$.-]*)"
"""A name after ``%`` or ``^``: a number or a word, of ASCII characters as everything but strings and comments is."""
_SPACE = re.compile(SPACE)
_MARKS = ("(", ")", "[", "]", "{", "}", "<", ">", ",", ":", "=", "->", "<{", "}>", "::", "?", "x", "-", "{-#", "#-}")
_ACCEPT = {mark: re.compile(SPACE + re.escape(mark)) for mark in _MARKS}
_WORD = re.compile(SPACE + r"([A-Za-z_][\w$.]*)", re.ASCII)
_LEXED_STRING = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')
_KEY = re.compile(SPACE + r"([A-Za-z_]\w*)" + SPACE + "=", re.ASCII)
_INTEGER = re.compile(SPACE + r"(-?(?:0x[0-9a-fA-F]+|[0-9]+))(?![\w.])", re.ASCII)
_STRING = re.compile(SPACE + r'"((?:[^"\\\n\v\f]++|\\.)*+)"')
_ESCAPE = re.compile(r'\\(?:([nt"\\])|([0-9a-fA-F]{2}))?')
_ESCAPED = {"n": b"\n", "t": b"\t", '"': b'"', "\\": b"\\"}
_INTEGERS = re.compile(SPACE + r"\[([-0-9,\s]*)\]")
_BRACKET = re.compile(r'"(?:[^"\\\n]|\\.)*"|->|[][(){}<>]')
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSED = frozenset(_CLOSING.values())
DEPTH = 64
"""The deepest nesting of types and attributes; comparing and hashing them takes a few of Python's frames a level."""
_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[%@#!^]?[\w$.]+|->|::|.', re.DOTALL)


class _Numbers(dict[int, IntAttr]):
    """Line and column numbers as attributes, each made once."""

    def __missing__(self, number: int) -> IntAttr:
        attribute = self[number] = IntAttr(number)
        return attribute


_NUMBERS = _Numbers()


class Cursor(Parser):
    """A position in a text, with the primitives that read from it."""

    def __init__(self, context: Context, text: str, filename: str):
        super().__init__(context, "", filename)
        self.text = text
        self.here: int = 0
        self.filename = filename
        self.lexer.input = Input(text, filename)
        # xDSL's own expression takes exponential time over a string that is not closed.
        cast(MLIRLexer, self.lexer)._unescaped_characters_regex = _LEXED_STRING  # pyright: ignore[reportPrivateUsage]
        self._file = StringAttr(filename)
        self._line_starts = [0, *(m.end() for m in re.finditer("\n", text))]

    # -- places

    def line_column(self, position: int) -> tuple[int, int]:
        """Line and column of a position, from 1."""
        line = bisect_right(self._line_starts, position)
        return line, position - self._line_starts[line - 1] + 1

    def place(self, position: int) -> LocationAttr:
        """The location of a position (made without the checks of the constructor, which cost ten times as much)."""
        line = bisect_right(self._line_starts, position)
        location = object.__new__(FileLineColLoc)
        column = position - self._line_starts[line - 1] + 1
        vars(location).update(filename=self._file, line=_NUMBERS[line], column=_NUMBERS[column])
        return location

    # -- errors

    def diagnostic(self, message: str, position: int, *, hint: str = "", notes: tuple[Diagnostic, ...] = (), severity: str = "error") -> Diagnostic:
        """A diagnostic that points at a position of this text."""
        position = min(position, len(self.text))
        line, column = self.line_column(position)
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        source = self.text[start : end if end >= 0 else len(self.text)]
        token = _TOKEN.match(self.text, position)
        length = len(token.group()) if token and not token.group().isspace() else 1
        return Diagnostic(message, self.filename, line, column, severity, source, length, hint, notes)

    def fail(self, message: str, position: int | None = None, *, hint: str = "", notes: tuple[Diagnostic, ...] = ()) -> NoReturn:
        """Raises a DiagnosticError at a position (default: the next token)."""
        if position is None:
            position = self.skip()
        raise DiagnosticError(self.diagnostic(message, position, hint=hint, notes=notes))

    def unexpected(self, expected: str) -> NoReturn:
        """Raises: something was expected, and something else (or the end of the text) was found."""
        position = self.skip()
        if position >= len(self.text):
            last = len(self.text.rstrip())
            self.fail(f"expected {expected}, but the text ends here", max(0, last - 1) if last else 0, hint="the text may be truncated")
        self.fail(f"expected {expected}, found {self.token_at(position)}", position)

    def too_deep(self, position: int) -> NoReturn:
        """Raises: what begins at a position nests so deeply that recursion over it would not end."""
        self.fail("the text nests too deeply", position)

    def check_depth(self, start: int) -> None:
        """Fails where the brackets between a position and the cursor nest too deeply."""
        if self.here - start < 2 * DEPTH:
            return
        depth = 0
        for bracket in _BRACKET.findall(self.text, start, self.here):
            depth += (bracket in "([{<") - (bracket in ")]}>")
            if depth > DEPTH:
                self.too_deep(start)

    def token_at(self, position: int) -> str:
        """The token at a position as it is quoted in a message."""
        token = _TOKEN.match(self.text, position)
        shown = token.group() if token else "the end of the text"
        shown = shown if len(shown) <= 40 else shown[:40] + "..."
        if shown == "\ufeff":
            return "a byte order mark, which MLIR does not read"
        return f"'{shown}'" if shown.isprintable() else f"the character {shown!r}"

    # -- handing the position to xDSL and back

    def to_tokens(self) -> None:
        """Makes xDSL's lexer stand where the cursor stands."""
        self._resume_from(self.here)

    def from_tokens(self) -> None:
        """Makes the cursor stand before the token that xDSL's lexer looks at."""
        self.here = self._current_token.span.start

    @contextmanager
    def foreign(self, what: str) -> Generator[None]:
        """xDSL's code reads inside; whatever it raises becomes a diagnostic at its place."""
        start = self.skip()
        try:
            self.to_tokens()
            yield
            self.from_tokens()
        except (DiagnosticError, RecursionError):
            raise
        except ParseError as error:
            message = error.msg.strip()
            self.fail(message[:1].lower() + message[1:], error.span.start)
        except Exception as error:
            self.fail(f"invalid {what}: {error}".strip(), start)

    # -- reading

    def skip(self) -> int:
        """Moves past white space and comments; the position after them."""
        match = _SPACE.match(self.text, self.here)
        assert match is not None
        self.here = match.end()
        return self.here

    def peek(self) -> str:
        """The next character after white space, or an empty string at the end."""
        position = self.skip()
        return self.text[position : position + 1]

    def accept(self, mark: str) -> bool:
        """Moves past a punctuation mark if it comes next."""
        match = _ACCEPT[mark].match(self.text, self.here)
        if match is None:
            return False
        self.here = match.end()
        return True

    def need(self, mark: str) -> None:
        """Moves past a punctuation mark that has to come next."""
        match = _ACCEPT[mark].match(self.text, self.here)
        if match is None:
            self.unexpected(f"'{mark}'")
        self.here = match.end()

    def next_word(self) -> str:
        """The identifier that comes next, without moving; an empty string if there is none."""
        match = _WORD.match(self.text, self.here)
        return match.group(1) if match else ""

    def word(self, what: str = "an identifier") -> str:
        """Reads an identifier."""
        match = _WORD.match(self.text, self.here)
        if match is None:
            self.unexpected(what)
        self.here = match.end()
        return match.group(1)

    def accept_word(self, word: str) -> bool:
        """Moves past this very word if it comes next."""
        match = _WORD.match(self.text, self.here)
        if match is None or match.group(1) != word:
            return False
        self.here = match.end()
        return True

    def need_word(self, word: str) -> None:
        """Moves past this very word, which has to come next."""
        if not self.accept_word(word):
            near = did_you_mean(self.next_word(), [word])
            if near:
                self.fail(f"expected '{word}', found '{self.next_word()}'", hint=near)
            self.unexpected(f"'{word}'")

    def accept_key(self) -> str:
        """Moves past ``key =`` if it comes next; the key, or an empty string."""
        match = _KEY.match(self.text, self.here)
        if match is None:
            return ""
        self.here = match.end()
        return match.group(1)

    def word_in(self, words: Iterable[str], what: str) -> str:
        """Reads one of the given words."""
        known = list(words)
        position = self.skip()
        word = self.word(what)
        if word not in known:
            self.fail(f"unknown {what} '{word}'", position, hint=did_you_mean(word, known) or f"known are {', '.join(known)}")
        return word

    def integer(self, width: int = 64) -> int:
        """Reads a signed integer of this width, decimal or hexadecimal."""
        match = _INTEGER.match(self.text, self.here)
        if match is None:
            self.unexpected("an integer")
        self.here = match.end()
        digits = match.group(1)
        value = int(digits, 16 if "x" in digits else 10) if len(digits) < 40 else 1 << width
        if not -(1 << width - 1) <= value < 1 << width - 1:
            self.fail(f"{digits if len(digits) < 40 else digits[:20] + '...'} does not fit i{width}", match.start(1))
        return value

    def integers(self) -> tuple[int, ...]:
        """Reads ``[1, 2, 3]``."""
        match = _INTEGERS.match(self.text, self.here)
        if match is None:
            return tuple(self.listed("[", "]", self.integer))
        self.here = match.end()
        body = match.group(1)
        if not body.strip():
            return ()
        try:
            integers = tuple(map(int, body.split(",")))
        except ValueError:
            integers = (1 << 64,)
        if all(-(1 << 63) <= value < 1 << 63 for value in integers):
            return integers
        self.here = match.start(1) - 1
        return tuple(self.listed("[", "]", self.integer))  # this finds the place of the mistake

    def string(self) -> str:
        """Reads a string literal; escapes are resolved. Bytes that are not UTF-8 become lone surrogates, which the printer turns back."""
        match = _STRING.match(self.text, self.here)
        if match is None:
            if self.peek() == '"':
                self.fail("this string is never closed on its line")
            self.unexpected("a string")
        self.here = match.end()
        body = match.group(1)
        if "\\" not in body:
            return body
        parts, last = list[bytes](), 0
        for escape in _ESCAPE.finditer(body):
            known, digits = escape.groups()
            if not known and not digits:
                self.fail(
                    f"unknown escape '{body[escape.start() : escape.start() + 2]}'",
                    match.start(1) + escape.start(),
                    hint='known are \\n, \\t, \\", \\\\ and two hexadecimal digits',
                )
            parts += [body[last : escape.start()].encode(), _ESCAPED[known] if known else bytes.fromhex(digits)]
            last = escape.end()
        return b"".join([*parts, body[last:].encode()]).decode("utf-8", "surrogateescape")

    def balanced(self, open: str, close: str) -> str:
        """Reads raw text between two brackets that match; the text between them, in which brackets of all kinds match too."""
        start = self.skip()
        self.need(open)
        first, expected = self.here, [close]
        for token in _BRACKET.finditer(self.text, first):
            mark = token.group()
            if mark in _CLOSING:
                expected.append(_CLOSING[mark])
            elif mark in _CLOSED:
                if mark != expected.pop():
                    self.fail(f"unbalanced '{mark}'", token.start())
                if not expected:
                    self.here = token.end()
                    return self.text[first : token.start()]
        self.fail(f"this '{open}' is never closed", start, hint="the text may be truncated")

    def listed(self, open: str, close: str, item: Callable[[], T], *, trailing: bool = False) -> list[T]:
        """Reads items separated by commas between two marks; ``trailing`` says that a comma may stand after the last one."""
        self.need(open)
        items: list[T] = []
        if self.accept(close):
            return items
        while True:
            items.append(item())
            if self.accept(",") and not (trailing and self.peek() == close):
                continue
            if not self.accept(close):
                self.unexpected(f"',' or '{close}'")
            return items
