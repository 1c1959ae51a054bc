"""Text of programs in documents: names may hold any character, and XML (1.0, section 2.2) refuses most control characters even as entities."""

from __future__ import annotations

from html import escape


def printable(text: str) -> str:
    r"""The text with characters that do not show (other than spaces and ends of lines) written as in Python: ``\x01``."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in "\t\n" else c.encode("unicode_escape").decode() for c in text)


def markup(text: str) -> str:
    """The text as the content of an element or an attribute of XML or HTML."""
    return escape(printable(text))
