"""Rematerialises the pointers of large programs where they are used.

The entry loads the pointers of its inputs, results and constants from a table, and those of temporary values are offsets in the arena. A few are best
computed once. Of thousands that are computed at the beginning and used at the end each would be live across all calls of kernels in between, and LLVM's
time for spilling them grows with their number squared.

This is a pass over lines of text, since whether pointers are many is known only when the entry is written: their names have been given to loops, branches and
tasks by then, wherever those lead. A program of few pointers, as most are, takes no time here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST = 64
"""So many pointers, or fewer, are computed once."""

_FROM_TABLE = re.compile(r"(%\w+) = getelementptr ptr, ptr %table, i64 \d+")
_LOADED = re.compile(r"(%\w+) = load ptr, ptr (%\w+)")
_FROM_ARENA = re.compile(r"(%\w+) = getelementptr i8, ptr %arena, i64 \d+")
_NAME = re.compile(r"%\w+")
_INCOMING = re.compile(r"\[(%\w+), %([\w.]+)\]")


def near_pointers(lines: Sequence[str]) -> Sequence[str]:
    """The lines of an entry with its pointers computed in front of each line that uses them, if they are many."""
    recipes: dict[str, list[str]] = {}
    """The lines that compute a pointer, by its name."""
    others: list[str] = []
    entries: dict[str, str] = {}
    for line in lines:
        if match := _FROM_TABLE.fullmatch(line):
            entries[match[1]] = line
        elif (match := _LOADED.fullmatch(line)) and match[2] in entries:
            recipes[match[1]] = [entries[match[2]], line]
        elif match := _FROM_ARENA.fullmatch(line):
            recipes[match[1]] = [line]
        else:
            others.append(line)
    if len(recipes) <= MOST:
        return lines
    used_early = {name for line in others if "\n" in line for name in _NAME.findall(line) if name in recipes}
    early = {name: _near(name, "early") for name in recipes if name in used_early}
    placed = [_again(step, "early") for name in early for step in recipes[name]]
    # A phi stands at the beginning of its block: the pointers that it uses are computed at the beginning of the blocks that they come from.
    incoming: dict[str, list[str]] = {}
    for number, line in enumerate(others):
        if " = phi " in line:
            for name, block in _INCOMING.findall(line):
                if name in recipes and name not in early:
                    incoming.setdefault(f"{block}:", []).extend(_again(step, str(number)) for step in recipes[name])
    for number, line in enumerate(others):
        used = {name: early.get(name) or _near(name, str(number)) for name in _NAME.findall(line) if name in recipes}
        if " = phi " not in line:
            placed += [_again(step, str(number)) for name in used if name not in early for step in recipes[name]]
        placed.append(_NAME.sub(lambda match, used=used: used.get(match[0], match[0]), line) if used else line)
        placed += incoming.get(line, ())
    return placed


def _again(step: str, place: str) -> str:
    """A copy of an instruction for a place, with names of its own."""
    return _NAME.sub(lambda match: match[0] if match[0] in ("%table", "%arena") else _near(match[0], place), step)


def _near(name: str, place: str) -> str:
    """What a pointer is called that is computed again for a place. It is a name, since numbers would have to follow those around it."""
    return f"%near.{name[1:]}.{place}"
