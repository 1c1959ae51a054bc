"""Pointers of large programs, made where they are used.

The entry reads the pointers of its inputs, results and constants from a table and counts those of temporary values from the arena. A few are best made
once. Of thousands that are made at the beginning and used at the end each would have to be kept somewhere for all calls of kernels in between, and LLVM's
time for that grows with their number squared.

This is a pass over lines of text, since whether pointers are many is known only when the entry is written: their names have been given to loops, branches and
tasks by then, wherever those lead. A program of few pointers, as most are, takes no time here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST = 64
"""So many pointers, or fewer, are made once."""

_FROM_TABLE = re.compile(r"(%\w+) = getelementptr ptr, ptr %table, i64 \d+")
_LOADED = re.compile(r"(%\w+) = load ptr, ptr (%\w+)")
_FROM_ARENA = re.compile(r"(%\w+) = getelementptr i8, ptr %arena, i64 \d+")
_NAME = re.compile(r"%\w+")
_INCOMING = re.compile(r"\[(%\w+), %([\w.]+)\]")


def near_pointers(lines: Sequence[str]) -> Sequence[str]:
    """The lines of an entry with its pointers made in front of each line that uses them, if they are many."""
    made: dict[str, list[str]] = {}
    """What makes a pointer: the lines."""
    kept: list[str] = []
    steps: dict[str, str] = {}
    for line in lines:
        if match := _FROM_TABLE.fullmatch(line):
            steps[match[1]] = line
        elif (match := _LOADED.fullmatch(line)) and match[2] in steps:
            made[match[1]] = [steps[match[2]], line]
        elif match := _FROM_ARENA.fullmatch(line):
            made[match[1]] = [line]
        else:
            kept.append(line)
    if len(made) <= MOST:
        return lines
    early = {name for line in kept if "\n" in line for name in _NAME.findall(line) if name in made}
    found = [line for name in early for line in made[name]]
    # In front of a phi there may be nothing: what it uses is made at the beginning of the block that it comes from.
    incoming: dict[str, list[str]] = {}
    for number, line in enumerate(kept):
        if " = phi " in line:
            for name, block in _INCOMING.findall(line):
                if name in made and name not in early:
                    incoming.setdefault(f"{block}:", []).extend(_again(step, number) for step in made[name])
    for number, line in enumerate(kept):
        used = {name: f"{name}.{number}" for name in _NAME.findall(line) if name in made and name not in early}
        if " = phi " not in line:
            found += [_again(step, number) for name in used for step in made[name]]
        found.append(_NAME.sub(lambda match, used=used: used.get(match[0], match[0]), line) if used else line)
        found += incoming.get(line, ())
    return found


def _again(step: str, number: int) -> str:
    """An instruction once more, for a line: with other names."""
    return _NAME.sub(lambda match: match[0] if match[0] in ("%table", "%arena") else f"{match[0]}.{number}", step)
