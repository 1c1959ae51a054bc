"""Rematerialises the pointers of large programs where they are used.

The entry loads the pointers of its inputs, results and constants from a table, and those of temporary values are offsets in the arena; tasks, and kernels of
many pointers, load theirs from a frame (:mod:`wengert.transforms.codegen.cpu.pointers.frames`). A few are best computed once. Of thousands that are computed
at the beginning and used at the end each would be live across all calls of kernels in between, and LLVM's time for spilling them grows with their number
squared.

This is a pass over lines of text, since whether pointers are many is known only when a function is written: their names have been given to loops, branches
and tasks by then, wherever those lead. A program of few pointers, as most are, takes no time here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from wengert.transforms.codegen.cpu.long_code import computed_near

_LISTED = re.compile(r"(%\w+) = getelementptr ptr, ptr (%\w+), i64 \d+")
_LOADED = re.compile(r"(%\w+) = load ptr, ptr (%\w+)")
_FROM_ARENA = re.compile(r"(%\w+) = getelementptr i8, ptr %(?:arena|scratch), i64 \d+")
_MOVED = re.compile(r"(%\w+) = getelementptr [^,]+, ptr (%\w+), i64 [%\w]+")
"""A pointer at a distance from another one: that of a strip, by the number of the iteration."""
_NAME = re.compile(r"%\w+")
_INCOMING = re.compile(r"\[(%\w+), %([\w.]+)\]")


def near_pointers(lines: Sequence[str], table: str) -> Sequence[str]:
    """The lines of an entry or a task with its pointers computed in front of each line that uses them, if they are many.

    Args:
        lines: the body of the function.
        table: its parameter for the array that pointers are loaded from.
    """
    if not computed_near(sum("= load ptr, ptr %" in line or "= getelementptr i8, ptr %" in line for line in lines)):
        return lines
    recipes: dict[str, list[str]] = {}
    others: list[str] = []
    listed: dict[str, str] = {table: ""}
    # What a pointer is moved by may not be known at the beginning of the function, nor of a block that a phi's value comes from.
    needed_there = {name for line in lines if " = phi " in line or "\n" in line for name in _NAME.findall(line)}
    for line in lines:
        if (match := _LISTED.fullmatch(line)) and match[2] == table:
            listed[match[1]] = line
        elif (match := _LOADED.fullmatch(line)) and match[2] in listed:
            recipes[match[1]] = [*filter(None, [listed[match[2]]]), line]
        elif match := _FROM_ARENA.fullmatch(line):
            recipes[match[1]] = [line]
        elif (match := _MOVED.fullmatch(line)) and match[2] in recipes and match[1] not in needed_there:
            recipes[match[1]] = [*recipes[match[2]], line]
        else:
            others.append(line)
    return near(others, recipes) if computed_near(len(recipes)) else lines


def near(lines: Sequence[str], recipes: Mapping[str, Sequence[str]]) -> list[str]:
    """Lines with pointers computed in front of each line that uses them.

    Args:
        lines: the body of a function, without the lines that compute the pointers.
        recipes: those lines for each pointer, which compute it from parameters of the function.
    """
    used_early = {name for line in lines if "\n" in line for name in _NAME.findall(line) if name in recipes}
    early = {name: _near(name, "early") for name in recipes if name in used_early}
    placed = _computed([recipes[name] for name in early], "early")
    # A phi stands at the beginning of its block: the pointers that it uses are computed at the beginning of the blocks that they come from.
    incoming: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        if " = phi " in line:
            for name, block in _INCOMING.findall(line):
                if name in recipes and name not in early:
                    incoming.setdefault(f"{block}:", []).extend(_computed([recipes[name]], str(number)))
    for number, line in enumerate(lines):
        if "ptr " not in line:  # every use of a pointer says its type
            placed.append(line)
            placed += incoming.get(line, ())
            continue
        used = {name: early.get(name) or _near(name, str(number)) for name in _NAME.findall(line) if name in recipes}
        if " = phi " not in line:
            placed += _computed([recipes[name] for name in used if name not in early], str(number))
        placed.append(_NAME.sub(lambda match, used=used: used.get(match[0], match[0]), line) if used else line)
        placed += incoming.get(line, ())
    return placed


def _computed(recipes: Sequence[Sequence[str]], place: str) -> list[str]:
    """The instructions of some recipes for a place, with names of their own; those that several have are there once."""
    steps = dict.fromkeys(step for recipe in recipes for step in recipe)
    names = {name: _near(name, place) for name in (step.partition(" = ")[0] for step in steps)}
    return [_NAME.sub(lambda match: names.get(match[0], match[0]), step) for step in steps]


def _near(name: str, place: str) -> str:
    """What a pointer is called that is computed again for a place. It is a name, since numbers would have to follow those around it."""
    return f"%near.{name[1:]}.{place}"
