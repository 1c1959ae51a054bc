"""The text that schedules share: entries by name in any order, and integers by name in braces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.parser import AttrParser


def parse_entries(parser: AttrParser, entries: Mapping[str, Callable[[AttrParser], object]], flags: Sequence[str] = ()) -> dict[str, object]:
    """Reads ``name = value, flag, ...>``, each entry at most once, in any order."""
    read: dict[str, object] = {}
    while not parser.parse_optional_characters(">"):
        if read:
            parser.parse_characters(",")
        start = parser.pos
        name = parser.parse_identifier()
        if name in read or (name not in entries and name not in flags):
            problem = "there already is" if name in read else "a schedule has no entry"
            parser.raise_error(f"{problem} '{name}'; its entries are {', '.join((*entries, *flags))}", start)
        if name in flags:
            read[name] = True
            continue
        parser.parse_characters("=")
        read[name] = entries[name](parser)
    return read


def parse_fields(
    parser: AttrParser, names: Sequence[str], flags: Sequence[str] = (), words: Mapping[str, Sequence[str]] | None = None
) -> tuple[dict[str, int], dict[str, str]]:
    """Reads ``{name = 1, flag, word = this}``: all integers by name, and the words, each one of those that it may be."""
    words = words or {}
    numbers: dict[str, int] = {}
    chosen: dict[str, str] = {}

    def one() -> None:
        start = parser.pos
        name = parser.parse_identifier()
        if name in flags:
            numbers[name] = True
            return
        if name not in names and name not in words:
            parser.raise_error(f"expected one of {', '.join((*words, *names, *flags))}, found '{name}'", start)
        parser.parse_characters("=")
        if name in words:
            chosen[name] = parse_word(parser, words[name])
        else:
            numbers[name] = parser.parse_integer()

    start = parser.pos
    parser.parse_comma_separated_list(parser.Delimiter.BRACES, one)
    missing = [name for name in (*words, *names) if name not in numbers and name not in chosen]
    if missing:
        parser.raise_error(f"{missing[0]} is missing", start)
    return numbers, chosen


def parse_word(parser: AttrParser, words: Sequence[str]) -> str:
    """Reads one of these words."""
    start = parser.pos
    word = parser.parse_identifier()
    if word not in words:
        parser.raise_error(f"expected {' or '.join((', '.join(words[:-1]), words[-1]))}, found '{word}'", start)
    return word
