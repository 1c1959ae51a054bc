"""Matches the lines of two sources by a comparison of their texts, in which names of values do not count."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import lru_cache

from wengert.lab.inspection.sources import Place, Sources

_NAME = re.compile(r"%[\w$.-]+(?:#\d+)?|#loc\d*")


class LineMap:
    """Translates places of one program to those of another.

    Files of one name and text are one file. A file that both programs were read from, or that stands for the same one (two versions, two dumps), is compared
    line by line; what has no counterpart has no translation.
    """

    def __init__(self, a: Sources, b: Sources, files: Mapping[str, str]):
        self._a, self._b = a, b
        self._files = files
        self._maps: dict[tuple[str, str], dict[int, int]] = {}

    def translated(self, place: Place) -> Place | None:
        """The place in the other program; None where there is none."""
        file, line, column = place
        if not file:
            return place
        other = self._files.get(file, file)
        mapped = self._lines(file, other).get(line)
        return None if mapped is None else (other, mapped, column)

    def _lines(self, file: str, other: str) -> dict[int, int]:
        if (file, other) not in self._maps:
            self._maps[file, other] = _matched(tuple(self._a.lines(file)), tuple(self._b.lines(other)))
        return self._maps[file, other]


class _Same(dict[int, int]):
    """The map of a file to itself."""

    def get(self, key: int, default: int | None = None) -> int | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return key


@lru_cache(maxsize=16)
def _matched(one: tuple[str, ...], other: tuple[str, ...]) -> dict[int, int]:
    """The numbers of lines that are equal, or that were edited in place, from 1."""
    if one == other:
        return _Same()
    ours, theirs = ([_NAME.sub("%", line).strip() for line in lines] for lines in (one, other))
    shorter = min(len(ours), len(theirs))
    front = next((i for i in range(shorter) if ours[i] != theirs[i]), shorter)
    back = next((i for i in range(shorter - front) if ours[-1 - i] != theirs[-1 - i]), shorter - front)
    pairs = {1 + i: 1 + i for i in range(front)} | {len(ours) - i: len(theirs) - i for i in range(back)}
    middle = SequenceMatcher(None, ours[front : len(ours) - back], theirs[front : len(theirs) - back])
    for kind, start, end, other_start, other_end in middle.get_opcodes():
        if kind == "equal" or (kind == "replace" and end - start == other_end - other_start):  # as many lines were edited
            pairs |= {1 + front + start + i: 1 + front + other_start + i for i in range(end - start)}
    return pairs
