"""MLIR in colours, for terminals: one regular expression that knows the kinds of words, and nothing of their meaning."""

from __future__ import annotations

import re

_KINDS = {
    "comment": (r"//[^\n]*", "\x1b[2m"),
    "string": (r'"(?:\\.|[^"\\\n])*"', "\x1b[32m"),
    "value": (r"%[\w$.#-]+", "\x1b[36m"),
    "symbol": (r"@[\w$.-]+|\^[\w$.-]+", "\x1b[34m"),
    "type": (r"\b(?:tensor|memref|vector|complex|tuple)<(?:[^<>\n]|<[^<>\n]*>)*>|\b(?:[fi]\d+|bf16|tf32|ui\d+|index)\b|![\w.$]+", "\x1b[33m"),
    "attribute": (r"#[\w.$]+", "\x1b[35m"),
    "operation": (r"\b[a-z][\w$]*\.[\w$.]+|\b(?:module|return|func|cond|do|init)\b", "\x1b[1m"),
}
_WORDS = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, (pattern, _) in _KINDS.items()))
_RESET = "\x1b[0m"


def highlight(text: str) -> str:
    """The text with the colours of a terminal; without them it is the same text."""
    return _WORDS.sub(lambda match: f"{_KINDS[match.lastgroup or ''][1]}{match.group()}{_RESET}", text)
