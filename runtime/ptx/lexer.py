"""Tokens of PTX text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from wengert.runtime.ptx.errors import ParseError
from wengert.runtime.ptx.program import Place, Source

_TOKEN = re.compile(
    r"""
    (?P<space>(?:\s+|//[^\n]*|/\*.*?\*/)+)
  | (?P<float>0[fF][0-9a-fA-F]{8}(?![\w$]) | 0[dD][0-9a-fA-F]{16}(?![\w$]) | \d+\.\d*(?:[eE][+-]?\d+)? | \d+[eE][+-]?\d+)
  | (?P<integer>(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?(?![\w$]))
  | (?P<name>[A-Za-z_$%][\w$]*)
  | (?P<dotted>\.[A-Za-z_0-9]+(?:::[A-Za-z_0-9]+)*)
  | (?P<string>"[^"\n]*")
  | (?P<mark>[][{}()<>,;:|@!+\-=*&~])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text: ``kind`` is name, dotted, integer, float, string, mark or end."""

    kind: str
    text: str
    start: int


def tokenize(source: Source) -> list[Token]:
    """The tokens of a text, with one of kind ``end`` behind them.

    Raises:
        ParseError: a character that begins no token.
    """
    text, tokens, at = source.text, list[Token](), 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            what = "comment that does not end" if text.startswith("/*", at) else f"unexpected character {text[at]!r}"
            before = text[:at]
            raise ParseError(source.diagnostic(Place(before.count("\n") + 1, at - before.rfind("\n")), what))
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(Token(kind, match[0], at))
        at = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens
